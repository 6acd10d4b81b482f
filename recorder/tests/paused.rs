//! A paused recorder: what happens meanwhile is in no table, and the stretch is a fact of the run.

use std::time::Duration;

use trueno_recorder::{BrickId, Recorder, SpanId};
use trueno_testing::{folder, run_json, table};

fn names(path: &std::path::Path, name: &str) -> Vec<String> {
    let rows = table(path, name);
    let names = rows.texts("name");
    names.into_iter().flatten().map(str::to_owned).collect()
}

#[test]
fn what_happens_meanwhile_is_in_no_table_and_counts_nowhere() {
    let (_folder, path) = folder();
    let rec = Recorder::create(&path).unwrap();
    drop(rec.brick("before"));
    rec.pause();
    assert!(rec.is_paused() && !rec.is_enabled());
    let during = rec.brick("during");
    assert_eq!(during.id(), SpanId::NONE);
    drop(rec.kernel("during"));
    drop(rec.iteration(7));
    rec.checksum("during", None, &[1.0_f32], &[1]);
    rec.instant("during");
    rec.value("during", "kept");
    std::thread::scope(|scope| {
        scope.spawn(|| drop(rec.brick("during, on another thread")));
    });
    rec.resume();
    assert!(!rec.is_paused() && rec.is_enabled());
    // It began while nothing was recorded.
    drop(during);
    drop(rec.brick("after"));
    let summary = rec.finish().unwrap();
    assert_eq!((summary.dropped, rec.status().late), (0, 0));
    assert_eq!(names(&path, "bricks"), ["before", "after"]);
    assert!(!path.join("kernels").exists() && !path.join("checksums").exists());
    assert_eq!(run_json(&path).values["during"], "kept");
}

#[test]
fn each_stretch_is_a_row_with_its_beginning_and_length() {
    let (_folder, path) = folder();
    let rec = Recorder::create(&path).unwrap();
    for _ in 0..2 {
        drop(rec.brick("a"));
        rec.pause();
        // Again: nothing.
        rec.pause();
        std::thread::sleep(Duration::from_millis(2));
        rec.resume();
        rec.resume();
    }
    drop(rec.brick("a"));
    rec.finish().unwrap();
    let paused = table(&path, "annotations");
    assert_eq!(paused.rows, 2);
    assert_eq!(paused.texts("kind"), [Some("paused"); 2]);
    let bricks = table(&path, "bricks");
    let mut total_ns = 0;
    for row in 0..2 {
        let start = paused.number("time_ns", row).unwrap();
        let end = start + paused.number("dur_ns", row).unwrap();
        assert!(end - start >= 2_000_000);
        total_ns += end - start;
        assert_eq!(
            paused.number("thread", row),
            None,
            "it is the whole program's"
        );
        let ended = bricks.number("start_ns", row).unwrap() + bricks.number("dur_ns", row).unwrap();
        assert!(ended <= start && end <= bricks.number("start_ns", row + 1).unwrap());
    }
    let run = run_json(&path);
    let said = run.values["paused"].clone();
    assert!(run.problems.iter().any(|problem| problem.contains(&said)));
    let seconds = said.strip_prefix("2 times, for ").unwrap();
    let seconds: f64 = seconds.split(' ').next().unwrap().parse().unwrap();
    assert!((seconds - total_ns as f64 / 1e9).abs() < 2e-5, "{said}");
}

#[test]
fn rows_that_are_open_are_recorded_when_they_end() {
    let (_folder, path) = folder();
    let rec = Recorder::create(&path).unwrap();
    {
        let _iteration = rec.iteration(3);
        let mut brick = rec.brick(BrickId::QkvProjection);
        brick.elements(4);
        let kernel = rec.kernel("ends meanwhile");
        let wait = rec.wait("ends meanwhile", &[]);
        rec.pause();
        drop(wait);
        drop(kernel);
        rec.resume();
        drop(rec.kernel("after"));
    }
    let tile = rec.tile(trueno_recorder::TileLevel::Macro, 0, 0);
    let detached = rec.brick("detached").detach();
    rec.pause();
    drop(tile);
    drop(detached);
    let summary = rec.finish().unwrap();
    assert_eq!(
        (summary.open, summary.dropped, rec.status().late),
        (0, 0, 0)
    );
    assert_eq!(names(&path, "kernels"), ["ends meanwhile", "after"]);
    assert_eq!(names(&path, "syncs"), ["ends meanwhile"]);
    assert_eq!(table(&path, "tiles").rows, 1);
    let bricks = table(&path, "bricks");
    let kernels = table(&path, "kernels");
    let brick = (0..bricks.rows).find(|row| bricks.number("elements", *row) == Some(4));
    let brick = bricks.number("id", brick.unwrap());
    assert!((0..2).all(|row| kernels.number("brick", row) == brick));
    assert_eq!(bricks.rows, 3, "iteration, brick, detached");
}

#[test]
fn the_end_of_the_run_ends_a_pause() {
    let (_folder, path) = folder();
    let rec = Recorder::create(&path).unwrap();
    rec.pause();
    let other = rec.clone();
    let summary = rec.finish().unwrap();
    other.resume();
    assert!(!other.is_enabled() && !other.is_paused());
    drop(other.brick("late"));
    let paused = table(&path, "annotations");
    assert_eq!(paused.rows, 1);
    let end = paused.number("time_ns", 0).unwrap() + paused.number("dur_ns", 0).unwrap();
    assert!(end <= i128::from(summary.wall_ns));
    // Nothing was recorded, and nothing is paused.
    let rec = Recorder::disabled();
    rec.pause();
    assert!(!rec.is_paused());
    rec.resume();
    assert!(!rec.is_enabled());
}

#[test]
fn threads_that_pause_and_resume_at_once_leave_stretches_that_do_not_overlap() {
    let (_folder, path) = folder();
    let rec = Recorder::create(&path).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..500 {
                    rec.pause();
                    drop(rec.brick("perhaps"));
                    rec.resume();
                    drop(rec.brick("perhaps"));
                }
            });
        }
    });
    assert!(rec.is_enabled() && !rec.is_paused());
    rec.finish().unwrap();
    let paused = table(&path, "annotations");
    let mut stretches: Vec<(i128, i128)> = (0..paused.rows)
        .map(|row| {
            let start = paused.number("time_ns", row).unwrap();
            (start, start + paused.number("dur_ns", row).unwrap())
        })
        .collect();
    stretches.sort_unstable();
    assert!(stretches.windows(2).all(|two| two[0].1 <= two[1].0));
    let said = &run_json(&path).values["paused"];
    assert!(
        said.starts_with(&format!("{} times", stretches.len())),
        "{said}"
    );
}

#[test]
fn a_forked_child_cannot_resume_its_parents_recorder() {
    let (_folder, path) = folder();
    let rec = Recorder::create(&path).unwrap();
    rec.pause();
    // SAFETY: the child makes a few calls and ends.
    let child = unsafe { libc::fork() };
    if child == 0 {
        rec.resume();
        let is_off = !rec.is_enabled() && !rec.is_paused();
        drop(rec.brick("of the child"));
        // SAFETY: ends the child.
        unsafe { libc::_exit(i32::from(!is_off)) };
    }
    let mut status = 0;
    // SAFETY: the status is valid for the call.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    assert_eq!(status, 0);
    rec.resume();
    drop(rec.brick("of the parent"));
    rec.finish().unwrap();
    assert_eq!(names(&path, "bricks"), ["of the parent"]);
}
