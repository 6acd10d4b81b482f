//! The same name under several backends, in this run and in the baseline.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use trueno_analysis::interner::Texts;
use trueno_analysis::roofline::instruction_set::width_rank;

use crate::calls::Calls;
use crate::label::{Provenance, Source};
use crate::points::Point;

/// A smaller gain over the narrower instruction set counts as none.
pub const PAYS: f64 = 1.1;
/// Fewer calls are not compared.
pub const MIN_CALLS: u64 = 5;
/// Shorter calls are mostly clock readings, so no gain is computed for them.
pub const MIN_CALL_NS: i64 = 200;
/// FLOPs per call may differ by this share and still count as the same work.
const SAME_WORK: f64 = 0.01;

#[derive(Clone, Debug)]
pub struct Entry {
    pub source: Source,
    pub name: String,
    pub backend: Option<String>,
    pub is_baseline: bool,
    /// Device number; `None`: the host.
    pub device: Option<i64>,
    pub calls: u64,
    pub dur_ns: i64,
    /// Lower median.
    pub median_ns: i64,
    pub flops: f64,
    pub flops_per_s: Option<f64>,
    pub efficiency: Option<f64>,
    /// The entry it is compared with: its backend, and whether it is the baseline's.
    pub reference: Option<(Option<String>, bool)>,
    pub speed_up: Option<f64>,
    /// `time` if a call is the same work, else `flops_per_s`.
    pub compared_by: &'static str,
    /// Speed-up over the fastest narrower instruction set, and its backend.
    pub gain: Option<(f64, Option<String>)>,
    pub pays: Option<bool>,
}

/// Entries of a run with declared work. `baseline` is `None` when reading the baseline itself: then all names.
/// Otherwise only names with several entries, or with one in the baseline.
pub fn entries(
    texts: &Texts,
    calls: &impl Calls,
    points: &[Point],
    baseline: Option<&[Entry]>,
) -> Vec<Entry> {
    let is_baseline = baseline.is_none();
    let text = |number: u32| texts.text(number).to_owned();
    // Names that have nothing to be compared with need no median of millions of calls.
    let mut declared: BTreeMap<(Source, u32), usize> = BTreeMap::new();
    let is_declared =
        |point: &&Point| point.label.provenance == Provenance::Declared && point.sum.calls > 0;
    for point in points.iter().filter(is_declared) {
        *declared
            .entry((point.label.source, point.label.name))
            .or_default() += 1;
    }
    let is_compared = |point: &Point| {
        let (source, name) = (point.label.source, point.label.name);
        let entries = declared.get(&(source, name)).copied().unwrap_or(0);
        entries > 1
            || baseline.is_none_or(|baseline| {
                let name = texts.text(name);
                baseline
                    .iter()
                    .any(|entry| entry.source == source && entry.name == name)
            })
    };
    let is_wanted: Vec<bool> = points
        .iter()
        .map(|point| is_declared(&point) && is_compared(point))
        .collect();
    if !is_wanted.contains(&true) {
        return Vec::new();
    }
    let mut out = Vec::new();
    for (point, median_ns) in points.iter().zip(calls.medians(&is_wanted)) {
        let Some(median_ns) = median_ns else {
            continue;
        };
        out.push(Entry {
            source: point.label.source,
            name: text(point.label.name),
            backend: point.label.backend.map(text),
            is_baseline,
            device: point.label.device,
            calls: point.sum.calls,
            dur_ns: point.sum.dur_ns,
            median_ns,
            flops: point.sum.flops as f64,
            flops_per_s: point.achieved.map(|found| found.flops_per_s),
            efficiency: point.sound().map(|place| place.efficiency),
            reference: None,
            speed_up: None,
            compared_by: "",
            gain: None,
            pays: None,
        });
    }
    out
}

/// Keeps names with at least two entries and compares each entry with the first: the narrowest instruction set, the
/// baseline's if equal. Names with the most time come first.
pub fn compare(entries: Vec<Entry>) -> Vec<Entry> {
    let mut by_name: BTreeMap<(Source, String), Vec<Entry>> = BTreeMap::new();
    for entry in entries {
        let key = (entry.source, entry.name.clone());
        by_name.entry(key).or_default().push(entry);
    }
    let mut groups: Vec<Vec<Entry>> = by_name.into_values().collect();
    groups.retain(|group| group.len() > 1);
    let time = |group: &[Entry]| {
        let times = group.iter().map(|entry| entry.dur_ns);
        times.fold(0, i64::saturating_add)
    };
    groups.sort_by_key(|group| Reverse(time(group)));
    let mut out = Vec::new();
    for mut group in groups {
        let rank = |entry: &Entry| entry.backend.as_deref().and_then(width_rank);
        group.sort_by_key(|entry| {
            let rank = rank(entry).unwrap_or(usize::MAX);
            (
                rank,
                !entry.is_baseline,
                entry.backend.clone(),
                entry.device,
            )
        });
        let first = group[0].clone();
        let mut done: Vec<Entry> = Vec::new();
        for (at, mut entry) in group.into_iter().enumerate() {
            if at > 0 {
                entry.reference = Some((first.backend.clone(), first.is_baseline));
                (entry.speed_up, entry.compared_by) = speed_up(&first, &entry);
            }
            done.push(entry);
        }
        for at in 1..done.len() {
            let entry = &done[at];
            let narrower = done[..at].iter().filter(|other| {
                let ranks = rank(other).zip(rank(entry));
                ranks.is_some_and(|(narrow, wide)| narrow < wide)
                    && other.calls.min(entry.calls) >= MIN_CALLS
                    && other.median_ns.min(entry.median_ns) >= MIN_CALL_NS
            });
            let gains = narrower.filter_map(|other| {
                let (gain, _) = speed_up(other, entry);
                Some((gain?, other.backend.clone()))
            });
            let least = gains.min_by(|a, b| a.0.total_cmp(&b.0));
            done[at].pays = least.as_ref().map(|(gain, _)| *gain >= PAYS);
            done[at].gain = least;
        }
        out.append(&mut done);
    }
    out
}

fn speed_up(first: &Entry, entry: &Entry) -> (Option<f64>, &'static str) {
    let of_call = |entry: &Entry| entry.flops / entry.calls as f64;
    let (one, other) = (of_call(first), of_call(entry));
    if (one - other).abs() <= SAME_WORK * one.max(other) {
        let ratio = first.median_ns as f64 / entry.median_ns as f64;
        return (Some(ratio).filter(|ratio| ratio.is_finite()), "time");
    }
    let ratio = entry
        .flops_per_s
        .zip(first.flops_per_s)
        .map(|(now, then)| now / then);
    (ratio.filter(|ratio| ratio.is_finite()), "flops_per_s")
}
