//! Tear-down: what the host frees, unloads and destroys after the last work of the devices.
//!
//! Evidence: calls of a device's API that free memory, unload code or destroy a context, a stream or an event, on the path after
//! the last device work of the whole run, at least `first_call_share` of the wall. Gain: that time, because a process that ends
//! gives everything back at once.

use super::draft::Draft;
use super::{Options, set_up};
use crate::facts::{Facts, Without};
use crate::verdict::{Confidence, Verdicts};
use crate::wording::{percent, short, time};
use trueno_analysis::evidence::Evidence;
use trueno_analysis::intervals::{IntervalSet, SaturatingSum};
use trueno_analysis::vendors;

/// Parts of names of calls that give something back.
const GIVES_BACK: [&str; 6] = [
    "free",
    "unload",
    "destroy",
    "unregister",
    "ctxrelease",
    "reset",
];

fn gives_back(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    vendors::call(name).is_some() && GIVES_BACK.iter().any(|part| lower.contains(part))
}

/// From the end of the last device work to the end of the run; empty in a part of a run, or without device work.
fn times(facts: &Facts) -> IntervalSet<i64> {
    let ends = facts.device.work.iter().map(|work| work.end_ns);
    let last = ends.max().filter(|_| !facts.window.is_part);
    last.map(|last_ns| (last_ns, facts.window.until_ns))
        .into_iter()
        .collect()
}

/// Reports the tear-down, and returns its calls with their times on the path, longest first.
pub fn judge<'f>(
    facts: &'f Facts,
    options: &Options,
    verdicts: &mut Verdicts,
) -> Vec<(&'f str, i64)> {
    let times = times(facts);
    let names = facts.path.names_within(&times, gives_back);
    let all_ns = names.iter().map(|row| row.1).saturating_sum();
    let share = facts.share(all_ns);
    let Some((name, longest_ns)) = names
        .first()
        .filter(|_| share >= options.set_up.first_call_share)
    else {
        return names;
    };
    let calls: Vec<&str> = names.iter().map(|row| row.0).collect();
    let condition = facts.name_groups.condition_of_any(&calls);
    let last_ns = times.ranges().first().map_or(0, |range| range.0);
    Draft {
        class: set_up::CLASS,
        code: "tear_down",
        scope_kind: "run",
        scope: (*name).to_owned(),
        place: "host".into(),
        confidence: (
            Confidence::Medium,
            "how long the driver takes to give everything back at the end of the process is not recorded".into(),
        ),
        lead: format!(
            "freeing and unloading takes {} of the wall after the last device work ({} {})",
            percent(share),
            short(name),
            time(*longest_ns)
        ),
        fix: "leaving that to the end of the process".into(),
        evidence: format!(
            "SELECT name, COUNT(*) AS calls, SUM(dur_ns) AS dur_ns FROM calls WHERE start_ns >= {last_ns} AND {condition} GROUP BY name ORDER BY dur_ns DESC"
        ),
        assumption: "the end of a process gives everything back at once".into(),
        considered: format!("{} after the last device work", time(times.total_ns())),
        suggestion: "a process that ends need not free memory, unload code or destroy streams one by one; one that goes on can keep them for the next input".into(),
    }
    .with_gain(
        facts,
        options,
        Evidence::once(all_ns),
        (all_ns.min(facts.most_ns(&Without::Host)), Without::Unbounded),
        verdicts,
    );
    names
}
