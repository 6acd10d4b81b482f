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

/// A name and its pieces of the path.
type Pieces<'f> = (&'f str, Vec<(i64, i64)>);

impl<'f> CallsBetween<'f> {
    /// Returns `None` if there are fewer than `least_gaps` calls, none is on the path, or there is no device.
    pub fn find(facts: &'f Facts, options: &Options, is_of: impl Fn(&str) -> bool) -> Option<Self> {
        let (calls, pieces) = pieces(facts, options, is_of)?;
        Self::of(calls, pieces)
    }

    /// The same without calls that are single events: each took as long as all shorter ones of its name together.
    pub fn find_recurring(
        facts: &'f Facts,
        options: &Options,
        is_of: impl Fn(&str) -> bool,
    ) -> Option<Self> {
        let (calls, mut pieces) = pieces(facts, options, is_of)?;
        for (_, of_name) in &mut pieces {
            of_name.sort_by_key(|piece| (length_ns(piece), piece.0));
            let mut rest_ns = sum_ns(of_name);
            while let Some(longest) = of_name.last() {
                rest_ns = rest_ns.saturating_sub(length_ns(longest));
                if length_ns(longest) < rest_ns || of_name.len() == 1 {
                    break;
                }
                of_name.pop();
            }
        }
        Self::of(calls, pieces)
    }

    fn of(calls: u64, pieces: Vec<Pieces<'f>>) -> Option<Self> {
        let mut names: Vec<(i64, &str)> = pieces
            .iter()
            .map(|(name, of_name)| (sum_ns(of_name), *name))
            .filter(|row| row.0 > 0)
            .collect();
        names.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(b.1)));
        (!names.is_empty()).then(|| Self {
            calls,
            times: pieces
                .into_iter()
                .flat_map(|(_, of_name)| of_name)
                .collect(),
            path_ns: names.iter().map(|row| row.0).saturating_sum(),
            names: names.into_iter().map(|row| row.1).collect(),
        })
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

/// Number of the calls that `is_of` accepts, and their pieces of the path between the first and the last device work.
fn pieces<'f>(
    facts: &'f Facts,
    options: &Options,
    is_of: impl Fn(&str) -> bool,
) -> Option<(u64, Vec<Pieces<'f>>)> {
    let spans = &facts.idle.spans;
    let first_ns = spans.iter().map(|span| span.1).min()?;
    let last_ns = spans.iter().map(|span| span.2).max()?;
    let all = facts.bricks.calls.iter().filter(|call| is_of(&call.0));
    let calls = all.clone().map(|call| call.1).fold(0, u64::saturating_add);
    if calls < options.gaps.least_gaps {
        return None;
    }
    let pieces = all.map(|call| {
        let own = facts.path.work_between(&call.0, first_ns, last_ns);
        let own = own.map(|piece| (piece.start_ns, piece.start_ns.saturating_add(piece.dur_ns)));
        (call.0.as_str(), own.collect())
    });
    Some((calls, pieces.collect()))
}

fn length_ns(piece: &(i64, i64)) -> i64 {
    piece.1.saturating_sub(piece.0)
}

fn sum_ns(pieces: &[(i64, i64)]) -> i64 {
    pieces.iter().map(length_ns).saturating_sum()
}
