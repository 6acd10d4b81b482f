//! The reason why a query gave no rows.

use polars::error::PolarsError;

/// The reason why a query gave no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum QueryError {
    /// The query names a table that is not published.
    #[error("unknown table {name}{}", hint(nearest))]
    UnknownTable {
        /// The name as the query has it.
        name: String,
        /// Published names most like it, best first; may be empty.
        nearest: Vec<String>,
    },
    /// The query names a column that none of its tables has.
    #[error("unknown column {name}{}", columns_hint(nearest, columns))]
    UnknownColumn {
        /// The name as the query has it.
        name: String,
        /// Columns of the query's tables most like it, best first; may be empty.
        nearest: Vec<String>,
        /// All columns of the query's tables, sorted.
        columns: Vec<String>,
    },
    /// The text is not SQL, or asks for what the dialect does not have.
    #[error("the query cannot be planned: {0}")]
    Sql(String),
    /// Two columns of the answer have one name.
    #[error(
        "two columns of the answer are called {name} (hint: give each a name of its own, such as AVG({name}) AS mean)"
    )]
    SameNames {
        /// The name.
        name: String,
    },
    /// The query was planned, and failed while it ran.
    #[error("the query failed: {0}")]
    Failed(String),
}

fn hint(nearest: &[String]) -> String {
    if nearest.is_empty() {
        String::new()
    } else {
        format!(" (hint: did you mean {}?)", nearest.join(", "))
    }
}

fn columns_hint(nearest: &[String], columns: &[String]) -> String {
    if columns.is_empty() {
        return hint(nearest);
    }
    let guess = if nearest.is_empty() {
        String::new()
    } else {
        format!("did you mean {}? ", nearest.join(", "))
    };
    format!(" (hint: {guess}there are {})", columns.join(", "))
}

/// The name that two columns of an answer have.
pub(super) fn same_names(error: &PolarsError) -> Option<String> {
    match error {
        PolarsError::Context { error, .. } | PolarsError::ExprContext { error, .. } => {
            same_names(error)
        }
        PolarsError::Duplicate(text) => quoted(text).map(str::to_owned),
        _ => None,
    }
}

/// A name the engine found missing.
pub(super) enum Missing {
    Table(String),
    Column(String),
}

/// The name an engine's error is about, if it is about a name.
pub(super) fn missing(error: &PolarsError) -> Option<Missing> {
    match error {
        PolarsError::Context { error, .. } | PolarsError::ExprContext { error, .. } => {
            missing(error)
        }
        PolarsError::ColumnNotFound(text) | PolarsError::SchemaFieldNotFound(text) => {
            Some(Missing::Column(quoted(text).unwrap_or(text).to_owned()))
        }
        PolarsError::SQLInterface(text) => {
            let name = quoted(text)?.to_owned();
            if text.contains("relation '") && text.contains("was not found")
                || text.contains("no table or alias")
            {
                Some(Missing::Table(name))
            } else if text.contains("no column named")
                || text.contains("column") && text.contains("not found")
            {
                Some(Missing::Column(name))
            } else {
                None
            }
        }
        _ => None,
    }
}

/// The first part of a text that stands in quotes.
fn quoted(text: &str) -> Option<&str> {
    let from = text.find(['\'', '"', '`'])?;
    let rest = &text[from + 1..];
    rest.split(text[from..].chars().next()?)
        .next()
        .filter(|name| !name.is_empty())
}

/// The names most like `name`, three at most: those not further than a third of its length, then those
/// whose first word begins it, that it begins, or that contain it.
pub fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Vec<String> {
    let most = (name.chars().count() / 3).max(1);
    let lower = name.to_lowercase();
    let is_akin = |k: &str| {
        let first = k.split(['_', '.']).next().unwrap_or(k).to_lowercase();
        (first.len() >= 3 && lower.starts_with(&first))
            || (!lower.is_empty() && k.to_lowercase().contains(&lower))
    };
    let mut near: Vec<(bool, usize, &str)> = known
        .map(|k| (distance(name, k), k))
        .map(|(d, k)| (d > most, d, k))
        .filter(|&(is_far, _, k)| !is_far || is_akin(k))
        .collect();
    near.sort_unstable();
    near.dedup();
    near.into_iter()
        .take(3)
        .map(|(_, _, k)| k.to_owned())
        .collect()
}

/// Edit distance, letters without regard to case.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.to_lowercase().chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.to_lowercase().chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_come_best_first() {
        let known = ["dur_ns", "start_ns", "name", "name_id"];
        assert_eq!(nearest("durns", known.into_iter()), ["dur_ns"]);
        assert_eq!(nearest("nam", known.into_iter()), ["name", "name_id"]);
        assert!(nearest("qqqqqq", known.into_iter()).is_empty());
        let known = ["dur_ns", "iteration", "name", "start_ns", "timing"];
        assert_eq!(nearest("duration", known.into_iter()), ["dur_ns"]);
        assert_eq!(nearest("start", known.into_iter()), ["start_ns"]);
        assert!(nearest("time", known.into_iter()).is_empty());
        assert_eq!(
            nearest("time", ["name", "time_ns"].into_iter()),
            ["time_ns"]
        );
    }

    #[test]
    fn distance_counts_edits() {
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("ABC", "abc"), 0);
    }
}
