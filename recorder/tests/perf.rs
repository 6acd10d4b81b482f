//! Counters of the CPU around bricks: what this machine has is counted, what it refuses is said.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use trueno_recorder::{Error, PerfEvent, Recorder, run_json::Perf};
use trueno_testing::{Cell, Table, folder, run_json, table};

/// Tests that fork or count descriptors run one at a time.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn perf_of(path: &Path) -> Perf {
    run_json(path).recorder.perf.unwrap()
}

fn open_events() -> usize {
    let links = fs::read_dir("/proc/self/fd").unwrap();
    links
        .filter_map(|entry| fs::read_link(entry.ok()?.path()).ok())
        .filter(|to| to.to_string_lossy().contains("perf_event"))
        .count()
}

fn values(counters: &Table) -> BTreeMap<(i128, String), (f64, String)> {
    let row = |row: usize| {
        let (Cell::T(name), Cell::F(value), Cell::T(source)) = (
            counters.cell("name", row).clone(),
            counters.cell("value", row).clone(),
            counters.cell("source", row).clone(),
        ) else {
            panic!("row {row}");
        };
        let span = counters
            .number("span", row)
            .expect("every count has a brick");
        ((span, name), (value, source))
    };
    (0..counters.rows).map(row).collect()
}

fn touch_new_memory(bytes: usize) {
    let mut memory = vec![0u8; bytes];
    memory.iter_mut().step_by(4096).for_each(|byte| *byte = 1);
    std::hint::black_box(&memory);
}

#[test]
fn what_is_refused_has_a_reason_and_what_is_counted_has_rows() {
    let _alone = alone();
    let (_folder, path) = folder();
    let rec = Recorder::builder(&path)
        .perf(PerfEvent::ALL)
        .create()
        .unwrap();
    let at_first = rec.perf_status().unwrap();
    let brick = rec.brick("b");
    let id = brick.id().get();
    drop(brick);
    rec.finish().unwrap();
    let perf = perf_of(&path);
    let counters = table(&path, "counters");
    let names: Vec<&str> = perf
        .events
        .iter()
        .map(|event| event.name.as_str())
        .collect();
    assert_eq!(names, PerfEvent::ALL.map(PerfEvent::name));
    let values = values(&counters);
    for (event, before) in perf.events.iter().zip(&at_first.events) {
        assert_eq!(event.state, before.state, "known before the first brick");
        let has_row = values.contains_key(&(i128::from(id), event.name.clone()));
        if event.state == "counted" {
            assert_eq!(event.reason, None);
            assert_eq!(event.measured + event.scaled + event.not_counted, 1);
            assert_eq!(has_row, event.not_counted == 0, "{}", event.name);
        } else {
            assert_eq!(event.state, "not available");
            let reason = event.reason.as_deref().unwrap();
            assert!(reason.contains(' '), "in words: {reason}");
            assert!(!has_row, "{} was refused", event.name);
            assert_eq!(event.measured + event.scaled + event.not_counted, 0);
        }
    }
    let is_counted = |name: &str| {
        perf.events
            .iter()
            .any(|e| e.name == name && e.state == "counted")
    };
    assert!(
        !(is_counted("flops") && is_counted("flops_f32")),
        "added up they would count twice"
    );
    let is_any = perf.events.iter().any(|event| event.state == "counted");
    assert_eq!(perf.cost_ns_per_brick.is_some(), is_any);
}

#[test]
fn counts_are_inclusive_and_belong_to_their_brick() {
    let _alone = alone();
    let (_folder, path) = folder();
    let events = [PerfEvent::PageFaults, PerfEvent::TaskClock];
    let rec = Recorder::builder(&path).perf(events).create().unwrap();
    if rec.perf_status().unwrap().events[0].state != "counted" {
        return; // forbidden here; the test above has looked at the reason
    }
    drop(rec.brick("warm up"));
    let pages = 64 << 20 >> 12;
    let mut ids = Vec::new();
    {
        let outer = rec.brick("outer");
        ids.push(outer.id());
        {
            let inner = rec.function("inner");
            ids.push(inner.id());
            touch_new_memory(64 << 20);
        }
        let quiet = rec.brick("quiet");
        ids.push(quiet.id());
    }
    let moved = rec.brick("moved").detach();
    let moved_id = moved.id();
    std::thread::spawn(move || moved.end()).join().unwrap();
    rec.finish().unwrap();
    let counters = table(&path, "counters");
    let values = values(&counters);
    let of = |at: usize, name: &str| {
        let id: trueno_recorder::SpanId = ids[at];
        let (value, source) = &values[&(i128::from(id.get()), name.to_owned())];
        assert_eq!(source, "measured", "the kernel's own are never multiplexed");
        *value
    };
    let [outer, inner, quiet] = [0, 1, 2].map(|at| of(at, "page_faults"));
    // Fewer where pages are large: 32 MiB, on aarch64 with pages of 16 KiB.
    assert!(inner >= 2.0 && inner <= f64::from(pages) * 2.0, "{inner}");
    assert!(outer >= inner, "{outer} {inner}");
    assert!(quiet < inner, "{quiet} {inner}");
    let [outer, inner, quiet] = [0, 1, 2].map(|at| of(at, "task_clock"));
    assert!(
        outer >= inner + quiet && inner > 0.0,
        "{outer} {inner} {quiet}"
    );
    let moved = (i128::from(moved_id.get()), "task_clock".to_owned());
    assert!(!values.contains_key(&moved), "it ended on another thread");
    let units = counters.texts("unit");
    assert!(units.contains(&Some("ns")) && units.contains(&None));
}

#[test]
fn each_thread_counts_for_itself_and_closes_its_counters() {
    let _alone = alone();
    assert_eq!(open_events(), 0);
    let (_folder, path) = folder();
    let rec = Recorder::builder(&path)
        .perf(PerfEvent::ALL)
        .create()
        .unwrap();
    assert_eq!(open_events(), 0, "none before the first brick");
    let counted = rec.perf_status().unwrap();
    let counted = counted
        .events
        .iter()
        .filter(|e| e.state == "counted")
        .count();
    drop(rec.brick("here"));
    let of_one = open_events();
    assert!(of_one >= counted);
    std::thread::scope(|scope| {
        let there = || {
            drop(rec.task("there", None));
            if counted > 0 {
                assert!(open_events() > of_one);
            }
        };
        let threads = [(); 3].map(|()| scope.spawn(there));
        // A scope ends before the thread-locals of its threads are gone; a join does not.
        for thread in threads {
            thread.join().unwrap();
        }
    });
    assert_eq!(open_events(), of_one, "a thread's end closes its own");
    rec.finish().unwrap();
    assert_eq!(open_events(), 0, "the end of the run closes those here");
    let counters = table(&path, "counters");
    let perf = perf_of(&path);
    let rows: u64 = perf.events.iter().map(|e| e.measured + e.scaled).sum();
    assert_eq!(counters.rows as u64, rows);
    assert!(
        perf.events
            .iter()
            .all(|e| e.reason.is_some() || e.measured + e.scaled + e.not_counted == 4)
    );
}

#[test]
fn a_forked_child_has_no_counters_and_the_parent_goes_on() {
    let _alone = alone();
    let (_folder, path) = folder();
    let rec = Recorder::builder(&path)
        .perf([PerfEvent::TaskClock])
        .create()
        .unwrap();
    drop(rec.brick("before"));
    let open = open_events();
    let around = rec.brick("around");
    // SAFETY: the child reads /proc and leaves.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // A child that hangs is a failure, and no test that never ends.
        // SAFETY: a plain system call.
        unsafe { libc::alarm(1200) };
        drop(rec.brick("in the child"));
        let left = open_events();
        // SAFETY: ends the child here.
        unsafe { libc::_exit(left as i32) };
    }
    let mut status = 0;
    // SAFETY: waits for the child made above.
    unsafe { libc::waitpid(child, &mut status, 0) };
    assert!(libc::WIFEXITED(status), "the child ended badly: {status}");
    assert_eq!(libc::WEXITSTATUS(status), 0, "counters left in the child");
    assert_eq!(open_events(), open);
    drop(around);
    rec.finish().unwrap();
    let counted = u64::from(open > 0) * 2;
    assert_eq!(perf_of(&path).events[0].measured, counted);
}

#[test]
fn nothing_is_asked_for_by_default() {
    let _alone = alone();
    let (_folder, path) = folder();
    let rec = Recorder::create(&path).unwrap();
    drop(rec.brick("b"));
    assert_eq!(rec.perf_status(), None);
    assert_eq!(open_events(), 0);
    rec.finish().unwrap();
    assert_eq!(run_json(&path).recorder.perf, None);
    assert_eq!(Recorder::disabled().perf_status(), None);
}

#[test]
fn counters_without_their_table_are_refused() {
    for left_out in ["counters", "bricks"] {
        let (_folder, path) = folder();
        let builder = Recorder::builder(&path).perf([PerfEvent::Cycles]);
        let error = builder.without_table(left_out).create().unwrap_err();
        assert!(matches!(error, Error::Option { option: "perf", .. }));
        assert!(error.to_string().contains(left_out), "{error}");
        assert!(!path.exists());
    }
}
