//! Table `bricks`: what the CPU counted.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use trueno_plugin::{Table, TableBuilder};

use crate::sums::{BrickSum, at};

/// Table `bricks`: by cycles, then by CPU time and name. Null means not counted.
///
/// Counts are of the brick's own thread in user mode, and include nested bricks. `calls`: calls with at least one
/// count; `estimated_calls`: calls with a scaled count; `ipc`: instructions / cycles; `cycles_per_element`: cycles
/// / elements; `l2_hit_share`, `l3_hit_share`: 1 − misses / accesses; `cpu_ns`: time on a CPU, including the
/// reading of the counters; `off_cpu_share`: lower bound for the share of the durations in which the thread was on
/// no CPU. Each rate is of sums over the calls that have both counts.
pub fn table(bricks: &BTreeMap<String, BrickSum>) -> TableBuilder {
    let mut rows: Vec<(&String, &BrickSum)> = bricks.iter().collect();
    rows.sort_by_key(|(_, sum)| Reverse((sum.counts[at::CYCLES], sum.counts[at::TASK_CLOCK])));
    let rows = || rows.iter();
    let count = |of: usize| rows().map(move |row| row.1.counts[of]);
    let rate = |of: usize, by: usize| rows().map(move |row| row.1.rate(of, by));
    // More misses than accesses: counters that did not run at the same times.
    let hits = |misses: usize, accesses: usize| {
        rate(misses, accesses).map(|of| of.map(|of| 1.0 - of).filter(|of| *of >= 0.0))
    };
    let misses = rate(at::L3_MISSES, at::INSTRUCTIONS);
    Table::build("bricks")
        .text("name", rows().map(|row| row.0))
        .u64("calls", rows().map(|row| row.1.calls))
        .u64("estimated_calls", rows().map(|row| row.1.estimated_calls))
        .u64("cycles", count(at::CYCLES))
        .u64("instructions", count(at::INSTRUCTIONS))
        .f64("ipc", rate(at::INSTRUCTIONS, at::CYCLES))
        .f64("cycles_per_element", rate(at::CYCLES, at::ELEMENTS))
        .f64("l2_hit_share", hits(at::L2_MISSES, at::L2_ACCESSES))
        .f64("l3_hit_share", hits(at::L3_MISSES, at::L3_ACCESSES))
        .f64(
            "l3_misses_per_1000_instructions",
            misses.map(|of| of.map(|of| 1e3 * of)),
        )
        .u64("cpu_ns", count(at::TASK_CLOCK))
        .f64("off_cpu_share", rate(at::OFF_CPU_NS, at::DUR_NS))
        .u64("page_faults", count(at::PAGE_FAULTS))
}
