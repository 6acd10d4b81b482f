//! Rows of one table on their way into a batch, column by column.
//!
//! Most columns of most batches hold one value all through. A value is stored only from the
//! first one on that differs: until then the column is its first value and the count of rows.

mod likeness;

pub use likeness::RowsLikeLast;

use crate::mapping::Mapping;
use crate::schema::{CellSink, Table, TableRow};
use crate::segment::{BATCH_ROWS, BatchView, Cells};
use crate::waiting_rows::{COLUMN_STRIDE, FIRST_WORDS, RowOrigin, WaitingRows};

/// Up to [`BATCH_ROWS`] rows of a table. Every value is 64 bits, whatever its type; a text is
/// the number of its name.
///
/// The last column is not of the table: it has a bit for every cell of the row that is there.
pub struct Columns {
    table: &'static Table,
    rows: usize,
    origin: RowOrigin,
    /// A bit for each column with a value per row, in the waiting rows' `values`. All others have the same
    /// value, `first`, in every row.
    varies: u64,
    waiting: WaitingRows,
}

/// A row being filled, left to right in the order of the schema.
pub(crate) struct Row<'a> {
    next: usize,
    at: usize,
    present: u64,
    varies: u64,
    first: &'a mut [u64; FIRST_WORDS],
    values: &'a mut [u64],
}

impl Columns {
    /// Without rows, in zeroed memory of [`WaitingRows::bytes`].
    pub fn new(table: &'static Table, memory: Mapping) -> Self {
        debug_assert!(
            table.columns.len() < FIRST_WORDS,
            "a table has too many columns"
        );
        Self {
            table,
            rows: 0,
            origin: RowOrigin::OWN,
            varies: 0,
            waiting: WaitingRows::new(table, memory),
        }
    }

    /// Without rows, in memory that ends with the process. `None`: there is none.
    pub fn anonymous(table: &'static Table) -> Option<Self> {
        let memory = Mapping::unpopulated(WaitingRows::bytes(table)).ok()?;
        Some(Self::new(table, memory))
    }

    /// The rows that follow come from there.
    #[inline(always)]
    pub fn set_origin(&mut self, origin: RowOrigin) {
        self.origin = origin;
    }

    #[inline]
    pub(crate) fn origin(&self) -> RowOrigin {
        self.origin
    }

    #[cfg(test)]
    pub(crate) fn origin_of(&self, row: usize) -> RowOrigin {
        self.waiting.origin_of(row)
    }

    #[inline]
    pub(crate) fn room(&self) -> usize {
        BATCH_ROWS - self.rows
    }

    /// Rows that wait.
    #[inline]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Adds a row. There must be room.
    #[inline(always)]
    pub fn push<R: TableRow>(&mut self, row: &R) {
        debug_assert_eq!(self.table.name, R::TABLE.schema().name);
        // No closure here: one would be compiled out of line, with the whole row in memory.
        let mut cells = self.begin_row();
        row.put_into(&mut cells);
        let end = cells.end();
        self.end_row(end);
    }

    /// Adds a row of the writer's own.
    pub fn push_own<R: TableRow>(&mut self, row: &R) {
        self.set_origin(RowOrigin::OWN);
        self.push(row);
    }

    /// Adds a row that the writer itself creates. `fill` must set every cell, and there must be room.
    pub(crate) fn fill_own_row(&mut self, fill: impl FnOnce(&mut Row<'_>)) {
        self.set_origin(RowOrigin::OWN);
        let mut cells = self.begin_row();
        fill(&mut cells);
        let end = cells.end();
        self.end_row(end);
    }

    #[inline(always)]
    fn begin_row(&mut self) -> Row<'_> {
        let (first, values) = self.waiting.split();
        Row {
            next: 0,
            at: self.rows & (BATCH_ROWS - 1),
            present: 0,
            varies: self.varies,
            first,
            values,
        }
    }

    #[inline(always)]
    fn end_row(&mut self, (cells, varies): (usize, u64)) {
        debug_assert_eq!(
            cells,
            self.table.columns.len(),
            "a row has as many cells as its table columns"
        );
        if varies != self.varies {
            self.set_varies(varies);
        }
        // Last: from now on the row is one.
        self.waiting.set_origin(self.rows, self.origin);
        self.rows += 1;
    }

    #[cold]
    fn set_varies(&mut self, varies: u64) {
        self.varies = varies;
        self.waiting.set_varies(varies);
    }

    /// Forgets the rows; whether they were written is kept with them.
    pub fn clear(&mut self, written: bool) {
        self.waiting.clear(self.rows, written);
        let mut varies = self.varies;
        // What varied will most likely vary again; a column that did not is taken as constant.
        for column in 0..=self.table.columns.len() {
            if let Cells::Each(values) = self.cells(column)
                && let Some(first) = values.first().copied()
                && values.iter().all(|value| *value == first)
            {
                varies &= !(1 << column);
                self.waiting.split().0[column] = first;
            }
        }
        self.set_varies(varies);
        self.rows = 0;
    }

    /// Gives the rows to `take`.
    pub fn view<T>(&self, take: impl FnOnce(&BatchView<'_>) -> T) -> T {
        let columns = self.table.columns.len();
        let cells: Vec<Cells<'_>> = (0..columns).map(|column| self.cells(column)).collect();
        take(&BatchView {
            table: self.table,
            rows: self.rows,
            present: self.cells(columns),
            columns: &cells,
        })
    }

    pub(crate) fn set_batches(&self, batches: u64) {
        self.waiting.set_batches(batches);
    }

    pub(crate) fn set_rows_before(&self, rows: u64) {
        self.waiting.set_rows_before(rows);
    }

    pub(crate) fn is_in_file(&self) -> bool {
        self.waiting.is_in_file()
    }

    /// The value of a row, whether or not it is there.
    #[inline]
    pub(crate) fn word(&self, column: usize, row: usize) -> u64 {
        debug_assert!(row < self.rows);
        if self.varies >> column & 1 == 1 {
            self.waiting.all_values()[column * COLUMN_STRIDE + row]
        } else {
            self.waiting.all_first()[column]
        }
    }

    #[inline]
    pub(crate) fn is_there(&self, column: usize, row: usize) -> bool {
        self.word(self.table.columns.len(), row) >> column & 1 == 1
    }

    /// The times in a column.
    pub(crate) fn times(&self, column: usize) -> impl Iterator<Item = i64> {
        let rows = (0..self.rows).filter(move |row| self.is_there(column, *row));
        rows.map(move |row| self.word(column, row).cast_signed())
    }

    /// End of the latest row.
    pub(crate) fn latest_end_ns(&self) -> Option<i64> {
        let time = self.table.position(self.table.time_column()?);
        let lasts = self
            .table
            .column("dur_ns")
            .map(|_| self.table.position("dur_ns"));
        let end = |row: usize| {
            let lasts = lasts.filter(|column| self.is_there(*column, row));
            let lasts_ns = lasts.map_or(0, |column| self.word(column, row).cast_signed());
            self.word(time, row).cast_signed().saturating_add(lasts_ns)
        };
        let rows = (0..self.rows).filter(|row| self.is_there(time, *row));
        rows.map(end).max()
    }

    fn cells(&self, column: usize) -> Cells<'_> {
        if self.varies >> column & 1 == 1 {
            Cells::Each(&self.waiting.all_values()[column * COLUMN_STRIDE..][..self.rows])
        } else {
            Cells::Same(self.waiting.all_first()[column])
        }
    }
}

impl Row<'_> {
    /// Sets the last cell: the bits of the cells that are present.
    #[inline(always)]
    fn end(mut self) -> (usize, u64) {
        let (cells, present) = (self.next, self.present);
        self.value(present);
        (cells, self.varies)
    }

    #[inline(always)]
    fn store(&mut self, column: usize, value: u64) {
        if self.varies >> column & 1 == 1 {
            self.values[column * COLUMN_STRIDE + self.at] = value;
        } else if value != self.first[column & (FIRST_WORDS - 1)] {
            self.varies |= begin_to_vary(self.first, self.values, column, self.at, value);
        }
    }
}

impl CellSink for Row<'_> {
    #[inline(always)]
    fn value(&mut self, word: u64) {
        self.store(self.next, word);
        self.present |= 1 << self.next;
        self.next += 1;
    }

    #[inline(always)]
    fn optional(&mut self, word: Option<u64>) {
        if let Some(word) = word {
            self.store(self.next, word);
        }
        self.present |= u64::from(word.is_some()) << self.next;
        self.next += 1;
    }
}

/// Handles the first value of a column that differs from the previous ones; in the first row of a batch, from the
/// previous batch. Returns the bit of the column if it varies from here on.
#[cold]
#[inline(never)]
fn begin_to_vary(
    first: &mut [u64; FIRST_WORDS],
    values: &mut [u64],
    column: usize,
    at: usize,
    value: u64,
) -> u64 {
    if at == 0 {
        first[column] = value;
        return 0;
    }
    let values = &mut values[column * COLUMN_STRIDE..][..=at];
    values[..at].fill(first[column]);
    values[at] = value;
    1 << column
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::EdgeRow;
    use crate::text::Text;
    use proptest::prelude::*;

    type Cell = Option<u64>;

    /// Rows of a table whose cells change rarely, so that columns are constant for a while.
    fn rows(table: &'static Table) -> impl Strategy<Value = Vec<Vec<Cell>>> {
        let cell = prop_oneof![9 => Just(Some(5)), 1 => (5u64..8).prop_map(Some), 1 => Just(None)];
        let nullable = table.columns.iter().map(|column| column.nullable);
        let nullable: Vec<bool> = nullable.collect();
        let row = prop::collection::vec(cell, nullable.len()).prop_map(move |mut cells| {
            for (cell, nullable) in cells.iter_mut().zip(&nullable) {
                if !nullable {
                    *cell = cell.or(Some(0));
                }
            }
            cells
        });
        prop::collection::vec(row, 0..40)
    }

    fn at(cells: Cells<'_>, row: usize) -> u64 {
        match cells {
            Cells::Same(value) => value,
            Cells::Each(values) => values[row],
        }
    }

    proptest! {
        #[test]
        fn batches_hold_the_rows_they_were_given(
            batches in prop::collection::vec(rows(crate::schema::table("allocations").unwrap()), 1..5),
        ) {
            let table = crate::schema::table("allocations").unwrap();
            let mut columns = Columns::anonymous(table).unwrap();
            for rows in batches {
                for cells in &rows {
                    columns.fill_own_row(|row| {
                        for (cell, column) in cells.iter().zip(table.columns) {
                            match cell {
                                Some(value) if !column.nullable => row.value(*value),
                                cell => row.optional(*cell),
                            }
                        }
                    });
                }
                let held: Vec<Vec<Cell>> = columns.view(|batch| {
                    let there = |row, column: usize| at(batch.present, row) >> column & 1 == 1;
                    let cell = |row, column: usize| {
                        there(row, column).then(|| at(batch.columns[column], row))
                    };
                    let all = 0..table.columns.len();
                    let row = |row| all.clone().map(|column| cell(row, column)).collect();
                    (0..batch.rows).map(row).collect()
                });
                prop_assert_eq!(held, rows);
                columns.clear(true);
            }
        }
    }

    /// The purpose of the design: a constant column stores no values, in any batch.
    #[test]
    fn a_column_of_one_value_stays_one_value() {
        let table = crate::schema::table("edges").unwrap();
        let mut columns = Columns::anonymous(table).unwrap();
        for batch in 0..3 {
            for row in 0..100 {
                // The second column varies in the first batch only.
                columns.push(&EdgeRow {
                    from: 7,
                    to: if batch == 0 { row } else { 3 },
                    kind: Text::from_number(row as u32),
                });
            }
            columns.view(|batch| assert!(matches!(batch.columns[0], Cells::Same(7))));
            columns.clear(true);
        }
        columns.push(&EdgeRow {
            from: 7,
            to: 3,
            kind: Text::default(),
        });
        columns.view(|batch| {
            assert!(matches!(batch.columns[1], Cells::Same(3)));
            assert!(matches!(batch.columns[2], Cells::Each([0])));
        });
    }
}
