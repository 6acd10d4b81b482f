//! Totals, of which a run has one number each: wall time, memory, transfers.

use std::collections::BTreeMap;

use serde::Serialize;
use trueno_engine::frame::Rows;
use trueno_engine::query::{Database, QueryError, collect};
use trueno_model::{Cell, RunFacts, units};

use super::side::Member;
use crate::allocated::allocated;
use trueno_statistics::{
    Options, Ratio, Verdict, benjamini_hochberg, median, pooled_interval, pooled_t,
};

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Total {
    Wall,
    Path(String),
    /// Most bytes in use by the allocator's own total, which includes those from before the recording.
    AllocatorPeak(String),
    MemoryPeak(String),
    MemoryKept(String),
    Allocations(String),
    TransferBytes(String),
    Transfers(String),
    TransferTime(String),
    Aggregate(String, String),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Unit {
    Time,
    Bytes,
    Count,
    Other,
}

impl Total {
    fn unit(&self) -> Unit {
        match self {
            Total::Wall | Total::Path(_) | Total::TransferTime(_) => Unit::Time,
            Total::AllocatorPeak(_)
            | Total::MemoryPeak(_)
            | Total::MemoryKept(_)
            | Total::TransferBytes(_) => Unit::Bytes,
            Total::Allocations(_) | Total::Transfers(_) => Unit::Count,
            Total::Aggregate(_, unit) => match unit.as_str() {
                "ns" => Unit::Time,
                "byte" => Unit::Bytes,
                _ => Unit::Other,
            },
        }
    }

    /// The device that it is about.
    fn device(&self) -> Option<&str> {
        match self {
            Total::AllocatorPeak(place)
            | Total::MemoryPeak(place)
            | Total::MemoryKept(place)
            | Total::Allocations(place) => Some(place.as_str()).filter(|of| of.starts_with("gpu")),
            _ => None,
        }
    }

    /// The same of another device.
    fn of_device(&self, place: &str) -> Self {
        let place = place.to_owned();
        match self {
            Total::AllocatorPeak(_) => Total::AllocatorPeak(place),
            Total::MemoryPeak(_) => Total::MemoryPeak(place),
            Total::MemoryKept(_) => Total::MemoryKept(place),
            Total::Allocations(_) => Total::Allocations(place),
            other => other.clone(),
        }
    }

    pub fn word(&self) -> String {
        match self {
            Total::Wall => "wall".to_owned(),
            Total::Path(kind) => format!("critical path, {kind}"),
            Total::AllocatorPeak(place) => format!("memory peak by the allocator's total, {place}"),
            Total::MemoryPeak(place) => format!("memory peak of recorded allocations, {place}"),
            Total::MemoryKept(place) => format!("memory kept, {place}"),
            Total::Allocations(place) => format!("allocations, {place}"),
            Total::TransferBytes(direction) => format!("transferred, {direction}"),
            Total::Transfers(direction) => format!("transfers, {direction}"),
            Total::TransferTime(direction) => format!("transfer time, {direction}"),
            Total::Aggregate(name, _) => name.clone(),
        }
    }

    pub fn show(&self, value: f64) -> String {
        match self.unit() {
            Unit::Time => units::duration(value),
            Unit::Bytes => units::scaled(value, "B"),
            Unit::Count => format!("{value:.0}"),
            Unit::Other => {
                let shown = units::show(Cell::F64(value), units::Unit::None);
                match self {
                    Total::Aggregate(_, unit) if unit != "1" => format!("{shown} {unit}"),
                    _ => shown,
                }
            }
        }
    }
}

#[derive(Clone, Debug, Serialize)]
pub struct TotalRow {
    pub what: String,
    /// `ns`, `bytes`, or null for counts.
    pub unit: Option<&'static str>,
    /// Median over the runs of the base; null if not recorded.
    pub base: Option<f64>,
    pub run: Option<f64>,
    /// For times of several runs per side: the ratio of their geometric means, with its interval.
    pub ratio: Option<Ratio>,
    /// Only for times: counts and bytes are exact and have no verdict.
    pub verdict: Option<Verdict>,
    pub why: Option<String>,
    #[serde(skip)]
    pub(super) total: Total,
}

impl TotalRow {
    pub fn show(&self, value: f64) -> String {
        self.total.show(value)
    }
}

/// The totals of one run.
///
/// # Errors
/// The engine could not run a query.
pub fn totals(database: &Database, facts: &RunFacts) -> Result<BTreeMap<Total, f64>, QueryError> {
    let mut totals = BTreeMap::new();
    if let Some(wall_ns) = facts.wall_ns {
        totals.insert(Total::Wall, wall_ns as f64);
    }
    for (place, memory) in allocated(database)? {
        let place = place.map_or_else(|| "host".to_owned(), |device| format!("gpu{device}"));
        totals.insert(Total::MemoryPeak(place.clone()), memory.peak_bytes as f64);
        totals.insert(Total::MemoryKept(place.clone()), memory.kept_bytes as f64);
        totals.insert(Total::Allocations(place), memory.rows as f64);
    }
    allocator_peaks(database, &mut totals)?;
    let sql = "SELECT CAST(direction AS VARCHAR) AS direction, COUNT(*) AS n, SUM(bytes) AS bytes, \
               SUM(CASE WHEN timing <> 'bound' THEN dur_ns ELSE NULL END) AS ns FROM transfers GROUP BY direction";
    let frame = collect(database, sql)?;
    let rows = Rows::new(&frame);
    let (direction, n) = (rows.text("direction")?, rows.f64("n")?);
    let (bytes, ns) = (rows.f64("bytes")?, rows.f64("ns")?);
    for row in 0..frame.height() {
        let direction = direction.get(row).unwrap_or_default().to_owned();
        let mut put = |total: Total, value: Option<f64>| {
            value.map(|value| totals.insert(total, value));
        };
        put(Total::TransferBytes(direction.clone()), bytes.get(row));
        put(Total::Transfers(direction.clone()), n.get(row));
        put(Total::TransferTime(direction), ns.get(row));
    }
    aggregates(database, &mut totals)?;
    Ok(totals)
}

/// Adds the largest readings of the counters `gpu<number> allocated`.
fn allocator_peaks(
    database: &Database,
    totals: &mut BTreeMap<Total, f64>,
) -> Result<(), QueryError> {
    let sql = "SELECT CAST(name AS VARCHAR) AS name, MAX(value) AS value FROM counters \
               WHERE name LIKE 'gpu% allocated' GROUP BY name";
    let frame = collect(database, sql)?;
    let rows = Rows::new(&frame);
    let (name, value) = (rows.text("name")?, rows.f64("value")?);
    for row in 0..frame.height() {
        let place = name
            .get(row)
            .and_then(|name| name.strip_suffix(" allocated"));
        if let Some((place, bytes)) = place.zip(value.get(row)) {
            totals.insert(Total::AllocatorPeak(place.to_owned()), bytes);
        }
    }
    Ok(())
}

/// Adds the aggregates of imported reports and of `bridge::record`: counters with such names, read once.
fn aggregates(database: &Database, totals: &mut BTreeMap<Total, f64>) -> Result<(), QueryError> {
    let sql = "SELECT CAST(name AS VARCHAR) AS name, CAST(unit AS VARCHAR) AS unit, MAX(value) AS value FROM counters \
               WHERE name LIKE 'sum: %' OR name LIKE 'cgp: %' GROUP BY name, unit HAVING COUNT(*) = 1";
    let frame = collect(database, sql)?;
    let rows = Rows::new(&frame);
    let (name, unit, value) = (rows.text("name")?, rows.text("unit")?, rows.f64("value")?);
    for row in 0..frame.height() {
        if let (Some(name), Some(value)) = (name.get(row), value.get(row)) {
            let unit = unit.get(row).unwrap_or_default().to_owned();
            totals.insert(Total::Aggregate(name.to_owned(), unit), value);
        }
    }
    Ok(())
}

/// The one device of all runs of a side, by its place in totals.
fn only_device(side: &[Member]) -> Option<&str> {
    let places = side.iter().flat_map(|member| member.totals.keys());
    let mut places = places.filter_map(Total::device);
    let first = places.next()?;
    places.all(|place| place == first).then_some(first)
}

pub fn compare(base: &[Member], run: &[Member], options: &Options) -> Vec<TotalRow> {
    // Devices of two machines have other numbers.
    let devices = only_device(base).zip(only_device(run));
    let both = devices.filter(|(base, run)| base != run);
    let both = both.map(|(base, run)| format!("{base} and {run}"));
    let shown = |total: &Total| match (&both, total.device()) {
        (Some(both), Some(_)) => total.of_device(both),
        _ => total.clone(),
    };
    let mut all: BTreeMap<Total, [Vec<f64>; 2]> = BTreeMap::new();
    for (side, members) in [base, run].into_iter().enumerate() {
        for (total, value) in members.iter().flat_map(|member| &member.totals) {
            all.entry(shown(total)).or_default()[side].push(*value);
        }
    }
    let sides: Vec<(Total, Vec<f64>, Vec<f64>)> = all
        .into_iter()
        .map(|(total, [base, run])| (total, base, run))
        .collect();
    let tests: Vec<Result<f64, &str>> = sides
        .iter()
        .map(|(total, a, b)| match total.unit() {
            Unit::Time => test(a, b),
            Unit::Bytes | Unit::Count | Unit::Other => Err(""),
        })
        .collect();
    // Of several times that are tested, one differs by chance sooner than one alone.
    let p: Vec<f64> = tests.iter().filter_map(|test| test.ok()).collect();
    let mut adjusted = benjamini_hochberg::adjust(&p).into_iter();
    let rows = sides.into_iter().zip(tests).map(|((total, a, b), test)| {
        let (verdict, why) = match test.map(|p| adjusted.next().unwrap_or(p)) {
            Ok(q) => judge(&a, &b, q, options),
            Err("") => (None, None),
            Err(why) => (Some(Verdict::CannotTell), Some(why.to_owned())),
        };
        TotalRow {
            what: total.word(),
            unit: match total.unit() {
                Unit::Time => Some("ns"),
                Unit::Bytes => Some("bytes"),
                Unit::Count | Unit::Other => None,
            },
            base: median(&mut a.clone()),
            run: median(&mut b.clone()),
            ratio: test.ok().and_then(|_| ratio(&a, &b)),
            verdict,
            why,
            total,
        }
    });
    rows.collect()
}

/// p-value for times of runs, from a t test on their logarithms, because times scatter by factors. The error says
/// why there is none; it is empty if a side has no times at all.
fn test(base: &[f64], run: &[f64]) -> Result<f64, &'static str> {
    if base.is_empty() || run.is_empty() {
        return Err("");
    }
    if base.len() < 2 || run.len() < 2 {
        return Err("one value per side (give several runs)");
    }
    if base.iter().chain(run).any(|value| *value <= 0.0) {
        return Err("a time of 0 has no ratio");
    }
    pooled_t(&logs(base), &logs(run)).ok_or("too few runs")
}

/// The ratio from the same test: the difference of mean logarithms as a factor.
fn ratio(base: &[f64], run: &[f64]) -> Option<Ratio> {
    let (low, high) = pooled_interval(&logs(base), &logs(run))?;
    Some(Ratio {
        value: ((low + high) / 2.0).exp(),
        low: low.exp(),
        high: high.exp(),
    })
}

fn logs(side: &[f64]) -> Vec<f64> {
    side.iter().map(|value| value.ln()).collect()
}

fn judge(
    base: &[f64],
    run: &[f64],
    q: f64,
    options: &Options,
) -> (Option<Verdict>, Option<String>) {
    let (a, b) = (logs(base), logs(run));
    let mean = |side: &[f64]| side.iter().sum::<f64>() / side.len() as f64;
    let (change, limit) = (mean(&b) - mean(&a), (1.0 + options.threshold).ln());
    match () {
        () if q <= options.alpha && change >= limit => (Some(Verdict::Slower), None),
        () if q <= options.alpha && change <= -limit => (Some(Verdict::Faster), None),
        // Both one-sided tests of the limits.
        () if is_within(&a, &b, limit, options.alpha) => (Some(Verdict::Same), None),
        () => {
            let why = "runs of the same side differ by as much";
            (Some(Verdict::CannotTell), Some(why.to_owned()))
        }
    }
}

fn is_within(a: &[f64], b: &[f64], limit: f64, alpha: f64) -> bool {
    let moved = |by: f64| b.iter().map(|value| value + by).collect::<Vec<_>>();
    let mean = |side: &[f64]| side.iter().sum::<f64>() / side.len() as f64;
    let change = mean(b) - mean(a);
    change.abs() < limit
        && [limit, -limit]
            .iter()
            .all(|by| pooled_t(a, &moved(*by)).is_some_and(|p| p / 2.0 <= alpha))
}
