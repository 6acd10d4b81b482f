//! The time of calls by their size, as a line.
//!
//! *Size* is the number of elements, unless calls of equal elements declare flops or bytes that differ by more than [`ALIKE`]: elements
//! do not describe the work there, and flops are the size, then bytes, as far as they do not contradict each other in the same way.
//! No line: larger calls that take no longer, and flops or bytes that explain less than [`EXPLAINS`] of the differences.

use std::collections::BTreeMap;

use crate::facts::Size;
use crate::verdict::Confidence;
use crate::wording::{count, percent};
use trueno_analysis::intervals::SaturatingSum;

/// Largest ratio between the declared work of two calls that count as one size.
const ALIKE: f64 = 1.1;
const APART: u64 = 2;
/// Flops or bytes that explain a smaller share of the differences are not used as the size.
const EXPLAINS: f64 = 0.5;
/// Largest number of points for the fit; neighbouring sizes are merged beyond that.
const POINTS: usize = 48;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    Elements,
    Flops,
    Bytes,
}

impl Measure {
    const ALL: [Self; 3] = [Self::Elements, Self::Flops, Self::Bytes];

    pub fn name(self) -> &'static str {
        ["elements", "flops", "bytes"][self as usize]
    }

    /// SQL expression over columns of table `bricks`.
    pub fn sql(self) -> &'static str {
        [
            "elements",
            "flops",
            "COALESCE(bytes_read, 0) + COALESCE(bytes_written, 0)",
        ][self as usize]
    }

    fn value(self, size: &Size) -> Option<u64> {
        match self {
            Self::Elements => Some(size.elements),
            Self::Flops => size.flops,
            Self::Bytes => size.bytes,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unfit {
    OneSize,
    Other(String),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Fit {
    pub measure: Measure,
    /// Why elements were not used as the size.
    pub against: Option<String>,
    /// Time of a call of size zero.
    pub fixed_ns: f64,
    pub calls: u64,
    sizes: usize,
    /// Total time of all calls, by the line or as measured, whichever is larger.
    all_ns: f64,
    explained: f64,
}

struct SizeGroup {
    size: u64,
    median_ns: i64,
    calls: u64,
}

impl Fit {
    /// Fits a line to the calls; by elements if those describe the work.
    ///
    /// # Errors
    /// There is none.
    pub fn through(sizes: &[Size]) -> Result<Self, Unfit> {
        let mut against = None;
        for measure in Measure::ALL {
            if sizes.iter().any(|size| measure.value(size).is_none()) {
                continue;
            }
            let all = by_size(measure, sizes);
            match contradiction(measure, sizes) {
                Some(words) => against = against.or(Some(words)),
                None if are_apart(&all) => {
                    let mut fit = Self::line(measure, &all, sizes)?;
                    fit.against = against;
                    return Ok(fit);
                }
                // Of bytes that never differ there is nothing to learn that elements do not say.
                None if measure == Measure::Elements => return Err(Unfit::OneSize),
                None => {}
            }
        }
        Err(against.map_or(Unfit::OneSize, Unfit::Other))
    }

    /// Fits with the median of the slopes between all pairs of points (Theil–Sen). Each point is the median
    /// call of a size, so an interrupted call does not bend the line.
    fn line(measure: Measure, all: &[SizeGroup], sizes: &[Size]) -> Result<Self, Unfit> {
        let points = points(all);
        let mut slopes = Vec::new();
        for (at, a) in points.iter().enumerate() {
            for b in &points[at + 1..] {
                if b.0 > a.0 {
                    slopes.push(((b.1 - a.1) / (b.0 - a.0), a.2 * b.2));
                }
            }
        }
        let slope = middle(slopes).ok_or(Unfit::OneSize)?;
        let by = measure.name();
        if slope <= 0.0 {
            let why = format!("calls of more {by} take no longer");
            return Err(Unfit::Other(why));
        }
        let rest = points.iter().map(|(x, y, n)| (y - slope * x, *n));
        let fixed = middle(rest.collect()).ok_or(Unfit::OneSize)?.max(0.0);
        let level =
            middle(points.iter().map(|(_, y, n)| (*y, *n)).collect()).ok_or(Unfit::OneSize)?;
        let off = |line: &dyn Fn(f64) -> f64| {
            let all = points.iter().map(|(x, y, n)| ((y - line(*x)).abs(), *n));
            middle(all.collect()).unwrap_or(0.0)
        };
        let (by_line, by_level) = (off(&|x| fixed + slope * x), off(&|_| level));
        let explained = if by_level > 0.0 {
            (1.0 - by_line / by_level).clamp(0.0, 1.0)
        } else {
            1.0
        };
        if measure != Measure::Elements && explained < EXPLAINS {
            let why = format!(
                "elements do not describe its work, and {by} explain {} of the differences",
                percent(explained)
            );
            return Err(Unfit::Other(why));
        }
        let calls = all.iter().fold(0, |n: u64, of| n.saturating_add(of.calls));
        let work: f64 = all.iter().map(|of| of.size as f64 * of.calls as f64).sum();
        let took_ns = sizes.iter().map(|size| size.dur_ns).saturating_sum() as f64;
        Ok(Self {
            measure,
            against: None,
            fixed_ns: fixed,
            calls,
            sizes: all.len(),
            all_ns: (fixed * calls as f64 + slope * work).max(took_ns),
            explained,
        })
    }

    pub fn fixed_share(&self) -> f64 {
        if self.all_ns > 0.0 {
            self.fixed_ns * self.calls as f64 / self.all_ns
        } else {
            0.0
        }
    }

    pub fn confidence(&self) -> (Confidence, String) {
        let n = count(self.sizes as u64);
        if self.sizes < 3 {
            let why = "a line through two sizes, which only a third could contradict";
            return (Confidence::Low, why.to_owned());
        }
        let why = format!(
            "a line through {n} sizes, which explains {} of their differences",
            percent(self.explained)
        );
        if self.explained < EXPLAINS {
            (Confidence::Low, why)
        } else {
            (Confidence::Medium, why)
        }
    }
}

/// Calls grouped by size, smallest first.
fn by_size(measure: Measure, sizes: &[Size]) -> Vec<SizeGroup> {
    let mut all: BTreeMap<u64, Vec<&Size>> = BTreeMap::new();
    for size in sizes.iter().filter(|size| size.calls > 0) {
        if let Some(value) = measure.value(size) {
            all.entry(value).or_default().push(size);
        }
    }
    let of = |(size, rows): (u64, Vec<&Size>)| {
        let medians = rows
            .iter()
            .map(|row| (row.median_ns as f64, row.calls as f64));
        SizeGroup {
            size,
            median_ns: middle(medians.collect()).unwrap_or(0.0) as i64,
            calls: rows
                .iter()
                .fold(0, |n: u64, row| n.saturating_add(row.calls)),
        }
    };
    all.into_iter().map(of).collect()
}

fn are_apart(all: &[SizeGroup]) -> bool {
    match (all.first(), all.last()) {
        (Some(least), Some(most)) => most.size >= least.size.max(1).saturating_mul(APART),
        _ => false,
    }
}

/// A contradiction in words if calls of one size declare different work: that of the size with the most calls.
fn contradiction(measure: Measure, sizes: &[Size]) -> Option<String> {
    let others = [Measure::Flops, Measure::Bytes];
    let mut worst: Option<(u64, String)> = None;
    for other in others.into_iter().filter(|other| *other != measure) {
        let mut of: BTreeMap<u64, (u64, u64, u64)> = BTreeMap::new();
        for size in sizes {
            if let (Some(value), Some(work)) = (measure.value(size), other.value(size)) {
                let (least, most, calls) = of.entry(value).or_insert((work, work, 0));
                (*least, *most) = (work.min(*least), work.max(*most));
                *calls = calls.saturating_add(size.calls);
            }
        }
        for (value, (least, most, calls)) in of {
            let differs = most as f64 > least as f64 * ALIKE;
            if differs && worst.as_ref().is_none_or(|one| calls > one.0) {
                let words = format!(
                    "calls of {} {} declare from {} to {} {}",
                    count(value),
                    measure.name(),
                    count(least),
                    count(most),
                    other.name()
                );
                worst = Some((calls, words));
            }
        }
    }
    worst.map(|one| one.1)
}

/// Points of size, time and number of calls; neighbouring sizes are merged to keep the number small.
fn points(all: &[SizeGroup]) -> Vec<(f64, f64, f64)> {
    let each = all.len().div_ceil(POINTS).max(1);
    let of = |some: &[SizeGroup]| {
        let of = |value: &dyn Fn(&SizeGroup) -> f64| {
            let all = some.iter().map(|of| (value(of), of.calls as f64));
            middle(all.collect()).unwrap_or(0.0)
        };
        let calls = some.iter().map(|of| of.calls as f64).sum();
        (
            of(&|of| of.size as f64),
            of(&|of| of.median_ns as f64),
            calls,
        )
    };
    all.chunks(each).map(of).collect()
}

/// Weighted median.
fn middle(mut values: Vec<(f64, f64)>) -> Option<f64> {
    values.sort_by(|a, b| a.0.total_cmp(&b.0));
    let half = values.iter().map(|value| value.1).sum::<f64>() / 2.0;
    let mut sum = 0.0;
    let at = values.iter().position(|value| {
        sum += value.1;
        sum >= half
    })?;
    // Where the middle lies between two, their mean.
    match values.get(at + 1) {
        Some(next) if sum == half => Some((values[at].0 + next.0) / 2.0),
        _ => Some(values[at].0),
    }
}
