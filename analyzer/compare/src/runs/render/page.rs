//! A comparison as one HTML file, in the shell of a report's page: what got slower first.

use std::fmt::Write as _;
use std::path::Path;

use trueno_model::units::{self, NOT_MEASURED};
use trueno_plugin::Table;
use trueno_render::html::shell::Shell;
use trueno_render::html::{data, id, section, table, text};

use super::page_tables::{self as tables, Part};
use super::wording::{between, change, common_verdict, interval, one_run, time};
use crate::runs::comparability::Standing;
use crate::runs::{Compared, Comparison, Verdict};

const TOLD: usize = 5;
const KEPT: usize = 5_000;

/// The HTML page. Tables show `top` rows at first, at least one.
pub fn page(comparison: &Comparison, top: usize) -> String {
    let top = top.max(1);
    let parts = tables::parts(comparison);
    let mut main = String::new();
    summary(&mut main, comparison);
    if let Some(svg) = super::forest(comparison).and_then(|scene| scene.svg_for_page().ok()) {
        main.push_str("<section id=\"ratios\"><h2>Ratios</h2>\n");
        let title = "Ratio of medians, run over base, with its interval: right of 1 it got slower";
        section::figure(&mut main, title, &svg);
        main.push_str("</section>\n");
    }
    let has_ratios = main.contains("id=\"ratios\"");
    for part in &parts {
        let heading = text(part.heading);
        let _ = writeln!(main, "<section id=\"{}\"><h2>{heading}</h2>", part.id);
        if !part.lead.is_empty() {
            let _ = writeln!(main, "<p class=\"lead\">{}</p>", text(&part.lead));
        }
        table::write(
            &mut main,
            &table_id(part),
            &part.table,
            "h3",
            top,
            KEPT,
            true,
        );
        main.push_str("</section>\n");
    }
    let mut names = vec![("summary".to_owned(), "summary".to_owned())];
    if has_ratios {
        names.push(("ratios".to_owned(), "ratios".to_owned()));
    }
    names.extend(
        parts
            .iter()
            .map(|part| (part.id.to_owned(), part.word.to_owned())),
    );
    let listed: Vec<(String, &Table)> = parts
        .iter()
        .map(|part| (table_id(part), &part.table))
        .collect();
    let title = format!(
        "{} compared with {}",
        file_names(&comparison.run),
        file_names(&comparison.base)
    );
    Shell {
        title: &title,
        parts: names,
        main,
        data: data::block(&listed, KEPT, top, None),
    }
    .page()
}

/// Names without folders, which the section on comparability shows.
fn file_names(paths: &[String]) -> String {
    let name = |path: &String| {
        let name = Path::new(path).file_name();
        name.map_or(path.clone(), |name| name.to_string_lossy().into_owned())
    };
    paths.iter().map(name).collect::<Vec<_>>().join(", ")
}

fn table_id(part: &Part) -> String {
    id(&["t", part.table.name()])
}

fn summary(out: &mut String, comparison: &Comparison) {
    out.push_str("<section id=\"summary\" aria-label=\"Summary\">\n");
    let _ = writeln!(
        out,
        "<h2 class=\"answer\">{}</h2>",
        text(&super::headline(comparison))
    );
    figures(out, comparison);
    doubts(out, comparison);
    let slower = with_verdict(comparison, Verdict::Slower);
    let wholes = comparison
        .totals
        .iter()
        .filter(|total| total.verdict == Some(Verdict::Slower));
    let wholes: Vec<String> = wholes
        .map(|total| {
            let show = |value: Option<f64>| value.map_or(NOT_MEASURED.to_owned(), units::duration);
            format!(
                "{}: {} → {}, {}",
                total.what,
                show(total.base),
                show(total.run),
                between(total.base, total.run)
            )
        })
        .collect();
    if slower.is_empty() && wholes.is_empty() {
        let threshold = units::percent(comparison.options.threshold);
        let _ = writeln!(
            out,
            "<h2>What got slower</h2>\n<p>No certain change by more than {threshold}.</p>"
        );
    } else {
        out.push_str("<h2>What got slower</h2>\n<ol class=\"findings top\">\n");
        for whole in &wholes {
            item(out, "error", "slower", whole);
        }
        sentences(out, &slower, "error");
        out.push_str("</ol>\n");
    }
    let faster = with_verdict(comparison, Verdict::Faster);
    if !faster.is_empty() {
        out.push_str("<h2>What got faster</h2>\n<ol class=\"findings top\">\n");
        sentences(out, &faster, "info");
        out.push_str("</ol>\n");
    }
    out.push_str("</section>\n");
}

fn with_verdict(comparison: &Comparison, verdict: Verdict) -> Vec<&Compared> {
    let names = comparison.names.iter();
    names.filter(|name| name.verdict == verdict).collect()
}

fn figures(out: &mut String, comparison: &Comparison) {
    let wall = comparison.totals.iter().find(|total| total.what == "wall");
    let wall = wall.map_or((NOT_MEASURED.to_owned(), String::new()), |wall| {
        let more = format!("{} → {}", time(wall.base), time(wall.run));
        (between(wall.base, wall.run), more)
    });
    let count = |verdict| comparison.with(verdict).to_string();
    let tiles = [
        ("wall", wall.0, wall.1.as_str()),
        ("slower", count(Verdict::Slower), "names"),
        ("faster", count(Verdict::Faster), "names"),
        ("same", count(Verdict::Same), "names, within the threshold"),
        ("cannot tell", count(Verdict::CannotTell), "names"),
    ];
    out.push_str("<div class=\"figures\">\n");
    for (name, value, more) in tiles {
        let _ = writeln!(
            out,
            "<div><span>{name}</span><b>{}</b><small>{}</small></div>",
            text(&value),
            text(more)
        );
    }
    out.push_str("</div>\n");
}

fn doubts(out: &mut String, comparison: &Comparison) {
    if !comparison.is_measurable() {
        out.push_str("<p class=\"banner error\">Nothing could be compared: no name has enough samples with durations on both sides.</p>\n");
    }
    let moved = comparison.common.iter();
    for common in moved.filter(|common| comparison.is_beyond(common.ratio)) {
        let _ = writeln!(
            out,
            "<p class=\"banner warning\"><b>All names of the {} changed by {}:</b> {}</p>",
            common.place.word(),
            text(&change(common.ratio)),
            text(&common_verdict(common))
        );
    }
    if comparison.runs_a_side() < 2 {
        let _ = writeln!(out, "<p class=\"lead\">{}</p>", text(one_run(comparison)));
    }
    let differs = comparison
        .doubts()
        .filter(|aspect| aspect.standing == Standing::Differs);
    for aspect in differs {
        let _ = writeln!(
            out,
            "<p class=\"banner warning\"><b>{} differs:</b> {} in the base, {} in the run</p>",
            text(&aspect.aspect),
            text(&aspect.base),
            text(&aspect.run)
        );
    }
}

fn sentences(out: &mut String, names: &[&Compared], level: &str) {
    for name in names.iter().take(TOLD) {
        let ratio = name.ratio.map_or(String::new(), |ratio| {
            format!(", {} ({})", change(ratio.value), interval(ratio))
        });
        let cost = name.run_total_ns - name.base_total_ns;
        let sign = if cost > 0.0 { "+" } else { "" };
        let sentence = format!(
            "{} {}: {} → {}{ratio}; {sign}{} in all, {} and {} samples",
            name.name.kind.word(),
            name.name.name,
            time(name.base_median_ns),
            time(name.run_median_ns),
            units::duration(cost),
            name.base_samples,
            name.run_samples
        );
        item(out, level, name.verdict.word(), &sentence);
    }
    if names.len() > TOLD {
        let more = names.len() - TOLD;
        let _ = writeln!(
            out,
            "<li class=\"{level}\"><a href=\"#names\">and {more} more</a></li>"
        );
    }
}

fn item(out: &mut String, level: &str, badge: &str, sentence: &str) {
    let _ = writeln!(
        out,
        "<li class=\"{level}\"><span class=\"badge\">{badge}</span> {}</li>",
        text(sentence)
    );
}

#[cfg(test)]
#[path = "page_tests.rs"]
mod tests;
