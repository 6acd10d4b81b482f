//! The sentences that terminal and Markdown reports share.

use std::collections::BTreeMap;

#[cfg(test)]
use trueno_format::run_json::ImportRecord;
use trueno_format::run_json::Joined;
use trueno_model::units::{self, Unit};
use trueno_model::{
    CHANGED_WHILE_READ, Cell, Header, HeaderWindow, IMPORT, IMPORT_LEFT_OUT, LIVE_ROWS, Level,
    Problem, RankFacts, Report, RunState, WallSource, rank_numbers, width,
};
use trueno_plugin::{agreeing, counted};

use crate::opening::Opening;

pub fn header(header: &Header) -> Vec<(&'static str, String)> {
    let facts = &header.facts;
    let mut lines = vec![
        ("run", run(header)),
        ("program", program(&facts.program.argv)),
    ];
    if let Some(ranks) = ranks(&facts.ranks) {
        lines.push(("ranks", ranks));
    }
    lines.extend(rank_of_job(header).map(|rank| ("rank", rank)));
    lines.push(("host", host(header)));
    lines.push(("wall", wall(header)));
    if let Some(window) = &header.window {
        lines.push(("window", in_window(window)));
    }
    lines.push(("coverage", coverage(header)));
    lines.push(("events", events(header)));
    lines.push(("recorder", recorder_cost(header)));
    lines.extend(facts.joined.iter().map(|one| ("joined", joined(one))));
    let values = values(&facts.values);
    if !values.is_empty() {
        lines.push(("values", values));
    }
    lines
        .into_iter()
        .map(|(name, text)| (name, width::printable(&text).into_owned()))
        .collect()
}

/// Values shown. A program records a few, but an imported trace may have a hundred that are of no use to the
/// reader.
const MAX_VALUES: usize = 8;

pub fn leaves_out_values(header: &Header) -> bool {
    header.facts.values.len() > MAX_VALUES
}

fn values(all: &BTreeMap<String, String>) -> String {
    // How ceilings were measured is a matter of its own, and long.
    let of_program = || all.iter().filter(|(key, _)| !key.starts_with("peaks."));
    let mut text: Vec<String> = of_program()
        .take(MAX_VALUES)
        .map(|(key, value)| format!("{key} = {value}"))
        .collect();
    let more = all.len() - text.len();
    if more > 0 {
        text.push(format!("and {more} more"));
    }
    text.join(", ")
}

const UNKNOWN: &str = "not known";

fn run(header: &Header) -> String {
    let title = header.facts.title();
    match header.facts.run_id.as_deref() {
        Some(id) if id != title => format!("{title} ({id})"),
        _ => title.to_owned(),
    }
}

pub fn joined(joined: &Joined) -> String {
    let count = |counts: &BTreeMap<String, u64>| -> String {
        let counts: Vec<String> = counts
            .iter()
            .map(|(what, n)| format!("{n} {what}"))
            .collect();
        counts.join("; ")
    };
    if joined.file.is_empty() {
        return format!("{} ({})", count(&joined.matched), joined.tool);
    }
    let file = format!("{} ({})", joined.file, joined.tool);
    if joined.left_out.is_empty() {
        format!("{file} to {}", count(&joined.matched))
    } else {
        format!(
            "{file} to {}; left out: {}",
            count(&joined.matched),
            count(&joined.left_out)
        )
    }
}

pub fn ranks(ranks: &[RankFacts]) -> Option<String> {
    let numbers: Vec<u32> = ranks.iter().map(|rank| rank.rank).collect();
    let latest_ns = ranks.iter().map(|rank| rank.offset_ns).max()?;
    let aligned = ranks
        .iter()
        .filter(|rank| rank.origin_realtime_ns.is_some());
    let aligned = match (aligned.count(), ranks.len()) {
        (_, 1) => "alone".to_owned(),
        (0, _) => "aligned at their starts, because none states when it began".to_owned(),
        (some, all) => {
            let but = match all - some {
                0 => String::new(),
                1 => ", except one that does not state when it began".to_owned(),
                more => format!(", except {more} that do not state when they began"),
            };
            let latest = units::duration(latest_ns as f64);
            format!(
                "aligned by the wall clocks of their hosts{but}; the last began {latest} after the first"
            )
        }
    };
    Some(format!("{}; {aligned}", rank_numbers(&numbers)))
}

/// What PyTorch states of the job of a trace, if the run is one rank of it: `0 of 8`.
pub fn rank_of_job(header: &Header) -> Option<String> {
    let stated = |name: &str| {
        let values = &header.facts.values;
        values.get(&format!("trace.distributedInfo.{name}"))
    };
    let (rank, size) = (stated("rank")?, stated("world_size")?);
    let is_alone = size == "1" || !header.facts.ranks.is_empty();
    (!is_alone).then(|| format!("{rank} of {size}; the others are not in this run"))
}

fn program(argv: &[String]) -> String {
    if argv.is_empty() {
        UNKNOWN.to_owned()
    } else {
        argv.join(" ")
    }
}

fn host(header: &Header) -> String {
    let host = &header.facts.host;
    let parts = [
        host.name.clone(),
        host.cpu_model.clone(),
        host.logical_cpus
            .map(|n| format!("{n} CPU{}", if n == 1 { "" } else { "s" })),
        host.memory_bytes
            .map(|bytes| units::scaled(bytes as f64, "B")),
        host.os.clone(),
    ];
    let known: Vec<String> = parts.into_iter().flatten().collect();
    if known.is_empty() {
        UNKNOWN.to_owned()
    } else {
        known.join(" · ")
    }
}

fn wall(header: &Header) -> String {
    let source = match header.facts.wall_source {
        WallSource::Recorded => "",
        WallSource::LastEvent => {
            " (up to the last event; the end of the recording was not measured)"
        }
        WallSource::None => "",
    };
    match header.facts.wall_ns {
        Some(ns) => format!("{}{source}", units::duration(ns as f64)),
        None => "not measured".to_owned(),
    }
}

fn coverage(header: &Header) -> String {
    match header.coverage {
        Some(share) => format!(
            "{} of wall lies within recorded bricks, kernels or calls",
            units::percent(share)
        ),
        None => "not measured: no work was recorded".to_owned(),
    }
}

fn events(header: &Header) -> String {
    let facts = &header.facts;
    let count = |n: u64| units::show(Cell::U64(n), Unit::None);
    let dropped = match facts.dropped {
        Some(0) => "none dropped".to_owned(),
        Some(n) => format!("{} dropped", count(n)),
        None => "drops not known".to_owned(),
    };
    let lost = match (facts.rows_lost, facts.lost_uncounted()) {
        (0, false) => String::new(),
        (0, true) => ", losses not known".to_owned(),
        (rows, true) => format!(", at least {} lost", count(rows)),
        (rows, false) => format!(", {} lost", count(rows)),
    };
    format!("{}, {dropped}{lost}", count(facts.events()))
}

/// Analyses of a window that are named; of more there is a count.
const MAX_PLUGINS: usize = 4;

fn in_window(header: &HeaderWindow) -> String {
    let window = &header.window;
    let ms = |ns: i64| format!("{:.3} ms", ns as f64 / 1e6);
    let length = units::duration((window.until_ns - window.from_ns) as f64);
    let plugins = match header.plugins.as_slice() {
        [] => "no analysis here is limited to it".to_owned(),
        [one] => format!("only {one} is limited to it"),
        few if few.len() <= MAX_PLUGINS => format!("only {} are limited to it", few.join(", ")),
        many => format!("{} analyses are limited to it", many.len()),
    };
    format!(
        "{}: {} to {}, {length}; {plugins}",
        window.name,
        ms(window.from_ns),
        ms(window.until_ns)
    )
}

/// What recording cost the program's threads, and its share of the wall time of all ranks: the measured cost of one span
/// times the number of spans, and what the recorder measured of its own time beside them. Threads share it, so it is an
/// upper bound.
struct RecorderCost {
    span_ns: f64,
    all_ns: f64,
    of_wall: Option<f64>,
}

impl RecorderCost {
    fn of(header: &Header) -> Option<Self> {
        let facts = &header.facts;
        let span_ns = facts.cost_ns_per_span.filter(|cost| cost.is_finite())?;
        let all_ns = span_ns * header.spans as f64 + facts.recorder_ns.unwrap_or(0) as f64;
        let wall_ns = facts.wall_ns.filter(|wall_ns| *wall_ns > 0);
        let ranks = facts.ranks.len().max(1) as f64;
        Some(Self {
            span_ns,
            all_ns,
            of_wall: wall_ns.map(|wall_ns| all_ns / (wall_ns as f64 * ranks)),
        })
    }
}

fn recorder_cost(header: &Header) -> String {
    let Some(cost) = RecorderCost::of(header) else {
        return "cost not measured".to_owned();
    };
    let share = cost.of_wall.map_or_else(String::new, |share| {
        let several = header.facts.ranks.len() > 1;
        let of = if several { "all ranks' wall" } else { "wall" };
        format!(", {} of {of}", units::percent(share))
    });
    let spans = units::show(Cell::U64(header.spans), Unit::None);
    let beside = header.facts.recorder_ns.map_or_else(String::new, |ns| {
        format!(" + {} for threads and rings", units::duration(ns as f64))
    });
    format!(
        "{} a span × {spans}{beside} ≈ {}{share}",
        units::duration(cost.span_ns),
        units::duration(cost.all_ns)
    )
}

pub fn origin(report: &Report) -> Vec<(&'static str, String)> {
    let header = &report.header;
    let mut lines = vec![("run", run(header))];
    lines.extend(ranks(&header.facts.ranks).map(|ranks| ("ranks", ranks)));
    lines.extend(rank_of_job(header).map(|rank| ("rank", rank)));
    let host = host(header);
    let has_devices = Opening::new(report).is_some_and(|opening| !opening.devices().is_empty());
    if host != UNKNOWN || !has_devices {
        lines.push(("host", host));
    }
    lines.push(("wall", wall(header)));
    lines.extend(header.window.as_ref().map(|of| ("window", in_window(of))));
    let lines = lines.into_iter();
    lines
        .map(|(name, text)| (name, width::printable(&text).into_owned()))
        .collect()
}

/// Failed sections, for the head of a report, because their results are missing everywhere else.
pub fn failed(report: &Report) -> Option<String> {
    let all: Vec<String> = report
        .failures()
        .map(|(plugin, why)| format!("{plugin}: {why}"))
        .collect();
    let failed = all.len();
    (failed > 0).then(|| {
        let text = format!(
            "{failed} of {} {} failed, and what {} would have found is missing: {}",
            report.sections.len(),
            agreeing(report.sections.len(), "section", "sections"),
            agreeing(failed, "it", "they"),
            all.join("; ")
        );
        width::printable(&text).into_owned()
    })
}

pub struct Trust {
    /// Everything was recorded and checks hold; `None` if unknown.
    pub is_sound: Option<bool>,
    /// No data is missing; `None` if unknown.
    pub is_complete: Option<bool>,
    /// One sentence. Missing data is not part of it: see [`warning`].
    pub text: String,
}

const MAX_REASONS: usize = 3;

/// First line of a report of an incomplete run; `None` if nothing is known to be missing.
pub fn warning(report: &Report) -> Option<String> {
    let facts = &report.header.facts;
    let mut problems = report.problems.iter();
    if let Some(changed) = problems.find(|problem| problem.code == CHANGED_WHILE_READ) {
        let text = format!("CHANGED WHILE READ: {}", changed.text);
        return Some(width::printable(&text).into_owned());
    }
    if !report.header.holds_events() && facts.import_lost() > 0 {
        let problems = report.problems.iter();
        let why = problems.filter(|problem| problem.code == IMPORT_LEFT_OUT);
        let why: Vec<&str> = why.map(|problem| problem.text.as_str()).collect();
        return Some(format!("NOTHING TO ANALYSE: {}", listed(&why)));
    }
    if let Completeness::Incomplete(reasons) = completeness(report) {
        let reasons: Vec<&str> = reasons.iter().map(String::as_str).collect();
        return Some(format!("INCOMPLETE: {}", listed(&reasons)));
    }
    (facts.state == RunState::Recovered).then(|| {
        let reach = facts.wall_ns.map_or_else(String::new, |ns| {
            format!(", recovered up to {}", units::duration(ns as f64))
        });
        format!("UNCLEAN END: the program did not end the recording{reach}")
    })
}

fn listed(reasons: &[&str]) -> String {
    let shown = &reasons[..reasons.len().min(MAX_REASONS)];
    let mut text = shown.join("; ");
    let more = reasons.len() - shown.len();
    if more > 0 {
        text.push_str(&format!("; and {more} more (see the problems below)"));
    }
    width::printable(&text).into_owned()
}

/// Opening sentence of a report, which follows the warning about missing data.
pub fn headline(report: &Report) -> Option<String> {
    let sentence = Opening::new(report).and_then(|opening| opening.sentence());
    match (warning(report), sentence) {
        (Some(warning), Some(sentence)) => Some(format!("{warning} · {sentence}")),
        (warning, sentence) => warning.or_else(|| sentence.map(str::to_owned)),
    }
}

/// What is missing from the run, one reason each; empty if nothing is known to be missing.
pub fn missing(report: &Report) -> Vec<String> {
    match completeness(report) {
        Completeness::Incomplete(reasons) => reasons,
        Completeness::Complete | Completeness::NotKnown(_) => Vec::new(),
    }
}

/// Smaller shares of recording cost are not mentioned.
const MIN_COST: f64 = 0.01;

/// Code of the problem that says how much of a recording a rolling window is.
const KEPT_LAST: &str = "kept_last";

/// Coverage is mentioned below this share of wall time.
const LITTLE_COVERAGE: f64 = 0.5;

pub fn trust(report: &Report) -> Trust {
    let facts = &report.header.facts;
    let events = counted(facts.events(), "event", "events");
    let (is_complete, mut parts) = match completeness(report) {
        Completeness::Complete => (
            Some(true),
            vec![match failed_checks(report) {
                0 => format!("completely: {events}, none dropped"),
                // Nothing is missing, and yet something is not as it should be.
                _ => format!("{events}, none dropped"),
            }],
        ),
        Completeness::NotKnown(reason) => (None, vec![format!("{events}; {reason}")]),
        Completeness::Incomplete(_) => (
            Some(false),
            vec![format!(
                "in part: {events}; the first line says what is missing"
            )],
        ),
    };
    let kept = report
        .problems
        .iter()
        .filter(|problem| problem.code == KEPT_LAST);
    parts.extend(kept.map(|problem| width::printable(&problem.text).into_owned()));
    let cost = RecorderCost::of(&report.header).and_then(|cost| cost.of_wall);
    if let Some(share) = cost.filter(|share| *share >= MIN_COST) {
        let share = units::percent(share);
        parts.push(format!("recording cost {share} of wall at most"));
    }
    let failed = failed_checks(report);
    if failed > 0 {
        parts.push(format!(
            "{failed} {} of sanity failed",
            agreeing(failed, "check", "checks")
        ));
    }
    match report.header.coverage {
        Some(share) if share < LITTLE_COVERAGE => {
            let share = units::percent(share);
            parts.push(format!("{share} of wall lies within recorded rows"));
        }
        Some(_) => {}
        None => parts.push("no work was recorded".to_owned()),
    }
    Trust {
        is_sound: match failed {
            0 => is_complete,
            _ => Some(false),
        },
        is_complete,
        text: parts.join("; "),
    }
}

fn failed_checks(report: &Report) -> usize {
    let section = report.sections.iter().find(|one| one.plugin == "sanity");
    let tables = section.into_iter().flat_map(|section| &section.tables);
    let verdicts = tables.filter_map(|table| table.text("verdict").ok());
    let failed = |verdicts: &trueno_plugin::TextColumn| {
        let verdicts = verdicts.iter();
        verdicts.filter(|verdict| *verdict == Some("fail")).count()
    };
    verdicts.map(failed).sum()
}

/// Whether the run holds everything that happened.
pub enum Completeness {
    Complete,
    /// Nothing suggests a loss, but not everything was counted.
    NotKnown(String),
    Incomplete(Vec<String>),
}

pub fn completeness(report: &Report) -> Completeness {
    let mut problems = report.problems.iter();
    match report.header.facts.complete {
        Some(false) => Completeness::Incomplete(incomplete(report)),
        _ if problems.any(is_import_loss) => Completeness::Incomplete(incomplete(report)),
        Some(true) => Completeness::Complete,
        None => Completeness::NotKnown(DROPS_NOT_KNOWN.to_owned()),
    }
}

fn is_import_loss(problem: &Problem) -> bool {
    problem.code == IMPORT_LEFT_OUT && problem.is_doubt()
}

const DROPS_NOT_KNOWN: &str = "how many events were dropped is not known";

fn incomplete(report: &Report) -> Vec<String> {
    let facts = &report.header.facts;
    let count = |n: u64| units::show(Cell::U64(n), Unit::None);
    let mut reasons = Vec::new();
    match facts.state {
        RunState::Finished => {}
        RunState::Recording => reasons.push(unfinished(report)),
        RunState::Recovered => {}
        RunState::Failed => reasons.push("the recorder had to stop early".into()),
        RunState::Unknown => reasons.push("whether the recording ended is not known".into()),
    }
    match facts.dropped {
        Some(0) => {}
        Some(n) => reasons.push(format!(
            "{} {} dropped while recording",
            count(n),
            agreeing(n, "event was", "events were")
        )),
        // An import never says so, and is not incomplete for that.
        None if !facts.imports.is_empty() => {}
        None => reasons.push(DROPS_NOT_KNOWN.into()),
    }
    if facts.open > 0 {
        reasons.push(format!(
            "{} {} still open when the recording ended",
            count(facts.open),
            agreeing(facts.open, "row was", "rows were")
        ));
    }
    if facts.rows_lost > 0 {
        reasons.push(format!(
            "{} recorded {} cannot be read any more",
            count(facts.rows_lost),
            agreeing(facts.rows_lost, "row", "rows")
        ));
    }
    let of_ranks = report
        .problems
        .iter()
        .filter(|problem| matches!(&*problem.code, "rank_missing" | "rank_lost"));
    let doubts = report.problems.iter().filter(|problem| problem.is_doubt());
    reasons.extend(doubts.map(|problem| problem.text.clone()));
    let live = report
        .problems
        .iter()
        .filter(|problem| problem.code == LIVE_ROWS);
    let without_hint = |text: &str| text.split(" (hint:").next().unwrap_or(text).to_owned();
    reasons.extend(live.map(|problem| without_hint(&problem.text)));
    reasons.extend(of_ranks.map(|problem| problem.text.clone()));
    if reasons.is_empty() {
        reasons.push("see the problems below".into());
    }
    reasons
}

fn unfinished(report: &Report) -> String {
    let has = |code: &str| report.problems.iter().any(|problem| problem.code == code);
    if has("recording") {
        return "it is still being recorded".to_owned();
    }
    let reach = report.header.facts.wall_ns.map_or_else(String::new, |ns| {
        format!("; nothing after {} is known", units::duration(ns as f64))
    });
    if has("unclean_end") {
        format!("the program ended without finishing its recording{reach}")
    } else {
        format!("the recording was not finished{reach}")
    }
}

/// Problems as reports show them, each fact once.
pub struct Problems<'a> {
    /// What figures rest on, or lack.
    pub open: Vec<&'a Problem>,
    /// Notes on an import that change no figure.
    pub notes: Vec<&'a Problem>,
}

/// Part of each note of an import that set records aside, or counts them in another way than the file.
const CHANGES_FIGURES: &str = "--keep-doubtful";

pub fn problems(report: &Report) -> Problems<'_> {
    let all = report.problems.iter();
    let all = all.filter(|problem| !is_repeated(report, problem));
    let (notes, open) = all.partition(|problem| match &*problem.code {
        IMPORT => problem.severity < Level::Error && !problem.text.contains(CHANGES_FIGURES),
        IMPORT_LEFT_OUT => problem.severity == Level::Info,
        _ => false,
    });
    Problems { open, notes }
}

/// Words at the end of a reason by which a note on the same records is recognised.
const SAME_WORDS: usize = 6;

/// A note on records that an import set aside says what the list of reasons says. Of the two, the note also says how to
/// keep the records, so it stays, unless the list is an error.
fn is_repeated(report: &Report, problem: &Problem) -> bool {
    let is_same = |reason: &str, note: &str| {
        let words: Vec<&str> = reason.split(' ').collect();
        let end = words[words.len().saturating_sub(SAME_WORDS)..].join(" ");
        note.contains(CHANGES_FIGURES) && note.contains(&end)
    };
    let imports = &report.header.facts.imports;
    if problem.code == IMPORT_LEFT_OUT && problem.severity < Level::Error {
        let of_file = imports.iter().filter(|import| {
            let file = width::printable(&import.file);
            problem
                .text
                .contains(&format!("the import of {file} left out"))
        });
        let mut of_file = of_file.peekable();
        let is_said = |reason: &String| {
            let mut notes = report.problems.iter().filter(|note| note.code == IMPORT);
            notes.any(|note| is_same(reason, &note.text))
        };
        return of_file.peek().is_some() && of_file.all(|import| import.lost.keys().all(is_said));
    }
    if problem.code == IMPORT {
        let mut all = report.problems.iter();
        let has_error =
            all.any(|other| other.code == IMPORT_LEFT_OUT && other.severity == Level::Error);
        let mut reasons = imports.iter().flat_map(|import| import.lost.keys());
        return has_error && reasons.any(|reason| is_same(reason, &problem.text));
    }
    false
}

pub fn problem(problem: &Problem) -> String {
    format!("{} ({})", problem.text, problem.code)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn notes_on_an_import_are_apart_from_what_changes_figures_and_nothing_is_said_twice() {
        let shown = |severity: Level| {
            let mut report = testing::report(Vec::new());
            report.header.facts.imports = vec![ImportRecord {
                file: "a.json".into(),
                lost: [("time far from that of all other events".to_owned(), 1)].into(),
                ..ImportRecord::default()
            }];
            let note = |text: &str| Problem::warning(IMPORT, text);
            report.problems = vec![
                Problem {
                    severity,
                    ..Problem::info(
                        IMPORT_LEFT_OUT,
                        "the import of a.json left out 1 record and kept 9 rows: 1 × time far from that of all other events",
                    )
                },
                note(
                    "1 event has a time far from that of all other events: set aside (--keep-doubtful keeps them)",
                ),
                note("5 very long texts were cut"),
                Problem::warning("rank_missing", "rank 2 is missing"),
            ];
            let all = problems(&report);
            let first = |of: &Vec<&Problem>| -> Vec<String> {
                let words = of
                    .iter()
                    .map(|one| one.text.split(' ').take(3).collect::<Vec<_>>());
                words.map(|words| words.join(" ")).collect()
            };
            (first(&all.open), first(&all.notes))
        };
        let notes = || vec!["5 very long".to_owned()];
        let open = |first: &str| vec![first.to_owned(), "rank 2 is".to_owned()];
        assert_eq!(shown(Level::Info), (open("1 event has"), notes()));
        assert_eq!(shown(Level::Warning), (open("1 event has"), notes()));
        assert_eq!(shown(Level::Error), (open("the import of"), notes()));
    }

    #[test]
    fn a_few_values_are_shown_and_the_others_counted() {
        let values_of = |count: u32| {
            let all = (0..count).map(|n| (format!("k{n:03}"), n.to_string()));
            values(&all.collect())
        };
        assert_eq!(values_of(2), "k000 = 0, k001 = 1");
        assert!(!values_of(8).contains("more"));
        let many = values_of(100);
        assert!(many.ends_with("and 92 more"), "{many}");
        let all = [("model", "m"), ("peaks", "46"), ("peaks.notes", "long")];
        let all = all.map(|(key, value)| (key.to_owned(), value.to_owned()));
        assert_eq!(values(&all.into()), "model = m, peaks = 46, and 1 more");
    }
}
