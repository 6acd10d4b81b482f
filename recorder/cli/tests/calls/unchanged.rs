//! The program ends as it would have, says what it would have said, and is told of what hinders its recording.

use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::Command;

use crate::{Place, can_trace, exists, program, text};

const BOTH: [&str; 2] = ["--calls", "--calls=openat"];

#[test]
fn a_program_that_becomes_another_in_a_thread_of_its_own_is_followed() {
    if !can_trace() {
        return;
    }
    for flags in BOTH {
        let place = Place::new();
        let done = place.record(&[flags], "becomes");
        assert_eq!(done.status.code(), Some(9), "{}", text(&done.stderr));
        assert!(text(&done.stdout).ends_with("became\n"));
        let calls = place.calls();
        assert!(!calls.of("openat", Some("/etc/ld.so.cache")).is_empty());
        if flags == "--calls" {
            let sh: Vec<usize> = calls.of("execve", None);
            let status = |row: &&usize| calls.number("status", **row) == Some(0);
            assert_eq!(sh.iter().filter(status).count(), 2);
        }
    }
}

#[test]
fn signals_reach_it_as_often_as_they_were_sent() {
    if !can_trace() {
        return;
    }
    for flags in BOTH {
        let place = Place::new();
        let done = place.record(&[flags], "signals");
        assert_eq!(done.status.code(), Some(program::CODE));
        assert_eq!(text(&done.stdout).matches("signal\n").count(), 5);
        let done = Place::new().record(&[flags], "is killed");
        assert_eq!(done.status.signal(), Some(libc::SIGTERM));
    }
}

#[test]
fn a_child_that_wants_no_tracer_is_recorded_like_any_other() {
    if !can_trace() {
        return;
    }
    for flags in ["--calls", "--calls=write"] {
        let place = Place::new();
        let done = place.record(&[flags], "untraced child");
        assert_eq!(
            done.status.code(),
            Some(program::CODE),
            "{flags}: {}",
            text(&done.stderr)
        );
        assert!(
            text(&done.stderr).contains("in 2 processes"),
            "{flags}: {}",
            text(&done.stderr)
        );
        let calls = place.calls();
        let writes = calls.of("write", None);
        let bytes = |row: &&usize| calls.number("bytes", **row) == Some(program::BYTES as i128);
        assert_eq!(writes.iter().filter(bytes).count(), 1, "{flags}");
    }
}

#[test]
fn strict_seccomp_that_a_list_prevents_is_said() {
    if !can_trace() {
        return;
    }
    let done = Place::new().record(&["--calls"], "strict seccomp");
    let said = text(&done.stderr);
    assert_eq!(done.status.code(), Some(program::CODE), "{said}");
    assert!(!said.contains("strict seccomp"), "{said}");
    let place = Place::new();
    let done = place.record(&["--calls=openat"], "strict seccomp");
    let said = text(&done.stderr);
    assert_eq!(done.status.code(), Some(1), "{said}");
    assert!(
        said.contains("asked for strict seccomp and did not get it"),
        "{said}"
    );
    let run = trueno_testing::run_json(&place.run());
    assert!(
        run.problems
            .iter()
            .any(|problem| problem.contains("strict seccomp"))
    );
}

#[test]
fn a_process_that_is_stopped_stays_so_until_it_is_let_go_on() {
    if !can_trace() {
        return;
    }
    for flags in BOTH {
        let done = Place::new().record(&[flags], "job control");
        assert_eq!(
            done.status.code(),
            Some(program::CODE),
            "{}",
            text(&done.stderr)
        );
    }
}

#[test]
fn what_cannot_be_recorded_is_said_and_leaves_nothing() {
    if !can_trace() {
        return;
    }
    let place = Place::new();
    let of = |flags: &[&str], program: &[&str]| place.command(flags, program).output().unwrap();
    let done = of(&["--calls"], &["no such program"]);
    assert_eq!(done.status.code(), Some(2));
    assert!(text(&done.stderr).contains("no such program: cannot be started"));
    assert!(!exists(&place.run()));
    let done = of(&["--calls=nonsense"], &["true"]);
    assert_eq!(done.status.code(), Some(2));
    assert!(text(&done.stderr).contains("`nonsense`: expected the name of a system call"));
    assert!(!exists(&place.run()));
    let done = of(&["--calls"], &["true"]);
    assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
    let done = of(&["--calls"], &["true"]);
    assert_eq!(done.status.code(), Some(2));
    let said = text(&done.stderr);
    assert!(
        said.contains("a run already exists there (hint: ")
            && said.contains("; nothing was started"),
        "{said}"
    );
    let done = of(&["--calls", "--overwrite"], &["true"]);
    assert_eq!(done.status.code(), Some(0));
}

/// A process that is traced cannot trace, which looks like a system that forbids tracing.
#[test]
fn where_tracing_is_forbidden_nothing_is_started_and_the_doctor_says_so() {
    if !can_trace() {
        return;
    }
    let place = Place::new();
    let own = env!("CARGO_BIN_EXE_trueno-record");
    let inner = [
        own,
        "run",
        "--calls",
        "-o",
        "inner.run",
        "--",
        "touch",
        "sign",
    ];
    let done = place.command(&["--calls"], &inner).output().unwrap();
    assert_eq!(done.status.code(), Some(3), "{}", text(&done.stderr));
    assert!(text(&done.stderr).contains("error: programs cannot be traced here"));
    assert!(!exists(&place.path("sign")));
    assert!(!exists(&place.path("inner.run")));
    let doctor = [own, "doctor", "--need", "calls"];
    let done = Place::new()
        .command(&["--calls"], &doctor)
        .output()
        .unwrap();
    assert_eq!(done.status.code(), Some(3), "{}", text(&done.stderr));
    let line = |done: &std::process::Output| {
        let said = text(&done.stdout).lines();
        let mut said = said.filter(|line| line.starts_with("system calls of any program"));
        said.next().unwrap_or_default().to_owned()
    };
    assert!(
        line(&done).contains("no: programs cannot be traced"),
        "{}",
        line(&done)
    );
    let done = std::process::Command::new(own)
        .args(["doctor", "--need", "calls"])
        .output();
    let done = done.unwrap();
    assert!(line(&done).ends_with("yes"), "{}", line(&done));
    assert_eq!(done.status.code(), Some(0));
}

/// Makes the system refuse seccomp filters to this process and its children.
fn refuse_filters() -> io::Result<()> {
    let statement = |code: u32, k: u32| libc::sock_filter {
        code: code as u16,
        jt: 0,
        jf: 0,
        k,
    };
    let load = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
    let unless = |value: u32, skipped: u8| libc::sock_filter {
        jf: skipped,
        ..statement(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, value)
    };
    let program = [
        statement(load, 0),
        unless(libc::SYS_prctl as u32, 3),
        // The lower half of the first argument.
        statement(load, 16),
        unless(libc::PR_SET_SECCOMP as u32, 1),
        statement(libc::BPF_RET, libc::SECCOMP_RET_ERRNO | libc::EACCES as u32),
        statement(libc::BPF_RET, libc::SECCOMP_RET_ALLOW),
    ];
    let filter = libc::sock_fprog {
        len: program.len() as u16,
        filter: program.as_ptr().cast_mut(),
    };
    // SAFETY: the kernel reads the program, which is there.
    let done = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        libc::prctl(
            libc::PR_SET_SECCOMP,
            libc::SECCOMP_MODE_FILTER,
            &raw const filter,
        )
    };
    match done {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[test]
fn where_the_system_takes_no_filter_it_says_so_and_what_to_do() {
    if !can_trace() {
        return;
    }
    let place = Place::new();
    let mut command = place.command(&["--calls=openat"], &["touch", "sign"]);
    // SAFETY: calls nothing but system calls.
    unsafe { command.pre_exec(refuse_filters) };
    let done = command.output().unwrap();
    let said = text(&done.stderr);
    assert_eq!(done.status.code(), Some(3), "{said}");
    assert!(
        said.contains("error: the system refused the filter (seccomp)"),
        "{said}"
    );
    assert!(said.contains("Permission denied (os error 13)"), "{said}");
    assert!(said.contains("`--calls` without a list"), "{said}");
    assert!(!exists(&place.path("sign")) && !exists(&place.run()));
    let mut command = place.command(&["--calls"], &["touch", "sign"]);
    // SAFETY: as above.
    unsafe { command.pre_exec(refuse_filters) };
    let done = command.output().unwrap();
    assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
    assert!(exists(&place.path("sign")));
}

#[test]
fn it_starts_with_the_signals_that_the_caller_ignores_and_blocks() {
    let masks = ["grep", "-E", "^Sig(Blk|Ign):", "/proc/self/status"];
    let callers: [fn() -> io::Result<()>; 2] = [
        || {
            // SAFETY: takes numbers.
            unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
            Ok(())
        },
        || {
            // SAFETY: take numbers and a set of this frame; zeros are a valid one.
            unsafe {
                libc::signal(libc::SIGPIPE, libc::SIG_IGN);
                libc::signal(libc::SIGHUP, libc::SIG_IGN);
                libc::signal(libc::SIGWINCH, libc::SIG_IGN);
                let mut set = std::mem::zeroed();
                libc::sigaddset(&mut set, libc::SIGUSR1);
                libc::pthread_sigmask(libc::SIG_BLOCK, &set, std::ptr::null_mut());
            }
            Ok(())
        },
    ];
    for caller in callers {
        let output = |mut command: Command| {
            // SAFETY: system calls only.
            unsafe { command.pre_exec(caller) };
            command.output().unwrap()
        };
        let mut alone = Command::new(masks[0]);
        alone.args(&masks[1..]);
        let alone = output(alone);
        assert_eq!(text(&alone.stdout).lines().count(), 2);
        for flags in ["--calls", "--calls=openat", "--sample", "--alloc"] {
            let done = output(Place::new().command(&[flags], &masks));
            // This system may refuse to record so.
            if done.status.code() != Some(3) {
                assert_eq!(
                    text(&done.stdout),
                    text(&alone.stdout),
                    "{flags}: {}",
                    text(&done.stderr)
                );
            }
        }
    }
}
