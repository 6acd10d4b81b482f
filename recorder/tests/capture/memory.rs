//! Device memory of a program that states nothing: `--level full`.

use crate::common::Cell;
use crate::fakes::{Cupti, record, record_with};

const WORDS: &str = "init:0 push:loading take:3:4096:1000 take:2:8192:64 pop launch:k:7:5 give:3:4096:1000 take:3:4096:20 sync";

#[test]
fn what_is_taken_and_given_back_is_a_row_under_its_range() {
    for cupti in [Cupti::New, Cupti::Old] {
        let Some(recording) = record_with(cupti, "", "--level full", WORDS) else {
            return;
        };
        assert_eq!(
            recording.output.status.code(),
            Some(0),
            "{}",
            recording.said()
        );
        let memory = recording.table("allocations");
        assert_eq!(memory.numbers("bytes"), [1000, 64, -1000, 20].map(Some));
        assert_eq!(
            memory.numbers("address"),
            [4096, 8192, 4096, 4096].map(Some)
        );
        assert_eq!(
            memory.numbers("device"),
            [Some(0), None, Some(0), Some(0)],
            "pinned memory is the host's"
        );
        assert_eq!(
            memory.texts("tag"),
            ["device", "pinned", "device", "device"].map(Some)
        );
        let bricks = recording.table("bricks");
        let loading = bricks.number("id", bricks.named("loading"));
        assert_eq!(memory.numbers("span"), [loading, loading, None, None]);
        assert!((0..4).all(|row| memory.cell("weight", row) == &Cell::Null));
        assert_eq!(recording.capture().records["memory"], 4);
        assert_eq!(
            recording.table("kernels").rows,
            1,
            "and all else is as ever"
        );
    }
}

#[test]
fn other_levels_record_no_memory() {
    let Some(recording) = record(WORDS) else {
        return;
    };
    assert_eq!(recording.table("allocations").rows, 0);
    assert!(!recording.capture().enabled.contains(&"memory".to_owned()));
}
