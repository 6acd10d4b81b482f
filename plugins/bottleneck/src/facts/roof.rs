//! Results of `roofline`.

use std::collections::BTreeMap;

use trueno_analysis::name_groups::NameGroups;
use trueno_plugin::{Result, Run};

use super::bricks::count;

#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    pub source: String,
    pub name: String,
    /// `cpu` or `gpu:<number>`.
    pub device: String,
    /// Where its work comes from: `declared` or `measured`.
    pub provenance: String,
    /// What was assumed about ceilings that were not recorded.
    pub assumed: Option<String>,
    pub threads: Option<i64>,
    pub calls: u64,
    pub dur_ns: i64,
    pub intensity: f64,
    pub flops_per_s: f64,
    pub bytes_per_s: f64,
    pub is_memory: bool,
    pub efficiency: f64,
    pub doubt: Option<String>,
}

/// A name most of whose calls lie above the roof, which therefore cannot be their limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AboveRoof {
    pub name: String,
    /// Memory level whose roof is the lower one; `None`: the compute roof is.
    pub memory: Option<String>,
    pub calls: u64,
    pub above: u64,
    pub dur_ns: i64,
}

#[derive(Clone, Debug, Default)]
pub struct Roof {
    pub points: Vec<Point>,
    pub above: Vec<AboveRoof>,
    /// Number of rows without a position relative to a roof.
    pub without: u64,
    /// Operators: name, device time, efficiency.
    pub operators: Vec<(String, i64, f64)>,
    /// Nanoseconds per last-level cache miss by name, where misses were counted.
    pub ns_per_miss: BTreeMap<String, f64>,
}

impl Roof {
    /// Reads inputs `points` and `misses`.
    ///
    /// # Errors
    /// One lacks a column or has it in another type.
    pub fn load(run: &mut Run, groups: &NameGroups) -> Result<Self> {
        let mut out = Self::default();
        let table = run.table("points")?;
        let (source, name, device) = (
            table.text("source")?,
            table.text("name")?,
            table.text("device")?,
        );
        let (provenance, assumed) = (table.text("provenance")?, table.text("assumed")?);
        let (threads, dur) = (table.i64("threads")?, table.i64("dur_ns")?);
        let (intensity, flops) = (table.f64("flops_per_byte")?, table.f64("flops_per_s")?);
        let (bytes, bound) = (table.f64("bytes_per_s")?, table.text("bound_by")?);
        let (efficiency, valid) = (table.f64("efficiency_share")?, table.bool("is_valid")?);
        let (level, doubt) = (table.text("memory")?, table.text("doubt")?);
        for row in 0..table.rows() {
            let is_memory = matches!(bound.get(row), Some("memory" | "bandwidth"));
            let calls = count(&table, "calls", row)?;
            let above = count(&table, "calls_above", row)?;
            // Some single calls may be slow enough to bring the whole below a roof that is not theirs.
            if above > 0 && above.saturating_mul(2) >= calls {
                out.without += 1;
                if let (Some(name), Some(dur_ns)) = (name.get(row), dur.get(row)) {
                    let level = level.get(row).unwrap_or_default();
                    out.above.push(AboveRoof {
                        name: name.to_owned(),
                        memory: is_memory.then(|| level.to_lowercase()),
                        calls,
                        above,
                        dur_ns,
                    });
                }
                continue;
            }
            let place = (efficiency.get(row), bound.get(row), valid.get(row));
            let what = (source.get(row), name.get(row), dur.get(row));
            let rates = (intensity.get(row), flops.get(row), bytes.get(row));
            let (
                (Some(efficiency), Some(_), Some(true)),
                (Some(source), Some(name), Some(dur_ns)),
                (Some(intensity), Some(flops_per_s), Some(bytes_per_s)),
            ) = (place, what, rates)
            else {
                out.without += 1;
                continue;
            };
            out.points.push(Point {
                source: source.to_owned(),
                name: name.to_owned(),
                device: device.get(row).unwrap_or_default().to_owned(),
                provenance: provenance.get(row).unwrap_or_default().to_owned(),
                assumed: assumed.get(row).map(str::to_owned),
                threads: threads.get(row),
                calls,
                dur_ns,
                intensity,
                flops_per_s,
                bytes_per_s,
                is_memory,
                efficiency,
                doubt: doubt.get(row).map(str::to_owned),
            });
        }
        let table = run.table("operator_points")?;
        let (name, dur) = (table.text("name")?, table.i64("dur_ns")?);
        let efficiency = table.f64("efficiency_share")?;
        for row in 0..table.rows() {
            if let (Some(name), Some(dur_ns), Some(efficiency)) =
                (name.get(row), dur.get(row), efficiency.get(row))
            {
                out.operators.push((name.to_owned(), dur_ns, efficiency));
            }
        }
        let table = run.table("misses")?;
        let (name, misses) = (table.text("name")?, table.f64("misses")?);
        let dur = table.i64("dur_ns")?;
        let mut sums: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
        for row in 0..table.rows() {
            if let (Some(name), Some(misses), Some(dur_ns)) =
                (name.get(row), misses.get(row), dur.get(row))
            {
                let sum = sums.entry(groups.group(name)).or_default();
                *sum = (sum.0 + dur_ns as f64, sum.1 + misses);
            }
        }
        for (name, (dur_ns, misses)) in sums {
            out.ns_per_miss.insert(name.to_owned(), dur_ns / misses);
        }
        out.above
            .sort_by(|a, b| b.dur_ns.cmp(&a.dur_ns).then_with(|| a.name.cmp(&b.name)));
        out.points
            .sort_by(|a, b| b.dur_ns.cmp(&a.dur_ns).then_with(|| a.name.cmp(&b.name)));
        Ok(out)
    }
}
