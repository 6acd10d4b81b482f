//! Functions that do nothing but wait, by their names.
//!
//! A thread that sleeps in `threading.py(359): wait` looks like one that works: nothing recorded says for what it
//! waits, and its frame is a row like others. Where such a lane has nothing to do with the path, that is no work
//! that the run would have to leave time for ([`schedule::background_ns`](crate::predict::schedule::background_ns)).
//!
//! A name counts as a whole, without leading underscores: `recv` is one, `recv_and_sort` is none. It is the name
//! after the place in `FILE(LINE): NAME`, that of `<built-in method NAME of TYPE object at …>`, of
//! `<built-in function NAME>` and of `<method 'NAME' of 'TYPE' objects>`, or all there is.

use trueno_analysis::interner::Texts;
use trueno_analysis::lanes::{Class, Label};

/// Of Python, of libc, of POSIX threads; `man 2`, `man 3`, and the modules `threading`, `time`, `select`, `socket`.
const WAITS: [&str; 29] = [
    "accept",
    "acquire",
    "clock_nanosleep",
    "epoll",
    "epoll_pwait",
    "epoll_wait",
    "futex",
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
    "usleep",
    "wait",
    "wait4",
    "wait_for_tstate_lock",
    "waitid",
    "waitpid",
];

/// Names that mean other things too (texts and tables are joined, tensors selected from), and the files of Python
/// in which they wait.
const WAITS_IN: [(&str, &[&str]); 2] = [
    (
        "join",
        &[
            "threading.py",
            "queue.py",
            "queues.py",
            "process.py",
            "pool.py",
        ],
    ),
    ("select", &["selectors.py"]),
];

/// And those that wait where they are calls of the system.
const WAITING_CALLS: [&str; 2] = ["pselect", "select"];

/// True if rows of a label are waits, or of a function of the host that does nothing else.
pub fn only_waits(label: Label, texts: &Texts) -> bool {
    match label.class {
        Class::Wait => true,
        Class::Brick | Class::Task | Class::Call => {
            names_a_wait(texts.text(label.name), label.class == Class::Call)
        }
        Class::Scope | Class::Kernel | Class::Tile | Class::Transfer => false,
    }
}

fn names_a_wait(text: &str, is_call: bool) -> bool {
    let (file, name) = own_name(text);
    let name = name.trim_start_matches('_');
    let in_file = |files: &[&str]| {
        let file = file.and_then(|file| file.rsplit('/').next());
        file.is_some_and(|file| files.contains(&file))
    };
    WAITS.contains(&name)
        || (is_call && WAITING_CALLS.contains(&name))
        || WAITS_IN
            .iter()
            .any(|(of, files)| *of == name && in_file(files))
}

/// The file of a frame of Python, and the function's own name.
fn own_name(text: &str) -> (Option<&str>, &str) {
    let quoted = text.strip_prefix("<method '");
    if let Some(name) = quoted.and_then(|rest| rest.split('\'').next()) {
        return (None, name);
    }
    let built_in = text
        .strip_prefix("<built-in method ")
        .or_else(|| text.strip_prefix("<built-in function "));
    if let Some(name) = built_in.and_then(|rest| rest.split([' ', '>']).next()) {
        return (None, name);
    }
    match text.rsplit_once("): ") {
        Some((place, name)) => (place.rsplit_once('(').map(|(file, _)| file), name),
        None => (None, text),
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
            "<method 'recv' of '_socket.socket' objects>",
            "poll",
            "__poll",
            "pthread_cond_timedwait",
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
            "tqdm/_monitor.py(60): run",
        ] {
            assert!(!names_a_wait(works, false), "{works}");
        }
        assert!(names_a_wait("select", true) && !names_a_wait("select", false));
    }
}
