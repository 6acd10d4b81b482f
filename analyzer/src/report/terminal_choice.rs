//! Which tables of a section a brief page shows, and how many rows of each.
//!
//! The tables of a section have [`LINES`] lines. Tables that sum up come
//! before tables that list single rows, both in the plugin's order. The first
//! is shown with the rows asked for; each after it with as many rows as there
//! are lines left, but not with fewer than [`LEAST_ROWS`], nor a list with more
//! than [`LISTED_ROWS`]. The first table that
//! does not fit ends it: it and those after it are named. So are tables of
//! sentences: the findings of their plugin say the same.

use trueno_plugin::Table;

/// Lines the tables of one section may take.
const LINES: usize = 20;
/// Fewer rows say nothing, where the table has more.
const LEAST_ROWS: usize = 3;
/// Rows of a table that lists single rows, where it is not the first.
const LISTED_ROWS: usize = 5;
/// Columns of tables whose rows are single events or moments: their first rows are not their most important.
const OF_SINGLE_ROWS: [&str; 4] = ["id", "seq", "time_ns", "start_ns"];
/// What a finding says, as a column.
const SENTENCE: &str = "sentence";

/// What becomes of the tables of a section. Each is in one of the three.
#[derive(Debug, Default)]
pub struct Choice<'a> {
    /// To be shown, with so many rows.
    pub shown: Vec<(&'a Table, usize)>,
    /// To be named.
    pub left_out: Vec<&'a Table>,
    /// Without a row.
    pub empty: Vec<&'a Table>,
}

/// All tables that have rows, in the plugin's order.
pub fn all(tables: &[Table], top: usize) -> Choice<'_> {
    let (empty, filled): (Vec<&Table>, Vec<&Table>) =
        tables.iter().partition(|table| table.rows() == 0);
    Choice {
        shown: filled.into_iter().map(|table| (table, top)).collect(),
        left_out: Vec::new(),
        empty,
    }
}

/// See the module. `lines` says how many lines a table takes with so many rows.
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
    let (listing, summing): (Vec<_>, Vec<_>) =
        all.shown.into_iter().partition(|(table, _)| lists(table));
    let mut left = LINES;
    let mut said = Vec::new();
    for (table, _) in summing.into_iter().chain(listing) {
        let most = top.min(table.rows());
        let most = if lists(table) && !choice.shown.is_empty() {
            most.min(LISTED_ROWS)
        } else {
            most
        };
        let rows = if table.column(SENTENCE).is_ok() {
            said.push(table);
            continue;
        } else if choice.shown.is_empty() {
            Some(most)
        } else if choice.left_out.is_empty() {
            let least = LEAST_ROWS.min(most);
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
            table("by_kind", 6, "dur_ns"),
            table("nothing", 0, "dur_ns"),
            table("by_name", 400, "dur_ns"),
            table("by_category", 4, "dur_ns"),
            table("by_iteration", 4, "start_ns"),
        ];
        // A title, headings, and what the rest amounts to.
        let choice = brief(&tables, 10, |_, rows| rows + 3);
        assert_eq!(
            names(&choice.shown),
            [("by_kind".to_owned(), 6), ("by_name".to_owned(), 8)]
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
            prop_assert!(choice.shown.iter().all(|(table, rows)| *rows <= top.min(table.rows())));
            prop_assert_eq!(choice.shown.is_empty(), tables.iter().all(|table| table.rows() == 0));
        }
    }
}
