//! A shell script stands for the program.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::*;
use crate::answers::{Answers, Page, PageState, QueryRequest, RunStatus};
use crate::cancel::Cancel;
use crate::refusal::Refusal;
use crate::timeline::{FrameWriter, Head, Label, LaneHead, Span, WindowRequest};

const PATIENCE: Duration = Duration::from_secs(120);

fn until<T>(what: &str, mut ready: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = ready() {
            return found;
        }
        assert!(began.elapsed() < PATIENCE, "never: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn frames(to: &Path) {
    let mut to = FrameWriter::new(std::fs::File::create(to).unwrap());
    to.head(&Head::default()).unwrap();
    to.labels(&[Label::default()]).unwrap();
    to.lane(&LaneHead {
        depths: vec![1],
        ..LaneHead::default()
    })
    .unwrap();
    to.span(Span {
        start_ns: 3,
        dur_ns: 4,
        id: 5,
        label: 0,
        depth: 0,
    })
    .unwrap();
    to.end(0).unwrap();
}

fn runs(folder: &Path, script: &str, names: &[&str]) -> Arc<Runs> {
    let file = folder.join("program");
    std::fs::write(
        &file,
        format!("#!/bin/sh\ncd {}\n{script}", folder.display()),
    )
    .unwrap();
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o755)).unwrap();
    let program = Program {
        file,
        flags: Vec::new(),
        plugin_flags: vec!["--plugins".into()],
        lanes_command: "lanes",
        before_start: |_| {},
    };
    let places = names.iter().map(|name| {
        let at = folder.join(name);
        std::fs::create_dir_all(&at).unwrap();
        std::fs::write(at.join("run.json"), "{}").unwrap();
        Place {
            shown: (*name).to_owned(),
            folder: at,
        }
    });
    let limits = QueryLimits {
        rows: 2,
        time: Duration::from_secs(9),
        memory_bytes: Some(1 << 30),
    };
    Arc::new(Runs::new(program, places.collect(), limits))
}

fn asked(run: usize, sql: &str) -> QueryRequest {
    QueryRequest {
        run,
        sql: sql.to_owned(),
    }
}

#[test]
fn a_run_is_read_and_what_becomes_of_it_is_told() {
    let dir = tempfile::tempdir().unwrap();
    frames(&dir.path().join("frames"));
    let script = "case \"$3\" in */bad.run) echo 'error: it is damaged' >&2; exit 2;; */cut.run) head -c 60 frames;; *) cat frames;; esac";
    let runs = runs(dir.path(), script, &["good.run", "bad.run", "cut.run"]);
    let window = WindowRequest {
        from_ns: 0,
        until_ns: 10,
        pixels: 10,
        lanes: vec![0],
    };
    assert!(matches!(runs.window(0, &window), Err(Refusal::NotYet(_))));
    assert!(matches!(runs.window(3, &window), Err(Refusal::Missing(_))));
    runs.start().unwrap();
    let state = until("all are read", || {
        let state = runs.state(None);
        let is_done =
            |status: &RunStatus| matches!(status, RunStatus::Ready | RunStatus::Failed { .. });
        state
            .runs
            .iter()
            .all(|run| is_done(&run.status))
            .then_some(state)
    });
    assert_eq!(state.runs[0].status, RunStatus::Ready);
    assert_eq!(
        (state.runs[0].spans, state.runs[0].extent_ns),
        (1, Some((0, 7)))
    );
    assert_eq!(
        state.runs[1].status,
        RunStatus::Failed {
            why: "it is damaged".into()
        }
    );
    assert!(
        matches!(&state.runs[2].status, RunStatus::Failed { why } if why.contains("before all was read"))
    );
    assert_eq!(runs.window(0, &window).unwrap().spans, 1);
    // Its files change, then they are gone; it is read again when it is asked for.
    let good = dir.path().join("good.run");
    let changed = || runs.state(None).runs[0].changed.clone();
    assert_eq!(changed(), None);
    std::fs::write(good.join("run.json"), "{ }").unwrap();
    assert!(changed().unwrap().contains("have changed"));
    std::fs::rename(&good, dir.path().join("away")).unwrap();
    assert!(changed().unwrap().contains("is gone"));
    assert_eq!(runs.window(0, &window).unwrap().spans, 1);
    std::fs::rename(dir.path().join("away"), &good).unwrap();
    runs.read_again(0).unwrap();
    until("it is read again", || {
        (runs.state(None).runs[0].status == RunStatus::Ready).then_some(())
    });
    assert_eq!(changed(), None);
    runs.stop();
}

#[test]
fn a_query_has_its_limits_and_ends_with_its_client() {
    let dir = tempfile::tempdir().unwrap();
    let script = "for last; do :; done\ncase \"$last\" in args) echo a; echo \"$*\";; many) echo n; yes 1;; \
                  sleep) echo $$ > pid; exec tail -f /dev/null;; *) echo 'error: no such table' >&2; exit 2;; esac";
    let runs = runs(dir.path(), script, &["one.run", "1 two.run"]);
    let cancel = Cancel::default();
    let args = runs.query(&asked(0, "args"), &cancel).unwrap();
    let shown = args.rows[0][0].clone().unwrap();
    assert!(
        shown.starts_with(
            "query --plugins --format csv --csv-exact --timeout 9000ms --memory 1073741824 -- "
        ),
        "{shown}"
    );
    assert_eq!(args.columns, ["a"]);
    let why = runs
        .query(&asked(0, "SELECT * FROM run_1_two.bricks"), &cancel)
        .unwrap_err();
    assert_eq!(why, Refusal::Failed("no such table".into()));
    let many = runs.query(&asked(0, "many"), &cancel).unwrap();
    assert!(many.is_cut && many.rows.len() == 2 && many.numeric == [true]);
    assert!(matches!(
        runs.query(&asked(2, "args"), &cancel),
        Err(Refusal::Missing(_))
    ));
    let waiting = {
        let (runs, cancel) = (runs.clone(), cancel.clone());
        std::thread::spawn(move || runs.query(&asked(0, "sleep"), &cancel))
    };
    let is_whole = |pid: &String| pid.ends_with('\n');
    let pid = || std::fs::read_to_string(dir.path().join("pid")).ok();
    let pid = until("it runs", || pid().filter(is_whole));
    cancel.cancel();
    until("it ends with its client", || {
        waiting.is_finished().then_some(())
    });
    assert!(waiting.join().unwrap().is_err());
    let place = format!("/proc/{}", pid.trim());
    assert!(!Path::new(&place).exists(), "the query outlives its client");
    assert_eq!(runs.state(None).runs[1].word, "run_1_two");
}

#[test]
fn no_more_than_so_many_queries_run_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let runs = runs(
        dir.path(),
        "for last; do :; done\necho > $last; exec tail -f /dev/null",
        &["one.run"],
    );
    let cancel = Cancel::default();
    for name in ["first", "second"] {
        let (runs, cancel) = (runs.clone(), cancel.clone());
        std::thread::spawn(move || runs.query(&asked(0, name), &cancel));
        until("it runs", || dir.path().join(name).exists().then_some(()));
    }
    let third = runs.query(&asked(0, "third"), &Cancel::default());
    assert!(matches!(third, Err(Refusal::Busy(_))), "{third:?}");
    cancel.cancel();
    until("there is room again", || {
        let fourth = Cancel::default();
        fourth.cancel();
        let asked = runs.query(&asked(0, "fourth"), &fourth);
        (!matches!(asked, Err(Refusal::Busy(_)))).then_some(())
    });
}

#[test]
fn pages_are_made_once_and_kept() {
    let dir = tempfile::tempdir().unwrap();
    let script = "echo $1 >> made; echo '… running category' >&2; case $1 in report) echo '<!doctype html>the report'; exit 1;; \
                  compare) echo 'error: nothing to compare' >&2; exit 2;; *) exit 2;; esac";
    let runs = runs(dir.path(), script, &["one.run", "two.run"]);
    runs.start().unwrap();
    let page = |page: Page| {
        until("it is made", || match runs.page(page).unwrap() {
            PageState::Making(_) => None,
            made => Some(made),
        })
    };
    for _ in 0..3 {
        assert!(
            matches!(page(Page::Report(1)), PageState::Ready(bytes) if bytes.ends_with(b"the report\n"))
        );
        assert!(
            matches!(page(Page::Compare { base: 0, run: 1 }), PageState::Failed(why) if why == "nothing to compare")
        );
    }
    let made = std::fs::read_to_string(dir.path().join("made")).unwrap();
    assert_eq!(made.lines().filter(|line| *line == "report").count(), 1);
    assert_eq!(made.lines().filter(|line| *line == "compare").count(), 1);
    assert!(runs.page(Page::Compare { base: 0, run: 2 }).is_err());
    runs.stop();
}
