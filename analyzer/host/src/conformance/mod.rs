//! Tells whether a plugin keeps the rules of `plugins/README.md`: it is run, each time in a
//! process of its own, over a run and over inputs that real runs seldom have.

mod outcome;
mod over_ranks;
mod sample;
mod tables;
mod trial;
mod variants;

pub use sample::Sample;
pub use trial::{Subject, trial};

use serde::Serialize;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Kept,
    NotTried,
    /// It follows the rule, with a recommendation.
    Advice,
    Broken,
}

impl Verdict {
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Kept => "ok",
            Verdict::NotTried => "not tried",
            Verdict::Advice => "advice",
            Verdict::Broken => "MEND",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Checked {
    /// Stable name of the rule.
    pub rule: &'static str,
    pub says: &'static str,
    pub verdict: Verdict,
    pub seen: String,
    pub mend: Option<String>,
}

const RULES: [(&str, &str); 13] = [
    ("loads", "loads and exports a valid descriptor"),
    (
        "named",
        "id, file and namespace are the same; summary and version exist",
    ),
    (
        "options",
        "refuses an unknown option, and lists the known ones",
    ),
    ("inputs", "each query runs over the published tables"),
    ("runs", "finishes on a run"),
    (
        "prints_nothing",
        "writes nothing to standard output or error",
    ),
    ("gives", "returns tables or findings"),
    (
        "columns",
        "column names have units (_ns, _bytes, _share, _per_s) and fitting types",
    ),
    (
        "numbers",
        "what could not be computed is null, not NaN or infinite",
    ),
    (
        "same_twice",
        "returns the same bytes for the same tables, in every process",
    ),
    (
        "row_order",
        "states ORDER BY where the order of rows matters",
    ),
    (
        "over_ranks",
        "returns the same when merged from parts of ranks, if it has parts",
    ),
    (
        "odd_inputs",
        "finishes, or reports the problem, on odd tables",
    ),
];

fn checked(rule: &'static str, verdict: Verdict, seen: impl Into<String>) -> Checked {
    let says = RULES
        .iter()
        .find(|(name, _)| *name == rule)
        .map_or("", |(_, says)| says);
    Checked {
        rule,
        says,
        verdict,
        seen: seen.into(),
        mend: None,
    }
}

impl Checked {
    fn mend(mut self, what: impl Into<String>) -> Checked {
        self.mend = Some(what.into());
        self
    }
}
