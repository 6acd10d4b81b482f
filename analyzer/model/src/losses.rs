//! What a run lacks of all that happened.

use std::collections::BTreeMap;

use crate::{IMPORT_LEFT_OUT, Level, Problem, RunFacts, RunState, TableFacts};

/// Problems that are also part of the counts of a table.
const COUNTED: [&str; 3] = ["segment_damaged", "rows_lost", "keys_beyond"];

/// Problems below `Error` that cost rows.
const ROWS_MISSING: [&str; 4] = [
    "rank_missing",
    "ranks_not_read",
    "latest_events_missing",
    IMPORT_LEFT_OUT,
];

/// Problems about the end of a recording.
const ENDS: [&str; 2] = ["unclean_end", "recording"];

/// Rows that a run lacks, as text.
///
/// The end is kept separate. If nothing else is missing, all rows that ended before it are there, and a limit
/// exceeded by then stays exceeded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Losses {
    rows: Vec<String>,
    /// How the recording ended, unless it ended cleanly.
    end: Option<String>,
}

impl Losses {
    /// Losses of a run that affect some tables; `None` if nothing is known to be missing.
    pub fn find(
        facts: &RunFacts,
        problems: &[Problem],
        concerns: &dyn Fn(&str) -> bool,
    ) -> Option<Self> {
        let tables = facts.tables.iter().filter(|table| concerns(&table.name));
        let mut rows: Vec<String> = tables.flat_map(missing_rows).collect();
        // Of which tables these would have been is not recorded.
        let known = facts.tables.iter().filter_map(|table| table.dropped);
        let known = known.fold(0, u64::saturating_add);
        let unknown = facts.dropped.unwrap_or(0).saturating_sub(known);
        if unknown > 0 {
            rows.push(format!("{unknown} dropped at recording"));
        }
        if facts.open > 0 {
            rows.push(format!("{} still open at the end", facts.open));
        }
        let mut texts: BTreeMap<&str, &str> = BTreeMap::new();
        for problem in problems {
            let costs_rows = problem.severity == Level::Error
                && !COUNTED.contains(&problem.code.as_ref())
                || ROWS_MISSING.contains(&problem.code.as_ref());
            if costs_rows {
                texts.entry(&problem.code).or_insert(&problem.text);
            }
        }
        rows.extend(texts.into_values().map(str::to_owned));
        let end = end(facts, problems);
        // Drops are counted in memory that a killed recorder may not have left.
        if end.is_some() && facts.dropped.is_none() {
            rows.push("how many were dropped is not known".to_owned());
        }
        (!rows.is_empty() || end.is_some()).then_some(Self { rows, end })
    }

    /// Whether only rows after the end of the recording are missing.
    pub fn is_end_only(&self) -> bool {
        self.rows.is_empty()
    }

    /// Text for a sentence. `called` names the run, such as `the golden run`.
    pub fn words(&self, called: &str) -> String {
        let mut parts = Vec::new();
        if !self.rows.is_empty() {
            parts.push(format!(
                "rows are missing from {called}: {}",
                self.rows.join(", ")
            ));
        }
        parts.extend(
            self.end
                .iter()
                .map(|end| format!("the end of {called} is missing: {end}")),
        );
        parts.join("; ")
    }
}

fn end(facts: &RunFacts, problems: &[Problem]) -> Option<String> {
    if facts.clean_end {
        return None;
    }
    let mut all = problems.iter();
    let end = all.find(|problem| ENDS.contains(&problem.code.as_ref()));
    Some(match (end, facts.state) {
        (Some(problem), _) => {
            let text = problem.text.as_str();
            text.strip_prefix("unclean end: ")
                .unwrap_or(text)
                .to_owned()
        }
        (None, RunState::Finished) => "a segment was never closed".to_owned(),
        (None, state) => format!("its state is {}", state.as_str()),
    })
}

fn missing_rows(table: &TableFacts) -> Vec<String> {
    let mut found = Vec::new();
    match (table.rows_lost, table.rows_expected) {
        (Some(0), _) => {}
        (Some(lost), Some(all)) => found.push(format!("{} {lost} of {all} lost", table.name)),
        (Some(lost), None) => found.push(format!("{} {lost} lost", table.name)),
        (None, _) => found.push(format!(
            "{} damaged, how many rows it lost is not known",
            table.name
        )),
    }
    if let Some(dropped) = table.dropped.filter(|rows| *rows > 0) {
        found.push(format!("{} {dropped} dropped at recording", table.name));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_are_named_and_counted() {
        let table = |lost, dropped| TableFacts {
            name: "bricks".into(),
            rows_expected: Some(9),
            rows_lost: lost,
            dropped,
            ..TableFacts::default()
        };
        assert!(missing_rows(&table(Some(0), Some(0))).is_empty());
        assert!(missing_rows(&table(Some(0), None)).is_empty());
        assert_eq!(
            missing_rows(&table(Some(4), Some(2))),
            ["bricks 4 of 9 lost", "bricks 2 dropped at recording"]
        );
        assert_eq!(
            missing_rows(&table(None, None)),
            ["bricks damaged, how many rows it lost is not known"]
        );
    }

    #[test]
    fn the_end_is_one_loss_and_rows_are_another() {
        let losses = |rows: &[&str], end: Option<&str>| Losses {
            rows: rows.iter().map(|text| (*text).to_owned()).collect(),
            end: end.map(str::to_owned),
        };
        let killed = losses(&[], Some("process 7 is gone"));
        assert!(killed.is_end_only());
        assert_eq!(
            killed.words("the run"),
            "the end of the run is missing: process 7 is gone"
        );
        let both = losses(&["calls 3 lost"], Some("process 7 is gone"));
        assert!(!both.is_end_only());
        assert_eq!(
            both.words("it"),
            "rows are missing from it: calls 3 lost; the end of it is missing: process 7 is gone"
        );
    }
}
