//! Small batches: calls too small for their fixed cost, or grids too small for the device.
//!
//! Evidence, one of:
//! - a brick that ran with several numbers of elements (the largest at least twice the smallest): a line through the medians of sizes,
//!   time = fixed + per element × elements; *fixed share* = fixed × calls / time of all, at least `small_share`. Gain: the
//!   same elements in an eighth of the calls. The line is that of the whole run, also where a part of it is looked at.
//! - kernels of fewer than `few_blocks` blocks take at least `small_share` of a device's kernel time. Gain: twice the
//!   work in each, in the same time.

use super::Draft;
use crate::Options;
use crate::class::Class;
use crate::facts::ranges::{Total, union};
use crate::facts::{Facts, Idle, Size, Work};
use crate::verdict::{Confidence, Verdicts};
use crate::words::{count, percent, quoted, short, time};

/// Calls are put together by so many.
const FEWER: f64 = 8.0;

pub fn judge(facts: &Facts, options: &Options, verdicts: &mut Verdicts) {
    let mut told = false;
    for (name, sizes) in &facts.bricks.sizes {
        let Some(fit) = Fit::of(sizes) else { continue };
        told = true;
        let share = fit.fixed_share();
        if share < options.small_share || fit.calls < options.least_gaps {
            continue;
        }
        let less = share * (1.0 - 1.0 / FEWER);
        Draft {
            class: Class::SmallBatches,
            code: "fixed_cost",
            scope_kind: "brick",
            scope: name.clone(),
            place: "host".into(),
            confidence: (Confidence::Medium, format!("a line through {} sizes, which explains {} of their differences", sizes.len(), percent(fit.explained))),
            lead: format!("{}: {} of each call is fixed cost ({} calls)", short(name), percent(share), count(fit.calls)),
            fix: "8 in one".into(),
            evidence: format!(
                "SELECT elements, COUNT(*) AS calls, MEDIAN(dur_ns) AS median_ns FROM bricks WHERE name = {}{} GROUP BY elements ORDER BY elements",
                quoted(name),
                facts.window.sql(" AND")
            ),
            assumption: format!("a call takes {} and then the same time for each element, at every size", time(fit.fixed_ns as i64)),
            considered: "calls of one size alone say nothing of fixed cost".into(),
            suggestion: "put more elements in a call (a larger batch, several requests together)".into(),
        }
        .of_name(facts, name)
        .with_gain(facts, options, facts.path.gain_ns(name, less), verdicts);
    }
    if !told && facts.bricks.names.iter().any(|row| row.kind == "brick") {
        verdicts.cannot(
            Class::SmallBatches,
            "bricks",
            "how the time of a call depends on its size: no brick declares two numbers of elements, one twice the other",
            "declare elements on bricks, and record a few steps at another batch size",
        );
    }
    for device in facts.device.devices() {
        grids(facts, options, device, verdicts);
    }
}

/// Whether it is a kernel of few blocks, those of collectives not counted.
pub fn is_small(facts: &Facts, options: &Options, work: &Work) -> bool {
    let is_few = work
        .blocks
        .is_some_and(|blocks| blocks < options.few_blocks);
    is_few && work.is_kernel() && !super::sync::is_collective(facts.device.name(work))
}

fn grids(facts: &Facts, options: &Options, device: i64, verdicts: &mut Verdicts) {
    let (mut all_ns, mut small_ns, mut n, mut known) = (0_i64, 0_i64, 0_u64, 0_u64);
    let (mut names, mut small) = (std::collections::BTreeSet::new(), Vec::new());
    for work in facts
        .device
        .work
        .iter()
        .filter(|work| work.device == Some(device) && work.is_kernel())
    {
        let ns = work.dur_ns();
        all_ns = ns.saturating_add(all_ns);
        known += u64::from(work.blocks.is_some());
        if is_small(facts, options, work) {
            (small_ns, n) = (ns.saturating_add(small_ns), n + 1);
            names.insert(work.name);
            small.push((work.start_ns, work.end_ns));
        }
    }
    let name = Idle::device_name(device);
    if known == 0 {
        verdicts.cannot(
            Class::SmallBatches,
            &name,
            "grids of kernels",
            "record the launch grid (CUPTI kernel activity has it)",
        );
        return;
    }
    let share = small_ns as f64 / all_ns.max(1) as f64;
    if share < options.small_share || n < options.least_gaps {
        return;
    }
    let on_path = names
        .iter()
        .map(|name| facts.path.name_ns(&facts.device.names[*name as usize]))
        .total();
    let small = union(small);
    let on_path = on_path.saturating_add(facts.waited_ns(&small));
    let gain_ns = small_ns.min(on_path) / 2;
    Draft {
        class: Class::SmallBatches,
        code: "small_grids",
        scope_kind: "device",
        scope: name.clone(),
        place: name.clone(),
        confidence: (Confidence::Medium, format!("grids of {} kernels are on record; how many blocks the device holds at once is assumed", count(known))),
        lead: format!("{} of {name}'s time is in grids of under {} blocks", percent(share), options.few_blocks),
        fix: "twice the work in each".into(),
        evidence: format!(
            "SELECT name, grid_x * grid_y * grid_z AS blocks, COUNT(*) AS kernels, SUM(dur_ns) AS dur_ns FROM kernels \
             WHERE device = {device} AND grid_x * grid_y * grid_z < {} GROUP BY name, blocks ORDER BY dur_ns DESC",
            options.few_blocks
        ),
        assumption: "a grid of twice the blocks takes no longer while most of the device is idle".into(),
        considered: format!("{} of {} kernels; those of collectives are not counted", count(n), count(known)),
        suggestion: "a larger batch, several problems in one launch, or several streams at once".into(),
    }
    .during(facts, &small)
    .with_gain(facts, options, gain_ns, verdicts);
}

/// Time by size as a line.
struct Fit {
    fixed_ns: f64,
    per_element_ns: f64,
    calls: u64,
    elements: f64,
    explained: f64,
}

/// Sizes that a line is drawn through; more are put together with their neighbours.
const POINTS: usize = 48;

impl Fit {
    /// The median of the slopes between any two points (Theil and Sen), each point the median call of a size: a call that was
    /// interrupted bends no line. `None`: one size.
    fn of(sizes: &[Size]) -> Option<Self> {
        let calls = sizes
            .iter()
            .fold(0, |n: u64, size| n.saturating_add(size.calls));
        let (least, most) = (
            sizes.iter().map(|size| size.elements).min()?,
            sizes.iter().map(|size| size.elements).max()?,
        );
        if calls == 0 || most < least.max(1).saturating_mul(2) {
            return None;
        }
        let points = points(sizes);
        let mut slopes = Vec::new();
        for (at, a) in points.iter().enumerate() {
            for b in &points[at + 1..] {
                if b.0 > a.0 {
                    slopes.push(((b.1 - a.1) / (b.0 - a.0), a.2 * b.2));
                }
            }
        }
        let slope = middle(slopes)?.max(0.0);
        let rest = points.iter().map(|(x, y, n)| (y - slope * x, *n));
        let fixed = middle(rest.collect())?.max(0.0);
        let level = middle(points.iter().map(|(_, y, n)| (*y, *n)).collect())?;
        let off = |line: &dyn Fn(f64) -> f64| {
            let all = points.iter().map(|(x, y, n)| ((y - line(*x)).abs(), *n));
            middle(all.collect()).unwrap_or(0.0)
        };
        let (by_line, by_level) = (off(&|x| fixed + slope * x), off(&|_| level));
        let elements = |size: &Size| size.elements as f64 * size.calls as f64;
        Some(Self {
            fixed_ns: fixed,
            per_element_ns: slope,
            calls,
            elements: sizes.iter().map(elements).sum(),
            explained: if by_level > 0.0 {
                (1.0 - by_line / by_level).clamp(0.0, 1.0)
            } else {
                1.0
            },
        })
    }

    fn fixed_share(&self) -> f64 {
        let fixed = self.fixed_ns * self.calls as f64;
        let all = fixed + self.per_element_ns * self.elements;
        if all > 0.0 { fixed / all } else { 0.0 }
    }
}

/// Elements, time and number of calls, by elements: neighbours together, so that there are few.
fn points(sizes: &[Size]) -> Vec<(f64, f64, f64)> {
    let mut sorted: Vec<&Size> = sizes.iter().filter(|size| size.calls > 0).collect();
    sorted.sort_by_key(|size| size.elements);
    let each = sorted.len().div_ceil(POINTS).max(1);
    let of = |some: &[&Size]| {
        let of = |value: &dyn Fn(&Size) -> i64| {
            let all = some
                .iter()
                .map(|size| (value(size) as f64, size.calls as f64));
            middle(all.collect()).unwrap_or(0.0)
        };
        let calls = some.iter().map(|size| size.calls as f64).sum();
        (
            of(&|size| i64::try_from(size.elements).unwrap_or(i64::MAX)),
            of(&|size| size.median_ns),
            calls,
        )
    };
    sorted.chunks(each).map(of).collect()
}

/// The value in the middle of the weights.
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
