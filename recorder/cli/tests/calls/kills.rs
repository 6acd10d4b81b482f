//! Death of the recorder: calls that had ended are in the run. The program goes on where nothing holds its calls.

use std::fs;
use std::process::Stdio;

use trueno_format::salvage;
use trueno_testing::{Table, table, wait_until};

use crate::{Place, can_trace, exists, program};

fn writes(place: &Place) -> u64 {
    let text = fs::read_to_string(place.path("writes"));
    text.ok().and_then(|text| text.parse().ok()).unwrap_or(0)
}

fn kept(place: &Place) -> Vec<Table> {
    let run = place.run();
    let mut tables = Vec::new();
    if run.join("calls").is_dir() && fs::read_dir(run.join("calls")).unwrap().next().is_some() {
        tables.push(table(&run, "calls"));
    }
    let left = salvage::read(&run).unwrap().expect("something was left");
    assert_eq!(left.problems, Vec::<String>::new());
    let mut rest = Table::default();
    for segment in left
        .segments
        .iter()
        .filter(|segment| segment.table == "calls")
    {
        rest.add_segment(std::io::Cursor::new(segment.bytes.clone()));
    }
    tables.push(rest);
    tables
}

#[test]
fn a_killed_recorder_loses_no_call_that_had_ended() {
    if !can_trace() {
        return;
    }
    for (flags, goes_on) in [("--calls", true), ("--calls=write", false)] {
        let place = Place::new();
        let own = std::env::current_exe().unwrap();
        let part = [own.to_str().unwrap(), "--exact", "program::does_its_part"];
        let mut recorder = place
            .command(&[flags], &part)
            .env(program::ROLE, "goes on")
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        wait_until(|| writes(&place) >= 200);
        recorder.kill().unwrap();
        recorder.wait().unwrap();
        // Of the last one it may not have seen the end.
        let made = writes(&place);
        let path = place.path("written").canonicalize().unwrap();
        let found: usize = kept(&place)
            .iter()
            .map(|table| {
                let targets = table.texts("target");
                let is_it = |target: &&Option<&str>| **target == path.to_str();
                targets.iter().filter(is_it).count()
            })
            .sum();
        if goes_on {
            wait_until(|| writes(&place) > made + 10);
            fs::write(place.path("enough"), "").unwrap();
            wait_until(|| exists(&place.path("ended")));
        }
        // One count is written after its call; those after the kill are in no row.
        assert!(
            found >= 200 && found as u64 <= made + 2,
            "{flags}: {found} of {made}"
        );
    }
}
