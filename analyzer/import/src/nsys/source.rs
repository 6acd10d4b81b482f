//! Source of an export's tables, whatever its form.

use std::borrow::Cow;

use crate::Error;

#[derive(Clone, Debug, PartialEq)]
pub enum Value<'a> {
    Null,
    Int(i64),
    Real(f64),
    /// Invalid UTF-8 is replaced.
    Text(Cow<'a, str>),
    Blob(Cow<'a, [u8]>),
}

/// A selection of a table's columns. Rows come in ascending order of the first column, then descending of the
/// second, then as stored. A column that is `None` is null in each row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scan {
    pub table: String,
    /// `None` for columns that the table lacks.
    pub columns: Vec<Option<String>>,
}

impl Scan {
    /// All rows with these columns, which must exist.
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

/// The columns of a table with the times of its rows, and which rows count.
#[derive(Clone, Copy, Debug)]
pub struct Times<'c> {
    pub start: &'c str,
    /// `None` where the rows are moments, or the table lacks it.
    pub end: Option<&'c str>,
    /// Rows count whose integer in this column is one of these, or null. `None`: all rows.
    pub only: Option<(&'c str, &'c [i64])>,
}

impl Times<'_> {
    /// Whether a row with this value in the column of `only` counts.
    pub fn counts(&self, value: Option<&Value<'_>>) -> bool {
        self.only.is_none_or(|(_, numbers)| match value {
            Some(Value::Int(number)) => numbers.contains(number),
            Some(Value::Null) | None => true,
            Some(_) => false,
        })
    }
}

/// Longer texts are cut to this many bytes; names are much shorter.
pub const MAX_TEXT: usize = 1 << 14;

/// 146 years in nanoseconds. Times beyond this are damage.
pub(crate) const LATEST_NS: i64 = i64::MAX / 2;

/// True if a row was timed (not 0 in both columns), does not end before it starts, and has plausible times.
pub fn is_timed(start_ns: i64, end_ns: Option<i64>) -> bool {
    let was_timed = (start_ns, end_ns) != (0, Some(0));
    let is_near = start_ns > -2 * LATEST_NS && start_ns < 2 * LATEST_NS;
    let dur_ns = end_ns.map(|end_ns| end_ns.checked_sub(start_ns));
    let is_forward = dur_ns.is_none_or(|ns| ns.is_some_and(|ns| (0..=LATEST_NS).contains(&ns)));
    was_timed && is_near && is_forward
}

pub type Visit<'v> = dyn FnMut(usize, &[Value<'_>]) -> Result<(), Error> + 'v;

/// End of the message about cut texts, which lose no row.
pub const TEXTS_CUT: &str = "very long texts were cut";

pub trait Source {
    /// Names of all tables, sorted.
    fn tables(&self) -> Vec<String>;

    fn columns(&self, table: &str) -> Option<&[String]>;

    fn has_columns(&self, table: &str, columns: &[&str]) -> bool {
        let there = self.columns(table);
        there.is_some_and(|there| columns.iter().all(|name| there.iter().any(|c| c == name)))
    }

    fn rows(&self, table: &str) -> u64;

    /// The smallest integer of the column `start`, and the damage found. Considers only rows that [`is_timed`]
    /// accepts, because one bad row would shift all others.
    ///
    /// # Errors
    /// Not for damage.
    fn earliest(
        &mut self,
        table: &str,
        start: &str,
        end: Option<&str>,
    ) -> Result<(Option<i64>, Vec<String>), Error>;

    /// Visits start and end of a table's rows that count, in any order, if they are timed ([`is_timed`]). Returns the
    /// damage found.
    ///
    /// # Errors
    /// Reading cannot continue.
    fn times(
        &mut self,
        table: &str,
        times: Times<'_>,
        visit: &mut dyn FnMut(i64, i64),
    ) -> Result<Vec<String>, Error> {
        let only = times.only.map(|(column, _)| column.to_owned());
        let scan = Scan {
            table: table.to_owned(),
            columns: vec![
                Some(times.start.to_owned()),
                times.end.map(str::to_owned),
                only,
            ],
        };
        self.merged(&[scan], &mut |_, values| {
            let int = |at: usize| match values.get(at) {
                Some(Value::Int(value)) => Some(*value),
                _ => None,
            };
            let start_ns = int(0).filter(|start_ns| is_timed(*start_ns, int(1)));
            if let Some(start_ns) = start_ns.filter(|_| times.counts(values.get(2))) {
                visit(start_ns, int(1).unwrap_or(start_ns));
            }
            Ok(())
        })
    }

    /// Visits the rows of all scans, merged by their first column; on ties, in the order of the scans. Returns
    /// the damage found: damaged rows are left out, all others are visited.
    ///
    /// # Errors
    /// Those of `visit`, and if reading cannot continue.
    fn merged(&mut self, scans: &[Scan], visit: &mut Visit<'_>) -> Result<Vec<String>, Error>;
}
