//! Choice of the tables of a section that a brief page shows, and of their rows.
//!
//! The tables of a section have [`LINES`] lines; where one says what would be gained, [`LINES_WITH_GAINS`].
//! That one comes first, then tables that sum up in the plugin's order; a table
//! that lists single rows is shown only where there is no other. The first
//! is shown with the rows asked for; each after it with as many rows as there
//! are lines left, but not with fewer than [`MIN_ROWS`]. The first table that
//! does not fit ends it: it and those after it are named. So are tables of
//! sentences: the findings of their plugin say the same. Of verdicts that are all
//! good, how many there are of each is told and no row.

use std::collections::BTreeMap;

use trueno_plugin::Table;

const LINES: usize = 9;
const LINES_WITH_GAINS: usize = 19;
/// If a table has more rows, showing fewer than this says nothing.
const MIN_ROWS: usize = 3;
/// Columns of tables whose rows are single events. Their first rows are not the most important ones.
const OF_SINGLE_ROWS: [&str; 4] = ["id", "seq", "time_ns", "start_ns"];
/// Columns that repeat what findings say.
const SENTENCES: [&str; 2] = ["sentence", "missing"];
const VERDICT: &str = "verdict";
/// Verdicts for which a count is enough.
const FINE: [&str; 4] = ["pass", "not measurable", "no trend", "identical"];

/// Whether a table shows gains: what would be saved if something took less time.
pub fn tells_gains(table: &Table) -> bool {
    let gains = |name: &str| name.starts_with("gain_") && name.ends_with("_ns");
    table.rows() > 0 && !says_sentences(table) && table.columns().any(|(name, _)| gains(name))
}

/// Count of each verdict, the most frequent first; `None` if one needs attention.
fn verdicts(table: &Table) -> Option<String> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for verdict in table.text(VERDICT).ok()?.iter() {
        let verdict = verdict.filter(|verdict| FINE.contains(verdict))?;
        *counts.entry(verdict).or_default() += 1;
    }
    let mut counts: Vec<(&str, usize)> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let counts = counts
        .iter()
        .map(|(verdict, count)| format!("{count} {verdict}"));
    Some(counts.collect::<Vec<_>>().join(", "))
}

/// How the tables of a section are shown. Each table is in one of the four lists.
#[derive(Debug, Default)]
pub struct Choice<'a> {
    pub shown: Vec<(&'a Table, usize)>,
    pub told: Vec<(&'a Table, String)>,
    /// Tables that are only named.
    pub left_out: Vec<&'a Table>,
    pub empty: Vec<&'a Table>,
}

pub fn all(tables: &[Table], top: usize) -> Choice<'_> {
    let (empty, filled): (Vec<&Table>, Vec<&Table>) =
        tables.iter().partition(|table| table.rows() == 0);
    Choice {
        shown: filled.into_iter().map(|table| (table, top)).collect(),
        told: Vec::new(),
        left_out: Vec::new(),
        empty,
    }
}

/// Chooses as described in the module. `lines` returns the height of a table with a number of rows.
pub fn brief<'a>(
    tables: &'a [Table],
    top: usize,
    lines: impl Fn(&Table, usize) -> usize,
) -> Choice<'a> {
    let all = all(tables, top);
    let mut choice = Choice {
        empty: all.empty,
        ..Choice::default()
    };
    let mut order: Vec<&Table> = all.shown.into_iter().map(|(table, _)| table).collect();
    order.sort_by_key(|table| (!tells_gains(table), lists(table)));
    let mut left = match order.first() {
        Some(first) if tells_gains(first) => LINES_WITH_GAINS,
        _ => LINES,
    };
    let mut said = Vec::new();
    for table in order {
        if says_sentences(table) {
            said.push(table);
            continue;
        }
        if let Some(counts) = verdicts(table) {
            left = left.saturating_sub(1);
            choice.told.push((table, counts));
            continue;
        }
        let most = top.min(table.rows());
        // The last row takes no more room than to say that there is one more.
        let most = if most + 1 == table.rows() && top > 0 {
            most + 1
        } else {
            most
        };
        let rows = if choice.shown.is_empty() {
            Some(most)
        } else if choice.left_out.is_empty() && !lists(table) {
            let least = MIN_ROWS.min(most);
            (least..=most)
                .rev()
                .find(|rows| lines(table, *rows) <= left)
        } else {
            None
        };
        match rows {
            Some(rows) => {
                left = left.saturating_sub(lines(table, rows));
                choice.shown.push((table, rows));
            }
            None => choice.left_out.push(table),
        }
    }
    choice.left_out.splice(0..0, said);
    choice
}

fn says_sentences(table: &Table) -> bool {
    SENTENCES.iter().any(|name| table.column(name).is_ok())
}

fn lists(table: &Table) -> bool {
    OF_SINGLE_ROWS.iter().any(|name| table.column(name).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn table(name: &str, rows: usize, column: &str) -> Table {
        let rows = 0..rows as i64;
        Table::build(name).i64(column, rows).finish().unwrap()
    }

    fn names(tables: &[(&Table, usize)]) -> Vec<(String, usize)> {
        tables
            .iter()
            .map(|(table, rows)| (table.name().to_owned(), *rows))
            .collect()
    }

    #[test]
    fn sums_come_before_lists_and_the_rest_is_named() {
        let tables = [
            table("path", 5_000, "seq"),
            table("by_kind", 3, "dur_ns"),
            table("nothing", 0, "dur_ns"),
            table("by_name", 400, "dur_ns"),
            table("by_category", 4, "dur_ns"),
            table("by_iteration", 4, "start_ns"),
        ];
        let choice = brief(&tables, 10, |_, rows| rows + 1);
        assert_eq!(
            names(&choice.shown),
            [("by_kind".to_owned(), 3), ("by_name".to_owned(), 4)]
        );
        let left_out: Vec<&str> = choice.left_out.iter().map(|table| table.name()).collect();
        assert_eq!(left_out, ["by_category", "path", "by_iteration"]);
        assert_eq!(choice.empty[0].name(), "nothing");
    }

    #[test]
    fn the_first_table_has_the_rows_that_were_asked_for() {
        let tables = [table("a", 90, "dur_ns"), table("b", 1, "dur_ns")];
        let choice = brief(&tables, 50, |_, rows| rows + 3);
        assert_eq!(names(&choice.shown), [("a".to_owned(), 50)]);
        assert_eq!(choice.left_out.len(), 1);
    }

    #[test]
    fn what_would_be_gained_comes_first() {
        let tables = [
            table("by_kind", 6, "dur_ns"),
            table("opportunity", 40, "gain_50pct_ns"),
        ];
        let choice = brief(&tables, 7, |_, rows| rows + 3);
        let expected = [("opportunity".to_owned(), 7), ("by_kind".to_owned(), 6)];
        assert_eq!(names(&choice.shown), expected);
    }

    #[test]
    fn verdicts_are_counted_where_all_are_good() {
        let of = |verdicts: &[&str]| {
            let verdicts = verdicts.iter().copied();
            Table::build("checks")
                .text("verdict", verdicts)
                .finish()
                .unwrap()
        };
        let good = [of(&["not measurable", "pass", "pass"])];
        let choice = brief(&good, 10, |_, rows| rows + 3);
        assert_eq!(choice.told[0].1, "2 pass, 1 not measurable");
        assert!(choice.shown.is_empty() && choice.left_out.is_empty());
        let bad = [of(&["pass", "fail", "pass"])];
        let choice = brief(&bad, 10, |_, rows| rows + 3);
        assert_eq!(names(&choice.shown), [("checks".to_owned(), 3)]);
        assert!(choice.told.is_empty());
    }

    #[test]
    fn what_findings_say_is_not_said_again() {
        let tables = [
            Table::build("top")
                .text("sentence", ["it waits"])
                .finish()
                .unwrap(),
            table("idle", 1, "idle_ns"),
        ];
        let choice = brief(&tables, 10, |_, rows| rows + 3);
        assert_eq!(names(&choice.shown), [("idle".to_owned(), 1)]);
        assert_eq!(choice.left_out[0].name(), "top");
    }

    proptest! {
        #[test]
        fn no_table_is_lost_and_later_ones_keep_to_the_lines(
            sizes in proptest::collection::vec((0..30_usize, any::<bool>()), 0..12),
            top in 0..30_usize,
        ) {
            let tables: Vec<Table> = sizes
                .iter()
                .enumerate()
                .map(|(i, (rows, list))| table(&format!("t{i}"), *rows, if *list { "id" } else { "n" }))
                .collect();
            let choice = brief(&tables, top, |_, rows| rows + 3);
            let mut all: Vec<&str> = choice.shown.iter().map(|(table, _)| table.name()).collect();
            all.extend(choice.left_out.iter().chain(&choice.empty).map(|table| table.name()));
            all.sort_unstable();
            all.dedup();
            prop_assert_eq!(all.len(), tables.len());
            let lines: usize = choice.shown.iter().map(|(_, rows)| rows + 3).sum();
            if choice.shown.len() > 1 {
                prop_assert!(lines <= LINES, "{lines}");
            }
            // One row more where it is the last.
            prop_assert!(choice.shown.iter().all(|(table, rows)| *rows <= top.min(table.rows())
                || *rows == top + 1 && *rows == table.rows()));
            prop_assert_eq!(choice.shown.is_empty(), tables.iter().all(|table| table.rows() == 0));
        }
    }
}
