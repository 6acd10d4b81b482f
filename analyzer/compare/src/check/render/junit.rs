//! JUnit XML, which build servers show.

use trueno_model::width::is_hidden;

use crate::check::outcome::{CheckedRun, Outcome, Status};

/// One suite per run. A violation is a failure. An assertion that cannot be measured and could have failed is an
/// error. Warnings and disabled assertions are skipped. `time` is the wall time of the run, because the time of
/// checking would differ each time.
pub fn junit(runs: &[CheckedRun]) -> String {
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n");
    for run in runs {
        suite(&mut out, run);
    }
    out.push_str("</testsuites>\n");
    out
}

fn suite(out: &mut String, run: &CheckedRun) {
    let outcomes = &run.outcomes;
    let is_error = |o: &Outcome| o.status == Status::NotMeasurable && o.fail_on_violation;
    let is_failure = |o: &Outcome| o.status == Status::Failed;
    let is_skipped = |o: &Outcome| !is_error(o) && !is_failure(o) && o.status != Status::Passed;
    let count = |of: &dyn Fn(&Outcome) -> bool| outcomes.iter().filter(|o| of(o)).count();
    let time = run.wall_ns.map_or(String::new(), |ns| {
        format!(" time=\"{:.9}\"", ns as f64 / 1e9)
    });
    out.push_str(&format!(
        "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\"{time}>\n",
        escape(&run.run),
        outcomes.len(),
        count(&is_failure),
        count(&is_error),
        count(&is_skipped)
    ));
    for outcome in outcomes {
        let text = |part: &Option<String>| part.clone().unwrap_or_default();
        let message = escape(&format!(
            "expected {}, actual {}",
            text(&outcome.expected),
            text(&outcome.actual)
        ));
        out.push_str(&format!(
            "    <testcase classname=\"{}\" name=\"{}\"",
            outcome.kind,
            escape(&outcome.name)
        ));
        let word = outcome.status.word();
        let place = escape(&text(&outcome.place));
        if is_failure(outcome) {
            out.push_str(&format!(
                "><failure message=\"{message}\">{place}</failure></testcase>\n"
            ));
        } else if is_error(outcome) {
            out.push_str(&format!(
                "><error type=\"{word}\" message=\"{message}\">{place}</error></testcase>\n"
            ));
        } else if is_skipped(outcome) {
            out.push_str(&format!(
                "><skipped message=\"{word}: {message}\"/></testcase>\n"
            ));
        } else {
            out.push_str("/>\n");
        }
    }
    out.push_str("  </testsuite>\n");
}

/// Escapes for attributes and text. Characters that XML cannot represent are shown by their number.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' | '\t' => out.push(' '),
            c if is_hidden(c) || matches!(c, '\u{fffe}' | '\u{ffff}') => {
                out.push_str(&format!("\\u{{{:x}}}", c as u32));
            }
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::escape;

    #[test]
    fn no_name_breaks_the_file() {
        assert_eq!(
            escape("a<b>&\"\u{1}\u{202e}\n"),
            "a&lt;b&gt;&amp;&quot;\\u{1}\\u{202e} "
        );
    }
}
