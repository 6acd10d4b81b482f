//! Findings on points, ceilings and backends.

use trueno_analysis::interner::Texts;
use trueno_analysis::roofline::ceilings::Ceilings;
use trueno_plugin::{Finding, Severity, agreeing, counted};

use crate::backends::{Entry, PAYS};
use crate::operators::Operators;
use crate::points::{Point, doubt_of_ceiling};

const NAMED: usize = 3;

fn listed(names: &[String]) -> String {
    let mut out = names[..names.len().min(NAMED)].join(", ");
    if names.len() > NAMED {
        out.push_str(&format!(" and {} more", names.len() - NAMED));
    }
    out
}

/// Findings about points. `points` must be sorted by time.
pub fn point_findings(
    points: &[&Point],
    texts: &Texts,
    has_rows: bool,
    operators: &Operators,
) -> Vec<Finding> {
    let mut out = Vec::new();
    if points.is_empty() && has_rows && operators.total.figures.dur_ns == 0 {
        out.push(
            Finding::new("no_work", Severity::Info, "no row has both FLOPs and bytes, so there is no roofline")
                .suggestion("declare both on the same brick or kernel (`flops`, `bytes`), or add ncu's counts (import FILE.csv --into RUN)")
                .evidence("SELECT source, reason, calls, dur_ns FROM roofline.not_measurable ORDER BY calls DESC, reason"),
        );
    }
    let missing: Vec<&&Point> = points
        .iter()
        .filter(|point| point.choice.is_err())
        .collect();
    if !missing.is_empty() {
        let mut why: Vec<String> = missing
            .iter()
            .filter_map(|point| point.choice.clone().err())
            .collect();
        why.sort();
        why.dedup();
        let title = format!(
            "{} of {} {} no ceiling",
            missing.len(),
            counted(points.len(), "point", "points"),
            agreeing(missing.len(), "has", "have")
        );
        out.push(
            Finding::new("no_ceiling", Severity::Info, title)
                .detail(why.join("; "))
                .suggestion("run `trueno-record peaks --into RUN` on the machine of the recording (for a GPU: `peaks --gpu`, before recording), or use nominal ceilings with --set roofline.nominal=true")
                .evidence("SELECT device, kind, level, precision, threads, value, source FROM ceilings"),
        );
    }
    let above: Vec<&&Point> = points
        .iter()
        .filter(|point| point.place.is_some() && point.sound().is_none())
        .collect();
    if let Some(first) = above.first() {
        let mut names: Vec<String> = Vec::new();
        for point in &above {
            let name = texts.text(point.label.name).to_owned();
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let what = if above.iter().any(|point| point.efficiency().is_none()) {
            "points lie above the roof, or at least half of their calls do"
        } else {
            "points lie above the roof"
        };
        let title = format!(
            "{} {what}, which is impossible: {}",
            above.len(),
            listed(&names)
        );
        // Points come with the most time first.
        let level = above.iter().find_map(|point| point.served_by);
        let mut suggestion = "declare the actual FLOPs and bytes".to_owned();
        if let Some(level) = level {
            suggestion.push_str(&format!(
                ", or choose the level of memory that the bytes refer to: --set roofline.memory={level}"
            ));
        }
        out.push(
            Finding::new("above_the_roof", Severity::Warning, title)
                .detail(first.reason.clone().unwrap_or_default())
                .suggestion(suggestion)
                .evidence("SELECT source, name, backend, efficiency_share, calls, calls_above, reason FROM roofline.points WHERE NOT is_valid ORDER BY dur_ns DESC, name"),
        );
    }
    let left = |point: &&&Point| {
        let place = point.sound()?;
        Some(point.sum.dur_ns as f64 * place.distance())
    };
    let own = points.iter().filter_map(|point| {
        let place = point.sound()?;
        let name = texts.text(point.label.name);
        Some((left(&point)?, name, place.efficiency, place.bound.name()))
    });
    let of_operators = operators.shapes.iter().filter_map(|shape| {
        let bound = shape.bound.as_deref()?;
        Some((
            shape.recoverable_ns()?,
            shape.name.as_str(),
            shape.efficiency?,
            bound,
        ))
    });
    // The first of those that are equal.
    let furthest = own
        .chain(of_operators)
        .reduce(|most, one| if one.0 > most.0 { one } else { most });
    if let Some((_, name, efficiency, bound)) = furthest {
        let title = format!(
            "{name} has the most to gain: it reaches {:.1} % of what {bound} allows",
            efficiency * 100.0,
        );
        out.push(Finding::new("most_to_gain", Severity::Info, title).evidence(
            "SELECT source, name, input_dims, backend, dur_ns, efficiency_share, bound_by FROM roofline.points WHERE is_valid ORDER BY dur_ns * distance_share DESC, name",
        ));
    }
    out
}

pub fn ceiling_finding(points: &[&Point], ceilings: &Ceilings) -> Option<Finding> {
    let placed: Vec<&&Point> = points
        .iter()
        .filter(|point| point.efficiency().is_some())
        .collect();
    let time = |points: &[&&Point]| {
        points
            .iter()
            .map(|point| point.sum.dur_ns as f64)
            .sum::<f64>()
    };
    let in_doubt: Vec<&&Point> = placed
        .iter()
        .copied()
        .filter(|point| doubt_of_ceiling(point, ceilings).is_some())
        .collect();
    let mut why: Vec<String> = in_doubt
        .iter()
        .filter_map(|point| doubt_of_ceiling(point, ceilings))
        .collect();
    why.sort();
    why.dedup();
    let title = format!(
        "{} of {} ({:.0} % of their time) {} on uncertain ceilings",
        in_doubt.len(),
        counted(placed.len(), "efficiency", "efficiencies"),
        100.0 * time(&in_doubt) / time(&placed).max(1.0),
        agreeing(in_doubt.len(), "depends", "depend")
    );
    (!in_doubt.is_empty()).then(|| {
        Finding::new("doubtful_ceiling", Severity::Info, title)
            .detail(why.join("; "))
            .suggestion("measure again while nothing else runs: `trueno-record peaks --into RUN --replace`; if the result is the same, the machine itself varies")
            .evidence("SELECT level, precision, operation, value, spread, settled, earlier, doubt FROM roofline.ceilings_used WHERE doubt IS NOT NULL ORDER BY dur_ns DESC, level, operation")
    })
}

pub fn backend_finding(entries: &[Entry]) -> Option<Finding> {
    let idle: Vec<&Entry> = entries
        .iter()
        .filter(|entry| entry.pays == Some(false))
        .collect();
    if idle.is_empty() {
        return None;
    }
    let mut names: Vec<String> = Vec::new();
    for entry in &idle {
        let Some((gain, over)) = &entry.gain else {
            continue;
        };
        let name = |backend: &Option<String>| backend.clone().unwrap_or_else(|| "?".to_owned());
        let name = format!(
            "{} ({} × {gain:.2} over {})",
            entry.name,
            name(&entry.backend),
            name(over)
        );
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let title = format!("SIMD does not pay for {}", listed(&names));
    let detail = format!(
        "a gain below {PAYS} over the fastest narrower instruction set counts as none; typical causes are short calls, memory bandwidth and loop tails"
    );
    Some(
        Finding::new("simd_does_not_pay", Severity::Warning, title)
            .detail(detail)
            .suggestion("use the narrower one there, or give each call more work")
            .evidence("SELECT name, backend, run, median_ns, gain, speed_up, against FROM roofline.backends WHERE NOT pays ORDER BY dur_ns DESC, name"),
    )
}

/// The finding if a comparison of backends found no problem.
pub fn no_idle(entries: &[Entry]) -> Finding {
    if entries.is_empty() {
        return Finding::new(
            "one_backend",
            Severity::Info,
            "no name ran under two backends",
        )
        .suggestion(
            "record the program again with another backend, and compare with that run as --baseline",
        );
    }
    let known = entries.iter().filter(|entry| entry.pays.is_some()).count();
    if known == 0 {
        let why = format!(
            "this needs {} calls per backend of {} ns or more, and a second instruction set",
            crate::backends::MIN_CALLS,
            crate::backends::MIN_CALL_NS
        );
        return Finding::new(
            "simd_unknown",
            Severity::Info,
            "it is not known whether SIMD pays",
        )
        .detail(why);
    }
    Finding::new(
        "simd_pays",
        Severity::Info,
        match known {
            1 => "SIMD pays in the one comparison".to_owned(),
            known => format!("SIMD pays in all {known} comparisons"),
        },
    )
}
