//! `anti_pattern`: known ways to lose time.

use std::collections::BTreeMap;

use serde::Deserialize;
use trueno_engine::frame::Rows;
use trueno_engine::query::collect;
use trueno_model::units;

use super::lanes::any_and_alone;
use super::loss::Tables;
use super::outcome::Found;
use super::subject::Subject;
use super::types::share;
use super::types::{Condition, Declared};
use trueno_host::plugin::Registry;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AntiPattern {
    pattern: Pattern,
    threshold: Option<f64>,
    /// For a tight loop: minimum number of consecutive rows of one name.
    min_repeats: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
enum Pattern {
    /// Copies between host and device: their share of the time of copies and kernels.
    #[serde(
        rename = "PCIeBottleneck",
        alias = "PcieBottleneck",
        alias = "pcie_bottleneck"
    )]
    PcieBottleneck,
    /// Calls or host kernels of one name in sequence on a thread: the longest sequence's share of wall time.
    #[serde(alias = "tight_loop")]
    TightLoop,
    /// One rank does the work: its share of the busy time of all ranks.
    #[serde(alias = "god_process")]
    GodProcess,
    /// Several streams of a device never overlap: the share of kernel time in which one ran alone.
    #[serde(
        alias = "serialised_streams",
        alias = "SerializedStreams",
        alias = "serialized_streams"
    )]
    SerialisedStreams,
}

impl Declared for AntiPattern {
    const WORDS: &[&str] = &["anti_pattern"];

    fn checked(self) -> Result<Self, String> {
        share("threshold", self.threshold)?;
        if self.min_repeats.is_some() && self.pattern != Pattern::TightLoop {
            return Err("min_repeats goes with TightLoop only".to_owned());
        }
        Ok(self)
    }
}

impl Condition for AntiPattern {
    fn tables(&self, _: &Registry) -> Tables {
        Tables::from_names(
            match self.pattern {
                Pattern::PcieBottleneck => &["transfers", "kernels"][..],
                Pattern::TightLoop => &["calls", "kernels"],
                Pattern::GodProcess => &["bricks", "kernels", "calls"],
                Pattern::SerialisedStreams => &["kernels"],
            }
            .iter()
            .copied(),
        )
    }

    fn check(&self, subject: &Subject<'_>) -> Result<Found, String> {
        let most = units::percent(self.threshold());
        let (of, place) = match self.pattern {
            Pattern::PcieBottleneck => (
                "copies at most {} of the time of copies and kernels",
                "transfers, kernels",
            ),
            Pattern::TightLoop => (
                "a sequence of one name at most {} of wall",
                "calls, kernels",
            ),
            Pattern::GodProcess => ("one rank at most {} of the busy time of all", "ranks"),
            Pattern::SerialisedStreams => (
                "a stream runs alone at most {} of the time of kernels",
                "kernels",
            ),
        };
        let expected = of.replace("{}", &most);
        let found = match self.pattern {
            Pattern::PcieBottleneck => pcie(subject),
            Pattern::TightLoop => tight_loop(subject, self.min_repeats.unwrap_or(1000)),
            Pattern::GodProcess => god_process(subject),
            Pattern::SerialisedStreams => serialised(subject),
        }?;
        Ok(match found {
            Ok((share, words)) => Found::new(
                share <= self.threshold(),
                expected,
                format!("{}: {words}", units::percent(share)),
                place,
            ),
            Err(why) => Found::not_measurable(expected, why, place),
        })
    }
}

impl AntiPattern {
    fn threshold(&self) -> f64 {
        self.threshold.unwrap_or(match self.pattern {
            Pattern::PcieBottleneck => 0.5,
            Pattern::TightLoop => 0.1,
            Pattern::GodProcess => 0.8,
            Pattern::SerialisedStreams => 0.95,
        })
    }
}

/// The share and its components, or why it cannot be measured.
type Measured = Result<(f64, String), &'static str>;

fn intervals(subject: &Subject<'_>, sql: &str) -> Result<Vec<(u32, i64, i64)>, String> {
    let frame = collect(&subject.database, sql).map_err(|error| error.to_string())?;
    let rows = Rows::new(&frame);
    let column = |name| rows.i64(name).map_err(|error| error.to_string());
    let (set, start, dur) = (column("s")?, column("start_ns")?, column("dur_ns")?);
    let rows = set.iter().zip(start.iter()).zip(dur.iter());
    Ok(rows
        .filter_map(|((set, start), dur)| {
            Some((
                u32::try_from(set.unwrap_or(0)).ok()?,
                start?,
                start?.saturating_add(dur?),
            ))
        })
        .collect())
}

fn pcie(subject: &Subject<'_>) -> Result<Measured, String> {
    let copies = intervals(
        subject,
        "SELECT 0 AS s, start_ns, dur_ns FROM transfers WHERE timing <> 'bound' AND (direction = 'h2d' OR direction = 'd2h')",
    )?;
    let kernels = intervals(
        subject,
        "SELECT 0 AS s, start_ns, dur_ns FROM kernels WHERE device IS NOT NULL AND valid AND timing <> 'bound'",
    )?;
    if copies.is_empty() || kernels.is_empty() {
        return Ok(Err(
            "no timed copies between host and device, or no timed kernels of a device, were recorded",
        ));
    }
    let (copies_ns, _) = any_and_alone(&copies);
    let (kernels_ns, _) = any_and_alone(&kernels);
    if copies_ns + kernels_ns == 0 {
        return Ok(Err("all copies and kernels last 0 ns"));
    }
    let words = format!(
        "copies {}, kernels {}",
        units::duration(copies_ns as f64),
        units::duration(kernels_ns as f64)
    );
    Ok(Ok((
        copies_ns as f64 / (copies_ns + kernels_ns) as f64,
        words,
    )))
}

fn tight_loop(subject: &Subject<'_>, least: usize) -> Result<Measured, String> {
    let Some(wall_ns) = subject.run.facts().wall_ns.filter(|wall| *wall > 0) else {
        return Ok(Err("the wall time is not known"));
    };
    // The longest sequence: time, rows, name, table.
    let mut longest = (0_i64, 0_usize, String::new());
    let mut any = false;
    for (table, rows) in [
        // Stretches in which threads of a sampled program ran are no calls.
        (
            "calls",
            "dur_ns >= 0 AND (kind IS NULL OR kind <> 'on_cpu')",
        ),
        ("kernels", "device IS NULL AND valid AND timing <> 'bound'"),
    ] {
        let sql = format!(
            "SELECT thread, CAST(name AS VARCHAR) AS name, start_ns, dur_ns FROM {table} WHERE {rows} ORDER BY thread, start_ns"
        );
        let frame = collect(&subject.database, &sql).map_err(|error| error.to_string())?;
        let rows = Rows::new(&frame);
        let wrong = |error: trueno_engine::query::QueryError| error.to_string();
        let (thread, name) = (
            rows.i64("thread").map_err(wrong)?,
            rows.text("name").map_err(wrong)?,
        );
        let (start, dur) = (
            rows.i64("start_ns").map_err(wrong)?,
            rows.i64("dur_ns").map_err(wrong)?,
        );
        any |= frame.height() > 0;
        let mut first = 0;
        let mut end_ns = i64::MIN;
        for row in 0..frame.height() {
            let same = row > first
                && thread.get(row) == thread.get(first)
                && name.get(row) == name.get(first);
            if !same {
                first = row;
                end_ns = i64::MIN;
            }
            let (begin, dur) = (start.get(row).unwrap_or(0), dur.get(row).unwrap_or(0));
            end_ns = end_ns.max(begin.saturating_add(dur));
            let count = row - first + 1;
            let took = end_ns - start.get(first).unwrap_or(0);
            if count >= least && took > longest.0 {
                longest = (
                    took,
                    count,
                    format!("{} ({table})", name.get(first).unwrap_or_default()),
                );
            }
        }
    }
    if !any {
        return Ok(Err("neither calls nor host kernels were recorded"));
    }
    let (took, count, name) = longest;
    let words = match count {
        0 => format!("no name comes {least} times in a row"),
        _ => format!(
            "{name} {count} times in a row, {}",
            units::duration(took as f64)
        ),
    };
    Ok(Ok((took as f64 / wall_ns as f64, words)))
}

fn god_process(subject: &Subject<'_>) -> Result<Measured, String> {
    if subject.run.ranks().len() < 2 {
        return Ok(Err("the run has less than two ranks"));
    }
    let all = intervals(
        subject,
        "SELECT rank AS s, start_ns, dur_ns FROM bricks WHERE kind <> 'run' AND kind <> 'iteration' AND kind <> 'layer' AND timing <> 'bound' \
         UNION ALL SELECT rank AS s, start_ns, dur_ns FROM kernels WHERE valid AND timing <> 'bound' \
         UNION ALL SELECT rank AS s, start_ns, dur_ns FROM calls",
    )?;
    let mut ranks: BTreeMap<u32, Vec<(u32, i64, i64)>> = BTreeMap::new();
    for interval in all {
        ranks.entry(interval.0).or_default().push(interval);
    }
    let busy: Vec<(i64, u32)> = ranks
        .iter()
        .map(|(rank, all)| (any_and_alone(all).0, *rank))
        .collect();
    let total = busy
        .iter()
        .fold(0_i64, |sum, (ns, _)| sum.saturating_add(*ns));
    let Some((most, rank)) = busy.iter().max().filter(|_| total > 0) else {
        return Ok(Err("no rank recorded any work"));
    };
    let words = format!(
        "rank {rank} is busy for {}, all together for {}",
        units::duration(*most as f64),
        units::duration(total as f64)
    );
    Ok(Ok((*most as f64 / total as f64, words)))
}

fn serialised(subject: &Subject<'_>) -> Result<Measured, String> {
    let mut devices: BTreeMap<u32, Vec<(u32, i64, i64)>> = BTreeMap::new();
    let kernels = "FROM kernels WHERE device IS NOT NULL AND stream IS NOT NULL AND valid AND timing <> 'bound' ORDER BY start_ns, dur_ns, device, stream";
    let by_device = intervals(
        subject,
        &format!("SELECT device AS s, start_ns, dur_ns {kernels}"),
    )?;
    let by_stream = intervals(
        subject,
        &format!("SELECT stream AS s, start_ns, dur_ns {kernels}"),
    )?;
    for ((device, ..), kernel) in by_device.iter().zip(by_stream) {
        devices.entry(*device).or_default().push(kernel);
    }
    let mut worst: Option<(f64, String)> = None;
    for (device, kernels) in devices {
        let mut streams: Vec<u32> = kernels.iter().map(|(stream, ..)| *stream).collect();
        streams.sort_unstable();
        streams.dedup();
        let (any, alone) = any_and_alone(&kernels);
        if streams.len() < 2 || any == 0 {
            continue;
        }
        let share = alone as f64 / any as f64;
        if worst.as_ref().is_none_or(|(most, _)| share > *most) {
            let words = format!(
                "{} streams of device {device}, kernels run for {}, at once for {}",
                streams.len(),
                units::duration(any as f64),
                units::duration((any - alone) as f64)
            );
            worst = Some((share, words));
        }
    }
    Ok(worst.ok_or("no device has timed kernels on two streams or more"))
}
