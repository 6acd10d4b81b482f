//! Parts of ranks, merged in any grouping, against all rows at once.

use proptest::prelude::*;
use trueno_plugin::testing::{Output, merge, part};
use trueno_plugin_roofline::Roofline;

use crate::fixture::{Ceiling, Fixture, Row, at, ceiling};

/// Rows of a rank with ids of their own. Kernels may refer to its bricks.
#[derive(Clone, Debug)]
struct Rank {
    bricks: Vec<Row>,
    kernels: Vec<Row>,
    counters: Vec<(u64, &'static str, f64)>,
}

fn numbered(mut row: Row, rank: u64, id: u64) -> Row {
    let place = |number: i64| (rank as i64) << 16 | number;
    row.id = rank << 48 | id;
    row.parent = row.parent.map(|parent| rank << 48 | parent);
    row.thread = row.thread.map(place);
    row.device = row.device.map(place);
    row
}

fn row(kinds: Vec<&'static str>, devices: Vec<Option<i64>>) -> impl Strategy<Value = Row> {
    let backends = vec!["avx2", "scalar", "avx512", "fast", "cuda"];
    let figure = || {
        prop::option::weighted(
            0.8,
            prop_oneof![4 => 0_u64..40, 4 => 8_u64..10, 1 => 1_u64 << 62..u64::MAX],
        )
    };
    let names = (
        prop::sample::select(vec!["a", "b", "c"]),
        prop::option::of(prop::sample::select(vec!["Attention", "FFN"])),
        prop::option::of(prop::sample::select(backends)),
        prop::sample::select(kinds),
    );
    let places = (
        prop::option::weighted(0.8, 0_i64..2),
        prop::sample::select(devices),
        prop::option::of(0_u64..6),
    );
    let times = (
        0_i64..60,
        prop_oneof![-1_i64..20, 5_i64..7],
        figure(),
        figure(),
        0..12_u8,
    );
    (names, places, times).prop_map(
        |(
            (name, category, backend, kind),
            (thread, device, parent),
            (start_ns, dur_ns, flops, bytes, rare),
        )| Row {
            category,
            backend,
            kind,
            thread,
            device,
            parent,
            flops,
            bytes,
            is_bound: rare == 0,
            is_invalid: rare == 1,
            ..at(0, name, start_ns, dur_ns)
        },
    )
}

fn rank() -> impl Strategy<Value = Rank> {
    let kinds = vec!["brick", "brick", "brick", "task", "layer"];
    let bricks = prop::collection::vec(row(kinds, vec![None]), 0..10);
    let devices = vec![None, None, Some(0), Some(1)];
    let kernels = prop::collection::vec(row(vec![""], devices), 0..12);
    let counter = prop::sample::select(vec!["flops", "flops_f32", "flops_f64", "dram_bytes"]);
    let value = prop_oneof![12 => (0_i32..40).prop_map(|n| f64::from(n) / 4.0), 1 => Just(f64::NAN), 1 => Just(3e19)];
    let counters = prop::collection::vec((0..22_u64, counter, value), 0..30);
    (bricks, kernels, counters).prop_map(|(bricks, kernels, counters)| Rank {
        bricks,
        kernels,
        counters,
    })
}

fn ceilings() -> Vec<Ceiling> {
    let gpu = |device, kind, level, value| {
        let (_, _, _, precision, _, _, source) = ceiling(kind, level, value);
        (device, kind, level, precision, None, value, source)
    };
    vec![
        ceiling("compute", "avx2", 2e9),
        ceiling("compute", "scalar", 1e9),
        ceiling("compute", "avx512", 6e9),
        (
            "cpu",
            "compute",
            "avx2",
            Some("f64"),
            Some(1),
            1e9,
            "measured",
        ),
        ceiling("bandwidth", "dram triad", 2e9),
        ceiling("bandwidth", "dram copy_nt", 4e9),
        ceiling("bandwidth", "l3", 9e9),
        gpu("gpu:0", "compute", "sm", 3e9),
        gpu("gpu:0", "bandwidth", "dram", 2e9),
        gpu("gpu:65536", "compute", "sm", 5e9),
        gpu("gpu:65536", "bandwidth", "dram", 1e9),
    ]
}

fn fixtures(
    ranks: &[Rank],
    window: Option<(i64, i64)>,
    has_ceilings: bool,
    baseline: Option<&Rank>,
) -> (Vec<Fixture>, Fixture) {
    let of_rank = |(number, rank): (u64, &Rank)| Fixture {
        bricks: (0..)
            .zip(&rank.bricks)
            .map(|(id, row)| numbered(row.clone(), number, id))
            .collect(),
        kernels: (10..)
            .zip(&rank.kernels)
            .map(|(id, row)| numbered(row.clone(), number, id))
            .collect(),
        counters: rank
            .counters
            .iter()
            .map(|(id, name, value)| (number << 48 | id, *name, *value))
            .collect(),
        ceilings: if has_ceilings { ceilings() } else { Vec::new() },
        window,
        rules: vec![("a", "Attention"), ("b", "Softmax")],
        baseline: baseline.map(|rank| {
            let (_, whole) = fixtures(std::slice::from_ref(rank), None, has_ceilings, None);
            Box::new(whole)
        }),
        ..Fixture::default()
    };
    let all: Vec<Fixture> = (0..).zip(ranks).map(of_rank).collect();
    let mut whole = of_rank((
        0,
        &Rank {
            bricks: Vec::new(),
            kernels: Vec::new(),
            counters: Vec::new(),
        },
    ));
    for fixture in &all {
        whole.bricks.extend(fixture.bricks.iter().cloned());
        whole.kernels.extend(fixture.kernels.iter().cloned());
        whole.counters.extend(fixture.counters.iter().copied());
    }
    whole.counters.sort_by_key(|counter| counter.0);
    (all, whole)
}

const OPTIONS: [&str; 4] = [
    "{}",
    r#"{"compare_backends": true}"#,
    r#"{"memory": "l3", "precision": "f64"}"#,
    r#"{"nominal": true}"#,
];

fn part_of(fixture: &Fixture, options: &str) -> Output {
    part::<Roofline>(fixture.inputs(), options).unwrap()
}

fn merged(parts: &[Output], whole: &Fixture, options: &str, is_final: bool) -> Output {
    merge::<Roofline>(parts, whole.inputs_of_merge(), options, is_final).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]
    #[test]
    fn merged_parts_give_what_all_rows_give(
        ranks in prop::collection::vec(rank(), 1..=4),
        baseline in prop::option::of(rank()),
        window in prop::option::of((0_i64..20, 30_i64..80)),
        has_ceilings in prop::bool::weighted(0.8),
        options in prop::sample::select(OPTIONS.to_vec()),
        cut in 0..4_usize,
    ) {
        let (ranks, whole) = fixtures(&ranks, window, has_ceilings, baseline.as_ref());
        let expected = text(&whole.analyse_with(options));
        let mut parts: Vec<Output> = ranks.iter().map(|rank| part_of(rank, options)).collect();
        prop_assert_eq!(&text(&merged(&parts, &whole, options, true)), &expected);
        let rest = parts.split_off(cut.min(parts.len() - 1));
        parts.insert(0, merged(&rest, &whole, options, false));
        prop_assert_eq!(text(&merged(&parts, &whole, options, true)), expected);
    }
}

/// The whole output as text, in which NaNs are equal.
fn text(output: &Output) -> String {
    format!("{output:?}")
}

#[test]
fn ranks_without_rows_have_empty_parts() {
    let (ranks, whole) = fixtures(
        &vec![
            Rank {
                bricks: Vec::new(),
                kernels: Vec::new(),
                counters: Vec::new()
            };
            2
        ],
        None,
        true,
        None,
    );
    let parts: Vec<Output> = ranks.iter().map(|rank| part_of(rank, "{}")).collect();
    assert_eq!(parts[0].tables.len(), 5);
    for table in &parts[0].tables {
        assert_eq!(table.rows(), 0, "{}", table.name());
    }
    let between = merged(&parts, &whole, "{}", false);
    assert_eq!(between, parts[0]);
    assert_eq!(merged(&parts, &whole, "{}", true), whole.analyse());
}

/// A hundred times 2^62 FLOPs need more than 64 bits, and a double of that size cannot represent the 4096 single FLOPs.
#[test]
fn sums_are_exact_however_large_they_are() {
    let run = |flops: &[u64]| Fixture {
        kernels: (1..)
            .zip(flops)
            .map(|(id, flops)| at(id, "k", id as i64 * 10, 10).work(*flops, 1))
            .collect(),
        ..Fixture::default()
    };
    let flops: Vec<u64> = std::iter::repeat_n(1, 4096).chain([1 << 62; 100]).collect();
    let mut backwards = flops.clone();
    backwards.reverse();
    let sum = |flops: &[u64]| {
        run(flops)
            .analyse()
            .table("points")
            .f64("flops")
            .unwrap()
            .value(0)
    };
    let expected = (100_u128 << 62 | 4096) as f64;
    assert_eq!((sum(&flops), sum(&backwards)), (expected, expected));
}

#[test]
fn a_cell_that_no_part_says_is_an_error() {
    let (ranks, whole) = fixtures(
        &[Rank {
            bricks: vec![at(0, "a", 0, 9).work(1, 1)],
            kernels: Vec::new(),
            counters: Vec::new(),
        }],
        None,
        true,
        None,
    );
    let part = part_of(&ranks[0], "{}");
    for (table, column) in [
        ("calls", "source"),
        ("calls", "provenance"),
        ("innermost", "lane_kind"),
        ("innermost", "declared_flops"),
        ("busy", "lane_kind"),
    ] {
        let mut tables = part.tables.clone();
        for of in tables.iter_mut().filter(|of| of.name() == table) {
            *of = of
                .columns()
                .fold(
                    trueno_plugin::Table::build(table),
                    |builder, (name, cells)| {
                        if name == column {
                            builder.text(name, (0..of.rows()).map(|_| "?"))
                        } else {
                            builder.column(name, cells.clone())
                        }
                    },
                )
                .finish()
                .unwrap();
        }
        let broken = Output {
            tables,
            ..Output::default()
        };
        let error = merge::<Roofline>(&[broken], whole.inputs_of_merge(), "{}", true).unwrap_err();
        assert!(
            error.to_string().contains("\"?\""),
            "{table}.{column}: {error}"
        );
    }
}
