//! Figures of a comparison, for people.

use trueno_model::units::{self, NOT_MEASURED};

use trueno_statistics::{Common, Ratio};

use crate::runs::Comparison;

pub const COMMON: &str =
    "median over names of the ratio of their medians; names below are judged relative to it";

pub fn one_run(comparison: &Comparison) -> &'static str {
    if comparison.common.is_empty() {
        "one run per side, and too few names to separate the machine from the programs; proof takes several \
             runs (hint: `trueno-record compare -n 10 -- BASE -- RUN`)"
    } else {
        "one run per side: a name is listed if it changed differently from the others; proof that the programs differ takes \
             several runs (hint: `trueno-record compare -n 10 -- BASE -- RUN`)"
    }
}

pub fn common_verdict(common: &Common) -> String {
    let word = common.verdict.word();
    match &common.why {
        Some(why) => format!("{word}: {why}"),
        None => word.to_owned(),
    }
}

/// A ratio as a change in percent: `+5.2 %`, `+206 %`, `-99.98 %`. From a factor of ten on: `570×`.
pub fn change(ratio: f64) -> String {
    if !ratio.is_finite() {
        return NOT_MEASURED.to_owned();
    }
    if ratio >= 10.0 {
        return format!("{ratio:.0}×");
    }
    let percent = (ratio - 1.0) * 100.0;
    let decimals = match ratio {
        r if r >= 2.0 => 0,
        // What little is left of it shows in the digits behind.
        r if r < 0.01 => 3,
        _ => 1,
    };
    format!("{percent:+.decimals$} %")
}

pub fn interval(ratio: Ratio) -> String {
    format!("{} … {}", change(ratio.low), change(ratio.high))
}

pub fn between(base: Option<f64>, run: Option<f64>) -> String {
    match (base, run) {
        (Some(base), Some(run)) if base == run => "=".to_owned(),
        (Some(base), Some(run)) if base > 0.0 && run >= 0.0 => change(run / base),
        _ => NOT_MEASURED.to_owned(),
    }
}

pub fn signed(ns: f64) -> String {
    let sign = if ns > 0.0 { "+" } else { "" };
    format!("{sign}{}", units::duration(ns))
}

pub fn time(ns: Option<f64>) -> String {
    ns.map_or_else(|| NOT_MEASURED.to_owned(), units::duration)
}

/// Counts of runs; a single number if they are equal.
pub fn counts(counts: &[u64]) -> String {
    let ends = (counts.iter().min(), counts.iter().max());
    match ends {
        (Some(least), Some(most)) if least == most => least.to_string(),
        (Some(least), Some(most)) => format!("{least} to {most}"),
        _ => NOT_MEASURED.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::change;

    #[test]
    fn changes_are_percent_and_large_ones_factors() {
        let shown = [1.052, 0.948, 3.06, 0.25, 1.0, 123.4, 0.000_2].map(change);
        assert_eq!(
            shown,
            [
                "+5.2 %",
                "-5.2 %",
                "+206 %",
                "-75.0 %",
                "+0.0 %",
                "123×",
                "-99.980 %"
            ]
        );
    }
}
