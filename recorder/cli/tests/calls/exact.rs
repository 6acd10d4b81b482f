//! Every call is a row, with its thread, file, bytes and result.

use trueno_format::run_json::State;
use trueno_testing::{run_json, table};

use crate::program::{BYTES, CODE, THREADS, WRITES};
use crate::{Place, can_trace, text};

#[test]
fn each_write_of_each_thread_is_a_row() {
    if !can_trace() {
        return;
    }
    for flags in ["--calls", "--calls=openat,open,write,close", "--calls=file"] {
        let place = Place::new();
        let done = place.record(&[flags, "--strict"], "writes");
        assert_eq!(done.status.code(), Some(CODE), "{}", text(&done.stderr));
        let calls = place.calls();
        let mut threads = Vec::new();
        for number in 0..THREADS {
            let relative = format!("file {number}");
            let opened = calls.of("openat", Some(&relative));
            assert_eq!(opened.len(), 1, "{flags}");
            let absolute = place.folder().canonicalize().unwrap().join(&relative);
            let absolute = absolute.to_str().unwrap();
            let written = calls.of("write", Some(absolute));
            assert_eq!(written.len(), WRITES, "{flags}");
            let thread = calls.number("thread", opened[0]);
            let mut end_ns = 0;
            for row in &written {
                assert_eq!(calls.number("bytes", *row), Some(BYTES as i128));
                assert_eq!(calls.number("status", *row), Some(BYTES as i128));
                assert_eq!(calls.number("thread", *row), thread);
                let start_ns = calls.number("start_ns", *row).unwrap();
                assert!(start_ns >= end_ns, "calls of a thread follow each other");
                end_ns = start_ns + calls.number("dur_ns", *row).unwrap();
            }
            assert_eq!(calls.of("close", Some(absolute)).len(), 1, "{flags}");
            threads.push(thread);
        }
        threads.sort_unstable();
        threads.dedup();
        assert_eq!(threads.len(), THREADS, "{flags}");
        let run = run_json(&place.run());
        assert_eq!(run.state, State::Finished);
        assert!(!place.run().join("live").exists());
        let wall_ns = i128::from(run.wall_ns.unwrap());
        for row in 0..calls.0.rows {
            let start_ns = calls.number("start_ns", row).unwrap();
            let dur_ns = calls.number("dur_ns", row).unwrap();
            assert!(start_ns >= 0 && dur_ns >= 0 && start_ns + dur_ns <= wall_ns);
        }
    }
}

#[test]
fn only_what_is_asked_for_is_there() {
    if !can_trace() {
        return;
    }
    let place = Place::new();
    place.record(&["--calls=futex,close"], "writes");
    let names = place.calls();
    let names = names.0.texts("name");
    assert!(names.contains(&Some("close")));
    assert!(
        names
            .iter()
            .all(|name| matches!(name, Some("close" | "futex")))
    );

    let place = Place::new();
    place.record(&["--calls=!write,!close"], "writes");
    let calls = place.calls();
    assert_eq!(
        calls.of("write", None).len() + calls.of("close", None).len(),
        0
    );
    assert_eq!(calls.of("openat", Some("file 2")).len(), 1);
    assert!(!calls.of("mmap", None).is_empty());
}

#[test]
fn what_fails_has_the_name_of_its_error() {
    if !can_trace() {
        return;
    }
    let place = Place::new();
    let done = place.record(&["--calls"], "errors");
    assert_eq!(done.status.code(), Some(CODE), "{}", text(&done.stderr));
    let calls = place.calls();
    let errors = calls.0.texts("errno");
    let of = |name: &str, target: Option<&str>| {
        let rows = calls.of(name, target);
        let mut found: Vec<_> = rows.iter().filter_map(|row| errors[*row]).collect();
        found.dedup();
        found
    };
    assert_eq!(of("statx", Some("not there")), ["ENOENT"]);
    assert_eq!(of("openat", Some("not there either")), ["ENOENT"]);
    // Some containers forbid what they do not know.
    let unknown = of("syscall_4000", None);
    assert!(unknown == ["ENOSYS"] || unknown == ["EPERM"], "{unknown:?}");
    assert_eq!(
        of("access", None)
            .iter()
            .filter(|of| **of == "EFAULT")
            .count(),
        1
    );
    let rows = calls.of("close", None);
    let refused: Vec<_> = rows
        .iter()
        .filter(|row| errors[**row] == Some("EBADF"))
        .collect();
    assert_eq!(refused.len(), 1);
    assert_eq!(calls.number("status", *refused[0]), Some(-1));
}

#[test]
fn processes_and_threads_are_told_apart_and_connected() {
    if !can_trace() {
        return;
    }
    let place = Place::new();
    let done = place.record(&["--calls"], "children");
    assert_eq!(done.status.code(), Some(CODE), "{}", text(&done.stderr));
    assert!(
        text(&done.stderr).contains(" in 7 processes"),
        "{}",
        text(&done.stderr)
    );
    let threads = table(&place.run(), "threads");
    let mut processes = threads.numbers("process");
    processes.sort_unstable();
    processes.dedup();
    assert_eq!(processes.len(), 7);
    let names = threads.texts("name");
    assert_eq!(names.iter().filter(|name| **name == Some("sh")).count(), 6);
    let edges = table(&place.run(), "edges");
    let kinds = edges.texts("kind");
    let of = |kind: &str| {
        let rows = 0..edges.rows;
        rows.filter(|row| kinds[*row] == Some(kind))
            .collect::<Vec<usize>>()
    };
    let calls = place.calls();
    let ids = calls.0.numbers("id");
    let row = |id: Option<i128>| ids.iter().position(|of| *of == id).unwrap();
    let names = calls.0.texts("name");
    let start_ns = |row| calls.number("start_ns", row);
    // All threads but the first were begun by a call of another one.
    assert_eq!(of("spawns").len(), threads.rows - 1);
    for edge in of("spawns") {
        let (from, to) = (
            row(edges.number("from", edge)),
            row(edges.number("to", edge)),
        );
        let name = names[from].unwrap();
        assert!(
            ["clone", "clone3", "fork", "vfork"].contains(&name),
            "{name}"
        );
        assert_ne!(calls.number("thread", from), calls.number("thread", to));
        assert!(
            start_ns(from) < start_ns(to),
            "nobody acts before it is begun"
        );
    }
    // And all processes but the first were waited for, which is no work.
    let waits = table(&place.run(), "syncs");
    let wait_ids = waits.numbers("id");
    assert_eq!(of("joins").len(), 6);
    for edge in of("joins") {
        let last = row(edges.number("from", edge));
        let to = edges.number("to", edge);
        let wait = wait_ids.iter().position(|of| *of == to).unwrap();
        assert_eq!(waits.texts("kind")[wait], Some("join"));
        assert_eq!(waits.texts("name")[wait], Some("wait4"));
        let end_ns = |start: Option<i128>, dur: Option<i128>| start.unwrap() + dur.unwrap();
        let ended_ns = end_ns(start_ns(last), calls.number("dur_ns", last));
        let waited_ns = end_ns(waits.number("start_ns", wait), waits.number("dur_ns", wait));
        assert!(ended_ns <= waited_ns, "nobody is waited for after the wait");
    }
}

#[test]
fn what_waits_for_others_is_a_wait_and_what_works_is_none() {
    if !can_trace() {
        return;
    }
    let place = Place::new();
    let text = "echo given | { read word; echo $word; }; sleep 0.01; read line < own";
    std::fs::write(place.path("own"), "a file\n").unwrap();
    let done = place
        .command(&["--calls"], &["sh", "-c", text])
        .output()
        .unwrap();
    assert_eq!(done.status.code(), Some(0));
    let waits = table(&place.run(), "syncs");
    let names = waits.texts("name");
    for name in ["read", "clock_nanosleep", "wait4"] {
        assert!(names.contains(&Some(name)), "{name}: {names:?}");
    }
    assert!(!names.contains(&Some("openat")) && !names.contains(&Some("write")));
    // Reading a file waits for nobody.
    let calls = place.calls();
    let own = place.folder().canonicalize().unwrap().join("own");
    let of_file = calls.of("read", own.to_str());
    assert!(!of_file.is_empty());
    let starts = waits.numbers("start_ns");
    assert!(
        of_file
            .iter()
            .all(|row| !starts.contains(&calls.number("start_ns", *row)))
    );
}
