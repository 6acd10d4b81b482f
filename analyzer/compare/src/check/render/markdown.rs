//! Markdown of one screen, for a comment on a pull request.

use trueno_render::markdown::text;

use super::counts;
use crate::check::outcome::{CheckedRun, Outcome, Status};

/// First line of the text, invisible where Markdown is shown: by it a program finds its own comment to replace.
const MARK: &str = "<!-- trueno-analyze check -->";
/// Longer lists do not fit on a screen.
const MAX_ROWS: usize = 20;

/// What does not hold in a table, what passed folded below it. Several runs each get a heading.
pub fn markdown(runs: &[CheckedRun]) -> String {
    let mut out = format!("{MARK}\n");
    for run in runs {
        let against = run.golden.as_deref();
        let against = against.map_or(String::new(), |golden| format!(" against {}", text(golden)));
        out.push_str(&format!(
            "\n**{}** · {}{against}\n",
            counts(&run.outcomes),
            text(&run.run)
        ));
        let is_open =
            |outcome: &&Outcome| !matches!(outcome.status, Status::Passed | Status::Disabled);
        let (open, passed): (Vec<&Outcome>, Vec<&Outcome>) = run.outcomes.iter().partition(is_open);
        out.push_str(&table(&open));
        if !passed.is_empty() {
            let names = if open.is_empty() {
                "What was checked"
            } else {
                "The others"
            };
            out.push_str(&format!(
                "\n<details><summary>{names}</summary>\n{}\n</details>\n",
                table(&passed)
            ));
        }
    }
    out
}

fn table(outcomes: &[&Outcome]) -> String {
    if outcomes.is_empty() {
        return String::new();
    }
    let mut out =
        "\n| | assertion | expected | actual | where |\n| --- | --- | --- | --- | --- |\n"
            .to_owned();
    for outcome in outcomes.iter().take(MAX_ROWS) {
        let cell = |part: &Option<String>| part.as_deref().map_or(String::new(), text);
        out.push_str(&format!(
            "| {} | {} ({}) | {} | {} | {} |\n",
            outcome.status.word(),
            text(&outcome.name),
            text(outcome.kind),
            cell(&outcome.expected),
            cell(&outcome.actual),
            cell(&outcome.place)
        ));
    }
    if outcomes.len() > MAX_ROWS {
        out.push_str(&format!("\n… and {} more\n", outcomes.len() - MAX_ROWS));
    }
    out
}
