//! Mirrors that are made, gone on with, and brought up to date.

use std::fs;

use crate::server::{LARGE_BYTES, Place, ends, until};

const FILES: u64 = 10;

#[test]
fn a_mirror_has_what_the_bucket_has() {
    let place = Place::new();
    assert_eq!(place.fetch(), (FILES, 0));
    place.is_mirrored();
    assert_eq!(place.fetch(), (0, 0), "nothing has changed");
}

#[test]
fn what_has_changed_is_fetched_again() {
    let place = Place::new();
    place.fetch();
    // Of the same length.
    fs::write(place.object("rank=2/run.json"), "[2]").expect("a file");
    fs::write(place.object("rank=3/new"), "new").expect("a file");
    fs::remove_dir_all(place.object("rank=0/kernels")).expect("a folder");
    assert_eq!(place.fetch(), (2, 1));
    place.is_mirrored();
    assert!(
        !place.join("mirror/rank=0/kernels").exists(),
        "folders without files are gone"
    );
    // A file of the mirror that somebody wrote to.
    fs::write(place.join("mirror/rank=1/run.json"), "{x}").expect("a file");
    assert_eq!(place.fetch(), (1, 0));
    place.is_mirrored();
}

#[test]
fn a_killed_fetch_goes_on() {
    let place = Place::new();
    place.set_fault("slow");
    let mut command = place.command(&["fetch", "s3://traces/jobs/one", "mirror"]);
    let mut fetch = command.spawn().expect("the command starts");
    let lines = || {
        let index = fs::read_to_string(place.join("mirror/.trueno-mirror/index.jsonl"));
        index.map_or(0, |index| index.lines().count())
    };
    until("some files are there", || lines() >= 2);
    fetch.kill().expect("it is killed");
    fetch.wait().expect("it has ended");
    let there = lines() as u64;
    place.set_fault("");
    assert_eq!(place.fetch(), (FILES - there, 0), "{there} were there");
    place.is_mirrored();
}

#[test]
fn half_an_object_is_not_fetched_twice() {
    let place = Place::new();
    place.set_fault("slow");
    let mut command = place.command(&["fetch", "s3://traces/jobs/one", "mirror"]);
    let mut fetch = command.spawn().expect("the command starts");
    let partial = || {
        let entries = fs::read_dir(place.join("mirror/.trueno-mirror"))
            .into_iter()
            .flatten()
            .flatten();
        let bytes = entries.filter_map(|entry| {
            let is_partial = entry
                .path()
                .extension()
                .is_some_and(|ending| ending == "partial");
            entry
                .metadata()
                .ok()
                .filter(|_| is_partial)
                .map(|file| file.len())
        });
        bytes.max().unwrap_or(0)
    };
    until("a piece is there", || partial() >= 8 << 20);
    fetch.kill().expect("it is killed");
    fetch.wait().expect("it has ended");
    let there = partial();
    if there == 0 {
        // It was put in its place at that moment.
        return;
    }
    place.set_fault("");
    let (summary, _) = ends(
        &mut place.command(&["fetch", "s3://traces/jobs/one", "mirror"]),
        0,
    );
    let summary: serde_json::Value = serde_json::from_str(&summary).expect("a summary");
    let came = summary["fetched_bytes"].as_u64().expect("a number");
    assert!(
        came + there <= LARGE_BYTES as u64 + 4 * 5_100,
        "{came} bytes came, {there} were there"
    );
    place.is_mirrored();
}

#[test]
fn an_expected_version_needs_no_store() {
    let place = Place::new();
    let args = ["fetch", "s3://traces/jobs/one", "mirror"];
    let (summary, _) = ends(&mut place.command(&args), 0);
    let summary: serde_json::Value = serde_json::from_str(&summary).expect("a summary");
    let version = summary["version"].as_str().expect("a version");
    let expecting = [&args[..], &["--expect", version]].concat();
    fs::write(place.object("rank=2/run.json"), "[2]").expect("a file");
    ends(&mut place.command(&expecting), 0);
    // Once a file is missing, the store is asked: it has another version.
    fs::remove_file(place.join("mirror/rank=0/run.json")).expect("a file");
    let (_, stderr) = ends(&mut place.command(&expecting), 2);
    assert!(stderr.contains("have changed since this began"), "{stderr}");
}

#[test]
fn folders_of_this_machine_have_addresses() {
    let place = Place::new();
    let uri = format!("file://{}", place.object("").display());
    ends(&mut place.command(&["fetch", &uri, "mirror"]), 0);
    place.is_mirrored();
}
