//! Ranges that a program states through NVTX; no driver and no CUPTI is needed.

use crate::fakes::{Cupti, record_with};

fn ranges(words: &str) -> Option<crate::fakes::Recording> {
    record_with(Cupti::None, "", "--ranges-only", words)
}

#[test]
fn pushed_ranges_nest_and_levels_are_told_as_without_a_tool() {
    let Some(recording) = ranges("push:outer push:inner pop mark:now pop pop push:open exit:3")
    else {
        return;
    };
    assert_eq!(
        recording.output.status.code(),
        Some(3),
        "{}",
        recording.said()
    );
    assert_eq!(
        recording.printed(),
        "level 0\nlevel 1\nlevel 1\nlevel 0\nlevel -2\nlevel 0\n"
    );
    let bricks = recording.table("bricks");
    let (outer, inner, mark) = (
        bricks.named("outer"),
        bricks.named("inner"),
        bricks.named("now"),
    );
    assert_eq!(bricks.number("parent", outer), None);
    assert_eq!(bricks.number("parent", inner), bricks.number("id", outer));
    assert_eq!(bricks.number("parent", mark), bricks.number("id", outer));
    assert_eq!(bricks.number("dur_ns", mark), Some(0));
    assert_eq!(bricks.rows, 3);
    let invalid = recording.capture().invalid;
    assert_eq!(invalid["NVTX range: never ended"], 1);
    assert_eq!(invalid["NVTX range: an end without a beginning"], 1);
}

#[test]
fn domains_categories_registered_and_wide_texts_have_their_names() {
    let words = "domain:blas:gemm:7 category:7:mine registered:blas:shared wide range:first:second namethread:worker";
    let Some(recording) = ranges(words) else {
        return;
    };
    let bricks = recording.table("bricks");
    for name in [
        "blas::gemm",
        "blas::shared",
        "h\u{e9}llo",
        "first",
        "second",
    ] {
        bricks.named(name);
    }
    assert_eq!(bricks.rows, 5);
    // The category was named in the default domain, not in the one of the range.
    assert_eq!(bricks.texts("category")[bricks.named("blas::gemm")], None);
    // Started and ended by hand, overlapping: neither lies in the other.
    let second = bricks.named("second");
    assert_eq!(bricks.number("parent", second), None);
    let threads = recording.table("threads");
    assert_eq!(threads.texts("name"), [Some("worker")]);
}
