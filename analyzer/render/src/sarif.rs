//! SARIF 2.1.0, which editors and code hosts list as problems of source lines.
//!
//! <https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html>

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde_json::{Value, json};
use trueno_analysis::waits::names_a_wait;
use trueno_model::evidence::Shown;
use trueno_model::timeline::Frame;
use trueno_model::{Cell, Finding, Level, Report, units, width};
use trueno_plugin::Table;

use crate::form::{Layout, ReportForm};
use crate::header_text;

/// Source lines of a finding, and functions that are listed by their time.
const PLACES: usize = 10;

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
    let parts = [
        Some(&finding.title),
        finding.detail.as_ref(),
        finding.suggestion.as_ref(),
    ];
    let parts = parts
        .into_iter()
        .flatten()
        .map(|text| width::printable(text));
    let parts: Vec<_> = parts.collect();
    let places = shown.map(|shown| places(&shown.rows)).unwrap_or_default();
    json!({
        "ruleId": format!("{plugin}/{}", finding.code),
        "level": level,
        "message": { "text": parts.join("\n") },
        "locations": places.iter().map(location).collect::<Vec<_>>(),
    })
}

fn of_place((place, ns): (Place, i64)) -> Value {
    let time = units::duration(ns as f64);
    let text = format!("{time} here and in what it calls without a source line of its own");
    json!({
        "ruleId": "time/function",
        "level": "note",
        "message": { "text": text },
        "locations": [location(&place)],
    })
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    file: String,
    line: u64,
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

/// Source lines in rows with columns `file` and `line`, each once.
fn places(rows: &Table) -> Vec<Place> {
    let (Ok(files), Ok(lines)) = (rows.column("file"), rows.column("line")) else {
        return Vec::new();
    };
    let mut places: Vec<Place> = Vec::new();
    for row in 0..rows.rows() {
        let (Cell::Text(file), Some(line)) = (Cell::at(files, row), Cell::at(lines, row).number())
        else {
            continue;
        };
        let place = Place {
            file: file.to_owned(),
            line: line as u64,
        };
        if places.len() < PLACES && !places.contains(&place) {
            places.push(place);
        }
    }
    places
}

/// Functions with the most time, from names such as `FILE(LINE): FUNCTION`. Time of frames without a line counts for the
/// innermost function around them that has one. Functions that only wait are left out.
fn hottest(frames: &[Frame]) -> Vec<(Place, i64)> {
    let mut ordered: Vec<&Frame> = frames.iter().collect();
    ordered.sort_by_key(|frame| (frame.at_ns, frame.depth));
    let mut around: Vec<Option<Place>> = Vec::new();
    let mut times: BTreeMap<Place, i64> = BTreeMap::new();
    for frame in ordered {
        around.truncate(frame.depth);
        let place = place(&frame.name).or_else(|| around.last().cloned().flatten());
        if let Some(place) = place.as_ref().filter(|_| !names_a_wait(&frame.name, false)) {
            let ns = times.entry(place.clone()).or_default();
            *ns = ns.saturating_add(frame.self_ns);
        }
        around.resize(frame.depth, None);
        around.push(place);
    }
    let mut times: Vec<(Place, i64)> = times.into_iter().filter(|(_, ns)| *ns > 0).collect();
    times.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    times.truncate(PLACES);
    times
}

fn place(name: &str) -> Option<Place> {
    let (place, _) = name.split_once("): ")?;
    let (file, line) = place.rsplit_once('(')?;
    let line = line.parse().ok()?;
    let is_file = !file.is_empty() && !file.starts_with('<');
    is_file.then(|| Place {
        file: file.to_owned(),
        line,
    })
}

#[cfg(test)]
mod tests {
    use trueno_model::evidence::Evidence;
    use trueno_model::timeline::Timeline;

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

    #[test]
    fn time_without_a_line_counts_for_the_function_around_it() {
        let frame = |name: &str, depth, at_ns, total_ns, self_ns| Frame {
            name: name.into(),
            depth,
            at_ns,
            total_ns,
            self_ns,
        };
        let frames = vec![
            frame("thread 0", 0, 0, 100, 0),
            frame("a.py(3): f", 1, 0, 90, 10),
            frame("<built-in function sum>", 2, 0, 60, 60),
            frame("/x/b.py(4): g", 2, 60, 20, 20),
            frame("<string>(1): <module>", 1, 90, 10, 10),
            frame("threading.py(359): wait", 1, 100, 500, 500),
        ];
        let results = results(&testing::report(Vec::new()), &Evidence::default(), frames);
        let places: Vec<(&str, &str)> = results
            .iter()
            .map(|of| {
                let place = &of["locations"][0]["physicalLocation"]["artifactLocation"]["uri"];
                let text = of["message"]["text"].as_str().unwrap();
                (place.as_str().unwrap(), text.split(" here").next().unwrap())
            })
            .collect();
        assert_eq!(places, [("a.py", "70 ns"), ("file:///x/b.py", "20 ns")]);
    }
}
