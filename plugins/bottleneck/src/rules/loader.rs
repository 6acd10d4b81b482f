//! Data-load-bound: work waits for its input.
//!
//! Evidence: bricks that get input (category `data loading`, or a word of `loader_words` in the name) with at least
//! `least_share` of the window on the critical path. Gain: loading beside the work: the loaders' time on the path, but the run cannot
//! be shorter than its loading; what is loaded once, before the first iteration, is [set-up](super::set_up); where loading already goes on nearly all the time, half of it, for two loaders.

use std::collections::BTreeMap;

use super::Draft;
use crate::Options;
use crate::class::Class;
use crate::facts::ranges::{Ranges, Total, total, union};
use crate::facts::{Cause, Facts};
use crate::verdict::{Confidence, Verdicts};
use crate::words::{percent, quoted, short, time};

pub fn judge(facts: &Facts, options: &Options, verdicts: &mut Verdicts) {
    if facts.bricks.loader_names.is_empty() {
        verdicts.cannot(
            Class::DataLoadBound,
            "run",
            "which rows get input",
            "name such bricks load…, fetch… or read…, or give them the category `data loading`",
        );
        return;
    }
    // What is loaded once, before the steps, is set-up.
    let in_steps = |name: &&String| !facts.bricks.is_before_steps(name);
    let rows = facts.bricks.loaders.iter();
    let mut of_ranks: BTreeMap<i64, Ranges> = BTreeMap::new();
    for load in rows.filter(|load| in_steps(&&load.name)) {
        of_ranks.entry(load.rank).or_default().push(load.range);
    }
    // Ranks load side by side: the one that loads longest.
    let loading = of_ranks.into_values().map(union).max_by_key(|of| total(of));
    let loading = loading.unwrap_or_default();
    let all_ns = total(&loading);
    let mut names: Vec<(i64, &String)> = facts
        .bricks
        .loader_names
        .iter()
        .filter(in_steps)
        .map(|name| (facts.path.name_ns(name), name))
        .collect();
    names.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(b.1)));
    let on_path = names.iter().map(|row| row.0).total();
    let path_ns = if facts.path.is_known {
        on_path.min(all_ns)
    } else {
        all_ns
    };
    let Some((_, name)) = names.first() else {
        return;
    };
    if facts.share(path_ns) < options.least_share {
        return;
    }
    let rest_ns = facts.window.wall_ns.saturating_sub(all_ns);
    // Loading goes on beside the work already, or is nearly all there is.
    let is_alongside = rest_ns.saturating_mul(4) < path_ns;
    let (gain_ns, fix, assumption) = if is_alongside {
        (
            facts.path.gain_ns(name, 0.5).min(path_ns / 2),
            "two loaders",
            "loading in two places at once takes half the time".to_owned(),
        )
    } else {
        (
            path_ns.min(rest_ns),
            "loading ahead",
            format!(
                "the next input is loaded beside the work on this one; the run cannot be shorter than its loading, {}",
                time(all_ns)
            ),
        )
    };
    let idle_ns = facts
        .idle
        .gaps
        .iter()
        .filter(|gap| gap.cause == Cause::Loader)
        .map(|gap| gap.dur_ns())
        .total();
    let whom = if idle_ns > 0 { "the GPU" } else { "the work" };
    let place = facts.idle.spans.first().map_or("host".to_owned(), |span| {
        crate::facts::Idle::device_name(span.0)
    });
    Draft {
        class: Class::DataLoadBound,
        code: "data_load_bound",
        scope_kind: "brick",
        scope: (*name).clone(),
        place: if idle_ns > 0 { place } else { "host".into() },
        confidence: if facts.path.is_known {
            (Confidence::High, "loading is on the critical path".into())
        } else {
            (Confidence::Low, "the critical path is not known; loading may run beside the work".into())
        },
        lead: format!("{} starves {whom} {} of the wall", short(name), percent(facts.share(path_ns))),
        fix: fix.into(),
        evidence: format!(
            "SELECT id, name, thread, start_ns, dur_ns FROM bricks WHERE name IN ({}){} ORDER BY dur_ns DESC",
            names.iter().map(|(_, name)| quoted(name)).collect::<Vec<_>>().join(", "),
            facts.window.sql(" AND")
        ),
        assumption,
        considered: format!("loading takes {} in all, {} of it on the critical path; devices idle for it {}", time(all_ns), time(path_ns), time(idle_ns)),
        suggestion: "load on other threads, some steps ahead (prefetch), in larger reads, or from a decoded cache".into(),
    }
    .during(facts, &loading)
    .with_gain(facts, options, gain_ns, verdicts);
}
