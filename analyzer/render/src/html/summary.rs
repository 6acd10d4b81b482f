//! Summary for a hurried reader: the figures, whether to trust them, and the three things to do first.

use std::fmt::Write;

use trueno_model::units::{self, Unit};
use trueno_model::{Cell, Finding, Report};

use super::{Extra, id, text};
use crate::header_text::{self, Completeness};

pub(super) fn write(out: &mut String, report: &Report, extra: &Extra<'_>) {
    out.push_str("<section id=\"summary\" aria-label=\"Summary\">\n");
    figures(out, report);
    match header_text::completeness(report) {
        Completeness::Complete => {}
        Completeness::NotKnown(reason) => {
            let _ = writeln!(
                out,
                "<p class=\"banner warning\">Completeness not known: {}</p>",
                text(&reason)
            );
        }
        Completeness::Incomplete(reasons) => {
            for reason in reasons {
                let _ = writeln!(
                    out,
                    "<p class=\"banner error\"><b>Incomplete:</b> {}</p>",
                    text(&reason)
                );
            }
        }
    }
    top(out, report, extra);
    out.push_str("<details class=\"facts\"><summary>Where this comes from</summary><dl>\n");
    for (name, value) in header_text::header(&report.header) {
        let _ = writeln!(out, "<dt>{}</dt><dd>{}</dd>", text(name), text(&value));
    }
    for section in &report.sections {
        let _ = writeln!(
            out,
            "<dt>plugin</dt><dd>{} {}</dd>",
            text(&section.plugin),
            text(&section.version)
        );
    }
    out.push_str("</dl></details>\n");
    if !report.problems.is_empty() {
        out.push_str("<h2>Problems</h2>\n<ul class=\"findings\">\n");
        for problem in &report.problems {
            let level = problem.severity.as_str();
            let _ = writeln!(
                out,
                "<li class=\"{level}\"><span class=\"badge\">{level}</span> {}</li>",
                text(&header_text::problem(problem))
            );
        }
        out.push_str("</ul>\n");
    }
    out.push_str("</section>\n");
}

fn figures(out: &mut String, report: &Report) {
    let facts = &report.header.facts;
    let count = |n: u64| units::show(Cell::U64(n), Unit::None);
    let complete = match header_text::completeness(report) {
        Completeness::Complete => "yes",
        Completeness::NotKnown(_) => "not known",
        Completeness::Incomplete(_) => "no",
    };
    let dropped = match facts.dropped {
        Some(0) => "none dropped".to_owned(),
        Some(n) => format!("{} dropped", count(n)),
        None => "drops not known".to_owned(),
    };
    let cost = facts
        .cost_ns_per_span
        .filter(|cost| cost.is_finite())
        .zip(facts.wall_ns.filter(|wall| *wall > 0));
    let tiles = [
        (
            "wall",
            facts
                .wall_ns
                .map_or("not measured".to_owned(), |ns| units::duration(ns as f64)),
            "time the run took",
        ),
        (
            "coverage",
            report
                .header
                .coverage
                .map_or("not measured".to_owned(), units::percent),
            "of wall lies within recorded bricks, kernels or calls",
        ),
        ("events", count(facts.rows), dropped.as_str()),
        (
            "complete",
            complete.to_owned(),
            "all that was recorded could be read",
        ),
        (
            "recorder",
            cost.map_or("not measured".to_owned(), |(cost, wall)| {
                let ranks = facts.ranks.len().max(1) as f64;
                units::percent(cost * report.header.spans as f64 / (wall as f64 * ranks))
            }),
            "of wall went into recording, at most",
        ),
    ];
    out.push_str("<div class=\"figures\">\n");
    for (name, value, more) in &tiles {
        let _ = writeln!(
            out,
            "<div><span>{name}</span><b>{}</b><small>{}</small></div>",
            text(value),
            text(more)
        );
    }
    out.push_str("</div>\n");
}

/// The three with the most to gain, as the section `bottleneck` ranks them; without it, the worst findings.
fn top(out: &mut String, report: &Report, extra: &Extra<'_>) {
    let ranked = report
        .sections
        .iter()
        .find(|section| section.plugin == "bottleneck");
    let table =
        ranked.and_then(|section| section.tables.iter().find(|table| table.name() == "top"));
    if let Some(table) = table.filter(|table| table.rows() > 0) {
        out.push_str("<h2>What would help most</h2>\n<ol class=\"findings top\">\n");
        for row in 0..table.rows().min(3) {
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
                "high" | "warning" => "warning",
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
                    .position(|finding| finding.code == code)?;
                Some((section.plugin.as_str(), at))
            });
            match place {
                Some((plugin, at)) => {
                    let _ = write!(
                        out,
                        " <a href=\"#{}\">details</a>",
                        id(&["f", plugin, &at.to_string()])
                    );
                }
                None => out.push_str(" <a href=\"#t-bottleneck-top\">details</a>"),
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
                .map(|(f, finding)| (s, f, finding)),
        );
    }
    all.sort_by_key(|(_, _, finding)| std::cmp::Reverse(finding.severity));
    if all.is_empty() {
        return;
    }
    out.push_str("<h2>What to look at first</h2>\n<ol class=\"findings top\">\n");
    for (s, f, finding) in all.into_iter().take(3) {
        let (level, plugin) = (finding.severity.as_str(), &report.sections[s].plugin);
        let _ = write!(
            out,
            "<li class=\"{level}\"><span class=\"badge\">{level}</span> {}",
            text(&finding.title)
        );
        if let Some(suggestion) = &finding.suggestion {
            let _ = write!(out, " <span class=\"faint\">{}</span>", text(suggestion));
        }
        let _ = write!(
            out,
            " <a href=\"#{}\">details</a>",
            id(&["f", plugin, &f.to_string()])
        );
        place(out, extra, s, f);
        out.push_str("</li>\n");
    }
    out.push_str("</ol>\n");
}

/// A button that shows on the timeline where a finding is.
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
