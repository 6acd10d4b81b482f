//! Memory events: what an allocator says of all it holds.

use super::traces::trace;
use super::{import, import_with};
use crate::Options;

fn memory(time: &str, process: u32, arguments: &str) -> String {
    format!(
        "{{\"ph\": \"i\", \"name\": \"[memory]\", \"pid\": {process}, \"tid\": 1, \"ts\": {time}, \"args\": {{{arguments}}}}}"
    )
}

const TOTALS: &str = "time_ns name value unit source";

#[test]
fn totals_of_an_allocator_are_measured_counters_of_its_device() {
    let on = |device: i64, bytes: i64, allocated: u64, reserved: u64| {
        let kind = u8::from(device >= 0);
        format!(
            "\"Bytes\": {bytes}, \"Addr\": 4096, \"Device Id\": {device}, \"Device Type\": {kind}, \
             \"Total Allocated\": {allocated}, \"Total Reserved\": {reserved}"
        )
    };
    let run = import(trace(&[
        memory("1000", 1, &on(0, 64, 1064, 4096)),
        memory("1001", 1, &on(0, -64, 1000, 4096)),
        memory("1002", 1, &on(1, 8, 8, 0)),
        memory("1003", 1, &on(-1, 8, 8, 0)),
        memory("1004", 1, &on(0, 512, 0, 0)),
        memory(
            "1005",
            1,
            "\"Bytes\": 16, \"Device Id\": 0, \"Device Type\": 1",
        ),
    ]))
    .unwrap();
    assert_eq!(
        run.rows("counters", TOTALS),
        [
            "0 gpu0 allocated 1064 bytes measured",
            "0 gpu0 reserved 4096 bytes measured",
            "1000 gpu0 allocated 1000 bytes measured",
            "1000 gpu0 reserved 4096 bytes measured",
            "2000 gpu1 allocated 8 bytes measured",
        ]
    );
    assert_eq!(run.rows("allocations", "time_ns").len(), 6);
    assert_eq!(run.left_out("total of the host's memory"), 2);
    assert_eq!(run.left_out("less than its live allocations"), 3);
}

#[test]
fn totals_of_several_processes_are_not_one() {
    let arguments = "\"Bytes\": 8, \"Device Id\": 0, \"Device Type\": 1, \"Total Allocated\": 8";
    let run = import(trace(&[
        memory("1000", 1, arguments),
        memory("1001", 2, arguments),
    ]))
    .unwrap();
    let names = run.rows("counters", "name");
    assert_eq!(names.len(), 2);
    assert!(names[0] != names[1], "{names:?}");
    assert!(
        names.iter().all(|name| name.ends_with("/ gpu0 allocated")),
        "{names:?}"
    );
}

#[test]
fn sizes_that_no_address_space_has_are_set_aside() {
    let on = |bytes: i64| format!("\"Bytes\": {bytes}, \"Device Id\": 0");
    let huge = i64::MAX;
    let events = [
        memory("1000", 1, &on(huge)),
        memory("1001", 1, &on(512)),
        memory("1002", 1, &on(-huge)),
        memory("1003", 1, &on(1 << 56)),
        memory(
            "1004",
            1,
            &format!("{}, \"Total Allocated\": {huge}", on(64)),
        ),
    ];
    let run = import(trace(&events)).unwrap();
    assert_eq!(run.rows("allocations", "bytes"), ["512", "64"]);
    assert_eq!(run.left_out("64 PiB"), 4);
    assert!(run.warns("--keep-doubtful keeps them"));
    let options = Options {
        keep_doubtful: true,
        ..Options::default()
    };
    let all = import_with(trace(&events), options).unwrap();
    assert_eq!(all.rows("allocations", "bytes").len(), 5);
}
