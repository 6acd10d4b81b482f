//! One file a class: the evidence it needs, its formula, what else was considered.

mod by_category;
mod category;
mod compute;
mod fragments;
mod growth;
mod imbalance;
mod late_ranks;
mod latency;
mod launch;
mod linear_fit;
mod loader;
mod phases;
mod recompute;
mod redundant;
mod roofs;
mod serial;
mod set_up;
mod small_batches;
mod sync;
mod tight_loop;
mod transfer;

use trueno_plugin::rank::of_place;

use crate::Options;
use crate::class::Class;
use crate::facts::ranges::{Ranges, Total, union};
use crate::facts::{Cause, Facts, Gap};
use crate::verdict::{Bottleneck, Confidence, Severity, Verdicts};
use crate::words;

/// A rule.
pub type Rule = fn(&Facts, &Options, &mut Verdicts);

/// All of them.
pub const ALL: [Rule; 18] = [
    transfer::judge,
    launch::judge,
    sync::judge,
    imbalance::judge,
    late_ranks::judge,
    serial::judge,
    loader::judge,
    small_batches::judge,
    tight_loop::judge,
    compute::judge,
    latency::judge,
    category::judge,
    recompute::judge,
    redundant::judge,
    growth::judge,
    fragments::judge,
    set_up::judge,
    // Splits what the others said.
    by_category::judge,
];

/// Code of what is a category's part of another finding.
pub const PART: &str = "category_part";

/// What a rule writes; the rest follows from the gain.
struct Draft {
    class: Class,
    code: &'static str,
    scope_kind: &'static str,
    scope: String,
    place: String,
    confidence: (Confidence, String),
    /// What is wrong, with its figure.
    lead: String,
    /// What would save time, as the subject of `saves up to …`; or, without a gain, what to do.
    fix: String,
    evidence: String,
    assumption: String,
    considered: String,
    suggestion: String,
}

impl Draft {
    fn finish(self, severity: Severity, gain: Option<(i64, f64)>) -> Bottleneck {
        let Self { lead, fix, .. } = self;
        let sentence = match gain {
            Some((ns, share)) => format!("{lead}; {fix} {}", words::gain(ns, share)),
            None => format!("{lead}; {fix}"),
        };
        Bottleneck {
            class: self.class,
            code: self.code,
            scope_kind: self.scope_kind,
            scope: self.scope,
            place: self.place,
            severity,
            gain_ns: gain.map(|gain| gain.0),
            gain_share: gain.map(|gain| gain.1),
            confidence: self.confidence,
            sentence,
            evidence: self.evidence,
            assumption: self.assumption,
            considered: self.considered,
            fix,
            suggestion: self.suggestion,
            group: 0,
        }
    }

    /// A finding with a gain in time, if it is worth a word.
    fn with_gain(self, facts: &Facts, options: &Options, gain_ns: i64, verdicts: &mut Verdicts) {
        let share = facts.share(gain_ns);
        if gain_ns > 0 && share >= options.least_share {
            verdicts
                .findings
                .push(self.finish(Severity::from_share(share, options), Some((gain_ns, share))));
        }
    }

    /// A finding of something else than time.
    fn without_gain(self, severity: Severity, verdicts: &mut Verdicts) {
        verdicts.findings.push(self.finish(severity, None));
    }
}

/// The time of the critical path on which no device works or copies: closing gaps of a device cannot save more. Where there are
/// several ranks, without what is known to be on lanes of other ranks than that of the device.
/// Without a path all of the window.
fn host_path_ns(facts: &Facts, device: i64) -> i64 {
    let wall_ns = facts.window.wall_ns;
    if !facts.path.is_known {
        return wall_ns;
    }
    let names: std::collections::BTreeSet<&str> = facts
        .device
        .work
        .iter()
        .filter(|work| work.is_kernel())
        .map(|work| facts.device.name(work))
        .collect();
    let rows = facts.path.names.iter();
    let kernels = rows
        .filter(|row| row.1 == "work" && names.contains(row.0.as_str()))
        .map(|row| row.3)
        .total();
    let on_devices = kernels.saturating_add(facts.path.kind_ns("transfer"));
    let host_ns = wall_ns.saturating_sub(on_devices).max(0);
    if facts.window.ranks < 2 || facts.path.pieces.is_empty() {
        return host_ns;
    }
    let rank = of_place(device).0;
    let of_rank = facts.path.pieces.iter().filter(|piece| {
        let is_kernel = || {
            piece
                .name
                .as_deref()
                .is_some_and(|name| names.contains(name))
        };
        piece.rank.is_none_or(|of| of == rank)
            && piece.kind != "transfer"
            && !(piece.kind == "work" && is_kernel())
    });
    of_rank.map(|piece| piece.dur_ns).total().clamp(0, host_ns)
}

/// `idle 1,312 × sync 13.1 ms, 4 × host 2.0 ms`: causes of gaps other than one.
fn other_causes(facts: &Facts, device: i64, not: Cause) -> String {
    let mut out = Vec::new();
    for cause in Cause::ALL.into_iter().filter(|cause| *cause != not) {
        let (n, ns) = facts.idle.of_cause(device, cause);
        if n > 0 {
            out.push(format!(
                "{} for {} ({})",
                cause.name(),
                words::time(ns),
                words::many(n, "gap")
            ));
        }
    }
    if out.is_empty() {
        "no other cause of idle time was found".to_owned()
    } else {
        format!("other idle time: {}", out.join(", "))
    }
}

/// Gaps of a cause.
fn gaps(facts: &Facts, device: i64, cause: Cause) -> Vec<&Gap> {
    let gaps = facts.idle.gaps.iter();
    gaps.filter(|gap| gap.device == device && gap.cause == cause)
        .collect()
}

/// When they were.
fn times(gaps: &[&Gap]) -> Ranges {
    union(gaps.iter().map(|gap| (gap.start_ns, gap.end_ns)).collect())
}

/// Rows of evidence that a query names.
const SHOWN: usize = 20;

/// The work after the longest of gaps.
fn gaps_sql(mut gaps: Vec<&Gap>) -> String {
    gaps.sort_by_key(|gap| (std::cmp::Reverse(gap.dur_ns()), gap.start_ns));
    let is_copy = gaps.first().is_some_and(|gap| gap.next_is_copy);
    let ids = gaps
        .iter()
        .filter(|gap| gap.next_is_copy == is_copy)
        .take(SHOWN);
    let ids: Vec<String> = ids.map(|gap| gap.next.to_string()).collect();
    let (table, what) = if is_copy {
        ("transfers", "direction")
    } else {
        ("kernels", "name")
    };
    format!(
        "SELECT id, {what}, device, stream, start_ns, dur_ns, correlation FROM {table} WHERE id IN ({}) ORDER BY start_ns",
        ids.join(", ")
    )
}

/// Why a gain is no better than a bound.
const NO_PATH: &str =
    "the critical path is not known, so the gain is only bounded by the device's own time";

/// Confidence of what rests on gaps.
fn of_gaps(facts: &Facts, n: u64, options: &Options) -> (Confidence, String) {
    if !facts.path.is_known {
        (Confidence::Low, NO_PATH.to_owned())
    } else if n >= 10 * options.least_gaps {
        (
            Confidence::High,
            format!("{} gaps, each with its launch on record", words::count(n)),
        )
    } else {
        (
            Confidence::Medium,
            format!("only {}", words::many(n, "gap")),
        )
    }
}
