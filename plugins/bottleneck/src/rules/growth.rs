//! Memory growth: live bytes grow with the iterations.
//!
//! Evidence: `memory.growth` says *grows* (Mann–Kendall over the ends of iterations), by at least `growth_share` of the
//! median over all of them. Severity by that share; no gain in time is claimed.

use super::Draft;
use crate::Options;
use crate::class::Class;
use crate::facts::Facts;
use crate::verdict::{Confidence, Severity, Verdicts};
use crate::words::{bytes, count};

pub fn judge(facts: &Facts, options: &Options, verdicts: &mut Verdicts) {
    let table = &facts.growth;
    let (Ok(place), Ok(tag), Ok(share), Ok(verdict)) = (
        table.text("place"),
        table.text("tag"),
        table.f64("growth_share"),
        table.text("verdict"),
    ) else {
        return;
    };
    let (Ok(each), Ok(first), Ok(last), Ok(p)) = (
        table.f64("bytes_per_iteration"),
        table.i64("first_bytes"),
        table.i64("last_bytes"),
        table.f64("p"),
    ) else {
        return;
    };
    if table.is_empty() {
        verdicts.cannot(
            Class::MemoryGrowth,
            "run",
            "allocations",
            "record them: the recorder's feature `alloc`, or Recorder::allocation for memory of devices",
        );
        return;
    }
    let mut told: Vec<String> = Vec::new();
    for row in 0..table.rows() {
        let name = place.get(row).unwrap_or("memory");
        if verdict.get(row) == Some("cannot tell") {
            verdicts.cannot(
                Class::MemoryGrowth,
                name,
                "enough iterations for a trend (8)",
                "hold Recorder::iteration around each step, and record more of them",
            );
            continue;
        }
        let (Some("grows"), Some(share)) = (verdict.get(row), share.get(row)) else {
            continue;
        };
        // All tags together come first; a tag of its own says where.
        if share < options.growth_share || told.iter().any(|other| other == name) {
            continue;
        }
        told.push(name.to_owned());
        let tags = (0..table.rows()).filter(|other| {
            place.get(*other) == place.get(row)
                && tag.get(*other) != Some("all tags")
                && verdict.get(*other) == Some("grows")
        });
        let tag_name = tags
            .max_by(|a, b| {
                each.get(*a)
                    .partial_cmp(&each.get(*b))
                    .unwrap_or(std::cmp::Ordering::Equal)
            })
            .and_then(|at| tag.get(at))
            .or(tag.get(row));
        let iterations = crate::facts::count(table, "iterations", row).unwrap_or(0);
        Draft {
            class: Class::MemoryGrowth,
            code: "memory_growth",
            scope_kind: "memory",
            scope: name.to_owned(),
            place: format!("{name} memory"),
            confidence: (Confidence::High, format!("a trend over {} iterations{}", count(iterations), p.get(row).map_or(String::new(), |p| format!(", p = {p:.1e}")))),
            lead: format!(
                "{name} memory grows{}{}{}",
                each.get(row).map_or(String::new(), |each| format!(" by {} an iteration", bytes(each))),
                tag_name.filter(|tag| *tag != "all tags").map_or(String::new(), |tag| format!(" ({tag})")),
                first.get(row).zip(last.get(row)).map_or(String::new(), |(first, last)| format!(", {} to {}", bytes(first as f64), bytes(last as f64)))
            ),
            fix: "free it, or bound it".into(),
            evidence: "SELECT time_ns, span, tag, bytes, address FROM allocations ORDER BY time_ns".into(),
            assumption: "none: no gain in time is claimed".into(),
            considered: "what is alive at the end is no leak by itself; only a trend over iterations counts".into(),
            suggestion: "see which tag grows in memory.growth, and what keeps its blocks alive after the step".into(),
        }
        .without_gain(Severity::of(share, options), verdicts);
    }
}
