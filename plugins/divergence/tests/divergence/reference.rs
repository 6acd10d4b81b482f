//! A third run, and tolerances by name.

use trueno_plugin::testing::{self, Output};
use trueno_plugin_divergence::Divergence;

use crate::sums::*;

fn with_reference(subject: &[Sum], baseline: &[Sum], reference: &[Sum]) -> Output {
    let tables = side("", subject)
        .into_iter()
        .chain(side("base_", baseline))
        .chain(side("reference_", reference));
    testing::run::<Divergence>(tables, "{}").unwrap()
}

/// The reference is exact and has another type. There is one tensor for each possible outcome.
#[test]
fn a_third_run_says_which_side_moved() {
    let base = run(1, 1);
    let (mut a, mut b, mut exact) = (base.clone(), base.clone(), base.clone());
    for sum in &mut exact {
        (sum.dtype, sum.hash) = ("f64", sum.hash + 1000);
    }
    let off = |sum: &mut Sum, by: f64| {
        sum.hash += 500 + (by * 1e6) as u64;
        sum.l2 *= 1.0 + by;
    };
    off(&mut a[0], 1e-3);
    off(&mut b[1], 1e-3);
    off(&mut a[2], 1e-3);
    off(&mut b[2], -1e-3);
    // Just beyond each other's tolerance, and within that of what lies between them.
    let tolerance = 64f64.sqrt() * 4.0 * 2f64.powi(-24);
    off(&mut a[3], 0.3 * tolerance);
    off(&mut b[3], -0.3 * tolerance);
    off(&mut a[4], 1e-3);
    exact[4].name = "norm";
    let output = with_reference(&a, &b, &exact);
    let moved = column(&output, "pairs", "moved");
    let moved: Vec<_> = moved.iter().map(Option::as_deref).collect();
    let pairs = output.table("pairs");
    let verdicts = pairs.text("verdict").unwrap();
    assert_eq!(&moved[..3], [Some("run"), Some("baseline"), Some("both")]);
    // The tolerance grows along the iteration: the fourth pair may be within it, and says nothing then.
    assert_eq!(moved[3].is_some(), verdicts.value(3) == "diverged");
    assert_eq!(moved[4], None);
    assert_eq!(pairs.f64("reference_error_baseline").unwrap().value(0), 0.0);
    let error = pairs.f64("reference_error_run").unwrap().value(0);
    assert!((error - 1e-3 / 1.001).abs() < 1e-12, "{error}");
    let finding = output.finding("diverged").unwrap();
    let detail = finding.detail.as_deref().unwrap();
    assert!(
        detail.starts_with("compared with the reference, the run moved"),
        "{detail}"
    );
    assert_eq!(first(&output, "moved").unwrap().0, "run");
    let moved = &output.finding("moved").unwrap().title;
    assert!(
        moved.contains("run 1, baseline 1, both 1, no counterpart 1"),
        "{moved}"
    );
    // Sides change places, and the answer with them.
    let output = with_reference(&b, &a, &exact);
    assert_eq!(
        column(&output, "pairs", "moved")[0].as_deref(),
        Some("baseline")
    );
    // Without a third run nobody is presumed right.
    let output = compared(&a, &b, "{}");
    let detail = output.finding("diverged").unwrap().detail.clone().unwrap();
    assert!(detail.contains("is not known"), "{detail}");
    assert!(!output.table("pairs").has("moved"));
}

#[test]
fn a_reference_of_something_else_says_nothing() {
    let base = run(1, 1);
    let mut other = run(1, 1);
    for sum in &mut other {
        sum.position = Some(99);
    }
    let output = with_reference(&base, &base, &other);
    let codes: Vec<&str> = output.findings.iter().map(|f| f.code.as_str()).collect();
    assert_eq!(codes, ["alike", "no_reference"]);
    let mut form = base.clone();
    form[0].shape = "64";
    let mut moved = base.clone();
    (moved[0].hash, moved[0].l2) = (77, 9.0);
    let output = with_reference(&moved, &base, &form);
    assert_eq!(column(&output, "pairs", "moved")[0], None);
}

#[test]
fn tolerances_by_name() {
    let baseline = run(1, 1);
    let mut subject = baseline.clone();
    for sum in &mut subject {
        (sum.hash, sum.l2) = (sum.hash + 100, sum.l2 * 1.01);
    }
    let verdicts = |options: &str| {
        let output = compared(&subject, &baseline, options);
        let all = column(&output, "pairs", "verdict");
        let word = |verdict: &Option<String>| verdict.as_deref() == Some("within_tolerance");
        all.iter().map(word).collect::<Vec<_>>()
    };
    // norm, qkv, attention, ffn, ffn.
    assert_eq!(verdicts("{}"), [false; 5]);
    let named = r#"{"by_name": [{"name": "ffn", "rtol": 0.1}, {"name": "*", "rtol": 1e-9}]}"#;
    assert_eq!(verdicts(named), [false, false, false, true, true]);
    // The first that fits holds.
    let first_holds = r#"{"by_name": [{"name": "Q?v", "rtol": 0.0}, {"name": "*", "rtol": 0.1}]}"#;
    assert_eq!(verdicts(first_holds), [true, false, true, true, true]);
    let absolute = r#"{"rtol": 0, "by_name": [{"name": "norm", "atol": 0.02}]}"#;
    assert_eq!(verdicts(absolute), [true, false, false, false, false]);
    let output = compared(&subject, &baseline, named);
    let by = column(&output, "pairs", "tolerance_by");
    assert_eq!(by[0].as_deref(), Some("*"));
    assert_eq!(by[3].as_deref(), Some("ffn"));
    assert_eq!(
        first(&output, "tolerance_from").unwrap().0,
        "rtol = 1e-9 (given for \"*\")"
    );
    let computed = compared(&subject, &baseline, "{}");
    let formula = first(&computed, "tolerance_from").unwrap().0;
    assert!(
        formula.starts_with("γ(64, 2^-24) + γ(1, 2^-24); γ(m, u) = exp("),
        "{formula}"
    );
    for wrong in [
        r#"{"by_name": [{"name": "a", "rtl": 1}]}"#,
        r#"{"by_name": [{"rtol": 1}]}"#,
        r#"{"by_name": [{"name": "a", "rtol": -1}]}"#,
    ] {
        let tables = side("", &baseline)
            .into_iter()
            .chain(side("base_", &baseline));
        testing::run::<Divergence>(tables, wrong).expect_err(wrong);
    }
}
