//! A plugin that misbehaves on request: option `sin` names how.
//!
//! Sins about loading are separate libraries, in `c/`.

mod escape;
mod flood;
mod forge;
mod lifetime;
mod sin;
mod stream;

use serde::Deserialize;
use trueno_plugin::{Input, Plugin, Result, Run, export};

struct Hostile;

#[derive(Default, Deserialize)]
#[serde(default)]
struct Options {
    /// If `None`, behaves.
    sin: Option<sin::Sin>,
}

impl Plugin for Hostile {
    const ID: &'static str = "hostile";
    const SUMMARY: &'static str = "Misbehaves on request.";
    const INPUTS: &'static [Input] = &[Input::sql(
        "bricks",
        "SELECT id, start_ns FROM bricks ORDER BY id",
    )];
    type Options = Options;

    fn run(run: &mut Run, options: Options) -> Result<()> {
        match options.sin {
            Some(sin) => sin::commit(sin, run),
            None => sin::behave(run),
        }
    }
}

export!(Hostile);

#[cfg(test)]
mod tests {
    use trueno_plugin::testing::{Output, run};
    use trueno_plugin::{Error, Table};

    use super::*;

    fn commit(sin: &str) -> Result<Output> {
        let bricks = Table::build("bricks")
            .u64("id", [1, 2])
            .i64("start_ns", [10, 20]);
        run::<Hostile>([bricks], &format!("{{\"sin\": {sin}}}"))
    }

    fn message(sin: &str) -> String {
        commit(&format!("\"{sin}\"")).unwrap_err().to_string()
    }

    #[test]
    fn what_is_wrong_is_refused_with_the_reason() {
        for (sin, reason) in [
            (
                "bad_lengths",
                "column `x` has 1 rows, its batch reaches to row 2",
            ),
            ("negative_length", "column `x` has length -1"),
            ("huge_offset", "length 2 and offset 9223372036854775807"),
            ("bad_type", "column `x` has Arrow type `i`"),
            ("not_utf8", "column `name`, row 0: the text is not UTF-8"),
            (
                "bad_offsets",
                "column `name` has text offsets that are not in order",
            ),
            ("duplicate_column", "two columns are named `x`"),
            (
                "failing_stream",
                "get_next with code 5: deliberate stream failure",
            ),
            ("released_stream", "already released"),
            ("null_stream", "null pointer"),
            ("duplicate_table", "table `twice` was emitted twice"),
            ("bad_finding", "the finding does not parse"),
            ("ignore_refusal", "column `x` has Arrow type `i`"),
            ("error", "deliberate failure"),
            ("error_not_utf8", "deliberate\0failure"),
        ] {
            let found = message(sin);
            assert!(found.contains(reason), "{sin}: {found}");
        }
    }

    #[test]
    fn panics_are_told_apart() {
        for (sin, text) in [
            ("panic", "deliberate panic ("),
            ("panic_with_payload", "a panic without a text ("),
            ("panic_after_table", "deliberate panic after a table ("),
        ] {
            match commit(&format!("\"{sin}\"")) {
                Err(Error::Panicked(message)) => {
                    assert!(message.starts_with(text), "{sin}: {message}")
                }
                other => panic!("{sin}: {other:?}"),
            }
        }
    }

    #[test]
    fn what_is_odd_but_harmless_passes() {
        for (sin, tables) in [
            ("null", 1),
            ("\"reserved\"", 1),
            ("\"no_output\"", 0),
            ("\"input_released\"", 0),
            ("\"error_but_ok\"", 0),
        ] {
            assert_eq!(commit(sin).unwrap().tables.len(), tables, "{sin}");
        }
        assert_eq!(commit("\"cancelled\""), Err(Error::Cancelled));
    }

    #[test]
    fn an_unknown_sin_is_a_bad_option_that_lists_the_known() {
        let Err(Error::BadOption(message)) = commit("\"sloth\"") else {
            panic!("it passed")
        };
        assert!(
            message.starts_with("option `sin`: unknown variant `sloth`, expected one of `panic`"),
            "{message}"
        );
    }
}
