//! `span_count`: how many rows there may be, and must be.

use std::collections::BTreeSet;

use serde::Deserialize;
use trueno_engine::frame::Rows;
use trueno_engine::query::collect;
use trueno_plugin::counted;

use super::loss::Tables;
use super::outcome::Found;
use super::subject::Subject;
use super::types::{Condition, Declared, did_you_mean};
use trueno_analysis::name_pattern::matches;
use trueno_format::schema::{Table, interval_tables};
use trueno_host::plugin::Registry;

/// Number of rows in all or some interval tables whose names match.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SpanCount {
    max_spans: Option<u64>,
    min_spans: Option<u64>,
    span_name_pattern: Option<String>,
    tables: Option<Vec<String>>,
}

impl Declared for SpanCount {
    const WORDS: &[&str] = &["span_count"];
    const SHORT_FORM: Option<&str> = Some("max_spans");

    fn checked(self) -> Result<Self, String> {
        if self.max_spans.is_none() && self.min_spans.is_none() {
            return Err("it needs max_spans or min_spans".to_owned());
        }
        let known = |table: &&String| !interval_tables().any(|known| known.name == **table);
        match self.tables.iter().flatten().find(known) {
            Some(table) => {
                let known: Vec<&str> = interval_tables().map(|table| table.name).collect();
                Err(format!(
                    "unknown table {table:?} (hint: {})",
                    known.join(", ")
                ))
            }
            None => Ok(self),
        }
    }
}

/// Calls of the operating system without a duration are stored here by `trueno-import`. Budgets on calls count them
/// too.
const ANNOTATIONS: &str = "annotations";
const UNTIMED_CALLS: &str = " WHERE kind = 'instant' AND arguments LIKE '%\"kind\":\"syscall\"%'";

impl Condition for SpanCount {
    fn tables(&self, _: &Registry) -> Tables {
        Tables::from_names(self.counted().map(|(table, _)| table))
    }

    fn check(&self, subject: &Subject<'_>) -> Result<Found, String> {
        let pattern = self.span_name_pattern.as_deref();
        let limits = match (self.min_spans, self.max_spans) {
            (Some(min), Some(max)) => format!("{min} to {max} rows"),
            (Some(min), None) => format!("at least {}", counted(min, "row", "rows")),
            (_, max) => format!("at most {}", counted(max.unwrap_or(0), "row", "rows")),
        };
        let expected = match pattern {
            Some(pattern) => format!("{limits} named {pattern}"),
            None => limits,
        };
        let (mut count, mut any, mut most) = (0, 0, (0, String::new()));
        let mut others: BTreeSet<String> = BTreeSet::new();
        let mut searched = Vec::new();
        for (table, column) in self.counted() {
            let sql = format!(
                "SELECT {column}_id AS number, CAST({column} AS VARCHAR) AS name, COUNT(*) AS n \
                 FROM {table}{} GROUP BY {column}_id, {column}",
                if table == ANNOTATIONS {
                    UNTIMED_CALLS
                } else {
                    ""
                }
            );
            let frame = collect(&subject.database, &sql).map_err(|error| error.to_string())?;
            let rows = Rows::new(&frame);
            let names = rows.text("name").map_err(|error| error.to_string())?;
            let counts = rows.i64("n").map_err(|error| error.to_string())?;
            for (name, n) in names.iter().zip(counts.iter()) {
                let (name, n) = (
                    name.unwrap_or_default(),
                    n.unwrap_or(0).max(0).cast_unsigned(),
                );
                any += n;
                if pattern.is_none_or(|pattern| matches(pattern, name)) {
                    count += n;
                    // Of equal counts the last name, whatever the order of the engine's rows.
                    let shown = format!("{table} {name}");
                    if (n, &shown) > (most.0, &most.1) {
                        most = (n, shown);
                    }
                } else if count == 0 {
                    others.insert(name.to_owned());
                }
            }
            if table != ANNOTATIONS || frame.height() > 0 {
                searched.push(table);
            }
        }
        let place = searched.join(", ");
        if any == 0 {
            let why = "nothing of the kind was recorded";
            return Ok(Found::not_measurable(expected, why, place));
        }
        let too_many = self.max_spans.is_some_and(|max| count > max);
        let too_few = self.min_spans.is_some_and(|min| count < min);
        let has_no_match = count == 0 && pattern.is_some() && !self.allows_none();
        let actual = match most.0 {
            0 if has_no_match => format!(
                "0: no name matches the pattern{} (hint: max_spans = 0 or min_spans = 0 allows it)",
                did_you_mean(
                    pattern.unwrap_or_default(),
                    others.iter().map(String::as_str)
                )
            ),
            0 => "0".to_owned(),
            n => format!("{count}, {n} of them {}", most.1),
        };
        // Rows that are missing can only make it more.
        let is_certain = too_many || (!too_few && !has_no_match && self.max_spans.is_none());
        let holds = !too_many && !too_few && !has_no_match;
        Ok(Found::new(holds, expected, actual, place).certain(is_certain))
    }
}

impl SpanCount {
    fn allows_none(&self) -> bool {
        self.max_spans == Some(0) || self.min_spans == Some(0)
    }

    fn counted(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let counts = |table: &&Table| {
            let asked = self.tables.as_ref();
            asked.is_none_or(|all| all.iter().any(|name| name == table.name))
        };
        let tables = interval_tables().filter(counts);
        let intervals = tables.filter_map(|table| Some((table.name, table.label()?)));
        // They are calls: whoever asks for these means them too.
        let asked = self.tables.as_ref();
        let has_calls = asked.is_none_or(|all| all.iter().any(|name| name == "calls"));
        intervals.chain(has_calls.then_some((ANNOTATIONS, "name")))
    }
}
