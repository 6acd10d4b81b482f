//! Sums as counters, with what is left out and why.

use std::collections::HashSet;

use serde_json::json;

use super::document::{Brick, Document, Tile};
use crate::strace::instants::{Instants, cut};
use crate::{Error, Import};

const SUMS_ONLY: &str = "made from sums of BrickProfiler: it has no times, so order, overlap, gaps and variation are not \
                         known; nested bricks count twice in the totals (hint: record a run with \
                         trueno-brick-profiler)";

/// Units, and values of the column `source`.
const CALLS: (&str, &str) = ("calls", "measured");
const TIME: (&str, &str) = ("ns", "computed");
const ELEMENTS: (&str, &str) = ("elements", "declared");

const DEFERRED: &str = "the file does not say which bricks were deferred: the original counts each of them up to the wait \
                        that ended all of them, so sums can exceed the elapsed time";

pub fn add(document: Document, import: Import<'_>) -> Result<(), Error> {
    let mut sums = Sums {
        import,
        labels: Instants::default(),
        is_original: document.bricks.iter().all(|brick| brick.bound.is_none()),
    };
    sums.totals(&document)?;
    let mut names = HashSet::new();
    for brick in &document.bricks {
        sums.import.notes.read("brick");
        if names.insert(cut(&brick.name)) {
            sums.brick(brick)?
        } else {
            sums.leave_out("second brick of the same name")
        }
    }
    let mut levels = HashSet::new();
    for tile in &document.tiles {
        sums.import.notes.read("level of tiles");
        if levels.insert(cut(&tile.level)) {
            sums.tile(tile)?
        } else {
            sums.leave_out("level of tiles that appears twice")
        }
    }
    for member in &document.unknown {
        sums.import.notes.leave_out_argument(cut(member));
    }
    if document.bricks.is_empty() && document.tiles.is_empty() {
        sums.import.problem("it has neither bricks nor tiles");
    } else if sums.is_original && !document.bricks.is_empty() {
        sums.import.problem(DEFERRED);
    }
    sums.import.problem(SUMS_ONLY);
    Ok(())
}

struct Sums<'i> {
    import: Import<'i>,
    labels: Instants,
    /// The file looks as if aprender-compute wrote it.
    is_original: bool,
}

/// Converts microseconds, which aprender-compute writes with two decimals, to nanoseconds.
fn ns(us: f64) -> Option<f64> {
    let ns = (us * 1e3).round();
    (us >= 0.0 && ns.is_finite()).then_some(ns)
}

impl Sums<'_> {
    fn leave_out(&mut self, reason: &str) {
        self.import.notes.leave_out(reason);
    }

    fn skip(&mut self, reason: &str) {
        self.import.notes.skip(reason);
    }

    fn sum(&mut self, of: &str, what: &str, value: f64, kind: (&str, &str)) -> Result<(), Error> {
        let name = format!("sum: {} {what}", cut(of));
        self.import.sum(0, &name, value, kind)
    }

    fn totals(&mut self, document: &Document) -> Result<(), Error> {
        if document.bricks.is_empty() {
            return Ok(());
        }
        if let Some(total_ns) = document.total_ns {
            self.sum("all bricks", "total_time", total_ns as f64, TIME)?;
            let bricks = document.bricks.iter().filter_map(|brick| brick.total_ns);
            let bricks: u128 = bricks.map(u128::from).sum();
            if bricks != u128::from(total_ns) {
                self.import.problem(format!(
                    "bricks took {bricks} ns by their sums, {total_ns} ns by its total"
                ));
            }
        }
        if let Some(elements) = document.total_tokens {
            self.sum("all bricks", "elements", elements as f64, ELEMENTS)?;
        }
        if document.total_throughput.is_some() {
            self.skip("total_throughput: elements of unlike bricks by summed durations");
        }
        Ok(())
    }

    fn brick(&mut self, brick: &Brick) -> Result<(), Error> {
        let name = &brick.name;
        self.sum(name, "calls", brick.count as f64, CALLS)?;
        let bound = brick.bound.unwrap_or(0);
        if bound > 0 {
            self.sum(name, "calls_without_duration", bound as f64, CALLS)?;
        }
        let timed = brick.count.saturating_sub(bound);
        self.times(name, timed, brick.total_ns, (brick.min_us, brick.max_us))?;
        if let Some(rate) = brick.throughput.filter(|rate| *rate > 0.0) {
            self.sum(name, "throughput", rate, ("elements/s", "computed"))?;
        }
        if let Some(bytes) = brick.total_bytes.filter(|bytes| *bytes > 0) {
            self.sum(name, "bytes", bytes as f64, ("byte", "declared"))?;
            if let Some(ns) = brick.total_ns.filter(|ns| *ns > 0) {
                let rate = bytes as f64 / ns as f64;
                self.sum(name, "throughput_bytes", rate, ("GB/s", "computed"))?;
            }
        }
        // The original has a ratio of 1 where it was told nothing.
        let is_told = |ratio: &f64| !self.is_original || *ratio != 1.0;
        if let Some(ratio) = brick.compression_ratio.filter(is_told) {
            self.sum(name, "compression_ratio", ratio, ("ratio", "computed"))?;
        }
        if brick.pct.is_some() {
            self.skip("pct: a share of summed durations, where bricks within others count twice");
        }
        self.label(name, brick.bottleneck.as_deref())
    }

    /// The bottleneck label that the program set; aprender-compute does not determine it itself.
    fn label(&mut self, name: &str, bottleneck: Option<&str>) -> Result<(), Error> {
        let Some(bottleneck) = bottleneck.filter(|said| *said != "unknown") else {
            return Ok(());
        };
        let arguments =
            json!({"brick": cut(name), "bottleneck": cut(bottleneck), "source": "declared"});
        let (labels, arguments) = (&mut self.labels, arguments.to_string());
        labels.add_json((None, 0), "bottleneck", &arguments, &mut self.import)
    }

    fn tile(&mut self, tile: &Tile) -> Result<(), Error> {
        let name = &format!("{} tiles", cut(&tile.level));
        self.sum(name, "calls", tile.count as f64, CALLS)?;
        let extremes = (tile.min_us, tile.max_us);
        self.times(name, tile.count, Some(tile.total_ns), extremes)?;
        if let Some(elements) = tile.total_elements.filter(|elements| *elements > 0) {
            self.sum(name, "elements", elements as f64, ELEMENTS)?;
        }
        if let Some(flops) = tile.total_flops.filter(|flops| *flops > 0) {
            self.sum(name, "flops", flops as f64, ("flop", "declared"))?;
            if tile.total_ns > 0 {
                let rate = flops as f64 / tile.total_ns as f64;
                self.sum(name, "rate", rate, ("GFLOP/s", "computed"))?;
            }
        }
        if tile.arithmetic_intensity.is_some() {
            self.skip("arithmetic_intensity: it takes each element for 4 bytes, moved once");
        }
        Ok(())
    }

    fn times(
        &mut self,
        name: &str,
        timed: u64,
        total_ns: Option<u64>,
        (min_us, max_us): (Option<f64>, Option<f64>),
    ) -> Result<(), Error> {
        let Some(total_ns) = total_ns.filter(|_| timed > 0) else {
            return Ok(());
        };
        let total_ns = total_ns as f64;
        self.sum(name, "total_time", total_ns, TIME)?;
        self.sum(name, "avg_time", total_ns / timed as f64, TIME)?;
        for (what, us) in [("min_time", min_us), ("max_time", max_us)] {
            match us.map(ns) {
                Some(Some(ns)) => self.sum(name, what, ns, ("ns", "measured"))?,
                Some(None) => self.leave_out("duration below 0, or out of range"),
                None => (),
            }
        }
        Ok(())
    }
}
