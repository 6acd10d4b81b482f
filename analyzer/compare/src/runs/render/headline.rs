//! One sentence on a comparison: how much, how sure, and where most of it is.

use trueno_display_names::display_name;
use trueno_model::units;
use trueno_plugin::counted;
use trueno_statistics::{Compared, Kind, Name, Ratio, Verdict};

use super::function_sheets::largest;
use super::wording::{change, signed};
use crate::runs::counts::Change;
use crate::runs::parts::{Part, parts};
use crate::runs::totals::Total;
use crate::runs::{Comparison, TotalRow};

/// Smaller shares of the difference on the critical path are not mentioned.
const MIN_PART: f64 = 0.1;
/// If the smaller side shares fewer of its names, it is a different program.
const MIN_COMMON: f64 = 0.25;
/// With fewer names, programs cannot be told apart.
const FEW_NAMES: usize = 4;
/// Relative difference up to which two windows have equal length.
const EQUAL_LENGTH: f64 = 0.05;
/// Relative difference above which the amount of work is unequal.
const EQUAL_WORK: f64 = 0.05;

/// The main result in a line: first what makes it doubtful, then the end-to-end difference of a step, a unit of
/// work or the whole, then its largest part on the critical path.
pub fn headline(comparison: &Comparison) -> String {
    let wall = comparison
        .totals
        .iter()
        .find(|row| row.total == Total::Wall);
    let wall = wall.and_then(|row| Some((row, row.base?, row.run?)));
    let mut parts: Vec<String> = Vec::new();
    if let Some(first) = comparison.incomplete.first() {
        let others = match comparison.incomplete.len() - 1 {
            0 => String::new(),
            others => format!(
                ", and {}",
                counted(others as u64, "other run", "other runs")
            ),
        };
        parts.push(format!("INCOMPLETE {first}{others}"));
    }
    parts.extend(other_device(comparison));
    if let Some((common, fewer)) = other_program(comparison) {
        parts.push(format!(
            "two different programs? {common} of {} in both",
            counted(fewer as u64, "name is", "names are")
        ));
        let beside = |what: &str, base: f64, run: f64| {
            let (base, run) = (units::duration(base), units::duration(run));
            format!("{what} {base} and {run}, not compared")
        };
        let steps = median_steps(comparison).map(|(base, run)| beside("step", base, run));
        parts.extend(steps.or_else(|| wall.map(|(_, base, run)| beside("wall", base, run))));
        return parts.join("; ");
    }
    if let Some(memory) = memory_alone(comparison) {
        parts.push(memory);
        return parts.join("; ");
    }
    let steps = steps(comparison);
    let is_of_steps = steps.is_some();
    parts.extend(steps);
    match wall {
        Some((_, base, run)) if is_of_steps => parts.push(times(base, run)),
        Some((row, base, run)) => match unequal_work(comparison, base, run) {
            Some(text) => {
                parts.push(text);
                return parts.join("; ");
            }
            None => parts.push(of_wall(comparison, row, base, run)),
        },
        None => parts.push("wall time not measured on both sides".to_owned()),
    }
    // Parts of what is shown as +0.0 % explain nothing.
    let differs = wall.filter(|(_, base, run)| (run - base).abs() >= 0.0005 * base);
    let part = differs.and_then(|(_, base, run)| largest_part(comparison, (base, run)));
    // Without a path, samples say where.
    parts.extend(part.or_else(|| largest(comparison.functions.as_ref()?)));
    parts.extend(names(comparison));
    parts.join("; ")
}

/// The largest peak of memory, if neither side recorded any work.
fn memory_alone(comparison: &Comparison) -> Option<String> {
    if !comparison.names.is_empty() || !comparison.counts.is_empty() {
        return None;
    }
    let both = |row: &TotalRow| Some((row.base?, row.run?));
    let largest = |is_peak: fn(&Total) -> Option<&str>| {
        let rows = comparison.totals.iter();
        let peaks = rows.filter_map(|row| Some((is_peak(&row.total)?, both(row)?)));
        peaks.max_by(|a, b| a.1.0.max(a.1.1).total_cmp(&b.1.0.max(b.1.1)))
    };
    let by_allocator = largest(|total| match total {
        Total::AllocatorPeak(place) => Some(place),
        _ => None,
    });
    let (place, (base, run)) = by_allocator.or_else(|| {
        largest(|total| match total {
            Total::MemoryPeak(place) => Some(place),
            _ => None,
        })
    })?;
    let bytes = |value: f64| units::scaled(value, "B");
    let by = if base > 0.0 {
        format!(", {}", change(run / base))
    } else {
        String::new()
    };
    Some(format!(
        "memory peak on {place} {} → {}{by}; only memory was recorded, no work",
        bytes(base),
        bytes(run)
    ))
}

fn times(base: f64, run: f64) -> String {
    format!("wall {} → {}", units::duration(base), units::duration(run))
}

fn of_wall(comparison: &Comparison, row: &TotalRow, base: f64, run: f64) -> String {
    let times = times(base, run);
    if base <= 0.0 || run <= 0.0 {
        return format!("{times}, no ratio");
    }
    let by = row.ratio.map_or(run / base, |ratio| ratio.value);
    let by = change(by);
    let sure = match row.ratio {
        Some(ratio) => uncertainty(ratio),
        None if comparison.runs_a_side() < 2 => "one run each, so this may be noise".to_owned(),
        None => "no interval".to_owned(),
    };
    match row.verdict {
        Some(Verdict::Same) => format!("no certain difference: {times}, {by} ({sure})"),
        Some(Verdict::CannotTell) if row.ratio.is_some() => {
            format!("{times}, {by} ({sure}, which runs of one side differ by as well)")
        }
        _ => format!("{times}, {by} ({sure})"),
    }
}

/// Half of the 95 % interval, in percentage points.
fn uncertainty(ratio: Ratio) -> String {
    let off = (ratio.high - ratio.value).max(ratio.value - ratio.low);
    if ratio.value >= 10.0 {
        format!("±{off:.0}")
    } else {
        format!("±{:.1} %", off * 100.0)
    }
}

/// The largest part, introduced by "mostly" if it is at least half of the difference. Unrecorded time, and one call of a
/// device's API, differ from run to run, so they stand apart, with what the rest differs by.
fn largest_part(comparison: &Comparison, wall: (f64, f64)) -> Option<String> {
    let all = parts(comparison);
    let largest = |(base, run): (f64, f64), is_wanted: fn(&Part) -> bool| {
        let share = |part: &Part| part.change_ns() / (run - base);
        let part = all
            .iter()
            .find(|part| is_wanted(part) && share(part) >= MIN_PART)?;
        let word = if share(part) >= 0.5 {
            "mostly"
        } else {
            "largest part"
        };
        let (what, change) = (&part.what, signed(part.change_ns()));
        Some((
            part,
            format!("{word}: {what} on the critical path {change}"),
        ))
    };
    let (part, text) = largest(wall, |_| true)?;
    if !part.is_apart {
        return Some(text);
    }
    let without = (wall.0 - part.base_ns, wall.1 - part.run_ns);
    let is_positive = without.0 > 0.0 && without.1 > 0.0;
    if !is_positive || (without.1 - without.0).abs() < 0.0005 * without.0 {
        return Some(text);
    }
    let rest = format!(
        "without it {} → {}, {}",
        units::duration(without.0),
        units::duration(without.1),
        change(without.1 / without.0)
    );
    let next = largest(without, |part| !part.is_apart);
    let next = next.map_or(String::new(), |(_, text)| format!(", {text}"));
    Some(format!("{text}; {rest}{next}"))
}

/// The difference of steps. It is preferred over that of the whole run: there are many steps, so their scatter is
/// known.
fn steps(comparison: &Comparison) -> Option<String> {
    let mut steps = comparison.names.iter();
    let steps = steps.find(|name| name.name.kind == Kind::Iteration && name.ratio.is_some())?;
    let (base, run) = (steps.base_median_ns?, steps.run_median_ns?);
    let ratio = steps.ratio?;
    if let Some(side) = runs_ahead(comparison, steps) {
        return Some(format!(
            "host step {} → {}; {side} longer, so these are not the times of a step",
            units::duration(base),
            units::duration(run)
        ));
    }
    let within = match comparison.runs_a_side() {
        1 => " within these two runs",
        _ => "",
    };
    Some(format!(
        "step {} → {}, {} ({}{within})",
        units::duration(base),
        units::duration(run),
        change(ratio.value),
        uncertainty(ratio)
    ))
}

/// Says on which side devices work for far longer than all iterations last: the host launches and goes on.
fn runs_ahead(comparison: &Comparison, steps: &Compared) -> Option<&'static str> {
    // Streams may work side by side.
    const LONGER: f64 = 2.0;
    if !comparison.has_one_device {
        return None;
    }
    let rows = || {
        let rows = comparison.names.iter();
        rows.filter(|row| row.name.kind == Kind::DeviceCategory)
    };
    let base: f64 = rows().map(|row| row.base_total_ns).sum();
    let run: f64 = rows().map(|row| row.run_total_ns).sum();
    let is_ahead = |device_ns: f64, steps_ns: f64| steps_ns > 0.0 && device_ns > LONGER * steps_ns;
    match (
        is_ahead(base, steps.base_total_ns),
        is_ahead(run, steps.run_total_ns),
    ) {
        (false, false) => None,
        (true, false) => Some("the device of the base takes"),
        (false, true) => Some("the device of the run takes"),
        (true, true) => Some("the devices of both runs take"),
    }
}

fn other_device(comparison: &Comparison) -> Option<String> {
    let [base, run] = comparison.devices.each_ref().map(|names| {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        names.join(", ")
    });
    let is_other = !base.is_empty() && !run.is_empty() && base != run;
    is_other.then(|| format!("other GPU: {base} → {run}"))
}

/// Median steps of both sides.
fn median_steps(comparison: &Comparison) -> Option<(f64, f64)> {
    let mut names = comparison.names.iter();
    let steps = names.find(|name| name.name.kind == Kind::Iteration)?;
    Some((steps.base_median_ns?, steps.run_median_ns?))
}

/// Number of common names and of names on the smaller side, if that is too few for the same program. Steps, calls of a
/// device's API and copies have the same names in all programs.
fn other_program(comparison: &Comparison) -> Option<(usize, usize)> {
    let is_own = |name: &Name| {
        let is_general = matches!(
            name.kind,
            Kind::Category | Kind::DeviceCategory | Kind::Iteration | Kind::Call | Kind::Transfer
        );
        !is_general
    };
    let both = comparison.names.iter().filter(|row| is_own(&row.name));
    let both = both.count();
    let of = |change: Change| {
        let rows = comparison.counts.iter();
        rows.filter(|row| row.change == change && is_own(&row.name))
            .count()
    };
    let fewer = both + of(Change::New).min(of(Change::Gone));
    let is_other = fewer >= FEW_NAMES && (both as f64) < MIN_COMMON * fewer as f64;
    is_other.then_some((both, fewer))
}

/// Time per unit of work, for windows of equal length with different amounts of work.
fn unequal_work(comparison: &Comparison, base: f64, run: f64) -> Option<String> {
    if base <= 0.0 || (run / base - 1.0).abs() > EQUAL_LENGTH {
        return None;
    }
    let each = |count: u64, runs: usize| count as f64 / runs.max(1) as f64;
    let counts = |name: &Compared| {
        (
            each(name.base_count, comparison.base.len()),
            each(name.run_count, comparison.run.len()),
        )
    };
    let work = comparison.names.iter();
    let work = work.filter(|name| name.name.kind == Kind::DeviceKernel);
    let most = work.max_by(|a, b| a.base_total_ns.total_cmp(&b.base_total_ns))?;
    let (before, after) = counts(most);
    if before < 2.0 || after < 2.0 || (after / before - 1.0).abs() <= EQUAL_WORK {
        return None;
    }
    let (base, run) = (base / before, run / after);
    Some(format!(
        "windows of equal length with unequal work: {before:.0} → {after:.0} calls of `{}`; per call {} → {}, {} (by the count of calls alone)",
        display_name(&most.name.name),
        units::duration(base),
        units::duration(run),
        change(run / base)
    ))
}

fn names(comparison: &Comparison) -> Option<String> {
    let (slower, faster) = (
        comparison.with(Verdict::Slower),
        comparison.with(Verdict::Faster),
    );
    let judged = counted(comparison.judged() as u64, "name", "names");
    (slower + faster > 0)
        .then(|| format!("of {judged} with enough calls, {slower} slower and {faster} faster"))
}
