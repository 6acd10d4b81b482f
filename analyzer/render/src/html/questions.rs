//! Analyses in the order of the questions they answer.

use std::fmt::Write;

use trueno_model::{Level, Report, Section, SectionStatus};

use super::{Extra, id, section, text};
use crate::opening;

/// A question of the reader and the plugins that answer it, the most important first.
struct Question {
    id: &'static str,
    title: &'static str,
    plugins: &'static [&'static str],
}

const QUESTIONS: [Question; 6] = [
    Question {
        id: "q-help",
        title: "What would help?",
        plugins: &["bottleneck"],
    },
    Question {
        id: "q-time",
        title: "Where did the time go?",
        plugins: &[
            opening::PLUGIN,
            "modules",
            "operators",
            "category",
            "device",
            "tiles",
            "throughput",
            "samples",
            "syscalls",
            "counters",
        ],
    },
    Question {
        id: "q-wait",
        title: "What waits?",
        plugins: &[
            "critical_path",
            "stragglers",
            "collectives",
            "lateness",
            "causality",
        ],
    },
    Question {
        id: "q-roof",
        title: "How far from the roof?",
        plugins: &["roofline"],
    },
    Question {
        id: "q-memory",
        title: "Where is the memory?",
        plugins: &["memory"],
    },
    Question {
        id: "q-trust",
        title: "Can I trust it?",
        plugins: &["sanity", "divergence"],
    },
];

/// For plugins that answer none of the questions, such as user plugins.
const OTHER: Question = Question {
    id: "q-other",
    title: "Other analyses",
    plugins: &[],
};

pub(super) struct Part {
    pub(super) id: &'static str,
    pub(super) title: &'static str,
    sections: Vec<usize>,
}

/// Questions with an answer. Sections without a result belong to none: see [`absent`].
pub(super) fn parts(report: &Report) -> Vec<Part> {
    let has_answer = |section: &&Section| !is_absent(section);
    let position = |plugin: &str| report.sections.iter().position(|one| one.plugin == plugin);
    let mut parts: Vec<Part> = QUESTIONS
        .iter()
        .map(|question| Part {
            id: question.id,
            title: question.title,
            sections: question
                .plugins
                .iter()
                .filter_map(|plugin| position(plugin))
                .filter(|at| has_answer(&&report.sections[*at]))
                .collect(),
        })
        .collect();
    let is_known = |plugin: &str| {
        QUESTIONS
            .iter()
            .any(|question| question.plugins.contains(&plugin))
    };
    let others = report.sections.iter().enumerate();
    let others = others.filter(|(_, one)| !is_known(&one.plugin) && has_answer(one));
    parts.push(Part {
        id: OTHER.id,
        title: OTHER.title,
        sections: others.map(|(at, _)| at).collect(),
    });
    parts.retain(|part| !part.sections.is_empty());
    parts
}

fn is_absent(section: &Section) -> bool {
    let has_rows = section.tables.iter().any(|table| table.rows() > 0);
    match section.status {
        SectionStatus::Failed => false,
        SectionStatus::Skipped => true,
        SectionStatus::Ok => !has_rows && section.findings.is_empty(),
    }
}

/// An analysis with a warning is initially open.
fn is_open(section: &Section) -> bool {
    section.status == SectionStatus::Failed
        || section
            .findings
            .iter()
            .any(|finding| finding.severity > Level::Info)
}

pub(super) fn write(out: &mut String, report: &Report, extra: &Extra<'_>, kept: usize) {
    for part in parts(report) {
        let _ = writeln!(
            out,
            "<section id=\"{}\"><h2>{}</h2>",
            part.id,
            text(part.title)
        );
        for at in part.sections {
            section::write(out, report, at, is_open(&report.sections[at]), extra, kept);
        }
        out.push_str("</section>\n");
    }
    absent(out, report);
}

/// One line for all analyses without a result. Details list the reasons.
fn absent(out: &mut String, report: &Report) {
    let absent = || report.sections.iter().filter(|section| is_absent(section));
    let names: Vec<String> = absent()
        .map(|section| text(&title(&section.plugin)))
        .collect();
    if names.is_empty() {
        return;
    }
    let _ = writeln!(
        out,
        "<details class=\"absent\" id=\"absent\"><summary>No result: {}</summary><dl>",
        names.join(", ")
    );
    for section in absent() {
        let reason = section.message.as_deref().unwrap_or(&section.summary);
        let reason = if reason.is_empty() {
            "nothing of it was recorded"
        } else {
            reason
        };
        let _ = writeln!(
            out,
            "<dt id=\"{}\">{}</dt><dd>{}</dd>",
            id(&["s", &section.plugin]),
            text(&title(&section.plugin)),
            text(reason)
        );
    }
    out.push_str("</dl></details>\n");
}

pub(super) fn title(plugin: &str) -> String {
    match plugin {
        opening::PLUGIN => "figures of the first lines".to_owned(),
        plugin => plugin.replace('_', " "),
    }
}
