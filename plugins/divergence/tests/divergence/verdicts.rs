//! Verdicts of pairs, and of rows that have none.

use trueno_plugin::testing;
use trueno_plugin_divergence::Divergence;

use crate::sums::*;

#[test]
fn samples_see_what_statistics_cannot() {
    let baseline = run(1, 1);
    let mut subject = baseline.clone();
    (subject[2].hash, subject[3].hash) = (77, 78);
    let tables = side("", &subject)
        .into_iter()
        .chain(side("base_", &baseline))
        .chain([
            sampled(
                "samples",
                &[
                    (&subject[2], [1.0, 2.0, 0.0]),
                    (&subject[3], [1.0, 2.0, 2.0]),
                ],
            ),
            sampled(
                "base_samples",
                &[
                    (&baseline[2], [2.0, 1.0, 0.0]),
                    (&baseline[3], [1.0, 2.0, 2.0]),
                ],
            ),
        ]);
    let output = testing::run::<Divergence>(tables, "{}").unwrap();
    is(
        &output,
        &[("identical", 3), ("within_tolerance", 1), ("diverged", 1)],
    );
    assert_eq!(
        column(&output, "pairs", "reason")[2].as_deref(),
        Some("samples")
    );
    let pairs = output.table("pairs");
    assert_eq!(pairs.f64("relative_error").unwrap().value(2), 0.5);
    assert_eq!(pairs.f64("sample_cosine").unwrap().value(2), 0.8);
    assert_eq!(pairs.f64("sample_cosine").unwrap().get(0), None);
}

/// Two queries of one table need not return its rows in the same order.
#[test]
fn statistics_come_in_any_order() {
    let baseline = run(4, 3);
    let mut subject = baseline.clone();
    for (at, sum) in subject.iter_mut().enumerate().filter(|(at, _)| at % 5 == 0) {
        (sum.hash, sum.l2) = (1000 + at as u64, 9.0 + at as f64);
    }
    let expected = compared(&subject, &baseline, "{}");
    assert_eq!(counts(&expected)[1], ("diverged".to_owned(), 11));
    let mut other = subject.clone();
    other.reverse();
    let tables = side_with("", &subject, statistics("", &other))
        .into_iter()
        .chain(side("base_", &baseline));
    assert_eq!(testing::run::<Divergence>(tables, "{}").unwrap(), expected);
}

#[test]
fn a_run_is_identical_to_itself() {
    let sums = run(20, 8);
    let output = compared(&sums, &sums, "{}");
    is(&output, &[("identical", sums.len() as u64)]);
    assert_eq!(output.findings.len(), 1);
    assert_eq!(output.findings[0].code, "alike");
    assert_eq!(output.table("first").rows(), 0);
}

#[test]
fn a_planted_error_is_found_where_it_is() {
    let baseline = run(100, 12);
    let mut subject = baseline.clone();
    let at = baseline
        .iter()
        .position(|s| (s.iteration, s.layer, s.name) == (Some(57), Some(7), "attention"))
        .unwrap();
    for (nth, sum) in subject.iter_mut().enumerate().skip(at) {
        sum.hash += 100_000;
        sum.l2 *= 1.0 + 1e-3 * (nth - at + 1) as f64;
    }
    let output = compared(&subject, &baseline, "{}");
    let after = (baseline.len() - at) as u64;
    is(&output, &[("identical", at as u64), ("diverged", after)]);
    for (property, value) in [
        ("name", "attention"),
        ("layer", "7"),
        ("iteration", "57"),
        ("position", "67"),
        ("origin", "local"),
        ("reason", "l2"),
        ("relative_error", "9.990e-4"),
    ] {
        assert_eq!(first(&output, property).unwrap().0, value, "{property}");
    }
    assert_eq!(
        first(&output, "l2").unwrap(),
        ("8.008".to_owned(), "8".to_owned())
    );
    let origins = column(&output, "pairs", "origin");
    let count = |word: &str| {
        origins
            .iter()
            .filter(|origin| origin.as_deref() == Some(word))
            .count()
    };
    assert_eq!((count("local"), count("inherited") as u64), (1, after - 1));
    let finding = output.finding("diverged").unwrap();
    assert!(
        finding
            .title
            .contains("attention, layer 7, iteration 57, position 67"),
        "{}",
        finding.title
    );
}

#[test]
fn rounding_is_within_the_formula_and_more_is_not() {
    let baseline = run(1, 1);
    // Five tensors of 64 values: steps 64, 128, ...
    let u = 2f64.powi(-24);
    let tolerance = |steps: f64, stores: f64| {
        let gamma = |m: f64| (m.sqrt() * u + m * u * u / (1.0 - u)).exp_m1();
        gamma(steps) + gamma(stores)
    };
    for (at, factor, verdict) in [
        (0, 0.9, "within_tolerance"),
        (0, 1.1, "diverged"),
        (3, 0.9, "within_tolerance"),
        (3, 1.1, "diverged"),
    ] {
        let mut subject = baseline.clone();
        let expected = tolerance(64.0 * (at + 1) as f64, (at + 1) as f64);
        subject[at].hash += 100;
        subject[at].l2 /= 1.0 - factor * expected;
        let output = compared(&subject, &baseline, "{}");
        let rows = column(&output, "pairs", "verdict");
        assert_eq!(rows[at].as_deref(), Some(verdict), "{at} {factor}");
        assert_eq!(
            output.table("pairs").f64("tolerance").unwrap().value(at),
            expected
        );
    }
    let mut subject = baseline.clone();
    subject[1].hash += 100;
    subject[1].l2 += 0.5;
    is(
        &compared(&subject, &baseline, r#"{"rtol": 0.1}"#),
        &[("identical", 4), ("within_tolerance", 1)],
    );
    is(
        &compared(&subject, &baseline, r#"{"rtol": 0, "atol": 0.07}"#),
        &[("identical", 4), ("within_tolerance", 1)],
    );
    is(
        &compared(&subject, &baseline, r#"{"rtol": 0, "atol": 0.06}"#),
        &[("identical", 4), ("diverged", 1)],
    );
    let worst = compared(&subject, &baseline, r#"{"bound": "worst_case"}"#);
    let gamma = |m: f64| m * u / (1.0 - m * u);
    assert_eq!(
        worst.table("pairs").f64("tolerance").unwrap().value(0),
        gamma(64.0) + gamma(1.0)
    );
    // Integers are exact.
    let (mut a, mut b) = (baseline.clone(), baseline.clone());
    (a[0].dtype, b[0].dtype, a[0].hash, a[0].l2) = ("i32", "i32", 100, 8.000_000_1);
    is(
        &compared(&a, &b, "{}"),
        &[("identical", 4), ("diverged", 1)],
    );
}

#[test]
fn options_that_make_no_sense_are_refused() {
    for (options, part) in [
        (r#"{"rtol": -1}"#, "`rtol` is -1"),
        (r#"{"atol": -0.5}"#, "`atol` is -0.5"),
        (r#"{"lambda": 0}"#, "`lambda` is 0"),
        (r#"{"bound": "none"}"#, "worst_case"),
        (r#"{"tol": 1}"#, "`rtol`"),
    ] {
        let tables = side("", &run(1, 1))
            .into_iter()
            .chain(side("base_", &run(1, 1)));
        let error = testing::run::<Divergence>(tables, options)
            .unwrap_err()
            .to_string();
        assert!(error.contains(part), "{options}: {error}");
    }
}

#[test]
fn nan_that_comes_or_goes_is_always_found() {
    let clean = run(3, 2);
    let mut broken = clean.clone();
    (broken[11].nan, broken[11].hash) = (1, 1000);
    for (subject, baseline) in [(&broken, &clean), (&clean, &broken)] {
        let output = compared(subject, baseline, r#"{"rtol": 1e9, "atol": 1e9}"#);
        is(&output, &[("identical", 26), ("diverged", 1)]);
        let finding = output.finding("non_finite").unwrap();
        assert!(
            finding
                .title
                .contains("1 tensor, first attention, layer 0, iteration 1"),
            "{}",
            finding.title
        );
    }
}

#[test]
fn runs_with_nothing_in_common_are_not_comparable() {
    let baseline = run(2, 2);
    let mut subject = baseline.clone();
    for sum in &mut subject {
        sum.iteration = sum.iteration.map(|iteration| iteration + 100);
    }
    for (subject, baseline) in [
        (&subject, &baseline),
        (&baseline, &Vec::new()),
        (&Vec::new(), &Vec::new()),
    ] {
        let output = compared(subject, baseline, "{}");
        let codes: Vec<_> = output
            .findings
            .iter()
            .map(|finding| finding.code.as_str())
            .collect();
        assert_eq!(codes, ["not_comparable"]);
        assert_eq!(output.findings[0].severity, trueno_plugin::Severity::Error);
    }
}

#[test]
fn a_cut_run_has_the_rest_only_in_one() {
    let baseline = run(10, 2);
    let subject = baseline[..50].to_vec();
    let output = compared(&subject, &baseline, "{}");
    is(&output, &[("identical", 50), ("only_in_one", 40)]);
    assert_eq!(
        column(&output, "only_in_one", "side")[0].as_deref(),
        Some("baseline")
    );
    let title = &output.finding("only_in_one").unwrap().title;
    assert!(
        title.starts_with("0 tensors are in the run only, 40 in the baseline only"),
        "{title}"
    );
    assert!(output.finding("alike").is_none());
}

#[test]
fn another_dtype_or_shape_is_not_comparable() {
    let baseline = run(1, 1);
    let mut subject = baseline.clone();
    (subject[0].dtype, subject[1].shape) = ("bf16", "64");
    let output = compared(&subject, &baseline, "{}");
    is(&output, &[("identical", 3), ("not_comparable", 2)]);
    assert_eq!(
        column(&output, "pairs", "reason")[..2],
        [Some("dtype".into()), Some("shape".into())]
    );
}

#[test]
fn a_record_too_many_shifts_nothing() {
    // A name that is used five times at one place, once more in the subject: the retry is the third.
    let mut baseline = run(1, 1);
    let template = baseline[1].clone();
    for nth in 0..5 {
        baseline.push(Sum {
            name: "norm",
            hash: 50 + nth,
            time: 1000 + nth as i64,
            ..template.clone()
        });
    }
    let mut subject = baseline.clone();
    let at = baseline.len() - 3;
    subject.insert(
        at,
        Sum {
            hash: 999,
            l2: 1.0,
            time: 1001,
            thread: 1,
            ..baseline[at].clone()
        },
    );
    let output = compared(&subject, &baseline, "{}");
    is(&output, &[("identical", 10), ("duplicated", 1)]);
    let keys = output.finding("keys_repeat").unwrap();
    assert_eq!(keys.severity, trueno_plugin::Severity::Info);
    // Repeated alike on both sides, they are pairs as any others.
    is(&compared(&baseline, &baseline, "{}"), &[("identical", 10)]);
}

#[test]
fn another_order_changes_no_verdict_and_is_told() {
    let baseline = run(4, 2);
    let mut subject = baseline.clone();
    let (a, b) = (subject[3].time, subject[6].time);
    (subject[3].time, subject[6].time) = (b, a);
    let output = compared(&subject, &baseline, "{}");
    is(&output, &[("identical", 36)]);
    assert_eq!(
        output.finding("order_changed").unwrap().title,
        "2 tensors were recorded in a different order"
    );
    // What comes first is so by layer, not by time.
    for at in [3, 6] {
        (subject[at].hash, subject[at].l2) = (500 + at as u64, 9.0);
    }
    assert_eq!(
        first(&compared(&subject, &baseline, "{}"), "layer")
            .unwrap()
            .0,
        "0"
    );
}

#[test]
fn equal_statistics_of_other_bits_are_not_passed_over() {
    let baseline = run(1, 1);
    let mut subject = baseline.clone();
    subject[2].hash = 77;
    let output = compared(&subject, &baseline, "{}");
    is(&output, &[("identical", 4), ("within_tolerance", 1)]);
    assert!(output.finding("only_bits_differ").is_some());
}

#[test]
fn a_cut_list_keeps_what_differs() {
    let baseline = run(50, 2);
    let mut subject = baseline.clone();
    (subject[400].hash, subject[400].l2) = (9999, 1.0);
    let output = compared(&subject, &baseline, r#"{"pair_rows": 10}"#);
    let verdicts = column(&output, "pairs", "verdict");
    assert_eq!(verdicts.len(), 10);
    assert_eq!(verdicts[9].as_deref(), Some("diverged"));
    is(&output, &[("identical", 449), ("diverged", 1)]);
    assert!(output.finding("pairs_cut").is_some());
}

#[test]
fn positions_at_the_end_of_the_numbers_are_positions() {
    let mut sums = run(2, 1);
    for sum in &mut sums {
        sum.position = sum.position.map(|at| u64::MAX - at);
    }
    let output = compared(&sums, &sums, "{}");
    assert_eq!(column(&output, "pairs", "verdict").len(), sums.len());
    is(&output, &[("identical", sums.len() as u64)]);
}

#[test]
fn infinite_elements_that_nobody_counted_are_not_none() {
    let clean = run(3, 2);
    let mut broken = clean.clone();
    (broken[11].nan, broken[11].inf, broken[11].hash) = (1, None, 1000);
    let output = compared(&broken, &clean, "{}");
    let title = &output.finding("non_finite").unwrap().title;
    let end = ": 1 NaN in the run, 0 NaN and 0 infinite in the baseline";
    assert!(title.ends_with(end), "{title}");
}
