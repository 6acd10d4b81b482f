//! Processes that cannot be recorded: each with the reason that it has.

use std::os::unix::process::CommandExt;
use std::process::Command;

use trueno_testing::wait_until;

use crate::{Place, exists, means};

const NOBODY: u32 = 65534;

fn refused(place: &Place, flags: &[&str], code: i32, why: &str) {
    let (status, said) = place.recorder(flags).ends();
    assert_eq!(status.code(), Some(code), "{flags:?}: {said}");
    assert!(said.contains(why), "{flags:?}: {said}");
    assert!(!exists(&place.run()), "{flags:?}");
}

#[test]
fn what_is_no_process_of_a_program_is_refused() {
    let place = Place::new();
    let program = place.program();
    let tasks = std::fs::read_dir(format!("/proc/{}/task", program.id())).unwrap();
    let mut tasks = tasks.map(|task| task.unwrap().file_name().into_string().unwrap());
    let thread = tasks
        .find(|task| *task != program.id().to_string())
        .unwrap();
    let mut ended = Command::new("true").spawn().unwrap();
    let ended_id = ended.id().to_string();
    wait_until(|| {
        let status = std::fs::read_to_string(format!("/proc/{ended_id}/status")).unwrap();
        status.contains("State:\tZ")
    });
    for flag in ["--sample", "--calls"] {
        refused(
            &place,
            &[flag, "--pid=2147483646"],
            2,
            "no process 2147483646 is running",
        );
        let thread = format!("--pid={thread}");
        let process = format!("is a thread of process {}", program.id());
        refused(&place, &[flag, &thread], 2, &process);
        refused(
            &place,
            &[flag, &format!("--pid={ended_id}")],
            2,
            "has ended",
        );
        refused(&place, &[flag, "--pid=0"], 2, "'0'");
        refused(
            &place,
            &[flag, "--pid=1", "--", "true"],
            2,
            "cannot be used with",
        );
        let kernel = std::fs::read_to_string("/proc/2/comm");
        if kernel.is_ok_and(|name| name.trim() == "kthreadd") {
            refused(&place, &[flag, "--pid=2"], 2, "is a thread of the kernel");
        }
    }
    ended.wait().unwrap();
    let pid = format!("--pid={}", program.id());
    refused(&place, &[&pid], 2, "needs --sample or --calls");
    refused(&place, &[&pid, "--alloc"], 2, "needs --sample or --calls");
    refused(&place, &[&pid, "--calls", "--sample"], 2, "not both");
    program.ends();
}

#[test]
fn a_process_has_one_tracer_and_any_number_of_samplers() {
    let means = means();
    if means.len() < 2 {
        return;
    }
    let (place, other) = (Place::new(), Place::new());
    let program = place.program();
    let tracer = place.attach("--calls", program.id());
    let pid = format!("--pid={}", program.id());
    let why = format!("is traced already, by process {}", tracer.child.id());
    refused(&other, &["--calls", &pid], 3, &why);
    let sampler = other.attach("--sample", program.id());
    sampler.stop();
    tracer.stop();
    program.ends();
}

#[test]
fn a_process_of_another_user_is_root_s_to_record() {
    // SAFETY: takes nothing.
    if unsafe { libc::geteuid() } != 0 {
        return;
    }
    let place = Place::new();
    let program = place.program();
    for flag in ["--sample", "--calls"] {
        let done = Command::new(env!("CARGO_BIN_EXE_trueno-record"))
            .args(["run", flag, "--pid", &program.id().to_string()])
            .current_dir("/")
            .uid(NOBODY)
            .gid(NOBODY)
            .output();
        let Ok(done) = done else {
            eprintln!("left out: the recorder cannot be run by others");
            return;
        };
        let said = String::from_utf8(done.stderr).unwrap();
        assert_eq!(done.status.code(), Some(3), "{said}");
        assert!(
            said.contains("belongs to user root") && said.contains("as root"),
            "{said}"
        );
    }
    program.ends();
}
