//! The page around it all.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, Write};

use serde_json::json;

use super::{Extra, data, id, section, summary, text, timeline};
use crate::chart::{self, flame};
use crate::report::{Report, width};

const STYLE: &str = include_str!("../../../assets/html/report.css");
/// In the order they are read.
const SCRIPTS: [&str; 5] = [
    include_str!("../../../assets/html/show.js"),
    include_str!("../../../assets/html/tables.js"),
    include_str!("../../../assets/html/timeline.js"),
    include_str!("../../../assets/html/page.js"),
    include_str!("../../../assets/html/selftest.js"),
];
/// Nothing may be fetched, whatever stands in the page.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/// Writes the whole page.
///
/// # Errors
/// Those of `to`.
pub fn write(report: &Report, extra: &Extra<'_>, to: &mut dyn Write) -> io::Result<()> {
    let facts = &report.header.facts;
    let title = facts
        .label
        .as_deref()
        .or(facts.run_id.as_deref())
        .unwrap_or("run");
    let title = text(title);
    let kept = data::rows_kept(report);
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"generator\" content=\"trueno-analyze {}\">\n\
         <title>{title} · trueno-analyze</title>\n<style>\n{STYLE}\n{}</style>\n</head>\n<body>\n",
        env!("CARGO_PKG_VERSION"),
        dark()
    );
    let _ = write!(
        out,
        "<a class=\"skip\" href=\"#main\">to the report</a>\n<header class=\"page\"><h1>{title}</h1>\
         <button type=\"button\" id=\"theme\" aria-label=\"light or dark\">light / dark</button></header>\n"
    );
    navigation(&mut out, report, extra);
    out.push_str("<main id=\"main\">\n");
    summary::write(&mut out, report, extra);
    if let Some(of) = extra.timeline.filter(|of| !of.rows.is_empty()) {
        let _ = write!(
            out,
            "<section id=\"timeline\"><h2>Timeline</h2>\n<noscript><p class=\"note\">The timeline needs JavaScript.</p></noscript>\n\
             <div class=\"controls\"><button type=\"button\" data-do=\"in\" aria-label=\"zoom in\">+</button>\
             <button type=\"button\" data-do=\"out\" aria-label=\"zoom out\">−</button>\
             <button type=\"button\" data-do=\"all\">all</button>\
             <input type=\"search\" id=\"highlight\" placeholder=\"highlight a name\" aria-label=\"highlight a name\">\
             <output id=\"range\"></output></div>\n\
             <div id=\"lanes\" tabindex=\"0\" role=\"application\" aria-label=\"Timeline: plus and minus zoom, arrows move, 0 shows all\">\
             <div id=\"lanes-height\"></div><canvas id=\"canvas\"></canvas></div>\n\
             <p class=\"note\">{} Drag to move, Ctrl and wheel or + and − to zoom, arrows to move, 0 for all.</p></section>\n",
            text(&timeline::note(of))
        );
        if let Some(scene) = flame::scene("Self time by stack, a root for each lane", &of.frames)
            && let Ok(svg) = scene.svg_for_page()
        {
            out.push_str("<section id=\"stacks\"><h2>Stacks</h2>\n");
            section::figure(
                &mut out,
                "Self time by stack: a root for each lane, the widest have the most time",
                &svg,
            );
            out.push_str("</section>\n");
        }
    }
    for at in 0..report.sections.len() {
        section::write(&mut out, report, at, extra, kept);
    }
    out.push_str("</main>\n<div id=\"tip\" role=\"status\" hidden></div>\n<script type=\"application/json\" id=\"data\">");
    out.push_str(&block(report, extra, kept));
    out.push_str("</script>\n<script>\n");
    for script in SCRIPTS {
        out.push_str(script);
        out.push('\n');
    }
    out.push_str("</script>\n</body>\n</html>\n");
    to.write_all(out.as_bytes())
}

fn navigation(out: &mut String, report: &Report, extra: &Extra<'_>) {
    out.push_str("<nav aria-label=\"Sections\"><a href=\"#summary\">summary</a>");
    if extra.timeline.is_some_and(|of| !of.rows.is_empty()) {
        out.push_str("<a href=\"#timeline\">timeline</a><a href=\"#stacks\">stacks</a>");
    }
    for section in &report.sections {
        let name = text(&section.plugin.replace('_', " "));
        let _ = write!(
            out,
            "<a href=\"#{}\">{name}</a>",
            id(&["s", &section.plugin])
        );
    }
    out.push_str("</nav>\n");
}

fn block(report: &Report, extra: &Extra<'_>, kept: usize) -> String {
    let mut texts = data::Texts::default();
    let mut tables = Vec::new();
    for section in &report.sections {
        for table in &section.tables {
            let name = id(&["t", &section.plugin, table.name()]);
            tables.push(data::table(&name, table, kept, &mut texts));
        }
    }
    data::for_script(&json!({
        "top": extra.top,
        "texts": printable(texts.texts.iter().copied()),
        "tables": tables,
        "timeline": extra.timeline.map(timeline::data),
    }))
}

/// As they show: a control character in a name neither hides nor turns what stands beside it.
pub(super) fn printable<'a>(texts: impl Iterator<Item = &'a str>) -> Vec<Cow<'a, str>> {
    texts.map(width::printable).collect()
}

/// Colours of charts on a dark page: as the system has it, unless the reader chose otherwise.
fn dark() -> String {
    format!(
        "@media (prefers-color-scheme: dark) {{\n{}}}\n{}",
        chart::dark_rules(":root:not([data-theme=light]) svg.chart"),
        chart::dark_rules(":root[data-theme=dark] svg.chart")
    )
}
