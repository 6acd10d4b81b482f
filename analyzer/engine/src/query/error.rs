//! The reason why a query gave no rows.

use polars::prelude::PolarsError;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum QueryError {
    #[error("unknown table {name}{}", hint(nearest))]
    UnknownTable {
        name: String,
        /// Similar published names, best first; may be empty.
        nearest: Vec<String>,
    },
    #[error("unknown column {name}{}", columns_hint(nearest, columns))]
    UnknownColumn {
        name: String,
        /// Similar columns of the query's tables, best first; may be empty.
        nearest: Vec<String>,
        columns: Vec<String>,
    },
    #[error("the query cannot be planned: {0}")]
    Sql(String),
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

/// Up to three names similar to `name`: first those within an edit distance of a third of its length, then those
/// whose first word is a prefix of it, that it is a prefix of, or that contain it.
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

/// The engine appends whole plans to its messages, so only the first line is kept. For errors in regular
/// expressions the reason is in the last line.
pub(super) fn first_line(error: &PolarsError) -> String {
    let text = error.to_string();
    let why = text.lines().find_map(|line| line.strip_prefix("error: "));
    let first = text.lines().next().unwrap_or_default();
    match why.filter(|_| text.contains("regex")) {
        Some(why) => format!("{first} {why}"),
        None => first.to_owned(),
    }
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
