//! Parts of ranks, merged in any grouping, against all rows at once.

use proptest::prelude::*;
use trueno_plugin::testing::{Output, check_parts, part, run};
use trueno_plugin::{Table, TableBuilder};
use trueno_plugin_throughput::Throughput;

const NAMES: [&str; 4] = ["step", "norm", "attention", "mlp"];

#[derive(Clone, Debug)]
struct Iteration {
    thread: Option<i64>,
    number: Option<u64>,
    gap_ns: i64,
    wall_ns: Option<i64>,
    is_bound: bool,
    /// Name and time of a row inside the iteration.
    below: Option<(i64, i64)>,
    declared: Vec<(&'static str, Option<f64>)>,
}

/// Iterations of a rank, and the number of counters on other rows.
type Rank = (Vec<Iteration>, i64);

fn iteration() -> impl Strategy<Value = Iteration> {
    let value = prop_oneof![
        6 => (0..90_i64).prop_map(|tenths| Some(tenths as f64 / 10.0)),
        1 => Just(Some(f64::NAN)),
        1 => Just(Some(-1.0)),
        1 => Just(None),
    ];
    let declared = (prop_oneof![Just("tokens"), Just("samples")], value);
    let times = (
        prop_oneof![8 => 0..30_i64, 1 => -50..0_i64],
        prop_oneof![8 => (100..104_i64).prop_map(Some), 3 => (90..900_i64).prop_map(Some), 1 => Just(Some(-3)), 1 => Just(None)],
    );
    let place = (
        prop::option::weighted(0.95, prop_oneof![6 => Just(0_i64), 1 => Just(1)]),
        prop::option::weighted(0.9, 0..99_u64),
        prop::bool::weighted(0.05),
    );
    let below = prop::option::weighted(0.8, (1..4_i64, 0..90_i64));
    let declared = prop_oneof![
        3 => Just(Vec::new()),
        3 => prop::collection::vec(declared, 1..3),
    ];
    (place, times, below, declared).prop_map(
        |((thread, number, is_bound), (gap_ns, wall_ns), below, declared)| Iteration {
            thread,
            number,
            gap_ns,
            wall_ns,
            is_bound,
            below,
            declared,
        },
    )
}

fn ranks() -> impl Strategy<Value = Vec<Rank>> {
    let rank = prop_oneof![
        1 => Just((Vec::new(), 0)),
        5 => (prop::collection::vec(iteration(), 0..30), 0..2_i64),
    ];
    prop::collection::vec(rank, 1..5)
}

fn inputs(ranks: &[(usize, &Rank)], window: Option<(i64, i64)>) -> Vec<TableBuilder> {
    let mut iterations: Vec<(u64, Option<i64>, i64, &Iteration)> = Vec::new();
    for (rank, (rows, _)) in ranks {
        let mut start_ns = 0;
        for (row, id) in rows.iter().zip(1..) {
            start_ns += row.gap_ns;
            let thread = row.thread.map(|thread| ((*rank as i64) << 16) | thread);
            iterations.push(((*rank as u64) << 48 | id, thread, start_ns, row));
            start_ns += row.wall_ns.unwrap_or(0).max(0);
        }
    }
    let each = || iterations.iter();
    type Brick = (u64, Option<u64>, Option<i64>, Option<u64>, i64, Option<i64>);
    let mut bricks: Vec<Brick> = Vec::new();
    for (id, thread, _, row) in each() {
        if let Some((name, dur_ns)) = row.below {
            bricks.push((
                id | 1 << 40,
                Some(*id),
                *thread,
                row.number,
                name,
                Some(dur_ns),
            ));
        }
        bricks.push((*id, None, *thread, row.number, 0, row.wall_ns));
    }
    let declared: Vec<_> = each()
        .flat_map(|(id, .., row)| row.declared.iter().map(move |value| (*id, *value)))
        .collect();
    let readings = |name: &str| {
        let here = declared.iter().filter(|row| row.1.0 == name).count() as i64;
        here + ranks.iter().map(|rank| rank.1.1).sum::<i64>()
    };
    let mut all = vec![
        Table::build("iterations")
            .u64("id", each().map(|row| row.0))
            .i64("thread", each().map(|row| row.1))
            .u64("iteration", each().map(|row| row.3.number))
            .i64("start_ns", each().map(|row| row.2))
            .i64("dur_ns", each().map(|row| row.3.wall_ns))
            .bool("is_bound", each().map(|row| row.3.is_bound)),
        Table::build("declared")
            .u64("span", declared.iter().map(|row| row.0))
            .text("name", declared.iter().map(|row| row.1.0))
            .f64("value", declared.iter().map(|row| row.1.1)),
        Table::build("declared_all")
            .text("name", ["samples", "tokens"])
            .i64("readings", ["samples", "tokens"].map(readings)),
        Table::build("bricks")
            .u64("id", bricks.iter().map(|row| row.0))
            .u64("parent", bricks.iter().map(|row| row.1))
            .i64("thread", bricks.iter().map(|row| row.2))
            .u64("iteration", bricks.iter().map(|row| row.3))
            .i64("kind_id", bricks.iter().map(|row| i64::from(row.4 > 0)))
            .i64("name_id", bricks.iter().map(|row| row.4))
            .i64("dur_ns", bricks.iter().map(|row| row.5)),
        Table::build("brick_kinds")
            .i64("id", [0, 1])
            .text("text", ["iteration", "brick"]),
        Table::build("brick_names")
            .i64("id", 0..4)
            .text("text", NAMES),
        // Of the whole job in a part, too.
        Table::build("ranks").u64("rank", [0_u64, 1, 2, 3]),
    ];
    all.extend(window.map(|(from_ns, until_ns)| {
        Table::build("report_window")
            .i64("from_ns", [from_ns])
            .i64("until_ns", [until_ns])
    }));
    all
}

proptest! {
    #[test]
    fn merged_parts_give_what_all_rows_give(
        ranks in ranks(),
        cut in 0..5_usize,
        window in prop::option::weighted(0.3, (0..200_i64, 300..5_000_i64)),
        options in prop_oneof![Just("{}"), Just(r#"{"window": 2, "tolerance": 0.5, "mads": 2.0}"#)],
    ) {
        let numbered: Vec<(usize, &Rank)> = ranks.iter().enumerate().collect();
        let whole = run::<Throughput>(inputs(&numbered, window), options).unwrap();
        let parts: Vec<Output> = numbered
            .iter()
            .map(|rank| part::<Throughput>(inputs(&[*rank], window), options).unwrap())
            .collect();
        let agreed = check_parts::<Throughput>(&parts, cut, Vec::new, options, &whole);
        prop_assert!(agreed.is_ok(), "{}", agreed.unwrap_err());
    }
}
