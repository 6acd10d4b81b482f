//! Runs that are renamed while they are recorded, and runs that are still recorded when another would replace them.

use std::fs;
use std::os::unix::fs::symlink;

use trueno_format::run_json::State;
use trueno_recorder::Recorder;
use trueno_testing::{run_json, table};

use crate::{Place, can_trace, exists, text};

/// Ways to record that check the run's path before they need anything of this machine.
const WAYS: [&[&str]; 5] = [
    &["--calls"],
    &["--sample"],
    &["--calls", "--sample"],
    &["--libs"],
    &["--alloc"],
];

#[test]
fn a_run_that_is_being_recorded_is_not_replaced() {
    let place = Place::new();
    let rec = Recorder::create(place.run()).unwrap();
    drop(rec.brick("kept"));
    for way in WAYS {
        let flags = [way, &["--overwrite"]].concat();
        let done = place.command(&flags, &["touch", "sign"]).output().unwrap();
        let said = text(&done.stderr);
        assert_eq!(done.status.code(), Some(2), "{flags:?}: {said}");
        assert!(
            said.contains("it.run: a run is being recorded there now (hint: "),
            "{flags:?}: {said}"
        );
    }
    assert!(!exists(&place.path("sign")), "nothing was started");
    rec.finish().unwrap();
    assert_eq!(run_json(&place.run()).state, State::Finished);
    assert_eq!(table(&place.run(), "bricks").texts("name"), [Some("kept")]);
}

#[test]
fn a_run_is_not_replaced_through_a_link() {
    let place = Place::new();
    let target = place.path("target.run");
    Recorder::create(&target).unwrap().finish().unwrap();
    symlink("target.run", place.run()).unwrap();
    for way in WAYS {
        let flags = [way, &["--overwrite"]].concat();
        let done = place.command(&flags, &["true"]).output().unwrap();
        let said = text(&done.stderr);
        assert_eq!(done.status.code(), Some(2), "{flags:?}: {said}");
        assert!(said.contains("it.run: is a link to a run"), "{said}");
        assert!(said.contains("target.run"), "{said}");
    }
    assert_eq!(run_json(&target).state, State::Finished);
}

/// The program moves its own run away and puts another one at its path.
#[test]
fn a_run_that_was_renamed_is_whole_under_its_new_name() {
    if !can_trace() {
        return;
    }
    let place = Place::new();
    let [moved, other] = ["moved.run", "other.run"].map(|name| place.path(name));
    let rec = Recorder::create(&other).unwrap();
    rec.finish().unwrap();
    let before = fs::read(other.join("run.json")).unwrap();
    let script = "mv it.run moved.run && mv other.run it.run && cat moved.run/run.json";
    let done = place
        .command(&["--calls"], &["sh", "-c", script])
        .output()
        .unwrap();
    let said = text(&done.stderr);
    assert_eq!(done.status.code(), Some(0), "{said}");
    assert!(said.contains("moved.run"), "where it is now: {said}");
    let run = run_json(&moved);
    assert_eq!((run.state, run.problems), (State::Finished, Vec::new()));
    assert!(!exists(&moved.join("live")));
    let calls = table(&moved, "calls");
    let cat = calls.texts("target");
    assert!(cat.contains(&Some("moved.run/run.json")), "{cat:?}");
    assert_eq!(fs::read(place.run().join("run.json")).unwrap(), before);
}
