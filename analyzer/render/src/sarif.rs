//! SARIF 2.1.0, which editors and code hosts list as problems of source lines.
//!
//! <https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html>

use std::io::{self, Write};

use serde_json::{Value, json};
use trueno_model::evidence::Shown;
use trueno_model::{Finding, Level, Report};

use crate::form::{Layout, ReportForm};
use crate::header_text;
use crate::source_places::{Place, hottest, places, texts, time_text};

/// The form for editors.
#[derive(Debug)]
pub(crate) struct Sarif;

impl ReportForm for Sarif {
    fn name(&self) -> &'static str {
        "sarif"
    }

    fn about(&self) -> &'static str {
        "For editors: findings and the functions with the most time, by source line"
    }

    fn is_json(&self) -> bool {
        true
    }

    fn shows_timeline(&self) -> bool {
        true
    }

    fn write(&self, report: &Report, layout: &Layout<'_>, to: &mut dyn Write) -> io::Result<()> {
        let mut results = Vec::new();
        for (number, section) in report.sections.iter().enumerate() {
            for (nth, finding) in section.findings.iter().enumerate() {
                let shown = layout.evidence.and_then(|all| all.get(number, nth));
                results.push(of_finding(&section.plugin, finding, shown));
            }
        }
        let frames = layout.timeline.map(|of| of.frames.as_slice());
        results.extend(
            hottest(frames.unwrap_or_default())
                .into_iter()
                .map(of_place),
        );
        let mut rules: Vec<&str> = results
            .iter()
            .filter_map(|of| of["ruleId"].as_str())
            .collect();
        rules.sort_unstable();
        rules.dedup();
        let rules: Vec<Value> = rules.into_iter().map(|id| json!({ "id": id })).collect();
        let log = json!({
            "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
            "version": "2.1.0",
            "runs": [{
                "tool": { "driver": {
                    "name": "trueno-analyze",
                    "version": env!("CARGO_PKG_VERSION"),
                    "informationUri": "https://github.com/paiml/trueno-analyze",
                    "rules": rules,
                } },
                "properties": { "headline": header_text::headline(report) },
                "results": results,
            }],
        });
        serde_json::to_writer_pretty(&mut *to, &log)?;
        to.write_all(b"\n")
    }
}

fn of_finding(plugin: &str, finding: &Finding, shown: Option<&Shown>) -> Value {
    let level = match finding.severity {
        Level::Error => "error",
        Level::Warning => "warning",
        Level::Info => "note",
    };
    let places = shown.map(|shown| places(&shown.rows)).unwrap_or_default();
    json!({
        "ruleId": format!("{plugin}/{}", finding.code),
        "level": level,
        "message": { "text": texts(finding).join("\n") },
        "locations": places.iter().map(location).collect::<Vec<_>>(),
    })
}

fn of_place((place, ns): (Place, i64)) -> Value {
    json!({
        "ruleId": "time/function",
        "level": "note",
        "message": { "text": time_text(ns) },
        "locations": [location(&place)],
    })
}

fn location(place: &Place) -> Value {
    json!({ "physicalLocation": {
        "artifactLocation": { "uri": uri(&place.file) },
        "region": { "startLine": place.line.max(1) },
    } })
}

/// A path as a relative or absolute reference (RFC 3986).
fn uri(path: &str) -> String {
    let mut out = String::new();
    if path.starts_with('/') {
        out.push_str("file://");
    }
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'.' | b'_' | b'~' => {
                out.push(char::from(byte));
            }
            byte => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use trueno_model::evidence::Evidence;
    use trueno_model::timeline::{Frame, Timeline};
    use trueno_plugin::Table;

    use super::*;
    use crate::commands::Commands;
    use crate::form::Detail;
    use crate::style::Palette;
    use crate::testing;

    fn results(report: &Report, evidence: &Evidence, frames: Vec<Frame>) -> Vec<Value> {
        let timeline = Timeline {
            frames,
            ..Timeline::default()
        };
        let layout = Layout {
            width: 80,
            top: None,
            detail: Detail::Full,
            is_summary: false,
            palette: Palette::new(false),
            timeline: Some(&timeline),
            stacks: &[],
            evidence: Some(evidence),
            commands: &Commands::default(),
        };
        let mut bytes = Vec::new();
        Sarif.write(report, &layout, &mut bytes).unwrap();
        let log: Value = serde_json::from_slice(&bytes).unwrap();
        log["runs"][0]["results"].as_array().unwrap().clone()
    }

    #[test]
    fn a_finding_has_the_source_lines_of_its_evidence() {
        let mut section = testing::section("lateness", Vec::new());
        section.findings = vec![testing::finding(Level::Warning, "slow")];
        let rows = Table::build("rows")
            .text("file", [Some("src/a b.rs"), None, Some("src/a b.rs")])
            .i64("line", [Some(7), Some(8), Some(7)]);
        let shown = Shown {
            rows: rows.finish().unwrap(),
            of: 3,
            place: None,
        };
        let mut evidence = Evidence::default();
        evidence.shown.insert((0, 0), shown);
        let results = results(&testing::report(vec![section]), &evidence, Vec::new());
        assert_eq!(results[0]["ruleId"], "lateness/some_code");
        assert_eq!(results[0]["level"], "warning");
        let expected = json!([{ "physicalLocation": {
            "artifactLocation": { "uri": "src/a%20b.rs" },
            "region": { "startLine": 7 },
        } }]);
        assert_eq!(results[0]["locations"], expected);
    }
}
