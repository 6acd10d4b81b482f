//! Iterations: how long one takes.

use std::collections::BTreeMap;

use trueno_analysis::quantiles::median;
use trueno_plugin::{Result, Table};

use crate::devices::Device;

/// If devices are busy for longer than the iterations by this factor, they lag behind the host.
const LONGER: f64 = 1.05;
/// In a window, which ends with its last iteration, they cannot be busy for longer.
const ALL_ALONG: f64 = 0.9;
/// A host that waits for this share of the iterations does not run ahead.
const WAITS: f64 = 0.1;

/// Whether the host runs ahead of its devices. Then the end-to-end time of an iteration is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ahead {
    No,
    /// Devices are busy for longer than all iterations last.
    Yes,
    /// Devices are busy all along a window: work of its iterations may lie behind it.
    Maybe,
}

impl Ahead {
    /// `None` if it cannot be told.
    pub fn as_bool(self) -> Option<bool> {
        match self {
            Self::No => Some(false),
            Self::Yes => Some(true),
            Self::Maybe => None,
        }
    }
}

/// The iterations of the steady state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Steady {
    /// The program's numbers of the first and the last one.
    pub first: u64,
    pub last: u64,
    pub total_ns: f64,
}

/// Iterations of the thread that has the most of them, on the slowest rank.
#[derive(Clone, Debug, PartialEq)]
pub struct Steps {
    /// Number of iterations in the median.
    pub count: u64,
    /// True if only iterations after warm-up count, false if all do.
    pub is_steady: bool,
    pub median_ns: f64,
    /// From one start to the next, of the same iterations: the median in the steady state, the mean without one. It is more than
    /// `median_ns` where something lies between iterations, or where some take longer than most.
    pub period_ns: Option<f64>,
    pub total_ns: f64,
    pub ahead: Ahead,
    /// Declared work per second, and its kind: tokens or samples.
    pub work: Option<(f64, &'static str)>,
    pub rank: u64,
    pub ranks: usize,
    pub least_ns: f64,
    pub steady: Option<Steady>,
}

impl Steps {
    /// Reads `throughput.summary`. If it has no steady state, the median is over all iterations.
    ///
    /// # Errors
    /// A table lacks a column or has it in another type.
    pub fn read(series: &Table, iterations: &Table) -> Result<Option<Self>> {
        let (names, counts) = (series.text("series")?, series.u64("iterations")?);
        // Of each rank the series with the most iterations.
        let mut by_rank: BTreeMap<u64, usize> = BTreeMap::new();
        for row in 0..series.rows() {
            let first = by_rank.entry(rank(names.get(row))).or_insert(row);
            if counts.get(row) > counts.get(*first) {
                *first = row;
            }
        }
        let mut all = Vec::with_capacity(by_rank.len());
        for (rank, row) in by_rank {
            all.extend(Self::of_series(series, row, rank, iterations)?);
        }
        let medians = all.iter().map(|steps| steps.median_ns);
        let least_ns = medians.fold(f64::MAX, f64::min);
        let ranks = all.len();
        let slower = |slowest: Self, other: Self| {
            if other.median_ns > slowest.median_ns {
                other
            } else {
                slowest
            }
        };
        Ok(all.into_iter().reduce(slower).map(|steps| Self {
            ranks,
            least_ns,
            ..steps
        }))
    }

    fn of_series(
        series: &Table,
        row: usize,
        rank: u64,
        iterations: &Table,
    ) -> Result<Option<Self>> {
        let mut work = None;
        for (of, column) in [("tokens", "tokens_per_s"), ("samples", "samples_per_s")] {
            work = work.or(series.f64(column)?.get(row).map(|rate| (rate, of)));
        }
        let name = series.text("series")?.get(row);
        let rows = iterations.text("series")?.iter();
        let rows = rows.zip(iterations.i64("wall_ns")?.iter());
        let own = rows.filter(|(series, _)| *series == name);
        let mut walls: Vec<f64> = own.filter_map(|(_, ns)| ns.map(|ns| ns as f64)).collect();
        let total_ns = walls.iter().sum();
        let (steady, medians) = (series.u64("steady")?, series.f64("median_ns")?);
        let is_steady = steady.get(row).is_some() && medians.get(row).is_some();
        let period_ns = period_ns(iterations, name, is_steady)?;
        let steps = |count, is_steady, median_ns| Self {
            count,
            is_steady,
            median_ns,
            period_ns,
            total_ns,
            ahead: Ahead::No,
            work,
            rank,
            ranks: 1,
            least_ns: median_ns,
            steady: None,
        };
        let steady_state = steady_state(iterations, name)?;
        if let (Some(count), Some(median_ns)) = (steady.get(row), medians.get(row)) {
            return Ok(Some(Self {
                steady: steady_state,
                ..steps(count, true, median_ns)
            }));
        }
        let count = walls.len() as u64;
        Ok(median(&mut walls).map(|median_ns| steps(count, false, median_ns)))
    }

    /// Iterations per second; `None` if there is only one, or if its end-to-end time is unknown.
    pub fn per_s(&self) -> Option<f64> {
        let tells = self.count > 1 && self.median_ns > 0.0 && self.ahead == Ahead::No;
        tells.then(|| 1e9 / self.period_ns.unwrap_or(0.0).max(self.median_ns))
    }

    /// The period, if it is clearly more than an iteration takes.
    pub fn longer_period_ns(&self) -> Option<f64> {
        self.period_ns
            .filter(|period_ns| *period_ns > LONGER * self.median_ns)
    }

    /// Sets `ahead`, from the busy time of the mean device.
    /// `waits_ns`: how long the host waits; one that does is not ahead.
    pub fn beside(self, devices: &[Device], is_window: bool, waits_ns: i64) -> Self {
        let busy_ns: f64 = devices.iter().map(|device| device.busy_ns as f64).sum();
        let mean_ns = busy_ns / devices.len().max(1) as f64;
        let is_known = self.ranks == 1 && self.count > 1 && self.total_ns > 0.0;
        let ahead = if is_known && mean_ns > LONGER * self.total_ns {
            Ahead::Yes
        } else if is_known
            && is_window
            && mean_ns > ALL_ALONG * self.total_ns
            && (waits_ns as f64) < WAITS * self.total_ns
        {
            Ahead::Maybe
        } else {
            Ahead::No
        };
        Self { ahead, ..self }
    }
}

fn period_ns(iterations: &Table, of: Option<&str>, is_steady: bool) -> Result<Option<f64>> {
    let Ok(starts) = iterations.i64("start_ns") else {
        return Ok(None);
    };
    let (names, phases) = (iterations.text("series")?, iterations.text("phase")?);
    let times = starts.iter().zip(iterations.i64("wall_ns")?.iter());
    let rows = names.iter().zip(phases.iter()).zip(times);
    let own =
        rows.filter(|((name, phase), _)| *name == of && (!is_steady || *phase == Some("steady")));
    let times = own.filter_map(|(_, (start_ns, wall_ns))| Some((start_ns?, wall_ns?)));
    let mut times: Vec<(i64, i64)> = times.collect();
    times.sort_unstable();
    if is_steady {
        let apart = times.windows(2);
        let mut apart: Vec<f64> = apart
            .map(|two| two[1].0.saturating_sub(two[0].0) as f64)
            .collect();
        return Ok(median(&mut apart));
    }
    let (Some((first_ns, _)), Some((last_ns, wall_ns))) = (times.first(), times.last()) else {
        return Ok(None);
    };
    let all_ns = last_ns.saturating_sub(*first_ns).saturating_add(*wall_ns);
    Ok(Some(all_ns as f64 / times.len() as f64))
}

fn steady_state(iterations: &Table, of: Option<&str>) -> Result<Option<Steady>> {
    let (names, phases) = (iterations.text("series")?, iterations.text("phase")?);
    let rows = names.iter().zip(phases.iter());
    let rows = rows.zip(iterations.u64("iteration")?.iter());
    let rows = rows.zip(iterations.i64("wall_ns")?.iter());
    let mut found: Option<Steady> = None;
    for (((name, phase), number), wall_ns) in rows {
        if name != of || phase != Some("steady") {
            continue;
        }
        let (Some(number), Some(wall_ns)) = (number, wall_ns) else {
            return Ok(None);
        };
        let one = Steady {
            first: number,
            last: number,
            total_ns: wall_ns as f64,
        };
        found = Some(found.map_or(one, |all| Steady {
            first: all.first.min(number),
            last: all.last.max(number),
            total_ns: all.total_ns + one.total_ns,
        }));
    }
    Ok(found.filter(|all| all.first < all.last))
}

/// The rank in the name of a device or thread; 0 if it has none.
fn rank(place: Option<&str>) -> u64 {
    let place = place.and_then(|place| place.strip_prefix("rank "));
    let number = place.and_then(|place| place.split(' ').next()?.parse().ok());
    number.unwrap_or(0)
}
