//! Threads that end waits of others, as the kernel's tracepoint of wakings tells.

use std::collections::BTreeMap;
use std::process::{Command, Output};

use trueno_testing::{Table, run_json, table};

use crate::waits::cpu_ns;
use crate::{Place, can_sample, program, text};

/// Runs one command with readable tracepoints, in a private mount namespace.
const MOUNT: &str = "mount -t tracefs tracefs /sys/kernel/tracing && exec \"$0\" \"$@\"";

impl Place {
    fn record_with_wakings(&self, role: &str) -> Option<Output> {
        let plain = self.part(role);
        let mut command = Command::new("unshare");
        command
            .args(["-m", "sh", "-c", MOUNT])
            .arg(plain.get_program())
            .args(plain.get_args());
        command.env(program::ROLE, role).current_dir(self.folder());
        let done = command.output().ok()?;
        let is_told = run_json_of(self).is_some_and(|wakers| wakers == "sched:sched_waking");
        if !is_told {
            eprintln!("left out: this user may not see wakings (trueno-record doctor)");
        }
        is_told.then_some(done)
    }
}

fn run_json_of(place: &Place) -> Option<String> {
    place
        .run()
        .exists()
        .then(|| run_json(&place.run()).values["wakers"].clone())
}

fn by_id(rows: &Table) -> BTreeMap<i128, (usize, i128, i128, i128)> {
    let number = |column: &str, row: usize| rows.number(column, row).unwrap();
    (0..rows.rows)
        .map(|row| {
            let start_ns = number("start_ns", row);
            let end_ns = start_ns + number("dur_ns", row);
            (
                number("id", row),
                (row, number("thread", row), start_ns, end_ns),
            )
        })
        .collect()
}

#[test]
fn a_wait_is_ended_by_the_stretch_of_the_thread_that_wrote() {
    if !can_sample() {
        return;
    }
    let place = Place::new();
    let Some(done) = place.record_with_wakings("waits") else {
        return;
    };
    assert_eq!(
        done.status.code(),
        Some(program::CODE),
        "{}",
        text(&done.stderr)
    );
    assert!(text(&done.stderr).contains("ended by another of these threads"));
    let [syncs, calls, edges, threads] =
        ["syncs", "calls", "edges", "threads"].map(|name| table(&place.run(), name));
    let (waits, stretches) = (by_id(&syncs), by_id(&calls));
    let (kinds, names) = (syncs.texts("kind"), syncs.texts("name"));
    assert!(
        calls
            .texts("kind")
            .iter()
            .all(|kind| *kind == Some("on_cpu"))
    );
    let thread = |name: &str| {
        let row = threads
            .texts("name")
            .iter()
            .position(|found| *found == Some(name));
        threads.number("thread", row.unwrap()).unwrap()
    };
    let (reader, others) = (thread("reader"), threads.rows as i128);
    let (mut reads, mut ended_naps) = (0, 0);
    for row in 0..edges.rows {
        let end = |column: &str| edges.number(column, row).unwrap();
        let (_, by, from_ns, until_ns) = stretches[&end("from")];
        let (wait, of, _, ended_ns) = waits[&end("to")];
        assert_ne!(by, of, "nobody wakes himself");
        assert!(by < others && kinds[wait] == Some("off_cpu"));
        if edges.texts("kind")[row] == Some("wakes") {
            assert!(
                (from_ns..=until_ns).contains(&ended_ns),
                "it ran when it woke"
            );
        }
        reads += usize::from(of == reader && names[wait] == Some("read"));
        ended_naps += usize::from(names[wait] == Some("clock_nanosleep"));
    }
    // The reader may find the byte there; the clock alone ends naps.
    let waited = (0..syncs.rows).filter(|row| {
        kinds[*row] == Some("off_cpu")
            && names[*row] == Some("read")
            && syncs.number("thread", *row) == Some(reader)
    });
    assert_eq!((reads, ended_naps), (waited.count(), 0));
}

#[test]
fn a_wait_for_a_packet_of_the_machine_is_ended_by_the_thread_that_sent_it() {
    if !can_sample() {
        return;
    }
    let place = Place::new();
    if place.record_with_wakings("loopback").is_none() {
        return;
    }
    let told = run_json(&place.run()).values["wakers_over_loopback"].clone();
    let [syncs, calls, edges, threads] =
        ["syncs", "calls", "edges", "threads"].map(|name| table(&place.run(), name));
    let (waits, stretches) = (by_id(&syncs), by_id(&calls));
    let names = threads.texts("name");
    let talker = |name: &str| {
        let row = names.iter().position(|found| *found == Some(name));
        threads.number("thread", row.unwrap()).unwrap()
    };
    let [asks, answers, bystander] = program::TALKERS.map(talker);
    let calls = syncs.texts("name");
    let reads = |name: Option<&str>| name.is_some_and(|name| name.starts_with("recv"));
    let mut woken = 0;
    for row in 0..edges.rows {
        let end = |column: &str| edges.number(column, row).unwrap();
        let (_, by, ..) = stretches[&end("from")];
        let (wait, of, ..) = waits[&end("to")];
        if !reads(calls[wait]) {
            continue;
        }
        assert_ne!(by, bystander, "what it sends wakes nobody else");
        match of {
            _ if of == asks => assert_eq!(by, answers),
            _ if of == answers => assert_eq!(by, asks),
            _ => panic!("{of} talks to itself"),
        }
        woken += 1;
    }
    let waited = calls.iter().filter(|name| reads(**name)).count();
    eprintln!("{woken} of {waited} waits for packets were ended by threads of the program; {told}");
    match told.starts_with("not recorded: ") {
        true => assert_eq!(woken, 0),
        // Of some the kernel may have left the receipt to a thread of its own.
        false => assert!(waited == 0 || woken > 0, "none of {waited}"),
    }
}

/// For each thread: the sum of its rows of `calls`, and its running time by `cpu_time`.
fn times(place: &Place) -> BTreeMap<i128, (i128, i128)> {
    let [calls, counters] = ["calls", "counters"].map(|name| table(&place.run(), name));
    let mut times: BTreeMap<i128, (i128, i128)> = BTreeMap::new();
    for row in 0..calls.rows {
        let of = times
            .entry(calls.number("thread", row).unwrap())
            .or_default();
        of.0 += calls.number("dur_ns", row).unwrap();
    }
    for row in 0..counters.rows {
        let of = times
            .entry(counters.number("thread", row).unwrap())
            .or_default();
        of.1 += cpu_ns(&counters, row);
    }
    times
}

#[test]
fn the_time_that_a_thread_ran_is_that_of_its_stretches() {
    if !can_sample() {
        return;
    }
    let place = Place::new();
    if place.record_with_wakings("waits").is_none() {
        return;
    }
    let times = times(&place);
    assert!(times.len() >= 2);
    for (thread, (stretches_ns, ran_ns)) in times {
        assert_eq!(stretches_ns, ran_ns, "thread {thread}");
    }
}

#[test]
fn where_nobody_tells_of_wakings_the_run_says_why() {
    if !can_sample() {
        return;
    }
    let place = Place::new();
    let done = place.record("waits");
    let wakers = run_json_of(&place).unwrap();
    let said = text(&done.stderr).contains("which thread ended a wait is not recorded");
    // Stretches in which threads ran are there for those who woke others.
    assert_eq!(
        place.run().join("calls").exists(),
        wakers == "sched:sched_waking"
    );
    match wakers.strip_prefix("not recorded: ") {
        Some(reason) => assert!(said && text(&done.stderr).contains(reason), "{reason}"),
        None => assert!(!said && wakers == "sched:sched_waking", "{wakers}"),
    }
}
