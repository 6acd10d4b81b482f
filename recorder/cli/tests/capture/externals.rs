//! Ids that other libraries give to calls.

use crate::fakes::record;
use trueno_testing::Cell;

#[test]
fn an_id_that_a_library_gave_stands_at_the_call() {
    let words = "init launch:k:7:1 external:3:42 launch:k:7:1 copy:16 external:1:9007199254740992 launch:k:7:1 \
                 external:0 launch:k:7:1 sync";
    let Some(recording) = record(words) else {
        return;
    };
    let recording = recording.succeeded();
    let calls = recording.table("calls");
    let counters = recording.table("counters");
    let names = counters.texts("name");
    let given: Vec<usize> = (0..counters.rows)
        .filter(|row| names[*row].is_some_and(|name| name.starts_with("external id: ")))
        .collect();
    assert_eq!(given.len(), 2, "{names:?}");
    for (row, call) in given.into_iter().zip(["cuLaunchKernel", "cuMemcpyHtoD_v2"]) {
        assert_eq!(names[row], Some("external id: custom 0"));
        assert_eq!(counters.cell("value", row), &Cell::F(42.0));
        assert_eq!(counters.texts("source")[row], Some("declared"));
        let span = counters.number("span", row);
        let of = (0..calls.rows).find(|call| calls.number("id", *call) == span);
        let of = of.expect("the row it belongs to");
        assert_eq!(calls.texts("name")[of], Some(call));
        assert_eq!(
            calls.number("start_ns", of),
            counters.number("time_ns", row)
        );
    }
    let invalid = recording.capture().invalid;
    assert_eq!(invalid.values().sum::<u64>(), 1, "{invalid:?}");
    assert!(
        invalid.keys().all(|what| what.contains("2^53")),
        "an id that would be rounded is counted, not written: {invalid:?}"
    );
    assert_eq!(recording.capture().records["external_correlation"], 3);
}
