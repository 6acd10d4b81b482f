//! TEMPLATE: what this plugin tells, in one line.

use std::collections::BTreeMap;

use serde::Deserialize;
use trueno_plugin::{Error, Finding, Input, Plugin, Result, Run, Severity, Table, export};

// TEMPLATE: the name of the plugin, here and in export! below.
struct Template;

// TEMPLATE: what the user may set; `type Options = ();` when there is nothing.
#[derive(Deserialize)]
#[serde(default)]
struct Options {
    /// A name with at least this share of all time gets a finding.
    min_share: f64,
}

impl Default for Options {
    fn default() -> Self {
        Self { min_share: 0.5 }
    }
}

impl Plugin for Template {
    // TEMPLATE: id and summary.
    const ID: &'static str = "template";
    const SUMMARY: &'static str = "How long each name took.";
    // TEMPLATE: the tables you need, as queries.
    const INPUTS: &'static [Input] = &[Input::sql(
        "bricks",
        "SELECT name, dur_ns FROM bricks WHERE kind = 'brick' AND timing <> 'bound'",
    )];
    type Options = Options;

    // TEMPLATE: the analysis.
    fn run(run: &mut Run, options: Options) -> Result<()> {
        let bricks = run.table("bricks")?;
        let (name, dur_ns) = (bricks.text("name")?, bricks.i64("dur_ns")?);
        let mut total_ns: BTreeMap<&str, i64> = BTreeMap::new();
        for row in 0..bricks.rows() {
            // What was not measured is null, and in no sum.
            let (Some(name), Some(ns)) = (name.get(row), dur_ns.get(row)) else {
                continue;
            };
            let total = total_ns.entry(name).or_default();
            *total = add(*total, ns)?;
        }
        let all_ns = total_ns.values().try_fold(0, |all, ns| add(all, *ns))?;
        let share = |ns: i64| (all_ns > 0).then(|| ns as f64 / all_ns as f64);
        for (name, ns) in &total_ns {
            if let Some(share) = share(*ns).filter(|share| *share >= options.min_share) {
                let title = format!("{name} takes {:.0} % of the time in bricks", share * 100.0);
                run.finding(Finding::new("dominant", Severity::Info, title))?;
            }
        }
        run.emit(
            Table::build("by_name")
                .text("name", total_ns.keys())
                .i64("total_ns", total_ns.values())
                .f64("brick_share", total_ns.values().map(|ns| share(*ns))),
        )
    }
}

fn add(a: i64, b: i64) -> Result<i64> {
    let too_long = || Error::bad_input("the times add up to more than 2^63 ns");
    a.checked_add(b).ok_or_else(too_long)
}

export!(Template);

#[cfg(test)]
mod tests {
    use trueno_plugin::testing;

    use super::*;

    #[test]
    fn time_is_summed_by_name() {
        let bricks = Table::build("bricks")
            .text("name", ["norm", "ffn", "norm"])
            .i64("dur_ns", [10, 60, 30]);
        let output = testing::run::<Template>([bricks], "{}").unwrap();
        assert_eq!(
            output.table("by_name").to_string(),
            "name  total_ns  brick_share\n\
             ffn         60          0.6\n\
             norm        40          0.4\n"
        );
        assert_eq!(
            output.finding("dominant").unwrap().title,
            "ffn takes 60 % of the time in bricks"
        );
    }
}
