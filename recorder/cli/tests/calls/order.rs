//! A wait has an edge from the call that ended it, and from no other.

use std::collections::HashMap;
use std::fs;
use std::io::Write;
use std::process::Stdio;

use trueno_testing::{Table, table};

use crate::program::{CODE, TURNS};
use crate::{Calls, Place, can_trace, text};

struct Recorded {
    calls: Calls,
    waits: Table,
    edges: Table,
    call_of: HashMap<i128, usize>,
    /// For each row of `syncs`, the row of `calls` for the same call.
    same: Vec<usize>,
}

impl Recorded {
    fn new(place: &Place) -> Self {
        let calls = place.calls();
        let waits = table(&place.run(), "syncs");
        let edges = table(&place.run(), "edges");
        let call_of = (0..calls.0.rows).map(|row| (calls.number("id", row).unwrap(), row));
        let key = |table: &Table, row| (table.number("thread", row), table.number("start_ns", row));
        let by_key: HashMap<_, _> = (0..calls.0.rows)
            .map(|row| (key(&calls.0, row), row))
            .collect();
        let same = (0..waits.rows).map(|row| by_key[&key(&waits, row)]);
        Self {
            call_of: call_of.collect(),
            same: same.collect(),
            calls,
            waits,
            edges,
        }
    }

    fn causes(&self, wait: usize) -> Vec<(&str, usize)> {
        let id = self.waits.number("id", wait);
        let kinds = self.edges.texts("kind");
        (0..self.edges.rows)
            .filter(|edge| self.edges.number("to", *edge) == id)
            .map(|edge| {
                let from = self.edges.number("from", edge).unwrap();
                (kinds[edge].unwrap(), self.call_of[&from])
            })
            .collect()
    }

    /// The only cause of a wait. Checks that it began before the wait ended, in another thread.
    fn only_cause(&self, wait: usize) -> (&str, usize) {
        let causes = self.causes(wait);
        assert_eq!(causes.len(), 1, "{}", self.told(wait));
        let begun_ns = self.calls.number("start_ns", causes[0].1).unwrap();
        assert!(begun_ns < self.end_ns(wait));
        assert_ne!(self.thread(causes[0].1), self.thread(self.same[wait]));
        causes[0]
    }

    fn told(&self, wait: usize) -> String {
        let call = self.same[wait];
        format!(
            "{:?} of thread {:?}: {:?}",
            self.name(call),
            self.thread(call),
            self.causes(wait)
        )
    }

    fn end_ns(&self, wait: usize) -> i128 {
        let number = |column| self.waits.number(column, wait).unwrap();
        number("start_ns") + number("dur_ns")
    }

    fn thread(&self, call: usize) -> i128 {
        self.calls.number("thread", call).unwrap()
    }

    fn name(&self, call: usize) -> &str {
        self.calls.0.texts("name")[call].unwrap()
    }

    fn status(&self, wait: usize) -> i128 {
        self.calls.number("status", self.same[wait]).unwrap()
    }

    fn threads_of(&self, name: &str, target: Option<&str>) -> Vec<i128> {
        let rows = self.calls.of(name, target);
        let mut threads: Vec<_> = rows.iter().map(|row| self.thread(*row)).collect();
        threads.sort_unstable();
        threads.dedup();
        threads
    }

    fn waits_of(&self, name: &str, thread: i128) -> Vec<usize> {
        let names = self.waits.texts("name");
        let mut rows: Vec<usize> = (0..self.waits.rows)
            .filter(|row| names[*row] == Some(name))
            .filter(|row| self.waits.number("thread", *row) == Some(thread))
            .collect();
        rows.sort_by_key(|row| self.waits.number("start_ns", *row));
        rows
    }

    fn calls_of(&self, name: &str, target: &str, thread: i128) -> Vec<usize> {
        let mut rows = self.calls.of(name, Some(target));
        rows.retain(|row| self.thread(*row) == thread);
        rows.sort_by_key(|row| self.calls.number("start_ns", *row));
        rows
    }
}

fn record(flags: &str, role: &str) -> Recorded {
    let place = Place::new();
    let done = place.record(&[flags, "--strict"], role);
    assert_eq!(done.status.code(), Some(CODE), "{}", text(&done.stderr));
    Recorded::new(&place)
}

#[test]
fn each_wait_for_a_lock_has_the_wake_that_ended_it() {
    if !can_trace() {
        return;
    }
    for flags in ["--calls", "--calls=futex,getppid"] {
        let run = record(flags, "takes turns");
        // Each of the two says so before it begins.
        let threads = run.threads_of("getppid", None);
        assert_eq!(threads.len(), 2, "{flags}");
        let mut woken = 0;
        for thread in &threads {
            for wait in run.waits_of("futex", *thread) {
                if run.status(wait) != 0 {
                    assert_eq!(run.causes(wait), [], "{}", run.told(wait));
                    continue;
                }
                woken += 1;
                let (kind, from) = run.only_cause(wait);
                assert_eq!((kind, run.name(from)), ("wakes", "futex"));
                assert!(threads.contains(&run.thread(from)), "{}", run.told(wait));
            }
        }
        // How many of the turns are waited for is up to the scheduler.
        assert!(woken > 0, "{flags}");
    }
}

#[test]
fn what_waits_for_the_end_of_a_thread_joins_its_last_call() {
    if !can_trace() {
        return;
    }
    let run = record("--calls", "joins");
    let of_sleeper = run.threads_of("getppid", None)[0];
    let calls = (0..run.calls.0.rows).filter(|row| run.thread(*row) == of_sleeper);
    let last = calls.max_by_key(|row| run.calls.number("start_ns", *row));
    let of_last = |wait: &usize| run.causes(*wait).contains(&("joins", last.unwrap()));
    let waits: Vec<usize> = (0..run.waits.rows).filter(of_last).collect();
    assert_eq!(waits.len(), 1);
    assert_eq!(run.name(run.same[waits[0]]), "futex");
    run.only_cause(waits[0]);
}

#[test]
fn each_read_from_a_pipe_has_the_write_that_it_waited_for() {
    if !can_trace() {
        return;
    }
    for flags in ["--calls", "--calls=read,write,getppid"] {
        let run = record(flags, "plays ball");
        let threads = run.threads_of("getppid", None);
        assert_eq!(threads.len(), 2, "{flags}");
        for (reader, writer) in [(threads[0], threads[1]), (threads[1], threads[0])] {
            let reads = run.waits_of("read", reader);
            let reads: Vec<usize> = reads
                .into_iter()
                .filter(|row| run.status(*row) == 1)
                .collect();
            let writes = run.calls_of("write", "pipe", writer);
            let writes: Vec<usize> = writes.into_iter().collect();
            assert_eq!((reads.len(), writes.len()), (TURNS, TURNS), "{flags}");
            for (read, write) in reads.into_iter().zip(writes) {
                assert_eq!(run.only_cause(read), ("wakes", write), "{flags}");
            }
        }
    }
}

#[test]
fn sockets_and_event_counters_are_followed_too() {
    if !can_trace() {
        return;
    }
    let run = record("--calls", "speaks");
    let threads = run.threads_of("getppid", None);
    assert_eq!(threads.len(), 2);
    for (reader, writer) in [(threads[0], threads[1]), (threads[1], threads[0])] {
        for (read, write, target, times) in [
            ("recvfrom", "sendto", "socket", 2 * TURNS),
            ("read", "write", "eventfd", TURNS),
        ] {
            let reads = run.waits_of(read, reader);
            let reads = reads.into_iter().filter(|row| {
                let targets = run.calls.0.texts("target");
                targets[run.same[*row]] == Some(target)
            });
            let writes = run.calls_of(write, target, writer);
            let pairs: Vec<_> = reads.zip(writes).collect();
            assert_eq!(pairs.len(), times, "{target}");
            for (read, write) in pairs {
                assert_eq!(run.only_cause(read), ("wakes", write), "{target}");
            }
        }
    }
    for name in ["poll", "epoll_wait"] {
        let polls = run.waits_of(name, threads[0]);
        let polls: Vec<usize> = polls
            .into_iter()
            .filter(|row| run.status(*row) == 1)
            .collect();
        assert_eq!(polls.len(), 1, "{name}");
        let (kind, from) = run.only_cause(polls[0]);
        assert_eq!((kind, run.name(from)), ("wakes", "write"), "{name}");
    }
}

#[test]
fn a_wait_that_a_signal_ended_has_the_call_that_sent_it() {
    if !can_trace() {
        return;
    }
    let run = record("--calls", "sends signals");
    let waiter = run.threads_of("getppid", None)[0];
    let interrupted = |wait: &usize| run.status(*wait) == -1;
    let sleeps = run.waits_of("clock_nanosleep", waiter);
    let sleeps: Vec<usize> = sleeps.into_iter().filter(interrupted).collect();
    assert_eq!(sleeps.len(), 1);
    let taken = run.waits_of("rt_sigtimedwait", waiter);
    assert_eq!(taken.len(), 1);
    for wait in [sleeps[0], taken[0]] {
        let (kind, from) = run.only_cause(wait);
        assert_eq!((kind, run.name(from)), ("wakes", "tgkill"));
    }
}

#[test]
fn a_wait_that_time_or_somebody_else_ended_has_no_cause() {
    if !can_trace() {
        return;
    }
    // Nobody wakes it before its time is over.
    let run = record("--calls", "waits in vain");
    let waiter = run.threads_of("getppid", None)[0];
    let errors = run.calls.0.texts("errno");
    let waits: Vec<usize> = ["futex", "poll"]
        .iter()
        .flat_map(|name| run.waits_of(name, waiter))
        .collect();
    let timed_out = |wait: &&usize| errors[run.same[**wait]] == Some("ETIMEDOUT");
    assert_eq!(waits.iter().filter(timed_out).count(), 1);
    let polls = run.waits_of("poll", waiter);
    assert!(!polls.is_empty());
    for wait in waits.iter().filter(timed_out).chain(&polls) {
        assert_eq!(run.causes(*wait), [], "{}", run.told(*wait));
    }
    // The test itself writes, and nobody traces the test; into a pipe that the program has, and into one with a name.
    let place = Place::new();
    let fifo = place.path("fifo");
    let path = std::ffi::CString::new(fifo.to_str().unwrap()).unwrap();
    // SAFETY: the path ends with a zero.
    assert_eq!(unsafe { libc::mkfifo(path.as_ptr(), 0o600) }, 0);
    let script = "read one; echo $one; read two < fifo; echo $two | { read three; }";
    let mut command = place.command(&["--calls"], &["sh", "-c", script]);
    let mut recorder = command
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    recorder
        .stdin
        .take()
        .unwrap()
        .write_all(b"given\n")
        .unwrap();
    fs::write(&fifo, "named\n").unwrap();
    assert!(recorder.wait().unwrap().success());
    let run = Recorded::new(&place);
    let names = run.waits.texts("name");
    let reads = (0..run.waits.rows).filter(|row| names[*row] == Some("read"));
    let got: Vec<usize> = reads.filter(|row| run.status(*row) > 0).collect();
    let target = |row: usize| run.calls.0.texts("target")[run.same[row]].unwrap();
    assert!(got.iter().any(|row| target(*row).ends_with("/fifo")));
    let shell = run.threads_of("execve", None)[0];
    let (own, of_child): (Vec<usize>, _) = got
        .into_iter()
        .partition(|row| run.thread(run.same[*row]) == shell);
    for row in own {
        assert_eq!(run.causes(row), [], "{}", run.told(row));
    }
    // The shell reads byte by byte: for the first one it waited, for others it may have.
    let (_, write) = run.only_cause(of_child[0]);
    assert_eq!(run.name(write), "write");
    for row in of_child {
        let causes = run.causes(row);
        assert!(causes.is_empty() || causes == [("wakes", write)]);
    }
}
