//! Functions that do nothing but wait, by their names.
//!
//! A name counts as a whole, without leading underscores: `recv` is one, `recv_and_sort` is none. It is the name
//! after the place in `FILE(LINE): NAME` and `FILE:LINE NAME`, and before it in `NAME (FILE:LINE)`, that of `<built-in method NAME of TYPE object at …>`, of
//! `<built-in function NAME>`, of `<unknown> NAME` (JAX) and of `<method 'NAME' of 'TYPE' objects>`, or all there is; of `time.sleep` it is `sleep`.

/// Functions of Python, libc, POSIX threads, JAX and Ray that only wait; see `man 2`, `man 3`, and the modules
/// `threading`, `time`, `select` and `socket`. What reads one character takes time only if there is none yet.
const WAITS: [&str; 36] = [
    "accept",
    "acquire",
    "block_until_ready",
    "clock_nanosleep",
    "epoll",
    "epoll_pwait",
    "epoll_wait",
    "fgetc",
    "futex",
    "getc",
    "getchar",
    "nanosleep",
    "poll",
    "ppoll",
    "pthread_cond_clockwait",
    "pthread_cond_timedwait",
    "pthread_cond_wait",
    "pthread_join",
    "pthread_mutex_lock",
    "recv",
    "recvfrom",
    "recvmsg",
    "sem_clockwait",
    "sem_timedwait",
    "sem_wait",
    "sigwait",
    "sleep",
    "try_to_block",
    "usleep",
    "wait",
    "wait4",
    "wait_for_function",
    "wait_for_tstate_lock",
    "waitid",
    "waitpid",
    "worker_idle",
];

/// Names with several meanings (`join` is also for texts and tables), with the Python files, modules and types in
/// which they wait.
/// `subprocess.run` and its like wait for a process, whether of Python or of Bazel.
const WAITS_IN: [(&str, &[&str]); 9] = [
    ("call", &["subprocess.py", "subprocess"]),
    ("check_call", &["subprocess.py", "subprocess"]),
    ("check_output", &["subprocess.py", "subprocess"]),
    (
        "enter__",
        &["SemLock", "lock", "RLock", "Semaphore", "synchronize.py"],
    ),
    (
        "join",
        &[
            "threading.py",
            "queue.py",
            "queues.py",
            "process.py",
            "pool.py",
            "Thread",
            "Process",
            "Queue",
            "Pool",
        ],
    ),
    (
        "select",
        &[
            "selectors.py",
            "select",
            "EpollSelector",
            "PollSelector",
            "SelectSelector",
            "selectors",
        ],
    ),
    (
        "get",
        &["queue.py", "queues.py", "Queue", "SimpleQueue", "queue"],
    ),
    ("result", &["_base.py", "Future"]),
    ("run", &["subprocess.py", "subprocess"]),
];

/// Functions that start a process or run one to its end: one call, however long the process takes.
const PROCESSES: [&str; 10] = [
    "check_output",
    "communicate",
    "fork",
    "fork_exec",
    "forkpty",
    "pclose",
    "popen",
    "posix_spawn",
    "posix_spawnp",
    "vfork",
];

/// The same of names with several meanings, with the Python files, modules and types in which they do that.
const PROCESSES_IN: [(&str, &[&str]); 4] = [
    ("call", &["subprocess", "subprocess.py"]),
    ("check_call", &["subprocess", "subprocess.py"]),
    ("run", &["subprocess", "subprocess.py"]),
    ("system", &["os", "posix"]),
];

/// Calls that wait for descriptors or until a time, and not for a thread.
const POLLS: [&str; 7] = [
    "epoll_pwait",
    "epoll_wait",
    "nanosleep",
    "poll",
    "ppoll",
    "pselect",
    "select",
];

/// Names that wait only as system calls.
const WAITING_CALLS: [&str; 2] = ["pselect", "select"];

/// Runtime events in which a host waits for a device or another thread.
const RUNTIMES: [&str; 6] = [
    "BufferSequencingEvent",
    "BlockUntilReady",
    "BlockHostUntilDone",
    "BlockHostUntilReady",
    "::Await",
    "WaitForBufferDefinitionEvents",
];

/// Phases of Horovod's timeline in which a rank waits for the others; the operation follows, as in
/// `NEGOTIATE_ALLREDUCE`.
const NEGOTIATION: &str = "NEGOTIATE_";

/// True of a phase in which a rank waits until all ranks are ready, whatever operation follows.
pub fn is_negotiation(text: &str) -> bool {
    text.starts_with(NEGOTIATION)
}

/// True of the name of a function, or where `is_call` of a call of the system, that only waits.
pub fn names_a_wait(text: &str, is_call: bool) -> bool {
    let (place, name) = own_name(text);
    let name = name.trim_start_matches('_');
    let in_place = |places: &[&str]| place.is_some_and(|place| places.contains(&place));
    WAITS.contains(&name)
        || (is_call && WAITING_CALLS.contains(&name))
        || WAITS_IN
            .iter()
            .any(|(of, places)| *of == name && in_place(places))
        || is_negotiation(text)
        || RUNTIMES.iter().any(|part| text.contains(part))
}

/// True of the name of a function that starts another process or waits until it ends.
pub fn names_a_process(text: &str) -> bool {
    let (place, name) = own_name(text);
    let name = name.trim_start_matches('_');
    let in_place = |places: &[&str]| place.is_some_and(|place| places.contains(&place));
    PROCESSES.contains(&name)
        || PROCESSES_IN
            .iter()
            .any(|(of, places)| *of == name && in_place(places))
}

/// True of the name of a call of the system that waits for descriptors or until a time.
pub fn names_a_poll(call: &str) -> bool {
    POLLS.contains(&call)
}

/// The function's own name, after the file of a Python frame or the module or type before a dot.
fn own_name(text: &str) -> (Option<&str>, &str) {
    // JAX's tracer marks functions of Python.
    let text = text.strip_prefix('$').unwrap_or(text);
    let quoted = text.strip_prefix("<method '");
    if let Some(name) = quoted.and_then(|rest| rest.split('\'').next()) {
        return (None, name);
    }
    let built_in = text
        .strip_prefix("<built-in method ")
        .or_else(|| text.strip_prefix("<built-in function "))
        .or_else(|| text.strip_prefix("<unknown> "));
    let built_in = built_in.and_then(|rest| rest.split([' ', '>']).next());
    let (file, name) = match (built_in, text.rsplit_once("): ")) {
        (Some(name), _) => (None, name),
        (_, Some((place, name))) => (place.rsplit_once('(').map(|(file, _)| file), name),
        // `NAME (FILE:LINE)`
        _ => match text
            .strip_suffix(')')
            .and_then(|rest| rest.rsplit_once(" ("))
        {
            Some((name, place)) => (place.rsplit_once(':').map(|(file, _)| file), name),
            None => match text.split_once(".py:").zip(text.rsplit_once(' ')) {
                // `FILE:LINE NAME`
                Some(((file, _), (place, name))) => {
                    (Some(&place[..file.len() + ".py".len()]), name)
                }
                None => (None, text),
            },
        },
    };
    let file = file.and_then(|file| file.rsplit('/').next());
    match name.rsplit_once('.') {
        Some((owner, name)) if !name.is_empty() => {
            let owner = owner.rsplit('.').next();
            (owner.filter(|_| file.is_none()).or(file), name)
        }
        _ => (file, name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_wait_are_told_from_those_that_work() {
        for waits in [
            "threading.py(359): wait",
            "/usr/lib/python3.12/threading.py(1169): _wait_for_tstate_lock",
            "threading.py(1115): join",
            "multiprocessing/process.py(149): join",
            "selectors.py(451): select",
            "<built-in method acquire of _thread.lock object at 0x7f52>",
            "<method 'acquire' of '_thread.lock' objects>",
            "<built-in function sleep>",
            "$<unknown> acquire",
            "<unknown> acquire",
            "$queue.py:154 get",
            "<method 'recv' of '_socket.socket' objects>",
            "poll",
            "__poll",
            "pthread_cond_timedwait",
            "time.sleep",
            "epoll.poll",
            "select.epoll.poll",
            "selectors.EpollSelector.select",
            "threading.Event.wait",
            "wait (/usr/lib/python3.10/threading.py:288)",
            "Thread.join (/usr/lib/python3.10/threading.py:1064)",
            "queue.py(154): get",
            "concurrent/futures/_base.py(428): result",
            "BufferSequencingEvent::WaitForEventOnStream",
            "api.py:3105 block_until_ready",
            "/opt/jax/_src/api.py:3165 try_to_block",
            "threading.py:355 wait",
            "queue.py:154 get",
            "PjRtFuture::Await",
            "_multiprocessing.SemLock.__enter__",
            "SemLock.__enter__ (/usr/lib/python3.13/multiprocessing/synchronize.py:94)",
            "getc",
            "subprocess.run",
            "subprocess.py(506): run",
            "subprocess.check_output",
        ] {
            assert!(names_a_wait(waits, false), "{waits}");
        }
        for works in [
            "",
            "posixpath.py(76): join",
            "<method 'join' of 'str' objects>",
            "join",
            "<built-in method select of Tensor object at 0x7d67>",
            "aten::select",
            "torch/nn/functional.py(12): select",
            "recv_and_sort",
            "await_rows",
            "loop.py(3): wait_and_sort",
            "waiter.wait().sort",
            "dict.get",
            "str.join",
            "Tensor.select",
            "work (a.py:1)",
            "run",
            "train.py(506): run",
            "processor.run",
            "model.result",
            "tqdm/_monitor.py(60): run",
            "$<unknown> acquire_rows",
            "model.py:12 select",
            "train.py:40 wait_and_sort",
        ] {
            assert!(!names_a_wait(works, false), "{works}");
        }
        assert!(names_a_wait("select", true) && !names_a_wait("select", false));
    }

    #[test]
    fn calls_that_run_a_process_are_told_from_others() {
        for runs in [
            "posix.fork",
            "subprocess.run",
            "subprocess.py(506): run",
            "Popen.communicate (/usr/lib/python3.12/subprocess.py:1165)",
            "subprocess.py(1200): _communicate",
            "_posixsubprocess.fork_exec",
        ] {
            assert!(names_a_process(runs), "{runs}");
        }
        for works in [
            "run",
            "Trainer.run",
            "loop.py(3): run",
            "system",
            "call",
            "fork_rows",
        ] {
            assert!(!names_a_process(works), "{works}");
        }
    }
}
