//! Calls on the critical path between the first and the last work of devices. What is before that is set-up.

use trueno_analysis::intervals::{IntervalSet, SaturatingSum};

use super::Options;
use crate::facts::Facts;
use crate::wording::quoted;

pub struct CallsBetween<'f> {
    pub calls: u64,
    /// Names with time on the path, longest first.
    pub names: Vec<&'f str>,
    pub path_ns: i64,
    pub times: IntervalSet<i64>,
}

impl<'f> CallsBetween<'f> {
    /// Returns `None` if there are fewer than `least_gaps` calls, none is on the path, or there is no device.
    pub fn find(facts: &'f Facts, options: &Options, is_of: impl Fn(&str) -> bool) -> Option<Self> {
        let spans = &facts.idle.spans;
        let first_ns = spans.iter().map(|span| span.1).min()?;
        let last_ns = spans.iter().map(|span| span.2).max()?;
        let all = facts.bricks.calls.iter().filter(|call| is_of(&call.0));
        let calls = all.clone().map(|call| call.1).fold(0, u64::saturating_add);
        if calls < options.gaps.least_gaps {
            return None;
        }
        let mut names: Vec<(i64, &str)> = all
            .map(|call| {
                let own = facts.path.work_between(&call.0, first_ns, last_ns);
                let own_ns = own.map(|piece| piece.dur_ns).saturating_sum();
                (own_ns, call.0.as_str())
            })
            .filter(|row| row.0 > 0)
            .collect();
        names.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(b.1)));
        let times = names.iter().flat_map(|(_, name)| {
            let own = facts.path.work_between(name, first_ns, last_ns);
            own.map(|piece| (piece.start_ns, piece.start_ns.saturating_add(piece.dur_ns)))
        });
        Some(Self {
            calls,
            times: times.collect(),
            path_ns: names.iter().map(|row| row.0).saturating_sum(),
            names: names.into_iter().map(|row| row.1).collect(),
        })
        .filter(|found| !found.names.is_empty())
    }

    pub fn sql(&self, facts: &Facts) -> String {
        let names: Vec<String> = self.names.iter().map(|name| quoted(name)).collect();
        format!(
            "SELECT id, name, thread, start_ns, dur_ns FROM calls WHERE name IN ({}){} ORDER BY dur_ns DESC",
            names.join(", "),
            facts.window.sql(" AND")
        )
    }
}
