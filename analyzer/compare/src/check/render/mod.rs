//! Outcomes for people and for programs.

mod junit;
mod markdown;

use serde_json::json;
use trueno_model::width;
use trueno_render::style::{Meaning, Palette};

use super::outcome::{CheckedRun, Outcome, Status, worst};
pub use junit::junit;
pub use markdown::markdown;

/// For a terminal of `room` columns: assertions in the order of the file, and counts. Several runs each get a
/// heading.
pub fn terminal(runs: &[CheckedRun], room: usize, palette: Palette) -> String {
    let [one] = runs else {
        let each = runs.iter().map(|run| {
            let name = width::printable(&run.run);
            let heading = palette.paint(Meaning::Heading, &name);
            format!("{heading}\n{}", outcomes(&run.outcomes, room, palette))
        });
        let each: Vec<String> = each.collect();
        return each.join("\n");
    };
    outcomes(&one.outcomes, room, palette)
}

fn outcomes(outcomes: &[Outcome], room: usize, palette: Palette) -> String {
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

/// `{format, run, wall_ns, golden, exit_code, assertions}`; for several runs `{format, exit_code, runs}`.
pub fn json(runs: &[CheckedRun]) -> String {
    let mut value = match runs {
        [one] => json!(one),
        several => json!({ "exit_code": worst(several), "runs": several }),
    };
    value["format"] = json!({ "name": "trueno-check", "major": 1, "minor": 1 });
    let mut text = format!("{value:#}");
    text.push('\n');
    text
}
