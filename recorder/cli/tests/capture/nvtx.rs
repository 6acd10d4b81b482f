//! Ranges that a program states through NVTX; without work of a device no driver and no CUPTI is needed.

use crate::fakes::{Cupti, record, record_with};

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

/// Autograd launches from a thread of its own, while the step waits for it.
#[test]
fn work_of_a_thread_without_ranges_is_counted_to_the_step_around_it_and_said() {
    let words = "init push:step launch:forward:7:1:2 helper:3 pop helper:2 sync";
    let Some(recording) = record(words) else {
        return;
    };
    let (bricks, kernels) = (recording.table("bricks"), recording.table("kernels"));
    assert_eq!(
        bricks.rows, 2,
        "a single step is no series of iterations, and the launches after it lie in no range"
    );
    let step = bricks.number("id", bricks.named("step"));
    // What the thread does between its calls is the backward pass, and the step waits for it.
    let pass = bricks.named("backward pass");
    let syncs = recording.table("syncs");
    let wait = syncs.named("wait for the backward pass");
    for (column, of_pass) in [("start_ns", "start_ns"), ("dur_ns", "dur_ns")] {
        assert_eq!(syncs.number(column, wait), bricks.number(of_pass, pass));
    }
    assert_eq!(
        syncs.number("thread", wait),
        bricks.number("thread", bricks.named("step"))
    );
    assert_ne!(syncs.number("thread", wait), bricks.number("thread", pass));
    let edges = recording.table("edges");
    let inferred: Vec<_> = (0..edges.rows)
        .filter(|row| edges.number("from", *row) == bricks.number("id", pass))
        .map(|row| (edges.texts("kind")[row], edges.number("to", row)))
        .collect();
    assert_eq!(inferred, [(Some("joins"), syncs.number("id", wait))]);
    let count = |name: &str, brick| {
        let rows = kernels
            .texts("name")
            .into_iter()
            .zip(kernels.numbers("brick"));
        rows.filter(|row| *row == (Some(name), brick)).count()
    };
    assert_eq!(count("forward", step), 2);
    assert_eq!(count("backward", step), 3);
    assert_eq!(
        count("backward", None),
        2,
        "behind the step, nothing encloses them"
    );
    // Each says that it is inferred, and calls keep what they are.
    let attributes = recording.table("attributes");
    let mut names = attributes.texts("name");
    names.sort_unstable();
    let [work, rows] = ["brick_inferred", "row_inferred"].map(Some);
    assert_eq!(names, [work, work, work, rows, rows]);
    let calls = recording.table("calls");
    let in_step = calls
        .numbers("brick")
        .into_iter()
        .filter(|brick| *brick == step);
    assert_eq!(in_step.count(), 2);
    let said = &recording.run().values["ranges.inferred"];
    assert!(said.starts_with("3 rows of work"), "{said}");
}

#[test]
fn ranges_that_are_called_as_iterations_are_framed_by_one() {
    let step = "push:step launch:k:7:1:50";
    let words =
        format!("init {step} push:step~of~the~optimizer pop pop {step} pop {step} pop sync");
    let Some(recording) = record(&words) else {
        return;
    };
    let bricks = recording.table("bricks");
    let rows = bricks.texts("kind").into_iter().zip(bricks.texts("name"));
    let rows: Vec<_> = rows.zip(bricks.numbers("iteration")).collect();
    let of = |kind: &'static str| {
        let of_kind = rows
            .iter()
            .filter(move |((found, _), _)| *found == Some(kind));
        of_kind.map(|((_, name), number)| (name.unwrap(), number.unwrap()))
    };
    let frames: Vec<_> = of("iteration").collect();
    assert_eq!(
        frames,
        [("iteration", 0), ("iteration", 1), ("iteration", 2)]
    );
    let mut ranges: Vec<_> = of("function").collect();
    ranges.sort_unstable();
    let inner = ("step of the optimizer", 0);
    assert_eq!(ranges, [("step", 0), ("step", 1), ("step", 2), inner]);
    let kernel = recording.table("kernels").number("brick", 0);
    let step = (0..bricks.rows).find(|row| bricks.number("id", *row) == kernel);
    assert_eq!(
        bricks.texts("name")[step.unwrap()],
        Some("step"),
        "the range, not its frame"
    );
    let said = &recording.run().values["iterations.inferred"];
    assert!(said.starts_with("3 NVTX ranges"), "{said}");
}

#[test]
fn values_in_the_names_of_xla_are_attributes() {
    let words = "init push:XlaPass#name=cse,program_id=7# pop sync";
    let Some(recording) = record(words) else {
        return;
    };
    assert_eq!(
        recording.table("bricks").texts("name"),
        [Some("XlaPass: cse")]
    );
    let attributes = recording.table("attributes");
    assert_eq!(attributes.texts("name"), [Some("name"), Some("program_id")]);
    assert_eq!(attributes.texts("text"), [Some("cse"), Some("7")]);
}

/// `emit_nvtx` gives a forward operator and the backward one of its node the same number.
#[test]
fn operators_of_one_node_are_joined_by_their_sequence_number() {
    let words =
        "init push:mm,~seq~=~5,~op_id~=~1 launch:mm:7:1:1 pop autograd:MmBackward0,~seq~=~5 sync";
    let Some(recording) = record(words) else {
        return;
    };
    let (bricks, edges) = (recording.table("bricks"), recording.table("edges"));
    let forward = bricks.number("id", bricks.named("mm, seq = 5, op_id = 1"));
    let backward = bricks.number("id", bricks.named("MmBackward0, seq = 5"));
    let mut rows = edges
        .texts("kind")
        .into_iter()
        .zip(edges.numbers("from"))
        .zip(edges.numbers("to"));
    assert!(rows.any(|row| row == ((Some("depends_on"), forward), backward)));
    assert!(
        !recording.path().join("attributes").exists(),
        "its work lies in a range of its thread"
    );
}
