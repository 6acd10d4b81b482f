//! Memory growth: live bytes grow with the iterations.
//!
//! Evidence: `memory.growth` says *grows* (Mann–Kendall over the ends of iterations), by at least `growth_share` of the
//! median over all of them. Severity by how long it takes at that rate (bytes over the length of the window) until `memory_bytes` are full:
//! high within `full_soon_s`, medium within `full_later_s`, else low; medium where they, or the bytes held, are not known; and low below `least_growth_bytes` in the window. No gain in time
//! is claimed.

use trueno_analysis::evidence::Evidence;
use trueno_analysis::producer::NSIGHT_MEMORY;

use super::draft::Draft;
use super::{Options, Rule};
use crate::class::Class;
use crate::facts::Facts;
use crate::options::thresholds;
use crate::verdict::{Confidence, Severity, Verdicts};
use crate::wording::{bytes, count, time};

pub const CLASS: Class = Class::new("memory_growth", 11).explaining(&["fragmented_memory"]);

thresholds! {
    pub struct MemoryGrowth {
        /// Growth over all iterations divided by the median of live bytes.
        growth_share: f64 = 0.1,
        /// With less growth in the window, severity is low whatever the rate.
        least_growth_bytes: i64 = 1 << 20,
        /// Memory of the machine or device, which the tables do not contain.
        memory_bytes: Option<i64> = None,
        full_soon_s: f64 = 3_600.0,
        full_later_s: f64 = 86_400.0,
    }
}

impl Rule for MemoryGrowth {
    fn classes(&self) -> &'static [Class] {
        &[CLASS]
    }

    fn judge(&self, facts: &Facts, options: &Options, verdicts: &mut Verdicts) {
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
            verdicts.not_measurable(
            CLASS,
            "run",
            "allocations",
            facts.producer.to_record(
                "record them: the recorder's feature `alloc`, or Recorder::allocation for memory of devices",
                "`profile(profile_memory=True)` records them",
                NSIGHT_MEMORY,
            ),
        );
            return;
        }
        let mut told: Vec<String> = Vec::new();
        for row in 0..table.rows() {
            let name = place.get(row).unwrap_or("memory");
            if verdict.get(row) == Some("cannot tell") {
                verdicts.not_measurable(
                    CLASS,
                    name,
                    "enough iterations for a trend (8)",
                    facts.producer.to_record(
                        "wrap each step in Recorder::iteration, and record more of them",
                        "`schedule(active=8)` and `profiler.step()` record eight steps",
                        "record more steps, each in a range of NVTX",
                    ),
                );
                continue;
            }
            let (Some("grows"), Some(share)) = (verdict.get(row), share.get(row)) else {
                continue;
            };
            // All tags together come first; a tag of its own says where.
            if share < self.growth_share || told.iter().any(|other| other == name) {
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
            let all_bytes = match first.get(row).zip(last.get(row)) {
                Some((first, last)) => Some(last.saturating_sub(first) as f64),
                None => each.get(row).map(|each| each * iterations as f64),
            };
            let (severity, until) = pace(facts, options, all_bytes, last.get(row));
            Draft {
            class: CLASS,
            code: "memory_growth",
            scope_kind: "memory",
            scope: name.to_owned(),
            place: format!("{name} memory"),
            confidence: (Confidence::High, format!("a trend over {} iterations{}", count(iterations), p.get(row).map_or(String::new(), |p| format!(", p = {p:.1e}")))),
            lead: format!(
                "{name} memory grows{}{}{}",
                each.get(row).map_or(String::new(), |each| format!(" by {} per iteration", bytes(each))),
                tag_name.filter(|tag| *tag != "all tags").map_or(String::new(), |tag| format!(" ({tag})")),
                first.get(row).zip(last.get(row)).map_or(String::new(), |(first, last)| format!(", {} to {}", bytes(first as f64), bytes(last as f64)))
            ),
            fix: "free it, or bound it".into(),
            evidence: "SELECT time_ns, span, tag, bytes, address FROM allocations ORDER BY time_ns".into(),
            assumption: "none: no gain in time is claimed".into(),
            considered: format!("memory alive at the end is not a leak by itself; only a trend over iterations counts; {until}"),
            suggestion: "see which tag grows in memory.growth, and what keeps its blocks alive after the step".into(),
        }
        .without_gain(facts, Evidence::new(iterations, facts.window.wall_ns), severity, verdicts);
        }
    }
}

/// Severity of a growth in bytes over the window, and in words the time until memory is full.
fn pace(
    facts: &Facts,
    options: &Options,
    all_bytes: Option<f64>,
    last_bytes: Option<i64>,
) -> (Severity, String) {
    let (Some(all), wall_ns) = (all_bytes.filter(|all| *all > 0.0), facts.window.wall_ns) else {
        return (Severity::Low, "how fast is not known".into());
    };
    let so_far = format!("it is {} in {}", bytes(all), time(wall_ns));
    let is_small = all < options.growth.least_growth_bytes as f64;
    let (Some(memory_bytes), Some(last_bytes)) = (options.growth.memory_bytes, last_bytes) else {
        let severity = if is_small {
            Severity::Low
        } else {
            Severity::Medium
        };
        return (
            severity,
            format!(
                "{so_far}; the time until memory is full is not known (hint: --set bottleneck.memory_bytes=BYTES)"
            ),
        );
    };
    let left = (memory_bytes as f64 - last_bytes as f64).max(0.0);
    let full_s = left * wall_ns as f64 / 1e9 / all;
    let until = format!(
        "{so_far}; at that rate {} of memory would be full after {}",
        bytes(memory_bytes as f64),
        long(full_s)
    );
    let severity = if is_small {
        Severity::Low
    } else if full_s <= options.growth.full_soon_s {
        Severity::High
    } else if full_s <= options.growth.full_later_s {
        Severity::Medium
    } else {
        Severity::Low
    };
    (severity, until)
}

fn long(seconds: f64) -> String {
    match seconds {
        s if s < 60.0 => format!("{s:.0} s"),
        s if s < 3_600.0 => format!("{:.0} min", s / 60.0),
        s if s < 172_800.0 => format!("{:.1} h", s / 3_600.0),
        s => format!("{:.0} days", s / 86_400.0),
    }
}
