//! Points below roofs as evidence, shared by the rules about rooflines.

use std::collections::BTreeMap;

use super::compute;
use crate::facts::{AboveRoof, Facts, Point};
use crate::verdict::{Confidence, Verdicts};
use crate::wording::{count, many, short};

/// Points with enough time on the path to report: for each name the one with the most time. A brick is left out if
/// a kernel point declares the same work.
pub fn points(facts: &Facts, least_share: f64) -> Vec<&Point> {
    let mut out: Vec<&Point> = Vec::new();
    let has_kernels = facts
        .roof
        .points
        .iter()
        .any(|point| point.source == "kernel");
    for point in &facts.roof.points {
        let path_ns = facts.path.name_ns(&point.name);
        let path_ns = if facts.path.is_known {
            path_ns
        } else {
            point.dur_ns
        };
        let is_known = out.iter().any(|other| other.name == point.name);
        // The same work, once declared on the kernel and once on the brick around it.
        let is_outer = has_kernels
            && point.source == "brick"
            && facts.roof.points.iter().any(|kernel| {
                kernel.source == "kernel"
                    && (kernel.flops_per_s * kernel.dur_ns as f64
                        - point.flops_per_s * point.dur_ns as f64)
                        .abs()
                        <= 0.02 * point.flops_per_s * point.dur_ns as f64
            });
        if !is_known && !is_outer && facts.share(path_ns) >= least_share {
            out.push(point);
        }
    }
    out
}

pub fn scope_kind(point: &Point) -> &'static str {
    if point.source == "kernel" {
        "kernel"
    } else {
        "brick"
    }
}

pub fn name(point: &Point) -> String {
    short(&point.name)
}

pub fn evidence(facts: &Facts, point: &Point) -> String {
    let (table, bytes) = if point.source == "kernel" {
        ("kernels", "bytes")
    } else {
        ("bricks", "bytes_read + bytes_written AS bytes")
    };
    format!(
        "SELECT id, name, start_ns, dur_ns, flops, {bytes} FROM {table} WHERE {}{} ORDER BY dur_ns DESC",
        facts.name_groups.condition(&point.name),
        facts.window.sql(" AND")
    )
}

pub fn confidence(facts: &Facts, point: &Point) -> (Confidence, String) {
    match (&point.assumed, facts.path.is_known) {
        (_, false) => (Confidence::Low, super::gaps::NO_PATH.into()),
        _ if point.doubt.is_some() => (
            Confidence::Low,
            "the measurement of its roof is uncertain".into(),
        ),
        (Some(assumed), _) => (
            Confidence::Medium,
            format!("assumed for the ceiling: {assumed}"),
        ),
        (None, _) if point.provenance == "declared" => (
            Confidence::Medium,
            "work as the program declares it, times and ceilings measured".into(),
        ),
        (None, _) => (
            Confidence::High,
            "work, times and ceilings are measured".into(),
        ),
    }
}

/// For example `3.1 GFLOP/s and 12.0 GB/s at 0.25 FLOP/B, 40 % of its roof`.
pub fn place(point: &Point) -> String {
    format!(
        "{:.1} GFLOP/s and {:.1} GB/s at {:.2} FLOP/B, {:.0} % of its roof{}",
        point.flops_per_s / 1e9,
        point.bytes_per_s / 1e9,
        point.intensity,
        point.efficiency * 100.0,
        match &point.doubt {
            Some(doubt) => format!(" (which is uncertain: {doubt})"),
            None => String::new(),
        }
    )
}

pub fn in_doubt(point: &Point) -> &'static str {
    match point.doubt {
        Some(_) => ", which is uncertain",
        None => "",
    }
}

/// Notes that names above their roof are not limited by it, and how to find the roof that limits them.
pub fn above(facts: &Facts, least_share: f64, verdicts: &mut Verdicts) {
    let mut by_memory: BTreeMap<Option<&str>, Vec<&AboveRoof>> = BTreeMap::new();
    for one in &facts.roof.above {
        let ns = if facts.path.is_known {
            facts.path.name_ns(&one.name)
        } else {
            one.dur_ns
        };
        if facts.share(ns) >= least_share {
            let rows = by_memory.entry(one.memory.as_deref()).or_default();
            rows.push(one);
        }
    }
    for (memory, rows) in by_memory {
        let first = &rows[0];
        let others = match rows.len() {
            1 => String::new(),
            n => format!(" (and {} like it)", many(n as u64 - 1, "name")),
        };
        let (above, calls) = (count(first.above), count(first.calls));
        let (class, roof, how) = match memory {
            Some(level) => {
                let how = match nearer(level) {
                    Some(nearer) => format!(
                        "its bytes come from a nearer memory: --set roofline.memory={nearer}; or declare the bytes that {level} moves"
                    ),
                    None => "declare the bytes that it moves, or measure the ceilings again (trueno-record peaks --into RUN --replace)".to_owned(),
                };
                (compute::MEMORY_BOUND, level, how)
            }
            None => (
                compute::COMPUTE_BOUND,
                "the arithmetic",
                "declare the FLOPs that it computes, or measure the ceilings again (trueno-record peaks --into RUN --replace)".to_owned(),
            ),
        };
        verdicts.not_measurable(
            class,
            &first.name,
            format!(
                "which roof limits it{others}: {above} of {calls} calls lie above that of {roof}"
            ),
            how,
        );
    }
}

/// The memory level nearer to the core.
fn nearer(level: &str) -> Option<&'static str> {
    const LEVELS: [&str; 4] = ["l1", "l2", "l3", "dram"];
    let at = LEVELS.iter().position(|one| *one == level)?;
    LEVELS.get(at.checked_sub(1)?).copied()
}
