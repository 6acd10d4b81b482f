//! Fetches that fail: address and cause are told, and no mirror is left that seems whole.

use std::fs;
use std::net::TcpListener;

use crate::server::{KEY, Place, ends, until};

const ARGS: [&str; 3] = ["fetch", "s3://traces/jobs/one", "mirror"];

#[track_caller]
fn refused(place: &Place, args: &[&str], variables: &[(&str, &str)], why: &str) -> String {
    let mut command = place.command(args);
    command.envs(variables.iter().copied());
    let (stdout, stderr) = ends(&mut command, 2);
    assert_eq!(stdout, "");
    assert!(stderr.starts_with("error: "), "{stderr}");
    assert!(stderr.contains(why), "{why}: {stderr}");
    stderr
}

#[test]
fn stores_that_refuse_are_told() {
    let place = Place::new();
    let told = refused(
        &place,
        &["fetch", "s3://none/jobs", "mirror"],
        &[],
        "NoSuchBucket",
    );
    assert!(told.contains("s3://none/jobs"), "{told}");
    refused(
        &place,
        &["fetch", "s3://traces/none", "mirror"],
        &[],
        "s3://traces/none: there is nothing",
    );
    let told = refused(
        &place,
        &ARGS,
        &[("AWS_ACCESS_KEY_ID", "AKIAOTHER")],
        "hint: AWS_ACCESS_KEY_ID",
    );
    assert!(
        told.contains("InvalidAccessKeyId") && !told.contains("AKIAOTHER"),
        "{told}"
    );
    refused(
        &place,
        &ARGS,
        &[("AWS_ALLOW_HTTP", "")],
        "hint: AWS_ALLOW_HTTP=true",
    );
    let free = TcpListener::bind("127.0.0.1:0")
        .expect("a port")
        .local_addr()
        .expect("an address");
    let dead = format!("http://{free}");
    let told = refused(&place, &ARGS, &[("AWS_ENDPOINT_URL", &dead)], "refused");
    assert!(told.contains("s3://traces/jobs/one"), "{told}");
    let told = refused(
        &place,
        &["fetch", "s3://AKIA:hush@traces/job", "mirror"],
        &[],
        "AWS_ACCESS_KEY_ID",
    );
    assert!(!told.contains(KEY), "{told}");
}

#[test]
fn a_download_that_is_cut_is_told() {
    let place = Place::new();
    place.set_fault("cut");
    let told = refused(&place, &ARGS, &[], "s3://traces/jobs/one");
    assert!(told.contains("attempts"), "{told}");
    let source =
        fs::read_to_string(place.join("mirror/.trueno-mirror/source.json")).expect("a file");
    assert!(source.contains("\"version\":null"), "{source}");
    assert!(
        !place.join("mirror/rank=0/run.json").exists(),
        "half a file is none"
    );
    place.set_fault("");
    place.fetch();
    place.is_mirrored();
}

/// Objects are written between the downloads of others and during their own.
#[test]
fn a_job_that_changes_meanwhile_is_told() {
    let place = Place::new();
    for (object, why) in [
        ("rank=9", "changed while they were fetched"),
        ("rank=1/large.arrow", "has changed since it was listed"),
    ] {
        let _ = fs::remove_dir_all(place.join("mirror"));
        place.set_fault("stall");
        let mut command = place.command(&ARGS);
        let fetch = command.spawn().expect("the command starts");
        until("it has begun", || {
            place.join("mirror/.trueno-mirror/index.jsonl").exists()
        });
        fs::write(place.object(object), "other").expect("a file");
        place.set_fault("");
        let done = fetch.wait_with_output().expect("its output");
        let stderr = String::from_utf8_lossy(&done.stderr);
        assert_eq!(done.status.code(), Some(2), "{object}: {stderr}");
        assert!(stderr.contains(why), "{object}: {stderr}");
    }
    place.fetch();
    place.is_mirrored();
}

#[test]
fn folders_that_are_something_else_are_refused() {
    let place = Place::new();
    fs::create_dir(place.join("own")).expect("a folder");
    fs::write(place.join("own/notes"), "mine").expect("a file");
    refused(
        &place,
        &["fetch", "s3://traces/jobs/one", "own"],
        &[],
        "is not a mirror",
    );
    assert_eq!(
        fs::read_to_string(place.join("own/notes")).expect("a file"),
        "mine"
    );
    place.fetch();
    refused(
        &place,
        &["fetch", "s3://traces/jobs/one-more", "mirror"],
        &[],
        "it is the mirror of s3://traces/jobs/one",
    );
    place.is_mirrored();
    // A link in the way leads elsewhere.
    fs::remove_dir_all(place.join("mirror/rank=0")).expect("a folder");
    std::os::unix::fs::symlink(place.join("own"), place.join("mirror/rank=0")).expect("a link");
    refused(&place, &ARGS, &[], "it is not a folder");
    assert_eq!(
        fs::read_dir(place.join("own")).expect("a folder").count(),
        1
    );
}
