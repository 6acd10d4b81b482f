//! The plugin as a whole: two made runs in, verdicts out.

use proptest::prelude::*;
use trueno_plugin::testing::{self, Output};
use trueno_plugin::{Table, TableBuilder};
use trueno_plugin_divergence::Divergence;
use trueno_plugin_divergence::sequence::longest_in_order;

/// One checksum.
#[derive(Clone, Debug, PartialEq)]
struct Sum {
    name: &'static str,
    layer: Option<i64>,
    iteration: Option<u64>,
    position: Option<u64>,
    thread: i64,
    time: i64,
    dtype: &'static str,
    shape: &'static str,
    hash: u64,
    nan: u64,
    l2: f64,
}

const NAMES: [&str; 4] = ["norm", "qkv", "attention", "ffn"];
const DTYPES: [&str; 4] = ["f32", "f64", "bf16", "i32"];
const SHAPES: [&str; 2] = ["1x64", "64"];

/// `iterations` tokens through `layers` layers of four tensors, and a head without layer.
fn run(iterations: u64, layers: i64) -> Vec<Sum> {
    let mut sums = Vec::new();
    for iteration in 0..iterations {
        for (layer, name) in (0..layers)
            .flat_map(|layer| NAMES.map(|name| (Some(layer), name)))
            .chain([(None, "ffn")])
        {
            sums.push(Sum {
                name,
                layer,
                iteration: Some(iteration),
                position: Some(10 + iteration),
                thread: 0,
                time: sums.len() as i64 * 10,
                dtype: "f32",
                shape: "1x64",
                hash: sums.len() as u64 + 1,
                nan: 0,
                l2: 8.0,
            });
        }
    }
    sums
}

fn number(list: &[&str], text: &str) -> i64 {
    list.iter().position(|known| *known == text).unwrap() as i64
}

fn side(prefix: &str, sums: &[Sum]) -> Vec<TableBuilder> {
    let none = || sums.iter().map(|_| None::<i64>);
    let no_count = || sums.iter().map(|_| None::<u64>);
    let rows = Table::build(format!("{prefix}rows"))
        .i64("name", sums.iter().map(|s| number(&NAMES, s.name)))
        .i64("dtype", sums.iter().map(|s| number(&DTYPES, s.dtype)))
        .i64("shape", sums.iter().map(|s| number(&SHAPES, s.shape)))
        .i64("backend", none())
        .i64("brick", none())
        .i64("brick_backend", none())
        .i64("kernel", none())
        .i64("kernel_backend", none())
        .i64("ptx", none())
        .i64("layer", sums.iter().map(|s| s.layer))
        .u64("iteration", sums.iter().map(|s| s.iteration))
        .u64("position", sums.iter().map(|s| s.position))
        .i64("thread", sums.iter().map(|s| s.thread))
        .i64("time_ns", sums.iter().map(|s| s.time))
        .u64("span", no_count())
        .u64("elements", sums.iter().map(|_| 64))
        .u64("hash", sums.iter().map(|s| s.hash))
        .u64("nan_count", sums.iter().map(|s| s.nan))
        .u64("inf_count", sums.iter().map(|_| 0))
        .u64("zero_count", sums.iter().map(|_| 0))
        .f64("min", sums.iter().map(|_| -2.0))
        .f64("max", sums.iter().map(|_| 2.0))
        .f64("absmax", sums.iter().map(|_| 2.0))
        .f64("mean", sums.iter().map(|_| 0.0))
        .f64("l2", sums.iter().map(|s| s.l2))
        .u64("brick_flops", no_count())
        .u64("brick_elements", no_count())
        .u64("kernel_flops", no_count())
        .u64("kernel_elements", no_count());
    let texts = |name: &str, list: &[&str]| {
        Table::build(format!("{prefix}{name}"))
            .i64("id", 0..list.len() as i64)
            .text("text", list)
    };
    let mut tables = vec![
        rows,
        texts("names", &NAMES),
        texts("dtypes", &DTYPES),
        texts("shapes", &SHAPES),
    ];
    for empty in [
        "backends",
        "bricks",
        "brick_backends",
        "kernels",
        "kernel_backends",
        "ptx",
    ] {
        tables.push(texts(empty, &[]));
    }
    let nothing: [&str; 0] = [];
    tables.push(
        Table::build(format!("{prefix}ran"))
            .text("brick", nothing)
            .i64("layer", [0i64; 0])
            .text("kernel", nothing)
            .text("backend", nothing)
            .text("ptx_hash", nothing),
    );
    tables
}

fn compared(subject: &[Sum], baseline: &[Sum], options: &str) -> Output {
    let tables = side("", subject).into_iter().chain(side("base_", baseline));
    testing::run::<Divergence>(tables, options).unwrap()
}

/// Tensors by verdict, those with none left out.
fn counts(output: &Output) -> Vec<(String, u64)> {
    let summary = output.table("summary");
    let (verdict, tensors) = (
        summary.text("verdict").unwrap(),
        summary.u64("tensors").unwrap(),
    );
    (0..summary.rows())
        .map(|row| (verdict.value(row).to_owned(), tensors.value(row)))
        .filter(|(_, tensors)| *tensors > 0)
        .collect()
}

fn is(output: &Output, expected: &[(&str, u64)]) {
    let expected: Vec<_> = expected
        .iter()
        .map(|(v, n)| ((*v).to_owned(), *n))
        .collect();
    assert_eq!(counts(output), expected);
}

/// A property of the first divergence, on both sides.
fn first(output: &Output, property: &str) -> Option<(String, String)> {
    let table = output.table("first");
    let (what, a, b) = (
        table.text("property").unwrap(),
        table.text("run").unwrap(),
        table.text("baseline").unwrap(),
    );
    let row = (0..table.rows()).find(|row| what.value(*row) == property)?;
    Some((a.get(row)?.to_owned(), b.get(row)?.to_owned()))
}

fn column(output: &Output, table: &str, column: &str) -> Vec<Option<String>> {
    let table = output.table(table);
    let cells = table.column(column).unwrap();
    (0..table.rows()).map(|row| cells.cell_text(row)).collect()
}

/// Samples of some rows of a side.
fn sampled(name: &str, rows: &[(&Sum, [f64; 3])]) -> TableBuilder {
    let mut table = Table::build(name)
        .i64("thread", rows.iter().map(|row| row.0.thread))
        .i64("time_ns", rows.iter().map(|row| row.0.time))
        .u64("hash", rows.iter().map(|row| row.0.hash));
    for nth in 0..16 {
        let cells = rows.iter().map(|row| row.1.get(nth).copied());
        table = table.f64(&format!("sample_{nth}"), cells);
    }
    table
}

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
                .contains("1 tensors, first attention, layer 0, iteration 1"),
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
        "2 tensors were recorded in another order"
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

/// Few names and places, so that keys repeat and sides differ.
fn some() -> impl Strategy<Value = Vec<Sum>> {
    let sum = (
        0usize..3,
        prop::option::of(0i64..2),
        prop::option::of(0u64..2),
        prop::option::of(0u64..2),
        0i64..2,
        0i64..6,
        1u64..4,
    );
    prop::collection::vec(sum, 0..40).prop_map(|sums| {
        let make = |(name, layer, iteration, position, thread, time, hash)| Sum {
            name: NAMES[name],
            layer,
            iteration,
            position,
            thread,
            time,
            dtype: "f32",
            shape: "1x64",
            hash,
            nan: hash % 2,
            l2: hash as f64,
        };
        sums.into_iter().map(make).collect()
    })
}

proptest! {
    #[test]
    fn the_order_of_rows_changes_nothing(subject in some(), baseline in some(), seed in any::<u64>()) {
        let shuffled = |sums: &[Sum], seed: u64| {
            let mut keyed: Vec<_> = sums.iter().enumerate().collect();
            keyed.sort_by_key(|(at, _)| (*at as u64 + 1).wrapping_mul(seed | 1) >> 7);
            keyed.into_iter().map(|(_, sum)| sum.clone()).collect::<Vec<_>>()
        };
        let one = compared(&subject, &baseline, "{}");
        let two = compared(&shuffled(&subject, seed), &shuffled(&baseline, !seed), "{}");
        prop_assert_eq!(one, two);
    }

    #[test]
    fn every_row_stands_in_exactly_one_item(subject in some(), baseline in some()) {
        let output = compared(&subject, &baseline, "{}");
        for (side, sums) in [("hash_run", &subject), ("hash_baseline", &baseline)] {
            let mut found: Vec<_> = column(&output, "pairs", side).into_iter().flatten().collect();
            let mut expected: Vec<_> = sums.iter().map(|sum| sum.hash.to_string()).collect();
            found.sort();
            expected.sort();
            prop_assert_eq!(found, expected);
        }
        // A slow oracle of the pairs: of each key, as many as the side with fewer has.
        let key = |s: &Sum| (s.name, s.layer, s.iteration, s.position);
        let mut keys: Vec<_> = subject.iter().chain(&baseline).map(key).collect();
        keys.sort();
        keys.dedup();
        let of = |sums: &[Sum], wanted| sums.iter().filter(|s| key(s) == wanted).count();
        let pairs: usize = keys.iter().map(|k| of(&subject, *k).min(of(&baseline, *k))).sum();
        let alone = column(&output, "only_in_one", "name").len();
        prop_assert_eq!(pairs * 2 + alone, subject.len() + baseline.len());
    }

    #[test]
    fn two_sides_agree_whichever_is_the_baseline(subject in some(), baseline in some()) {
        let verdicts = |output: &Output| {
            let mut all: Vec<_> = column(output, "pairs", "name").into_iter()
                .zip(column(output, "pairs", "occurrence"))
                .zip(column(output, "pairs", "verdict")).collect();
            all.retain(|(_, verdict)| verdict.as_deref() != Some("only_in_one") && verdict.as_deref() != Some("duplicated"));
            all.iter().map(|(_, verdict)| verdict.clone()).fold(std::collections::BTreeMap::new(), |mut counts, verdict| {
                *counts.entry(verdict).or_insert(0) += 1;
                counts
            })
        };
        prop_assert_eq!(verdicts(&compared(&subject, &baseline, "{}")), verdicts(&compared(&baseline, &subject, "{}")));
    }

    #[test]
    fn the_longest_order_is_the_longest(values in prop::collection::vec(0i64..8, 0..10)) {
        let stays = longest_in_order(&values);
        let kept: Vec<_> = values.iter().zip(&stays).filter(|(_, stays)| **stays).map(|(v, _)| *v).collect();
        prop_assert!(kept.is_sorted());
        let longest = (0u32..1 << values.len())
            .map(|set| values.iter().enumerate().filter(|(at, _)| set & 1 << at != 0).map(|(_, v)| *v).collect::<Vec<_>>())
            .filter(|list| list.is_sorted())
            .map(|list| list.len())
            .max();
        prop_assert_eq!(Some(kept.len()), longest);
    }
}

fn with_reference(subject: &[Sum], baseline: &[Sum], reference: &[Sum]) -> Output {
    let tables = side("", subject)
        .into_iter()
        .chain(side("base_", baseline))
        .chain(side("reference_", reference));
    testing::run::<Divergence>(tables, "{}").unwrap()
}

/// The reference is exact, and of another type; one tensor each of what can be.
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
        detail.starts_with("by the reference, the run moved"),
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
