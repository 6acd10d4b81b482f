//! Source of an export's tables, whatever its form.

use std::borrow::Cow;

use crate::Error;

/// One value of a row.
#[derive(Clone, Debug, PartialEq)]
pub enum Value<'a> {
    Null,
    Int(i64),
    /// A floating-point number.
    Real(f64),
    /// A text; what was not UTF-8 is replaced.
    Text(Cow<'a, str>),
    Blob(Cow<'a, [u8]>),
}

/// A selection of a table's columns: rows come in order of the first column, then downwards of the second,
/// then as they are stored. A column that is `None` is null in each row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scan {
    pub table: String,
    /// Its columns, of those that are there.
    pub columns: Vec<Option<String>>,
}

impl Scan {
    /// All rows of some columns, which are there.
    pub(crate) fn new(table: &str, columns: &[&str]) -> Self {
        Self {
            table: table.to_owned(),
            columns: columns
                .iter()
                .map(|name| Some((*name).to_owned()))
                .collect(),
        }
    }
}

/// Bytes of a text at most, which is cut behind them; names are much shorter.
pub const MAX_TEXT: usize = 1 << 14;

/// A time in nanoseconds that no clock shows: 146 years. What lies beyond is damage.
pub(crate) const LATEST_NS: i64 = i64::MAX / 2;

/// True where the times of a row count for [`Source::earliest`].
pub fn is_timed(start_ns: i64, end_ns: Option<i64>) -> bool {
    let was_timed = (start_ns, end_ns) != (0, Some(0));
    let is_near = start_ns > -2 * LATEST_NS && start_ns < 2 * LATEST_NS;
    let dur_ns = end_ns.map(|end_ns| end_ns.checked_sub(start_ns));
    let is_forward = dur_ns.is_none_or(|ns| ns.is_some_and(|ns| (0..=LATEST_NS).contains(&ns)));
    was_timed && is_near && is_forward
}

/// A function that takes rows: the number of the scan, and its values.
pub type Visit<'v> = dyn FnMut(usize, &[Value<'_>]) -> Result<(), Error> + 'v;

/// End of the message that texts of a table were cut; no row is lost then.
pub const TEXTS_CUT: &str = "very long texts were cut";

/// The tables of an export.
pub trait Source {
    /// Names of all tables, sorted.
    fn tables(&self) -> Vec<String>;

    /// Columns of a table; `None` where it is not there.
    fn columns(&self, table: &str) -> Option<&[String]>;

    /// True where a table is there with all of some columns.
    fn has_columns(&self, table: &str, columns: &[&str]) -> bool {
        let there = self.columns(table);
        there.is_some_and(|there| columns.iter().all(|name| there.iter().any(|c| c == name)))
    }

    /// About how many rows it has.
    fn rows(&self, table: &str) -> u64;

    /// The smallest integer of the column `start`, and what is damaged. Rows do not count that were
    /// not timed (0 there and in `end`), end before they start, or lie further off than clocks go:
    /// one bad row would move all others.
    ///
    /// # Errors
    /// Not for damage.
    fn earliest(
        &mut self,
        table: &str,
        start: &str,
        end: Option<&str>,
    ) -> Result<(Option<i64>, Vec<String>), Error>;

    /// Visits start and end of the rows of a table, in any order: of those that [`is_timed`]. Returns what is damaged.
    ///
    /// # Errors
    /// What makes reading on impossible.
    fn times(
        &mut self,
        table: &str,
        start: &str,
        end: Option<&str>,
        visit: &mut dyn FnMut(i64, i64),
    ) -> Result<Vec<String>, Error> {
        let scan = Scan {
            table: table.to_owned(),
            columns: vec![Some(start.to_owned()), end.map(str::to_owned)],
        };
        self.merged(&[scan], &mut |_, values| {
            let int = |at: usize| match values.get(at) {
                Some(Value::Int(value)) => Some(*value),
                _ => None,
            };
            if let Some(start_ns) = int(0).filter(|start_ns| is_timed(*start_ns, int(1))) {
                visit(start_ns, int(1).unwrap_or(start_ns));
            }
            Ok(())
        })
    }

    /// Visits the rows of all scans, merged by their first column; of equals, the scan that
    /// stands first. Returns what is damaged: its rows are left out, all others come.
    ///
    /// # Errors
    /// Those of `visit`, and what makes reading on impossible.
    fn merged(&mut self, scans: &[Scan], visit: &mut Visit<'_>) -> Result<Vec<String>, Error>;
}
