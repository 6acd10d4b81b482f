//! Parts of ranks, merged in any grouping, against all rows at once.

use std::collections::BTreeMap;

use proptest::prelude::*;
use trueno_plugin::testing::{Output, check_parts, part, run};
use trueno_plugin::{Table, TableBuilder};
use trueno_plugin_summary::Summary;

const KERNELS: [&str; 3] = ["gemm", "norm", "relu"];
const BRICKS: [&str; 3] = ["attention", "mlp", "softmax"];

/// Kernel, brick around its launch, time.
type Launch = (usize, Option<usize>, Option<i64>);

#[derive(Clone, Debug)]
struct Rank {
    launches: Vec<Launch>,
    iterations: Vec<u8>,
}

fn ranks() -> impl Strategy<Value = Vec<Rank>> {
    let launch = (
        0..3_usize,
        prop::option::weighted(0.8, 0..3_usize),
        prop::option::weighted(0.9, 0..5_i64),
    );
    let rank = (
        prop::collection::vec(launch, 0..8),
        prop::collection::vec(0..4_u8, 0..4),
    );
    let rank = rank.prop_map(|(launches, iterations)| Rank {
        launches,
        iterations,
    });
    prop::collection::vec(rank, 1..5)
}

/// Results of the queries over rows of events.
fn events(ranks: &[Rank]) -> [TableBuilder; 2] {
    let mut sums: BTreeMap<(usize, Option<usize>), Option<i64>> = BTreeMap::new();
    for (kernel, brick, ns) in ranks.iter().flat_map(|rank| &rank.launches) {
        let sum = sums.entry((*kernel, *brick)).or_default();
        *sum = ns.map(|ns| sum.unwrap_or(0) + ns).or(*sum);
    }
    let names = ranks.iter().flat_map(|rank| &rank.iterations);
    let mut names: Vec<u8> = names.copied().collect();
    names.sort_unstable();
    names.dedup();
    [
        Table::build("owners")
            .text("kernel", sums.keys().map(|key| KERNELS[key.0]))
            .text(
                "operator",
                sums.keys().map(|key| key.1.map(|at| BRICKS[at])),
            )
            .i64("dur_ns", sums.values().copied()),
        Table::build("iteration_names").text("name", names.iter().map(|at| format!("step {at}"))),
    ]
}

fn others(ranks: &[Rank], devices: usize, calls: u64) -> Vec<TableBuilder> {
    let place = |at: usize| format!("rank {at} gpu0");
    let none = || (0..devices).map(|_| None::<i64>);
    let ns = |kernel: usize| {
        let all = ranks.iter().flat_map(|rank| &rank.launches);
        let own = all.filter(|launch| launch.0 == kernel);
        own.filter_map(|launch| launch.2).sum::<i64>()
    };
    vec![
        Table::build("run")
            .i64("wall_ns", [200])
            .u64("rows", [9_u64]),
        Table::build("ranks").u64("rank", 0..ranks.len() as u64),
        Table::build("idle")
            .text("place", (0..devices).map(place))
            .i64("span_ns", (0..devices).map(|_| 100))
            .i64("idle_ns", (0..devices).map(|_| 90))
            .i64("busy_ns", (0..devices).map(|_| 10))
            .i64("not_queued_ns", none())
            .i64("launching_ns", none())
            .i64("not_started_ns", none())
            .i64("not_known_ns", none())
            .u64("gaps", (0..devices).map(|_| 2_u64))
            .i64("longest_ns", (0..devices).map(|_| 60))
            .u64("operations", (0..devices).map(|_| 3_u64))
            .i64("dur_ns", (0..devices).map(|_| 10)),
        Table::build("exposure")
            .text("scope", (0..devices).map(place))
            .text("kind", (0..devices).map(|_| "computation"))
            .i64("split_ns", (0..devices).map(|_| 10)),
        Table::build("launches")
            .text("name", KERNELS)
            .u64("operations", [calls; 3])
            .i64("dur_ns", [0, 1, 2].map(ns)),
        Table::build("path_kinds")
            .text("kind", ["work", "gap"])
            .f64("wall_share", [0.9, 0.1]),
        Table::build("path_names")
            .text("name", ["step 1", "step 2", "aten::empty"])
            .text("category", [None::<&str>, None, None])
            .f64("wall_share", [0.3, 0.3, 0.3]),
    ]
}

fn with(
    events: impl IntoIterator<Item = TableBuilder>,
    others: Vec<TableBuilder>,
) -> Vec<TableBuilder> {
    events.into_iter().chain(others).collect()
}

proptest! {
    #[test]
    fn merged_parts_give_what_all_rows_give(
        ranks in ranks(),
        cut in 0..5_usize,
        devices in 0..3_usize,
        calls in prop_oneof![9 => 1..9_u64, 1 => Just(1_u64 << 40)],
    ) {
        let others = || others(&ranks, devices, calls);
        let whole = run::<Summary>(with(events(&ranks), others()), "{}").unwrap();
        let parts: Vec<Output> = ranks
            .iter()
            .map(|rank| part::<Summary>(events(std::slice::from_ref(rank)), "{}").unwrap())
            .collect();
        let agreed = check_parts::<Summary>(&parts, cut, others, "{}", &whole);
        prop_assert!(agreed.is_ok(), "{}", agreed.unwrap_err());
    }
}
