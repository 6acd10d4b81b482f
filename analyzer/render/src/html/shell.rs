//! Frame of a page: its head, the links to its parts, the block of data, the scripts.

use std::fmt::Write as _;

use super::text;
use crate::chart;

const STYLE: &str = concat!(
    include_str!("../../assets/html/report.css"),
    include_str!("../../assets/html/print.css")
);
/// Scripts in loading order.
const SCRIPTS: [&str; 7] = [
    include_str!("../../assets/html/show.js"),
    include_str!("../../assets/html/tables.js"),
    include_str!("../../assets/html/picked.js"),
    include_str!("../../assets/html/timeline.js"),
    include_str!("../../assets/html/print.js"),
    include_str!("../../assets/html/page.js"),
    include_str!("../../assets/html/selftest.js"),
];
/// Forbids all network access, whatever the page contains.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

pub struct Shell<'a> {
    pub title: &'a str,
    pub parts: Vec<(String, String)>,
    pub main: String,
    pub data: String,
}

impl Shell<'_> {
    pub fn page(&self) -> String {
        let title = text(self.title);
        let mut out = format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
             <meta name=\"generator\" content=\"trueno-analyze {}\">\n\
             <title>{title} · trueno-analyze</title>\n<style>\n{STYLE}\n{}</style>\n</head>\n<body>\n\
             <a class=\"skip\" href=\"#main\">to the report</a>\n<header class=\"page\"><h1>{title}</h1>\
             <button type=\"button\" id=\"theme\" >light / dark</button></header>\n\
             <nav aria-label=\"Sections\">",
            env!("CARGO_PKG_VERSION"),
            dark()
        );
        for (id, name) in &self.parts {
            let _ = write!(out, "<a href=\"#{id}\">{}</a>", text(name));
        }
        out.push_str("</nav>\n<main id=\"main\">\n");
        out.push_str(&self.main);
        out.push_str("</main>\n<div id=\"tip\" role=\"status\" hidden></div>\n<script type=\"application/json\" id=\"data\">");
        out.push_str(&self.data);
        out.push_str("</script>\n<script>\n");
        for script in SCRIPTS {
            out.push_str(script);
            out.push('\n');
        }
        out.push_str("</script>\n</body>\n</html>\n");
        out
    }
}

/// Dark colours of charts: by the system's setting, unless the reader chose otherwise. Print is light.
fn dark() -> String {
    format!(
        "@media screen and (prefers-color-scheme: dark) {{\n{}}}\n@media screen {{\n{}}}\n",
        chart::dark_rules(":root:not([data-theme=light]) svg.chart"),
        chart::dark_rules(":root[data-theme=dark] svg.chart")
    )
}
