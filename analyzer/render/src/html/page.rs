//! The page of a report.

use std::fmt::Write as _;
use std::io::{self, Write};

use trueno_model::Report;
use trueno_model::evidence::Evidence;
use trueno_model::timeline::Frame;
use trueno_plugin::Table;

use super::shell::Shell;
use super::{Extra, data, id, path, questions, section, summary, text, timeline};
use crate::chart::flame;
use crate::form::{DEFAULT_ROWS, Layout, ReportForm};

/// Button that toggles the critical path above the lanes, and the legend of its colours.
const PATH: &str = "<button type=\"button\" id=\"path-toggle\" aria-pressed=\"true\">critical path (c)</button>\
    <span id=\"path-legend\" class=\"faint\"><i class=\"work\"></i> works <i class=\"wait\"></i> waits <i class=\"gap\"></i> not recorded</span>";

#[derive(Debug)]
pub(crate) struct Html;

impl ReportForm for Html {
    fn name(&self) -> &'static str {
        "html"
    }

    fn about(&self) -> &'static str {
        "For a browser: one file that needs nothing else"
    }

    fn shows_timeline(&self) -> bool {
        true
    }

    fn write(&self, report: &Report, layout: &Layout<'_>, to: &mut dyn Write) -> io::Result<()> {
        let no_evidence = Evidence::default();
        let extra = Extra {
            timeline: layout.timeline,
            is_summary: layout.is_summary,
            stacks: layout.stacks,
            evidence: layout.evidence.unwrap_or(&no_evidence),
            top: layout.top.unwrap_or(DEFAULT_ROWS).max(1),
        };
        write(report, &extra, to)
    }
}

pub(super) fn write(report: &Report, extra: &Extra<'_>, to: &mut dyn Write) -> io::Result<()> {
    let title = report.header.facts.title();
    let kept = data::rows_kept(report);
    let mut out = String::new();
    summary::write(&mut out, report, extra);
    if let Some(of) = extra.timeline.filter(|of| !of.rows.is_empty()) {
        let _ = write!(
            out,
            "<section id=\"timeline\"><h2>Timeline</h2>\n<noscript><p class=\"note\">The timeline needs JavaScript.</p></noscript>\n\
             <div class=\"controls\"><button type=\"button\" data-do=\"in\" aria-label=\"zoom in\">+</button>\
             <button type=\"button\" data-do=\"out\" aria-label=\"zoom out\">−</button>\
             <button type=\"button\" data-do=\"all\">all</button>\
             <input type=\"search\" id=\"highlight\" placeholder=\"search a name\" aria-label=\"search a name\">\
             <button type=\"button\" data-do=\"previous\" aria-label=\"previous match\">‹</button>\
             <button type=\"button\" data-do=\"next\" aria-label=\"next match\">›</button><output id=\"found\"></output>{}\
             <output id=\"range\"></output><button type=\"button\" data-do=\"keys\" aria-label=\"keys of the timeline\">?</button></div>\n\
             <div id=\"lanes\" tabindex=\"0\" role=\"application\" aria-label=\"Timeline: w and s zoom, a and d move, slash searches, question mark lists all keys\">\
             <div id=\"lanes-height\"></div><canvas id=\"canvas\"></canvas></div>\n<div id=\"printed\"></div>\n\
             <div id=\"picked\" aria-live=\"polite\"></div><dialog id=\"keys\" aria-label=\"keys of the timeline\"></dialog>\n\
             <p class=\"note\">{} <span class=\"screen\">Click an interval to choose it, Shift and drag to sum up a part, ? lists all keys.</span></p></section>\n",
            match path::table(report) {
                Some(_) => PATH,
                None => "",
            },
            text(&timeline::note(of))
        );
    }
    summary::notes(&mut out, report);
    if !extra.is_summary {
        stacks(&mut out, extra);
        questions::write(&mut out, report, extra, kept);
    }
    let page = Shell {
        title,
        parts: parts(report, extra),
        main: out,
        data: block(report, extra, kept),
    };
    to.write_all(page.page().as_bytes())
}

fn pictures<'a>(extra: &Extra<'a>) -> Vec<(&'static str, &'a [Frame])> {
    let timeline = extra.timeline.filter(|of| !of.rows.is_empty());
    let own = timeline.map(|of| {
        (
            "Self time by stack: a root for each lane, the widest have the most time",
            of.frames.as_slice(),
        )
    });
    let sampled = extra.stacks.iter();
    let sampled = sampled.map(|of| (of.title, of.frames.as_slice()));
    let all = own.into_iter().chain(sampled);
    all.filter(|(_, frames)| !frames.is_empty()).collect()
}

fn stacks(out: &mut String, extra: &Extra<'_>) {
    let mut figures = String::new();
    for (title, frames) in pictures(extra) {
        if let Some(scene) = flame::scene(title, frames)
            && let Ok(svg) = scene.svg_for_page()
        {
            section::figure(&mut figures, &text(title), &svg);
        }
    }
    if !figures.is_empty() {
        let _ = write!(
            out,
            "<section id=\"stacks\"><h2>Stacks</h2>\n{figures}</section>\n"
        );
    }
}

fn parts(report: &Report, extra: &Extra<'_>) -> Vec<(String, String)> {
    let part = |id: &str, name: &str| (id.to_owned(), name.to_owned());
    let mut parts = vec![part("summary", "Summary")];
    if extra.timeline.is_some_and(|of| !of.rows.is_empty()) {
        parts.push(part("timeline", "Timeline"));
    }
    if extra.is_summary {
        return parts;
    }
    if !pictures(extra).is_empty() {
        parts.push(part("stacks", "Stacks"));
    }
    let questions = questions::parts(report).into_iter();
    parts.extend(questions.map(|question| part(question.id, question.title)));
    parts
}

fn block(report: &Report, extra: &Extra<'_>, kept: usize) -> String {
    let sections = if extra.is_summary {
        &[]
    } else {
        report.sections.as_slice()
    };
    let tables: Vec<(String, &Table)> = sections
        .iter()
        .flat_map(|section| {
            let id = |table: &Table| id(&["t", &section.plugin, table.name()]);
            section.tables.iter().map(move |table| (id(table), table))
        })
        .collect();
    let timeline = extra.timeline.map(|of| {
        let mut made = timeline::data(of);
        made["path"] = path::data(report, of);
        made
    });
    data::block(&tables, kept, extra.top, timeline)
}
