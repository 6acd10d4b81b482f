//! Categories: to which of them the time belongs that a device waits, copies or is half used, and that a host joins or works alone.
//!
//! Evidence: the rows of a finding of a device or of the host, by the category of the brick that they were asked for in (of
//! [`Facts::category`]); of tasks and of what runs alone, by that of their names. Gain: that of the finding, split like the
//! time, so that parts add up to it and the same time is not found twice. Each part is a finding of its own, in the group of the whole and never before it, where at least
//! two categories, or one and something without, have a part.

use std::collections::BTreeMap;

use trueno_analysis::evidence::Evidence;
use trueno_analysis::intervals::{IntervalSet, SaturatingSum};

use super::draft::Draft;
use super::gaps::{SHOWN, gaps, gaps_of_waits, gaps_sql};
use super::{Options, Rule, serial, small_batches, sync, transfer};
use crate::facts::{Cause, Facts, Gap, Idle, Without, name_of};
use crate::options::thresholds;
use crate::verdict::{Bottleneck, Confidence, PART, Verdicts};
use crate::wording::{count, many, percent, short, time};

#[derive(Default)]
struct Part<'a> {
    n: u64,
    ns: i64,
    /// Empty if unknown.
    times: Vec<(i64, i64)>,
    gaps: Vec<&'a Gap>,
    rows: Vec<(i64, u64)>,
    names: Vec<&'a str>,
}

/// Parts by category; work without a category is under the empty name.
type Parts<'a> = BTreeMap<&'a str, Part<'a>>;

thresholds! {
    pub struct CategoryParts {
    }
}

impl Rule for CategoryParts {
    fn judge(&self, facts: &Facts, options: &Options, verdicts: &mut Verdicts) {
        for at in 0..verdicts.findings.len() {
            let parts = parts(facts, options, &verdicts.findings[at]);
            let all_ns = parts.values().map(|part| part.ns).saturating_sum();
            if all_ns <= 0 || parts.keys().all(|name| name.is_empty()) {
                continue;
            }
            let whole = &mut verdicts.findings[at];
            whole.considered += &format!("; {}", shares(&parts, all_ns));
            let whole = whole.clone();
            if parts.len() < 2 {
                continue;
            }
            for (category, part) in parts.into_iter().filter(|(name, _)| !name.is_empty()) {
                tell(facts, options, &whole, (category, part, all_ns), verdicts);
            }
        }
    }
}

/// For example `by category 62 % Attention, 30 % FFN, 8 % uncategorised`.
fn shares(parts: &Parts<'_>, all_ns: i64) -> String {
    let mut rows: Vec<_> = parts.iter().collect();
    rows.sort_by_key(|(name, part)| (name.is_empty(), std::cmp::Reverse(part.ns), **name));
    let row = |(name, part): (&&str, &Part<'_>)| {
        let name = if name.is_empty() {
            "uncategorised".to_owned()
        } else {
            short(name)
        };
        format!("{} {name}", percent(part.ns as f64 / all_ns as f64))
    };
    let rows: Vec<String> = rows.into_iter().map(row).collect();
    format!("by category {}", rows.join(", "))
}

fn parts<'a>(facts: &'a Facts, options: &Options, whole: &Bottleneck) -> Parts<'a> {
    let device = || {
        let devices = facts.device.devices().into_iter();
        devices
            .into_iter()
            .find(|device| Idle::device_name(*device) == whole.scope)
    };
    let of_gaps = |gaps: &dyn Fn(i64) -> Vec<&'a Gap>| {
        device().map_or_else(Parts::new, |device| by_gaps(facts, gaps(device)))
    };
    match whole.code {
        "launch_bound" => of_gaps(&|device| gaps(facts, device, Cause::Launch).0),
        "device_waits" => of_gaps(&|device| gaps_of_waits(facts, device, false)),
        "blocking_copies" => of_gaps(&|device| gaps_of_waits(facts, device, true)),
        "host_prepares" => of_gaps(&|device| serial::unclaimed(facts, options, device)),
        "transfer_bound" => by_copies(facts, options, &whole.scope),
        "small_grids" => {
            device().map_or_else(Parts::new, |device| by_grids(facts, options, device))
        }
        "joins" => by_joins(facts),
        "one_lane" => by_alone(facts),
        _ => Parts::new(),
    }
}

fn by_gaps<'a>(facts: &'a Facts, gaps: Vec<&'a Gap>) -> Parts<'a> {
    let works = facts.device.work.iter();
    let of_work: BTreeMap<(u64, bool), &str> = works
        .filter_map(|work| Some(((work.id, work.is_kernel()), facts.category(work)?)))
        .collect();
    let mut out = Parts::new();
    for gap in gaps {
        let category = of_work.get(&(gap.next, !gap.next_is_copy));
        let part = out.entry(category.copied().unwrap_or("")).or_default();
        part.n += 1;
        part.ns = part.ns.saturating_add(gap.dur_ns());
        part.times.push((gap.start_ns, gap.end_ns));
        part.gaps.push(gap);
    }
    out
}

fn by_copies<'a>(facts: &'a Facts, options: &Options, scope: &str) -> Parts<'a> {
    let devices = facts.device.work.iter().map(|work| work.device);
    let Some(device) = devices.into_iter().find(|device| name_of(*device) == scope) else {
        return Parts::new();
    };
    let mut out = Parts::new();
    for copy in transfer::copies(facts, options, device) {
        let part = out.entry(facts.category(copy).unwrap_or("")).or_default();
        part.n += 1;
        part.times.push(transfer::held(facts, copy));
        part.rows.push((copy.dur_ns(), copy.id));
    }
    let kernels = facts.device.busy(device, |work| work.is_kernel());
    for part in out.values_mut() {
        let times: IntervalSet<i64> = part.times.iter().copied().collect();
        part.ns = times.total_ns().saturating_sub(times.common_ns(&kernels));
    }
    out
}

fn by_grids<'a>(facts: &'a Facts, options: &Options, device: i64) -> Parts<'a> {
    let mut out = Parts::new();
    for work in facts.device.of(Some(device)) {
        if small_batches::is_small(facts, options, work) {
            let part = out.entry(facts.category(work).unwrap_or("")).or_default();
            part.n += 1;
            part.ns = part.ns.saturating_add(work.dur_ns());
            part.times.push((work.start_ns, work.end_ns));
            part.rows.push((work.dur_ns(), work.id));
        }
    }
    out
}

fn by_joins(facts: &Facts) -> Parts<'_> {
    let mut out = Parts::new();
    for join in sync::joins_around(facts) {
        let category = join
            .tasks
            .first()
            .and_then(|task| facts.category_of(&task.name));
        let part = out.entry(category.unwrap_or("")).or_default();
        part.n += 1;
        let ns = join.around.total_ns();
        part.ns = part.ns.saturating_add(ns);
        part.times.extend(join.around.ranges());
        part.rows.push((ns, join.id));
    }
    out
}

fn by_alone(facts: &Facts) -> Parts<'_> {
    let mut out = Parts::new();
    for alone in serial::alone_rows(facts) {
        let part = out
            .entry(facts.category_of(&alone.name).unwrap_or(""))
            .or_default();
        part.n += 1;
        part.ns = part.ns.saturating_add(alone.ns);
        part.names.push(&alone.name);
    }
    out
}

fn rows_sql(facts: &Facts, code: &str, part: &mut Part<'_>) -> String {
    part.rows
        .sort_by_key(|(ns, id)| (std::cmp::Reverse(*ns), *id));
    let ids: Vec<String> = part
        .rows
        .iter()
        .take(SHOWN)
        .map(|row| row.1.to_string())
        .collect();
    let (table, columns) = match code {
        "transfer_bound" => ("transfers", "direction, bytes, src_kind, dst_kind"),
        "small_grids" => ("kernels", "name, grid_x, grid_y, grid_z"),
        "joins" => ("syncs", "name, thread"),
        "one_lane" => {
            return format!(
                "SELECT id, name, thread, start_ns, dur_ns FROM bricks WHERE {}{} ORDER BY start_ns",
                facts.name_groups.condition_of_any(&part.names),
                facts.window.sql(" AND")
            );
        }
        _ => return gaps_sql(std::mem::take(&mut part.gaps)),
    };
    format!(
        "SELECT id, {columns}, start_ns, dur_ns FROM {table} WHERE id IN ({}) ORDER BY start_ns",
        ids.join(", ")
    )
}

fn tell(
    facts: &Facts,
    options: &Options,
    whole: &Bottleneck,
    (category, mut part, all_ns): (&str, Part<'_>, i64),
    verdicts: &mut Verdicts,
) {
    let (of, took) = (&whole.scope, time(part.ns));
    let n = |what: &str| many(part.n, what);
    let what = match whole.code {
        "launch_bound" => format!("{of} waits {took} for launches of it ({})", n("gap")),
        "device_waits" => format!(
            "{of} idles {took} before it, after host waits ({})",
            n("gap")
        ),
        "blocking_copies" => format!(
            "{of} idles {took} before it, after blocking copies ({})",
            n("gap")
        ),
        "host_prepares" => format!(
            "{of} idles {took} while the host prepares it ({})",
            n("gap")
        ),
        "transfer_bound" => format!("its {} copies occupy {of} for {took}", count(part.n)),
        "small_grids" => format!("{took} of {of} in {}", n("small grid")),
        "joins" => format!("{} of tasks cost {took}", n("join")),
        _ => format!("one thread works alone on it {took}"),
    };
    let share = part.ns as f64 / all_ns as f64;
    let gain_ns = whole.gain_ns.map_or(0, |gain| (gain as f64 * share) as i64);
    let during = part.times.iter().copied().collect();
    let evidence = Evidence::new(part.n, part.ns);
    Draft {
        class: whole.class,
        code: PART,
        scope_kind: "category",
        scope: category.to_owned(),
        place: whole.place.clone(),
        confidence: (
            whole.confidence.0.min(Confidence::Medium),
            format!(
                "{}; assumes that the gain splits like the time",
                whole.confidence.1
            ),
        ),
        lead: format!("{}: {what}", short(category)),
        fix: whole.fix.clone(),
        evidence: rows_sql(facts, whole.code, &mut part),
        assumption: whole.assumption.clone(),
        considered: format!(
            "{} of the time of the finding for {of}; its gain is part of that finding's gain, not additional",
            percent(share)
        ),
        suggestion: whole.suggestion.clone(),
    }
    .during(facts, &during)
    .with_gain(facts, options, evidence, (gain_ns, Without::Unbounded), verdicts);
}
