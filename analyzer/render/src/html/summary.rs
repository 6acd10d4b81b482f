//! Summary for a hurried reader: the answer, how far to trust it, devices, and the three things to do first.

use std::fmt::Write;

use trueno_model::units::{self, Unit};
use trueno_model::{Cell, Finding, Level, Problem, Report, Section};
use trueno_plugin::{Table, counted};

use super::{Extra, id, prose, table, text};
use crate::header_text;
use crate::opening::Opening;
use crate::view::View;

const KERNELS: usize = 8;
const THREADS: usize = 4;
/// Up to this multiple of a step, the time between two starts looks the same in three figures.
const SAME_PERIOD: f64 = 1.002;
const MAX_WORDS_BYTES: usize = 40;

pub(super) fn write(out: &mut String, report: &Report, extra: &Extra<'_>) {
    out.push_str("<section id=\"summary\" aria-label=\"Summary\">\n");
    if let Some(failed) = header_text::failed(report) {
        let failed = text(&failed);
        let _ = writeln!(out, "<p class=\"banner error\"><b>Failed:</b> {failed}</p>");
    }
    let opening = Opening::new(report);
    if let Some(warning) = header_text::warning(report) {
        let _ = writeln!(
            out,
            "<p class=\"banner error\" role=\"alert\">{}</p>",
            text(&warning)
        );
    }
    if let Some(sentence) = opening.and_then(|opening| opening.sentence()) {
        let _ = writeln!(out, "<h2 class=\"answer\">{}</h2>", text(sentence));
    }
    cards(out, report, opening);
    trust(out, report);
    if let Some(opening) = opening {
        devices(out, &opening);
    }
    top(out, report, extra);
    let problems = header_text::problems(report).open;
    if !problems.is_empty() {
        out.push_str("<h2>Problems</h2>\n");
        list(out, &problems);
    }
    if let Some(opening) = opening {
        kernels(out, &opening);
        threads(out, &opening);
    }
    out.push_str("</section>\n");
}

fn list(out: &mut String, problems: &[&Problem]) {
    out.push_str("<ul class=\"findings\">\n");
    for problem in problems {
        let level = problem.severity.as_str();
        let _ = writeln!(
            out,
            "<li class=\"{level}\"><span class=\"badge\">{}</span> {}</li>",
            problem.severity.shown(),
            text(&header_text::problem(problem))
        );
    }
    out.push_str("</ul>\n");
}

/// One line for notes on an import that change no figure. Details list them.
pub(super) fn notes(out: &mut String, report: &Report) {
    let notes = header_text::problems(report).notes;
    if notes.is_empty() {
        return;
    }
    let count = counted(notes.len(), "note", "notes");
    let _ = writeln!(
        out,
        "<details class=\"absent\" id=\"notes\"><summary>{count} on the import</summary>"
    );
    list(out, &notes);
    out.push_str("</details>\n");
}

/// Cards with step time, rate, utilization, limit and memory, if known.
fn cards(out: &mut String, report: &Report, opening: Option<Opening<'_>>) {
    let shown = |column: &str| opening.and_then(|opening| opening.shown(column));
    let number = |column: &str| opening.and_then(|opening| opening.headline(column).number());
    let wall = report.header.facts.wall_ns;
    let wall = wall.map(|ns| units::duration(ns as f64));
    let device = shown("accelerator").unwrap_or_else(|| "GPU".to_owned());
    let runs_ahead = format!("step on the host; the {device} takes longer");
    let device_busy = format!("{device} busy");
    let mut cards: Vec<(&str, String, String)> = Vec::new();
    match shown("step_ns") {
        Some(step) => {
            let of = match (shown("steps").unwrap_or_default(), &wall) {
                (steps, Some(wall)) if steps == "1" => format!("the only one; wall {wall}"),
                (steps, Some(wall)) => format!("median of {steps}; wall {wall}"),
                (steps, None) => format!("median of {steps}"),
            };
            let name = match opening.map(|opening| opening.headline("host_runs_ahead")) {
                Some(Cell::Bool(true)) => &runs_ahead,
                Some(Cell::Null) => "step on the host",
                _ => "step",
            };
            cards.push((name, step, of));
        }
        None => {
            let wall = wall.unwrap_or_else(|| "not measured".to_owned());
            cards.push(("wall", wall, "time the run took".to_owned()));
        }
    }
    if let Some(rate) = number("steps_per_s") {
        // A rate counts what lies between steps, too.
        let period_ns = 1e9 / rate;
        let is_step = number("step_ns").is_some_and(|step_ns| period_ns <= SAME_PERIOD * step_ns);
        let of = match is_step {
            true => "1 / median".to_owned(),
            false => format!(
                "one every {}, from start to start",
                units::duration(period_ns)
            ),
        };
        let rate = units::show(Cell::F64(rate), Unit::from_column("steps_per_s"));
        cards.push(("steps", rate, of));
    }
    let lanes_busy;
    if let Some(busy) = number("gpu_busy_share") {
        let of = match shown("share_of").as_deref() {
            Some("wall") => "of the wall, with any work running",
            _ => "between its first and last work",
        };
        let busy = units::percent(busy);
        match opening.is_some_and(|opening| opening.is_busy_at_least()) {
            true => {
                let of = format!("{of}; some launched work was not recorded");
                cards.push((&device_busy, format!("at least {busy}"), of));
            }
            false => cards.push((&device_busy, busy, of.to_owned())),
        }
    } else if let Some(busy) = number("threads_busy_share") {
        let lane = shown("host_lane").unwrap_or_else(|| "thread".to_owned());
        let lanes = number("threads").unwrap_or(0.0) as u64;
        let of = format!("of {}", counted(lanes, &lane, &format!("{lane}s")));
        lanes_busy = format!("{lane}s busy");
        cards.push((&lanes_busy, units::percent(busy), of));
    }
    if let Some(limit) = shown("bound_by") {
        let class = limit.trim_end_matches("_bound").replace('_', " ");
        // In the words of the sentence, where they are few.
        let detail = shown("bound_detail");
        let words = detail.as_deref().and_then(|detail| detail.split_once(": "));
        let words = words.map(|(words, _)| words.to_owned());
        let limit = words
            .filter(|words| words.len() <= MAX_WORDS_BYTES)
            .unwrap_or(class);
        let gain = match (shown("gain_share"), shown("gain_by")) {
            // In the sentence, a verb follows: a comma may end it there.
            (Some(share), Some(by)) => format!("{}: at most {share}", by.trim_end_matches(',')),
            _ => shown("gain_not_known").unwrap_or_default(),
        };
        cards.push(("bound by", limit, gain));
    }
    if let Some(peak) = shown("peak_bytes") {
        let of = "of the device that has most in use".to_owned();
        cards.push(("peak memory", peak, of));
    }
    out.push_str("<div class=\"figures\">\n");
    for (name, value, more) in &cards {
        let _ = writeln!(
            out,
            "<div><span>{name}</span><b>{}</b><small>{}</small></div>",
            text(value),
            text(more)
        );
    }
    out.push_str("</div>\n");
}

/// One line on how far to trust the recording, with details about its origin.
fn trust(out: &mut String, report: &Report) {
    let trust = header_text::trust(report);
    let (class, word) = match trust.is_sound {
        Some(true) => ("good", "Recorded"),
        None => ("faint", "Recorded"),
        Some(false) => ("error", "Recorded"),
    };
    let rank = header_text::rank_of_job(&report.header);
    let rank = rank.map_or(String::new(), |rank| format!(" · rank {rank}"));
    let _ = writeln!(
        out,
        "<details class=\"facts trust {class}\"><summary>{word} {}{}</summary><dl>",
        text(&trust.text),
        text(&rank)
    );
    for (name, value) in header_text::header(&report.header) {
        let _ = writeln!(out, "<dt>{}</dt><dd>{}</dd>", text(name), text(&value));
    }
    let sections = report.sections.iter();
    let plugins: Vec<String> = sections
        .map(|section| format!("{} {}", section.plugin, section.version))
        .collect();
    if !plugins.is_empty() {
        let plugins = text(&plugins.join(", "));
        let _ = writeln!(out, "<dt>plugins</dt><dd>{plugins}</dd>");
    }
    out.push_str("</dl></details>\n");
}

fn devices(out: &mut String, opening: &Opening<'_>) {
    for device in opening.devices() {
        let _ = write!(
            out,
            "<p class=\"device\"><b>{}</b></p><div class=\"device-bar\" role=\"img\" aria-label=\"{}\">",
            text(&device.title),
            text(&device.legend())
        );
        for (kind, share) in &device.parts {
            let _ = write!(
                out,
                "<i class=\"{}\" style=\"width:{:.3}%\" title=\"{} {}\"></i>",
                kind.class(),
                share * 100.0,
                kind.name(),
                units::percent(*share)
            );
        }
        out.push_str("</div><p class=\"note device-legend\">");
        for (kind, words) in &device.words {
            let _ = write!(
                out,
                "<span><i class=\"{}\"></i> {}</span> ",
                kind.class(),
                text(words)
            );
        }
        out.push_str("</p>\n");
    }
}

fn kernels(out: &mut String, opening: &Opening<'_>) {
    if let Some(kernels) = opening.kernels() {
        out.push_str("<div class=\"kernels\"><h2>Kernels by time on devices</h2>\n");
        let mut view = View::new(&kernels, KERNELS);
        view.rest = opening.all_kernels(KERNELS).or(view.rest);
        table::view(out, &kernels, &view);
        out.push_str("</div>\n");
    }
}

fn threads(out: &mut String, opening: &Opening<'_>) {
    if let Some(threads) = opening.threads() {
        out.push_str("<div class=\"threads\"><h2>Host threads by work</h2>\n");
        let mut view = View::new(threads, THREADS);
        view.rest = opening.all_threads(THREADS).or(view.rest);
        table::view(out, threads, &view);
        out.push_str("</div>\n");
    }
}

/// A link to a section, which a page of only the summary does not have.
fn details(out: &mut String, extra: &Extra<'_>, id: &str) {
    if !extra.is_summary {
        let _ = write!(out, " <a href=\"#{id}\">details</a>");
    }
}

/// Cards of the summary.
const CARDS: usize = 3;

/// Whether the cards of the summary show all rows of a table.
pub(super) fn has_cards_of_all(section: &Section, table: &Table) -> bool {
    section.plugin == "bottleneck" && table.name() == "top" && table.rows() <= CARDS
}

/// The three bottlenecks with the most to gain. Without the section `bottleneck`, the worst findings.
fn top(out: &mut String, report: &Report, extra: &Extra<'_>) {
    let ranked = report
        .sections
        .iter()
        .find(|section| section.plugin == "bottleneck");
    let table =
        ranked.and_then(|section| section.tables.iter().find(|table| table.name() == "top"));
    if let Some(table) = table.filter(|table| table.rows() > 0) {
        out.push_str("<h2>What would help most</h2>\n<ol class=\"findings top\">\n");
        for row in 0..table.rows().min(CARDS) {
            let cell = |name: &str| {
                table
                    .column(name)
                    .ok()
                    .map(|column| units::show(Cell::at(column, row), Unit::from_column(name)))
            };
            let known = |name: &str| cell(name).filter(|text| text != units::NOT_MEASURED);
            let word = known("severity").unwrap_or_else(|| "info".to_owned());
            let level = match word.as_str() {
                "critical" | "error" => "error",
                "high" | "medium" | "warning" => "warning",
                _ => "info",
            };
            let sentence = known("sentence")
                .or_else(|| known("class"))
                .unwrap_or_default();
            let _ = write!(
                out,
                "<li class=\"{level}\"><span class=\"badge\">{}</span> {}",
                text(&word),
                text(&sentence)
            );
            let gain: Vec<String> = ["gain_ns", "gain_share"]
                .into_iter()
                .filter_map(known)
                .collect();
            // Most sentences say it themselves.
            let is_said = gain
                .first()
                .is_some_and(|gain| sentence.contains(gain.as_str()));
            if !gain.is_empty() && !is_said {
                let _ = write!(
                    out,
                    " <b class=\"gain\">gains up to {}</b>",
                    text(&gain.join(", "))
                );
            }
            if let Some(confidence) = known("confidence") {
                let _ = write!(
                    out,
                    " <span class=\"faint\">confidence {}</span>",
                    text(&confidence)
                );
            }
            // The finding itself, with its rows, wherever it stands.
            let code = known("code").unwrap_or_default();
            let place = report.sections.iter().find_map(|section| {
                let at = section
                    .findings
                    .iter()
                    .position(|finding| finding.title == sentence || finding.code == code)?;
                Some((section.plugin.as_str(), at, &section.findings[at]))
            });
            match place {
                Some((plugin, at, finding)) => {
                    details(out, extra, &id(&["f", plugin, &at.to_string()]));
                    if let Some(suggestion) = &finding.suggestion {
                        let _ = write!(out, "<p>{}</p>", prose(suggestion));
                    }
                }
                None => details(out, extra, "t-bottleneck-top"),
            }
            out.push_str("</li>\n");
        }
        out.push_str("</ol>\n");
        return;
    }
    let mut all: Vec<(usize, usize, &Finding)> = Vec::new();
    for (s, section) in report.sections.iter().enumerate() {
        all.extend(
            section
                .findings
                .iter()
                .enumerate()
                // Notes stand in their sections.
                .filter(|(_, finding)| finding.severity > Level::Info)
                .map(|(f, finding)| (s, f, finding)),
        );
    }
    all.sort_by_key(|(_, _, finding)| std::cmp::Reverse(finding.severity));
    if all.is_empty() {
        return;
    }
    out.push_str("<h2>What to look at first</h2>\n<ol class=\"findings top\">\n");
    for (s, f, finding) in all.into_iter().take(CARDS) {
        let (level, plugin) = (finding.severity.as_str(), &report.sections[s].plugin);
        let _ = write!(
            out,
            "<li class=\"{level}\"><span class=\"badge\">{}</span> {}",
            finding.severity.shown(),
            text(&finding.title)
        );
        if let Some(suggestion) = &finding.suggestion {
            let _ = write!(out, " <span class=\"faint\">{}</span>", prose(suggestion));
        }
        details(out, extra, &id(&["f", plugin, &f.to_string()]));
        place(out, extra, s, f);
        out.push_str("</li>\n");
    }
    out.push_str("</ol>\n");
}

pub(super) fn place(out: &mut String, extra: &Extra<'_>, section: usize, finding: usize) {
    let place = extra
        .evidence
        .get(section, finding)
        .and_then(|shown| shown.place);
    if let (Some(place), true) = (place, extra.timeline.is_some()) {
        let _ = write!(
            out,
            " <button type=\"button\" class=\"place\" data-from=\"{}\" data-until=\"{}\">show on the timeline</button>",
            place.from_ns, place.until_ns
        );
    }
}
