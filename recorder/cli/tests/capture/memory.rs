//! Device memory of a program that states nothing: `--level full`.

use crate::fakes::{Cupti, record, record_with};
use trueno_testing::Cell;

const WORDS: &str = "init:0 push:loading take:3:4096:1000 take:2:8192:64 pop launch:k:7:5 give:3:4096:1000 take:3:4096:20 sync";

#[test]
fn what_is_taken_and_given_back_is_a_row_under_its_range() {
    for cupti in [Cupti::New, Cupti::Old] {
        let Some(recording) = record_with(cupti, "", "--level full", WORDS) else {
            return;
        };
        let recording = recording.succeeded();
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

#[test]
fn pools_are_counters_as_far_as_what_is_said_of_them_is_plain() {
    let words = "init pool:1:64:0 frompool:1:64:1000:40 take:3:4096:40 frompool:1:64:2000:90 take:3:8192:50 \
                 frompool:2:96:7:7 take:3:12288:1 frompool pool:3:64:90 pool:2:64:90 pool:1:64:0 take:3:16384:5 sync";
    for cupti in [Cupti::New, Cupti::Old] {
        let Some(recording) = record_with(cupti, "", "--level full", words) else {
            return;
        };
        let recording = recording.succeeded();
        let counters = recording.table("counters");
        let of = |name: &str| {
            let texts = counters.texts("name");
            let rows = (0..counters.rows).filter(|row| texts[*row] == Some(name));
            rows.map(|row| {
                let source = counters.texts("source")[row].unwrap().to_owned();
                let Cell::F(value) = counters.cell("value", row) else {
                    panic!("no number")
                };
                (*value, source)
            })
            .collect::<Vec<_>>()
        };
        let measured = |values: &[f64]| -> Vec<(f64, String)> {
            let all = values.iter().map(|value| (*value, "measured".to_owned()));
            all.collect()
        };
        let mut size = measured(&[1000.0, 2000.0]);
        let mut used = measured(&[0.0, 40.0, 90.0, 90.0]);
        for of in [&mut size, &mut used] {
            of.push((0.0, "computed".to_owned()));
        }
        assert_eq!(of("gpu0 memory pool 0 size"), size);
        assert_eq!(of("gpu0 memory pool 0 in use"), used);
        assert_eq!(of("gpu0 memory pool 1 in use"), measured(&[0.0]));
        let names = counters.texts("name");
        let of_others = names
            .iter()
            .flatten()
            .filter(|name| name.contains("pool 2"));
        assert_eq!(of_others.count(), 0, "of an imported pool nothing is valid");
        assert_eq!(recording.capture().records["memory_pool"], 4);
        assert!(recording.capture().invalid.is_empty());
        assert_eq!(
            recording.table("allocations").rows,
            4,
            "what is taken from a pool is memory taken; the pool is not"
        );
    }
}
