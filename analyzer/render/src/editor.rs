//! Lines as compilers print them, which editors list as problems: `FILE:LINE:COLUMN: SEVERITY: TEXT`.

use std::io::{self, Write};

use trueno_model::{Level, Report, width};

use crate::form::{Layout, ReportForm};
use crate::source_places::{Place, hottest, places, texts, time_text};

/// The form for quickfix lists and problem matchers.
#[derive(Debug)]
pub(crate) struct Editor;

impl ReportForm for Editor {
    fn name(&self) -> &'static str {
        "editor"
    }

    fn about(&self) -> &'static str {
        "For editors: the same source lines as `FILE:LINE:COLUMN: warning: TEXT`"
    }

    fn shows_timeline(&self) -> bool {
        true
    }

    fn write(&self, report: &Report, layout: &Layout<'_>, to: &mut dyn Write) -> io::Result<()> {
        let frames = layout.timeline.map(|of| of.frames.as_slice());
        let hottest = hottest(frames.unwrap_or_default());
        let hottest = hottest.into_iter();
        let mut lines: Vec<String> = hottest
            .map(|(place, ns)| line(&place, "warning", &time_text(ns)))
            .collect();
        for (number, section) in report.sections.iter().enumerate() {
            for (nth, finding) in section.findings.iter().enumerate() {
                let shown = layout.evidence.and_then(|all| all.get(number, nth));
                let places = shown.map(|shown| places(&shown.rows)).unwrap_or_default();
                // Editors drop lines of other severities, such as notes.
                let severity = match finding.severity {
                    Level::Error => "error",
                    Level::Warning | Level::Info => "warning",
                };
                let text = texts(finding).join("; ");
                lines.extend(places.iter().map(|place| line(place, severity, &text)));
            }
        }
        if lines.is_empty() {
            lines.push(NO_LINES.to_owned());
        }
        lines.iter().try_for_each(|line| writeln!(to, "{line}"))
    }
}

/// Editors pass over it, as over other output of a compiler.
const NO_LINES: &str = "no source lines were recorded (hint: profile with stacks, such as with_stack=True of torch.profiler)";

/// Columns are not recorded.
fn line(place: &Place, severity: &str, text: &str) -> String {
    let file = width::printable(&place.file);
    format!("{file}:{}:1: {severity}: {text}", place.line.max(1))
}

#[cfg(test)]
mod tests {
    use trueno_model::evidence::{Evidence, Shown};
    use trueno_model::timeline::{Frame, Timeline};
    use trueno_plugin::Table;

    use super::*;
    use crate::commands::Commands;
    use crate::form::Detail;
    use crate::style::Palette;
    use crate::testing;

    #[test]
    fn one_line_a_place_the_most_time_first() {
        let frame = |name: &str, at_ns, self_ns| Frame {
            name: name.into(),
            depth: 0,
            at_ns,
            total_ns: self_ns,
            self_ns,
        };
        let timeline = Timeline {
            frames: vec![
                frame("a.py(3): f", 0, 10_000),
                frame("b.py(4): g", 10_000, 90_000),
            ],
            ..Timeline::default()
        };
        let mut section = testing::section("lateness", Vec::new());
        let mut finding = testing::finding(Level::Error, "slow\ntoday");
        finding.suggestion = Some("be quick".into());
        section.findings = vec![finding];
        let rows = Table::build("rows")
            .text("file", [Some("src/my\x1b main.rs")])
            .i64("line", [Some(7)]);
        let shown = Shown {
            rows: rows.finish().unwrap(),
            of: 1,
            place: None,
        };
        let mut evidence = Evidence::default();
        evidence.shown.insert((0, 0), shown);
        let layout = Layout {
            width: 80,
            top: None,
            detail: Detail::Full,
            is_summary: false,
            palette: Palette::new(false),
            timeline: Some(&timeline),
            stacks: &[],
            evidence: Some(&evidence),
            commands: &Commands::default(),
        };
        let written = |report: &Report, layout: &Layout<'_>| {
            let mut bytes = Vec::new();
            Editor.write(report, layout, &mut bytes).unwrap();
            String::from_utf8(bytes).unwrap()
        };
        let report = testing::report(vec![section]);
        let text = written(&report, &layout);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines,
            [
                "b.py:4:1: warning: 90 µs here, including callees without a source line",
                "a.py:3:1: warning: 10 µs here, including callees without a source line",
                "src/my\\x1b main.rs:7:1: error: slow\\ntoday; What was seen, in a sentence that is long enough to be wrapped on a narrow page.; be quick",
            ]
        );
        let nothing = Layout {
            timeline: None,
            evidence: None,
            ..layout
        };
        assert_eq!(written(&report, &nothing), format!("{NO_LINES}\n"));
    }
}
