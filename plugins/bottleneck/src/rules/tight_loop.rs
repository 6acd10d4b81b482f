//! Tight loop: calls so short and so many that the call overhead is the work.
//!
//! Evidence: a host name with at least `tight_calls` calls, the median at most `tight_ns`. Gain: its calls × the shortest of them
//! (the fixed part of a call cannot be longer), no more than the path would be shorter by without the name.

use trueno_analysis::evidence::Evidence;
use trueno_analysis::vendors;

use super::draft::Draft;
use super::{Options, Rule};
use crate::class::Class;
use crate::facts::{Facts, Without};
use crate::options::thresholds;
use crate::verdict::{Confidence, Verdicts};
use crate::wording::{count, short, time};

pub const CLASS: Class =
    Class::new("tight_loop", 12).explaining(&["launch_bound", "small_batches"]);

thresholds! {
    pub struct TightLoop {
        tight_calls: u64 = 10_000,
        /// A call is very short if the median is at most this.
        tight_ns: i64 = 2_000,
    }
}

impl Rule for TightLoop {
    fn classes(&self) -> &'static [Class] {
        &[CLASS]
    }

    fn judge(&self, facts: &Facts, options: &Options, verdicts: &mut Verdicts) {
        for row in &facts.bricks.names {
            let is_kind = matches!(
                row.kind.as_str(),
                "brick" | "function" | "kernel" | "call" | "task"
            );
            if row.lane_kind != "host"
                || !is_kind
                || (row.kind == "call" && vendors::call(&row.name).is_some())
            {
                continue;
            }
            let (Some(min_ns), Some(median_ns)) = (row.min_ns, row.median_ns) else {
                continue;
            };
            // Ranks call side by side.
            let calls = facts.window.per_rank(row.calls);
            if calls < self.tight_calls || median_ns > self.tight_ns {
                continue;
            }
            let table = match row.kind.as_str() {
                "kernel" => "kernels",
                "call" => "calls",
                _ => "bricks",
            };
            // Where the clock is too coarse for the shortest call, half of the median is the best bound there is.
            let each = min_ns.max(median_ns / 2);
            let gain_ns = (each * calls as i64).min(facts.path.gain_ns(&row.name, 1.0));
            let cost = facts.window.cost_ns_per_span.map_or(String::new(), |cost| {
                format!("; {cost:.0} ns of each call are the recorder's own cost")
            });
            Draft {
            class: CLASS,
            code: "tight_loop",
            scope_kind: "brick",
            scope: row.name.clone(),
            place: "host".into(),
            confidence: (Confidence::Medium, "calls and their times are recorded; only a bound is known for the fixed part of a call".into()),
            lead: format!("{} is called {} times for {} each", short(&row.name), count(row.calls), time(median_ns)),
            fix: "batching the calls".into(),
            evidence: format!(
                "SELECT COUNT(*) AS calls, SUM(dur_ns) AS dur_ns, MIN(dur_ns) AS min_ns, MEDIAN(dur_ns) AS median_ns FROM {table} WHERE {}{}",
                facts.name_groups.condition(&row.name),
                facts.window.sql(" AND")
            ),
            assumption: format!("each call has {} of fixed cost, which a batched call pays once", time(each)),
            considered: format!("{}{} at the median: a call with real work would take longer{cost}", row.inclusive_ns.map_or(String::new(), |ns| format!("{} in all, ", time(ns))), time(median_ns)),
            suggestion: "move the loop into the call: pass a slice, a batch or a range".into(),
        }
        .during_calls(facts, &row.name)
        .with_gain(facts, options, Evidence::new(calls, each.saturating_mul(calls as i64)), (gain_ns, Without::Names(vec![&row.name])), verdicts);
        }
    }
}
