//! Threads of the host.

use std::collections::BTreeMap;

use trueno_analysis::waits::names_a_wait;
use trueno_plugin::{Result, Table};

use crate::facts::{PROFILER, descending, sums};

/// Name of the rows in which a sampled thread ran.
pub const RUNNING: &str = "running";

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Host {
    /// Threads alive at once.
    pub threads: u64,
    /// Time in which any row of a thread ran, summed over threads.
    pub busy_ns: i64,
    pub wall_ns: i64,
    /// Self time by category, largest first.
    pub categories: Vec<(String, i64)>,
    /// Self time by name, largest first.
    pub bricks: Vec<(String, i64)>,
    /// Self time by name of rows that only wait, largest first.
    pub waits: Vec<(String, i64)>,
}

impl Host {
    /// Reads the tables of `category`.
    ///
    /// # Errors
    /// A table lacks a column or has it in another type.
    pub fn read(
        categories: &Table,
        bricks: &Table,
        lanes: &Table,
        window_ns: Option<i64>,
    ) -> Result<Self> {
        let (kinds, busy) = (lanes.text("lane_kind")?, lanes.i64("busy_ns")?);
        let rows = kinds
            .iter()
            .zip(busy.iter().zip(lanes.i64("wall_ns")?.iter()));
        let rows = rows.filter(|(kind, _)| *kind == Some("host"));
        let mut host = Self::default();
        for (busy_ns, wall_ns) in rows.filter_map(|(_, (busy, wall))| busy.zip(wall)) {
            // The wall of a pool is the window for each of its threads alive at once.
            let of_pool = window_ns.and_then(|ns| trueno_analysis::share(wall_ns, ns));
            host.threads += of_pool.map_or(1, |lanes| lanes.round().max(1.0) as u64);
            host.busy_ns = host.busy_ns.saturating_add(busy_ns);
            host.wall_ns = host.wall_ns.saturating_add(wall_ns);
        }
        host.categories = sums(categories, "host")?;
        host.categories.retain(|row| row.0 != PROFILER);
        let (kinds, names) = (bricks.text("lane_kind")?, bricks.text("name")?);
        let rows = kinds
            .iter()
            .zip(names.iter().zip(bricks.i64("self_ns")?.iter()));
        let rows = rows.zip(bricks.text("category")?.iter());
        let (mut by_name, mut waits) = <(BTreeMap<&str, i64>, BTreeMap<&str, i64>)>::default();
        for ((kind, (name, ns)), category) in rows {
            if let (true, Some(name), Some(ns)) = (kind == Some("host"), name, ns) {
                let of = match category {
                    Some(PROFILER) => continue,
                    Some("waiting") => &mut waits,
                    // Calls of the system have no category of their own.
                    Some("outside bricks") if names_a_wait(name, true) => &mut waits,
                    _ => &mut by_name,
                };
                *of.entry(name).or_default() += ns;
            }
        }
        host.bricks = descending(by_name);
        host.waits = descending(waits);
        // Rows that only wait are no work.
        let waits_ns = host
            .waits
            .iter()
            .map(|row| row.1)
            .fold(0, i64::saturating_add);
        host.busy_ns = host.busy_ns.saturating_sub(waits_ns).max(0);
        Ok(host)
    }

    /// True if the rows only say that threads ran or waited.
    pub fn only_ran(&self) -> bool {
        let mut categories = self.categories.iter().map(|row| row.0.as_str());
        let names = self.bricks.iter().chain(&self.waits);
        let mut names = names.map(|row| row.0.as_str());
        categories.all(|name| matches!(name, "waiting" | "uncategorised" | "outside bricks"))
            && names.all(|name| matches!(name, RUNNING | "runnable" | "off_cpu"))
    }

    pub fn busy_share(&self) -> Option<f64> {
        trueno_analysis::share(self.busy_ns, self.wall_ns)
    }
}

/// Mean efficiency of host work against its roof, weighted by time. Uses bricks, or kernels if no brick has a roof.
///
/// # Errors
/// The table lacks a column or has it in another type.
pub fn roof_share(points: &Table) -> Result<Option<f64>> {
    let (sources, dur_ns) = (points.text("source")?, points.i64("dur_ns")?);
    let shares = points.f64("efficiency_share")?;
    let mean = |of: &str| {
        let rows = (0..points.rows()).filter(|row| sources.get(*row) == Some(of));
        let (mut weighted, mut all) = (0.0, 0.0);
        for row in rows {
            if let (Some(ns), Some(share)) = (dur_ns.get(row), shares.get(row)) {
                weighted += share * ns as f64;
                all += ns as f64;
            }
        }
        (all > 0.0).then(|| weighted / all)
    };
    Ok(mean("brick").or_else(|| mean("kernel")))
}
