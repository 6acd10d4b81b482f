//! Records beside kernels and calls: what they become, and what a version without them leaves out.

use crate::fakes::{Cupti, record, record_with};

#[test]
fn what_the_driver_compiles_lies_in_the_call_that_made_it() {
    for cupti in [Cupti::New, Cupti::Old] {
        let Some(recording) = record_with(
            cupti,
            "",
            "",
            "init push:load jit:1 jit:3 pop launch:k:7:1:1 sync",
        ) else {
            return;
        };
        let calls = recording.table("calls");
        let names = calls.texts("name");
        for name in ["JIT: load from the cache", "JIT: compile PTX"] {
            let row = names
                .iter()
                .position(|found| *found == Some(name))
                .unwrap_or_else(|| panic!("{names:?}"));
            assert_eq!(calls.number("dur_ns", row), Some(500));
            assert_eq!(calls.number("thread", row), Some(0), "that of the call");
            let brick = recording.table("bricks").number("id", 0);
            assert_eq!(calls.number("brick", row), brick);
        }
    }
}

#[test]
fn functions_of_the_host_have_rows_where_cupti_records_them() {
    let words = "init launch:k:7:5:1 host:0:7 host:1:7 sync";
    let Some(recording) = record_with(Cupti::Latest, "", "", words) else {
        return;
    };
    let (calls, edges) = (recording.table("calls"), recording.table("edges"));
    for name in ["host function", "host function of a graph"] {
        let row = calls.named(name);
        assert_eq!(calls.number("dur_ns", row), Some(3000));
        let id = calls.number("id", row);
        let to = edges.numbers("to");
        assert!(to.contains(&id), "its launch leads to it");
    }
    let older = record(words).unwrap();
    let said = older.table("diagnostics");
    let row = said
        .texts("code")
        .iter()
        .position(|code| *code == Some("not_recorded"));
    let row = row.expect("it is said");
    assert!(
        said.texts("text")[row]
            .unwrap()
            .starts_with("functions of the host")
    );
}

/// "No stream" is all bits set up to 13.1, and 0 from 13.2 on.
#[test]
fn no_stream_is_no_stream_in_every_version() {
    for cupti in [Cupti::New, Cupti::Latest] {
        let Some(recording) = record_with(cupti, "", "", "init launch:k:7:5:1 sync syncstream:7")
        else {
            return;
        };
        let syncs = recording.table("syncs");
        let found: Vec<_> = syncs
            .texts("kind")
            .into_iter()
            .zip(syncs.numbers("stream"))
            .collect();
        assert_eq!(found.len(), 2, "{found:?}");
        assert_eq!(
            (found[0].1, found[1].1),
            (None, Some(7)),
            "{cupti:?}: {found:?}"
        );
    }
}

#[test]
fn a_green_context_says_how_much_of_its_device_it_has() {
    let Some(recording) = record_with(Cupti::New, "green", "", "init launch:k:7:5:1 sync") else {
        return;
    };
    let said = &recording.run().values["gpu0.context.1"];
    assert_eq!(said, "green: 16 of 132 multiprocessors, part of context 9");
}

#[test]
fn a_part_of_a_device_is_named_by_its_own_id() {
    let Some(recording) = record_with(Cupti::New, "part", "", "init launch:k:7:5:1 sync") else {
        return;
    };
    let devices = recording.capture().devices;
    assert!(
        devices[0].ends_with("uuid of the part MIG-40414243-4445-4647-4849-4a4b4c4d4e4f"),
        "{devices:?}"
    );
}

#[test]
fn work_of_two_devices_is_told_apart() {
    let words = "init launch:first:7:5:3 device:1 launch:second:7:5:2 sync";
    let Some(recording) = record(words) else {
        return;
    };
    let kernels = recording.table("kernels");
    let mut found: Vec<_> = kernels
        .texts("name")
        .into_iter()
        .zip(kernels.numbers("device"))
        .collect();
    found.sort();
    let expected = [
        ("first", 0),
        ("first", 0),
        ("first", 0),
        ("second", 1),
        ("second", 1),
    ];
    assert_eq!(
        found,
        expected.map(|(name, device)| (Some(name), Some(device)))
    );
    assert_eq!(recording.capture().devices.len(), 2);
    let devices = recording.table("devices");
    assert_eq!(devices.texts("device"), [Some("gpu:0"), Some("gpu:1")]);
    assert_eq!(devices.texts("name"), [Some("Fake H100"); 2]);
    assert_eq!(devices.texts("compute_capability"), [Some("9.0"); 2]);
    assert_eq!(devices.numbers("multiprocessors"), [Some(132); 2]);
    assert_eq!(devices.numbers("memory_bytes"), [Some(80 << 30); 2]);
}

/// Otherwise a program that polls would have a row for every poll.
#[test]
fn a_query_of_an_event_that_is_not_over_is_no_wait() {
    let words = "init launch:k:7:90000:1 event:1:7 query:1 query:1 sync";
    let Some(recording) = record(words) else {
        return;
    };
    assert!(
        recording.printed().contains("query 600"),
        "{}",
        recording.printed()
    );
    assert_eq!(recording.table("syncs").rows, 1, "the wait at the end");
}
