//! Roofs that do not hold what lies above them, and roofs in doubt.

use crate::inputs::{US, facts, path, texts};
use trueno_plugin::Table;
use trueno_plugin::testing::{Output, run};
use trueno_plugin_bottleneck::Bottleneck;

/// A loop that takes 900 of 1,000 µs at 77 % of a roof; `above` of its 32 calls lie above the roof.
fn at_77(bound_by: &str, memory: &str, above: u64, doubt: Option<&str>) -> Output {
    let points = Table::build("points")
        .text("source", ["brick"])
        .text("name", ["project"])
        .text("device", ["cpu"])
        .text("provenance", ["measured"])
        .text("assumed", [None::<&str>])
        .text("memory", [memory])
        .i64("threads", [1_i64])
        .u64("calls", [32_u64])
        .i64("dur_ns", [900 * US])
        .f64("flops_per_byte", [0.5])
        .f64("flops_per_s", [16e9])
        .f64("bytes_per_s", [32e9])
        .text("bound_by", [bound_by])
        .f64("efficiency_share", [0.77])
        .bool("is_valid", [true])
        .u64("calls_above", [above])
        .text("doubt", [doubt]);
    let opportunity = Table::build("opportunity")
        .text("name", ["project"])
        .i64("path_ns", [900 * US])
        .i64("gain_50pct_ns", [450 * US])
        .i64("gain_100pct_ns", [900 * US]);
    let inputs = [facts(1_000), path(&[("work", 1_000)]), points, opportunity];
    run::<Bottleneck>(inputs, "{}").expect("it ends well")
}

fn codes(output: &Output) -> Vec<String> {
    texts(output, "bottlenecks", "code")
}

#[test]
fn what_lies_above_a_roof_is_not_held_by_it() {
    let output = at_77("memory", "dram", 30, None);
    assert_eq!(codes(&output), [""; 0]);
    let missing = texts(&output, "not_measurable", "missing");
    let said = "which roof limits it: 30 of 32 calls lie above that of dram";
    let at = missing.iter().position(|one| one == said);
    let at = at.unwrap_or_else(|| panic!("{missing:?}"));
    assert_eq!(
        texts(&output, "not_measurable", "class")[at],
        "memory_bound"
    );
    let how = &texts(&output, "not_measurable", "how")[at];
    assert!(how.contains("--set roofline.memory=l3"), "{how}");
    // A few calls above it say nothing of the others.
    assert_eq!(codes(&at_77("memory", "dram", 3, None)), ["memory_bound"]);
}

#[test]
fn each_roof_has_its_remedy() {
    let how = |bound_by, memory| {
        let output = at_77(bound_by, memory, 16, None);
        assert_eq!(codes(&output), [""; 0]);
        let missing = texts(&output, "not_measurable", "missing");
        let at = missing.iter().position(|one| one.contains("16 of 32"));
        texts(&output, "not_measurable", "how")[at.expect("it is told")].clone()
    };
    assert!(how("memory", "l2").contains("--set roofline.memory=l1"));
    assert!(how("memory", "l1").contains("declare the bytes"));
    assert!(how("compute", "dram").contains("declare the FLOPs"));
}

#[test]
fn a_roof_in_doubt_says_so() {
    let doubt = "six repetitions span 14 % of their median";
    let output = at_77("memory", "dram", 0, Some(doubt));
    let sentence = &texts(&output, "bottlenecks", "sentence")[0];
    assert!(
        sentence.contains(", 77 % of the roof, which is uncertain;"),
        "{sentence}"
    );
    let considered = &texts(&output, "bottlenecks", "considered")[0];
    assert!(considered.contains(doubt), "{considered}");
    assert_eq!(texts(&output, "bottlenecks", "confidence"), ["low"]);
}
