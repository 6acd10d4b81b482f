//! Findings: the best lever, and what was left out of the graph, with the reasons.

use trueno_analysis::lanes::LeftOut;
use trueno_plugin::rank::of_place;
use trueno_plugin::{Finding, Severity, agreeing, counted};

use crate::background::Background;
use crate::clock_skew::Skew;
use crate::dependencies::Dependencies;
use crate::device::Found;
use crate::edges::Edge;
use crate::host_over_device::HostTime;
use crate::inferred::Rule;
use crate::opportunity::Opportunity;
use crate::window::Cut;

/// More cycles than this are counted, not named.
const NAMED_CYCLES: usize = 10;
/// A name that holds more of the window than this is a frame around the program's work.
const FRAME: f64 = 0.9;
/// Half the time of the best name has to gain so much of the window to be worth a word.
const MIN_GAIN: f64 = 0.005;
/// Host time on the path while a device is busy is worth a word from so much of the window on.
const MIN_OVER_DEVICE: f64 = 0.03;
/// More ids or edges than this are cut short in a text.
const NAMED_IDS: usize = 20;

/// Facts that findings are made of.
pub struct Facts<'a> {
    /// Dependencies, good and bad.
    pub dependencies: &'a Dependencies,
    /// Rows of `edges` of a kind that means nothing here.
    pub unknown_kinds: u64,
    /// Rows that the window cut.
    pub cut: Cut,
    /// Rows that became no interval.
    pub left_out: LeftOut,
    /// Dependencies from waits and events.
    pub device: &'a Found,
    /// Skews of the clocks of devices, which were corrected.
    pub skews: &'a [Skew],
    /// Time on the path by the rule that inferred why.
    pub path: &'a [i64],
    /// Gains of less time.
    pub opportunities: &'a [Opportunity],
    /// The busiest lane that nothing connects with the path.
    pub background: Option<Background>,
    /// Host time on the path while a device is busy.
    pub over_device: Option<HostTime>,
    /// Most names that get a prediction.
    pub predicted_names: usize,
    /// Rows of slack that are listed, and all.
    pub slack_rows: (usize, usize),
    /// True if the window is a part of the run.
    pub is_part: bool,
    /// Length of the window.
    pub wall_ns: i64,
}

impl Facts<'_> {
    /// Word for the window.
    fn window(&self) -> &'static str {
        if self.is_part { "window" } else { "run" }
    }
}

/// The best lever, then everything that kept a row or an edge out, the worst first.
pub fn findings(facts: &Facts<'_>) -> Vec<Finding> {
    let &Facts {
        dependencies,
        unknown_kinds,
        cut,
        left_out,
        ..
    } = facts;
    let mut out = Vec::new();
    for cycle in dependencies.cycles.iter().take(NAMED_CYCLES) {
        let ids = list(cycle.iter().map(u64::to_string));
        out.push(
            Finding::new("dependency_cycle", Severity::Error, format!("{}: {ids}", counted(cycle.len(), "row waits for itself", "rows wait for each other")))
                .detail("an edge of the circle that the times contradict is not part of the path")
                .suggestion("look at where the program records these dependencies: one of them points the wrong way")
                .evidence(cycle.clone()),
        );
    }
    if dependencies.cycles.len() > NAMED_CYCLES {
        let title = format!(
            "{} of rows that wait for each other",
            counted(
                dependencies.cycles.len() - NAMED_CYCLES,
                "more circle",
                "more circles"
            )
        );
        out.push(Finding::new("dependency_cycles", Severity::Error, title));
    }
    out.extend(edges(
        "edge_contradicts_times",
        &dependencies.contradicted,
        (
            "dependency contradicts the measured times and is left out",
            "dependencies contradict the measured times and are left out",
        ),
        "the later of the two began before the earlier had ended (spawns, launches: before it had begun; joins: the wait ended first)",
    ));
    if facts.is_part && !dependencies.unknown.is_empty() {
        let title = format!(
            "{} a row that is not there",
            counted(
                dependencies.unknown.len(),
                "dependency leads out of the window, or names",
                "dependencies lead out of the window, or name"
            )
        );
        out.push(Finding::new("edge_out_of_window", Severity::Info, title));
    } else {
        out.extend(edges(
            "edge_to_unknown_row",
            &dependencies.unknown,
            (
                "dependency names a row that is not there, and is left out",
                "dependencies name a row that is not there, and are left out",
            ),
            "the row was not recorded, was dropped, or has no times that can be trusted",
        ));
    }
    out.extend(edges(
        "join_of_no_wait",
        &dependencies.not_waits,
        (
            "dependency of kind joins leads to a row that is no wait, and is left out",
            "dependencies of kind joins lead to a row that is no wait, and are left out",
        ),
        "joins leads to a row of syncs",
    ));
    if unknown_kinds > 0 {
        out.push(
            Finding::new(
                "edge_kind_unknown",
                Severity::Info,
                counted(
                    unknown_kinds,
                    "edge has a kind not used here",
                    "edges have a kind not used here",
                ),
            )
            .detail("used are depends_on, joins, launches and spawns")
            .evidence("SELECT kind, COUNT(*) AS edges FROM edges GROUP BY kind ORDER BY kind"),
        );
    }
    out.extend(outside(cut, facts.is_part));
    let rows = left_out.bound + left_out.invalid + left_out.impossible;
    if rows > 0 {
        let title = counted(
            rows,
            "row has no times to build on and is left out",
            "rows have no times to build on and are left out",
        );
        let detail = format!(
            "{}, whose times only contain the work; {} marked not valid; {} with an impossible duration",
            counted(left_out.bound, "bound row", "bound rows"),
            counted(left_out.invalid, "kernel", "kernels"),
            counted(left_out.impossible, "row", "rows")
        );
        out.push(Finding::new("left_out", Severity::Info, title).detail(detail));
    }
    out.extend(facts.skews.iter().map(skew));
    out.extend(device(facts.device));
    out.extend(inferred(facts));
    out.extend(lever(facts));
    out.extend(bounded(facts));
    out.extend(over_device(facts));
    let computed = |row: &&Opportunity| row.gains_ns.is_some();
    let asked_for = |row: &&Opportunity| computed(row) || row.is_bounded;
    if !facts.opportunities.iter().all(|row| asked_for(&row)) {
        let title = format!(
            "gains are predicted for {} of {} names and kinds on the path, those with the most time",
            facts.opportunities.iter().filter(asked_for).count(),
            facts.opportunities.len()
        );
        out.push(
            Finding::new("opportunity_cut", Severity::Info, title).suggestion(
                "ask for one with --what-if, or set the option opportunity_names of critical_path",
            ),
        );
    }
    let (listed, all) = facts.slack_rows;
    if all > listed {
        let title = format!(
            "slack lists the {} with the least of {all}",
            counted(listed, "row", "rows")
        );
        out.push(
            Finding::new("slack_cut", Severity::Info, title)
                .suggestion("set the option slack_rows of critical_path to see more"),
        );
    }
    out
}

/// Rows that reach beyond the recording; and what an asked-for window leaves out, which is as it should be.
fn outside(cut: Cut, is_part: bool) -> Vec<Finding> {
    let mut out = Vec::new();
    let beyond = match is_part {
        false if cut.outside + cut.shortened > 0 => Some(format!(
            "{} outside the recording, {} in part",
            counted(cut.outside, "row lies", "rows lie"),
            cut.shortened
        )),
        true if cut.beyond > 0 => Some(counted(
            cut.beyond,
            "row in the window reaches beyond the recording",
            "rows in the window reach beyond the recording",
        )),
        _ => None,
    };
    if let Some(title) = beyond {
        out.push(
            Finding::new("outside_recording", Severity::Warning, title)
                .detail("they begin before the recording did, or end after it; of such a row the path takes what lies between")
                .suggestion("run with `sanity` for what else is wrong with the times"),
        );
    }
    if is_part && cut.outside + cut.shortened > 0 {
        let title = format!(
            "{} outside the window that was asked for, {} in part",
            counted(cut.outside, "row lies", "rows lie"),
            cut.shortened
        );
        out.push(
            Finding::new("outside_window", Severity::Info, title).detail(
                "the path takes of every row what lies in that window; shares are of its length",
            ),
        );
    }
    out
}

/// Findings on what the device's records leave open.
fn device(found: &Found) -> Vec<Finding> {
    let mut out = Vec::new();
    if found.unclear_waits > 0 {
        let title = counted(
            found.unclear_waits,
            "wait does not say for what, and stands as sync_wait",
            "waits do not say for what, and stand as sync_wait",
        );
        out.push(
            Finding::new("wait_unexplained", Severity::Info, title)
                .detail("they name no stream or event, or the event's record was not recorded"),
        );
    }
    let (unlaunched, all) = found.unlaunched;
    if unlaunched > 0 {
        let title = format!(
            "{unlaunched} of {} on streams {} no recorded launch",
            counted(all, "row", "rows"),
            agreeing(unlaunched, "has", "have")
        );
        out.push(
            Finding::new("launch_not_recorded", Severity::Info, title)
                .detail("only the order of their stream holds them; the call came before the recording, or was not recorded"),
        );
    }
    out
}

/// The skew of a device's clock.
fn skew(skew: &Skew) -> Finding {
    let direction = if skew.shift_ns > 0 {
        "behind"
    } else {
        "ahead of"
    };
    let title = format!(
        "the clock of device {} is {:.1} µs {direction} that of the host; its times are moved by that on the path",
        of_place(skew.device).1,
        skew.shift_ns.abs() as f64 / 1e3
    );
    let detail = format!(
        "estimated: no work begins before its launch, no wait returns before its work. As recorded {} of {} such facts are contradicted, moved {}; the shift is the least that leaves no fewer",
        skew.contradicted, skew.facts, skew.left
    );
    Finding::new("clock_skew", Severity::Info, title).detail(detail)
}

/// Dependencies that are inferred.
fn inferred(facts: &Facts<'_>) -> Option<Finding> {
    let inferred = &facts.device.inferred;
    let rules = Rule::ALL.into_iter().zip(facts.path);
    let rules: Vec<String> = rules
        .filter(|(rule, _)| inferred.count(*rule) > 0)
        .map(|(rule, path_ns)| {
            let share = match facts.wall_ns {
                0 => 0.0,
                wall_ns => 100.0 * *path_ns as f64 / wall_ns as f64,
            };
            format!(
                "{}: {} (rule `{}`), for which {share:.1} % of the {} are on the path",
                rule.evidence(),
                counted(inferred.count(rule), "time", "times"),
                rule.name(),
                facts.window()
            )
        })
        .collect();
    let count: usize = Rule::ALL.iter().map(|rule| inferred.count(*rule)).sum();
    (count > 0).then(|| {
        let title = format!(
            "{} inferred from times: no record states {}",
            counted(count, "dependency is", "dependencies are"),
            agreeing(count as u64, "it", "them")
        );
        Finding::new("dependencies_inferred", Severity::Info, title)
            .detail(rules.join("; "))
            .suggestion("pieces of the path that rest on one have the rule in column `inferred`")
            .evidence("SELECT inferred, COUNT(*) AS pieces, SUM(dur_ns) AS dur_ns FROM critical_path.path GROUP BY inferred")
    })
}

/// The name that buys most.
fn lever(facts: &Facts<'_>) -> Option<Finding> {
    // A frame around everything, and time that nothing explains, are no levers.
    let is_lever = |row: &&Opportunity| {
        !row.name.starts_with("kind:") && (row.path_ns as f64) < FRAME * facts.wall_ns as f64
    };
    let best = facts.opportunities.iter().find(is_lever)?;
    let [_, half_ns, all_ns] = best.gains_ns?;
    if facts.wall_ns == 0 || (half_ns as f64) < MIN_GAIN * facts.wall_ns as f64 {
        return None;
    }
    let percent = |ns: i64| 100.0 * ns as f64 / facts.wall_ns as f64;
    let own = match best.path_ns - best.own_ns {
        0 => String::new(),
        others_ns => format!(
            "; of its {:.1} % of the path {:.1} % are its own, {:.1} % what is nested in it, or what it launched or spawned",
            percent(best.path_ns),
            percent(best.own_ns),
            percent(others_ns)
        ),
    };
    let title = format!(
        "half the time of `{}` would make the {} {:.1} % shorter, none of it {:.1} %",
        best.name,
        facts.window(),
        percent(half_ns),
        percent(all_ns)
    );
    Some(
        Finding::new("largest_opportunity", Severity::Info, title)
            .detail(format!("predicted by re-timing the graph with all that belongs to it{own}; gains of several names do not add up"))
            .suggestion(format!("try other figures with --what-if '{}=0.8'", best.name))
            .evidence("SELECT * FROM critical_path.opportunity"),
    )
}

/// Finding on names whose gain cannot be predicted.
fn bounded(facts: &Facts<'_>) -> Option<Finding> {
    let background = facts.background.as_ref()?;
    let rows = facts.opportunities.iter().filter(|row| row.is_bounded);
    let count = rows.count();
    if count == 0 || facts.wall_ns == 0 {
        return None;
    }
    let percent = |ns: i64| 100.0 * ns as f64 / facts.wall_ns as f64;
    let title = format!(
        "what less time would buy cannot be told for {}: `{}` is busy for {:.1} % of the {}, and nothing recorded connects it with the path",
        counted(count, "name or kind", "names and kinds"),
        background.lane,
        percent(background.busy_ns),
        facts.window(),
    );
    let detail = format!(
        "most of it, {:.1} % of the {}, is `{}` itself (id {}); whether that works or waits for others is not recorded, so no prediction is shorter",
        percent(background.self_ns),
        facts.window(),
        background.name,
        background.id
    );
    Some(
        Finding::new("prediction_bounded", Severity::Info, title)
            .detail(detail)
            .suggestion(
                "record what it waits for (a dependency, or a wait), or record without that lane",
            )
            .evidence(vec![background.id]),
    )
}

/// Finding on a host that holds the path while a device is busy.
fn over_device(facts: &Facts<'_>) -> Option<Finding> {
    let of = facts.over_device.as_ref()?;
    if (of.all_ns as f64) < MIN_OVER_DEVICE * facts.wall_ns as f64 {
        return None;
    }
    let percent = |ns: i64| 100.0 * ns as f64 / facts.wall_ns as f64;
    let title = format!(
        "the path lies on the host for {:.1} % of the {} while a device is busy",
        percent(of.all_ns),
        facts.window()
    );
    let name = match &of.name {
        Some(name) => format!("in `{name}` itself"),
        None => "between rows".to_owned(),
    };
    let detail = format!(
        "the work that came next began with its launch, on a stream that had drained, or nothing recorded ties it to \
         other work: with shorter kernels it would begin no sooner; most of it, {:.1} % of the {}, is {name} on `{}`",
        percent(of.most_ns),
        facts.window(),
        of.lane
    );
    Some(
        Finding::new("host_over_device", Severity::Info, title)
            .detail(detail)
            .suggestion("the column `slack_ns` says how near the device's work comes")
            .evidence("SELECT * FROM critical_path.slack"),
    )
}

fn edges(code: &str, edges: &[Edge], (one, more): (&str, &str), why: &str) -> Option<Finding> {
    let (first, count) = (edges.first()?, edges.len());
    let examples = list(
        edges
            .iter()
            .map(|edge| format!("{} -> {}", edge.from, edge.to)),
    );
    let sql = format!(
        "SELECT \"from\", \"to\", kind FROM edges WHERE \"from\" = {} AND \"to\" = {}",
        first.from, first.to
    );
    let implied = edges.iter().filter(|edge| edge.implied).count();
    let implied = if implied > 0 {
        format!(
            "; {implied} of them {} from a parent or a correlation",
            agreeing(implied, "follows", "follow")
        )
    } else {
        String::new()
    };
    Some(
        Finding::new(code, Severity::Warning, counted(count, one, more))
            .detail(format!("{why}{implied}: {examples}"))
            .suggestion("run with `sanity` for what else is wrong with the rows")
            .evidence(sql),
    )
}

fn list(parts: impl ExactSizeIterator<Item = String>) -> String {
    let more = parts.len().saturating_sub(NAMED_IDS);
    let mut text = parts.take(NAMED_IDS).collect::<Vec<_>>().join(", ");
    if more > 0 {
        text.push_str(&format!(" and {more} more"));
    }
    text
}
