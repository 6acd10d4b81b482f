//! Tables of iterations, of serial work, and of lanes that the path leaves out.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use trueno_analysis::pools::Pools;
use trueno_analysis::share;
use trueno_plugin::{Table, TableBuilder};

use crate::graph::dependency_graph::Graph;
use crate::graph::walk::PieceKind;
use crate::path::background::OffPath;
use crate::path::iterations::Iteration;
use crate::path::serial_work::Alone;

/// Table `by_iteration`: what the path of the run did during each iteration. The times by kind add up to `dur_ns`;
/// `start_ns`, `lane` and `id` are those of the iteration's row.
pub fn by_iteration(graph: &Graph<'_>, rows: &[Iteration]) -> TableBuilder {
    let run = graph.run;
    let table = Table::build("by_iteration")
        .text("name", rows.iter().map(|row| run.texts.text(row.name)))
        .i64("dur_ns", rows.iter().map(|row| row.dur_ns));
    let table = PieceKind::ALL.into_iter().fold(table, |table, kind| {
        let ns = rows.iter().map(|row| row.by_kind_ns[kind as usize]);
        table.i64(&format!("{}_ns", kind.name()), ns)
    });
    table
        .i64(
            "start_ns",
            rows.iter().map(|row| row.start_ns + run.origin_ns),
        )
        .text("lane", rows.iter().map(|row| &run.lanes[row.lane].name))
        .u64("id", rows.iter().map(|row| row.id))
}

/// Table `serial_work`: work on the path while every other lane was idle or waited, longest first. This work could
/// run in parallel if nothing else prevents it. `shared_ns` is what is left of it if all threads that had begun by
/// then share it; `longest_ns` the longest part of it in one row, which no other thread can take a share of.
pub fn serial_work(graph: &Graph<'_>, by_label: &BTreeMap<u32, Alone>) -> TableBuilder {
    let run = graph.run;
    let mut sums: BTreeMap<(&str, &str), Alone> = BTreeMap::new();
    for (label, of) in by_label {
        let label = run.labels.get(*label);
        let key = (run.texts.text(label.name), run.texts.text(label.category));
        let sum = sums.entry(key).or_default();
        sum.ns += of.ns;
        sum.shared_ns += of.shared_ns;
        sum.longest_ns = sum.longest_ns.max(of.longest_ns);
    }
    let mut rows: Vec<_> = sums
        .into_iter()
        .map(|((name, category), alone)| (Reverse(alone.ns), name, category, alone))
        .collect();
    rows.sort_unstable_by_key(|row| (row.0, row.1, row.2));
    Table::build("serial_work")
        .text("name", rows.iter().map(|row| row.1))
        .text("category", rows.iter().map(|row| row.2))
        .i64("alone_ns", rows.iter().map(|row| row.0.0))
        .f64(
            "wall_share",
            rows.iter().map(|row| share(row.0.0, run.wall_ns)),
        )
        .i64("shared_ns", rows.iter().map(|row| row.3.shared_ns))
        .i64("longest_ns", rows.iter().map(|row| row.3.longest_ns))
}

/// Table `beside_waits`: what other threads did while a thread on the path waited, and nothing recorded says for what,
/// longest first. `beside_ns` is the time in which any of them ran the name. Only waits that are together a twentieth of the
/// wall on their thread count.
pub fn beside_waits(rows: &[(&str, i64)], wall_ns: i64) -> TableBuilder {
    Table::build("beside_waits")
        .text("name", rows.iter().map(|row| row.0))
        .i64("beside_ns", rows.iter().map(|row| row.1))
        .f64("wall_share", rows.iter().map(|row| share(row.1, wall_ns)))
}

/// Table `off_path`: lanes that the path never uses, busiest first. `busy_ns` is their own work, `is_connected`
/// whether dependencies connect them with the path. Short-lived threads with the same role share a row.
pub fn off_path(graph: &Graph<'_>, lanes: &[OffPath]) -> TableBuilder {
    let run = graph.run;
    let pools = Pools::of_run(run);
    let mut rows: Vec<(String, OffPath)> = Vec::with_capacity(lanes.len());
    let mut of_pools: BTreeMap<usize, (usize, usize)> = BTreeMap::new();
    for of in lanes {
        let Some(place) = pools.place(of.lane) else {
            rows.push((run.lanes[of.lane].name.clone(), of.clone()));
            continue;
        };
        let (row, threads) = of_pools.entry(place.pool).or_insert((rows.len(), 0));
        *threads += 1;
        match rows.get_mut(*row) {
            Some((_, sum)) => {
                sum.busy_ns += of.busy_ns;
                sum.rows += of.rows;
                sum.is_connected |= of.is_connected;
            }
            None => rows.push((pools.pools[place.pool].name.clone(), of.clone())),
        }
    }
    for (pool, (row, threads)) in of_pools {
        let pool = &pools.pools[pool];
        if threads < pool.threads.len() {
            rows[row].0 = format!("{threads} of {}", pool.name);
        }
    }
    rows.sort_by_key(|(_, of)| Reverse(of.busy_ns));
    let of = || rows.iter().map(|(_, of)| of);
    Table::build("off_path")
        .text("lane", rows.iter().map(|(name, _)| name))
        .i64("busy_ns", of().map(|of| of.busy_ns))
        .f64("wall_share", of().map(|of| share(of.busy_ns, run.wall_ns)))
        .u64("rows", of().map(|of| of.rows))
        .bool("is_connected", of().map(|of| of.is_connected))
}
