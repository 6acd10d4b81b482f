//! Outcomes for people and for programs.

mod junit;

use serde::Serialize;
use trueno_model::width;
use trueno_render::style::{Meaning, Palette};

use super::outcome::{Outcome, Status};
pub use junit::junit;

/// For a terminal of `room` columns: one assertion after the other in the order of the file, and counts.
pub fn terminal(outcomes: &[Outcome], room: usize, palette: Palette) -> String {
    let mut out = String::new();
    for outcome in outcomes {
        let meaning = match outcome.status {
            Status::Passed => Meaning::Good,
            Status::Failed => Meaning::Error,
            Status::Warned | Status::NotMeasurable => Meaning::Warning,
            Status::Disabled => Meaning::Faint,
        };
        let word = palette.paint(meaning, &width::pad(outcome.status.word(), 14, false));
        let name = width::printable(&outcome.name).into_owned();
        out.push_str(&format!("{word}  {name} ({})\n", outcome.kind));
        let parts = [
            ("expected", &outcome.expected),
            ("actual", &outcome.actual),
            ("where", &outcome.place),
        ];
        for (what, text) in parts {
            let Some(text) = text else { continue };
            let text = width::printable(text).into_owned();
            for (at, line) in width::wrap(&text, room - 26).iter().enumerate() {
                let what = if at == 0 { what } else { "" };
                out.push_str(&format!("                {what:<8}  {line}\n"));
            }
        }
    }
    out.push_str(&format!("\n{}\n", counts(outcomes)));
    out
}

fn counts(outcomes: &[Outcome]) -> String {
    let all = [
        Status::Passed,
        Status::Failed,
        Status::Warned,
        Status::NotMeasurable,
        Status::Disabled,
    ];
    let parts: Vec<String> = all
        .into_iter()
        .filter_map(|status| {
            let count = outcomes.iter().filter(|o| o.status == status).count();
            let word = match status {
                Status::Warned => "warned",
                status => status.word(),
            };
            (count > 0).then(|| format!("{count} {word}"))
        })
        .collect();
    parts.join(", ")
}

/// `{format, run, golden, exit_code, assertions}`.
pub fn json(outcomes: &[Outcome], run: &str, golden: Option<&str>, exit_code: u8) -> String {
    #[derive(Serialize)]
    struct Format {
        name: &'static str,
        major: u32,
        minor: u32,
    }
    #[derive(Serialize)]
    struct File<'a> {
        format: Format,
        run: &'a str,
        golden: Option<&'a str>,
        exit_code: u8,
        assertions: &'a [Outcome],
    }
    let file = File {
        format: Format {
            name: "trueno-check",
            major: 1,
            minor: 0,
        },
        run,
        golden,
        exit_code,
        assertions: outcomes,
    };
    // Maps have text keys: this cannot fail.
    let mut text = serde_json::to_string_pretty(&file).unwrap_or_default();
    text.push('\n');
    text
}
