//! Operators of two runs.

use crate::program::{MM, Made, call, cell, kernel};

fn products(each_ns: &[i64], other_ns: Option<i64>) -> Made {
    let mut made = Made {
        signatures: vec![MM, ("[[16,4],[4,2]]", r#"["float","float"]"#, "")],
        ..Made::default()
    };
    let times = each_ns.iter().map(|ns| (0, *ns));
    for (at, (signature, dur_ns)) in times.chain(other_ns.map(|ns| (1, ns))).enumerate() {
        made.calls
            .push(call("aten::mm", 10 * at as i64, 5, Some(signature)));
        made.kernels.push(kernel(at, 1_000 * at as i64, dur_ns));
    }
    made
}

#[test]
fn equal_shapes_meet_and_others_stand_on_their_side() {
    let output = products(&[100, 200], None).against(&products(&[50, 60, 70], Some(9)));
    let table = output.table("against_baseline");
    let standing = table.text("standing").expect("standing");
    let standing: Vec<_> = (0..table.rows())
        .filter_map(|row| standing.get(row))
        .collect();
    assert_eq!(standing, ["both", "baseline"], "the largest change first");
    let of = |column| cell(&output, "against_baseline", "aten::mm", column);
    assert_eq!(of("change_ns"), Some(120.0));
    assert_eq!((of("calls"), of("baseline_calls")), (Some(2.0), Some(3.0)));
    assert_eq!(
        of("time_ratio"),
        Some(150.0 / 60.0),
        "a call against a call"
    );
    let finding = output
        .findings
        .iter()
        .find(|finding| finding.code == "against_baseline");
    let finding = finding.expect("a finding");
    assert!(
        finding.title.contains("58.7 % more than in the baseline"),
        "{}",
        finding.title
    );
    let detail = finding.detail.as_deref().unwrap_or_default();
    assert!(detail.contains("aten::mm [[8,4],[4,2]]"), "{detail}");
}

#[test]
fn without_shapes_in_the_baseline_there_is_nothing_to_compare() {
    let mut baseline = products(&[50], None);
    baseline.signatures.clear();
    baseline.calls[0].signature = None;
    let output = products(&[100], None).against(&baseline);
    assert!(
        output
            .tables
            .iter()
            .all(|table| table.name() != "against_baseline")
    );
}
