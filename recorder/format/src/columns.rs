//! Rows of one table on their way into a batch, column by column.
//!
//! Most columns of most batches hold one value all through. A value is stored only from the
//! first one on that differs: until then the column is its first value and the count of rows.

use super::waiting::Waiting;
use crate::live::{COLUMN_STRIDE, FIRST_WORDS, Live, RowOrigin};
use crate::names::Name;
use crate::schema::Table;
use crate::segment::{BATCH_ROWS, BatchView, Cells};

/// Up to [`BATCH_ROWS`] rows of a table. Every value is 64 bits, whatever its type; a text is
/// the number of its name.
///
/// The last column is not of the table: it has a bit for every cell of the row that is there.
pub(crate) struct Columns {
    table: &'static Table,
    rows: usize,
    /// Where the rows come from.
    origin: RowOrigin,
    /// A bit for each column that has its values in the waiting rows' `values`, one a row;
    /// all others hold the same value, `first`, in every row.
    varies: u64,
    waiting: Waiting,
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
    /// `None`: there is no memory.
    pub fn new(table: &'static Table, live: &Live) -> Option<Self> {
        debug_assert!(
            table.columns.len() < FIRST_WORDS,
            "a table has too many columns"
        );
        Some(Self {
            table,
            rows: 0,
            origin: RowOrigin::OWN,
            varies: 0,
            waiting: Waiting::live(live, table)?,
        })
    }

    /// The rows that follow come from there.
    #[inline(always)]
    pub fn from(&mut self, origin: RowOrigin) {
        self.origin = origin;
    }

    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Adds a row of the writer's own.
    pub fn own_row(&mut self, fill: impl FnOnce(&mut Row<'_>)) {
        self.from(RowOrigin::OWN);
        self.row(fill);
    }

    /// Adds a row: `fill` must put every column. There must be room.
    #[inline(always)]
    pub fn row(&mut self, fill: impl FnOnce(&mut Row<'_>)) {
        let (first, values) = self.waiting.split();
        let mut row = Row {
            next: 0,
            at: self.rows & (BATCH_ROWS - 1),
            present: 0,
            varies: self.varies,
            first,
            values,
        };
        fill(&mut row);
        debug_assert_eq!(
            row.next,
            self.table.columns.len(),
            "a row has as many cells as its table columns"
        );
        let present = row.present;
        row.put(present);
        let varies = row.varies;
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

    fn cells(&self, column: usize) -> Cells<'_> {
        if self.varies >> column & 1 == 1 {
            Cells::Each(&self.waiting.all_values()[column * COLUMN_STRIDE..][..self.rows])
        } else {
            Cells::Same(self.waiting.all_first()[column])
        }
    }
}

impl Row<'_> {
    #[inline(always)]
    fn store(&mut self, column: usize, value: u64) {
        if self.varies >> column & 1 == 1 {
            self.values[column * COLUMN_STRIDE + self.at] = value;
        } else if value != self.first[column & (FIRST_WORDS - 1)] {
            self.varies |= begin_to_vary(self.first, self.values, column, self.at, value);
        }
    }

    /// The next cell, which is there.
    #[inline(always)]
    pub fn put(&mut self, value: u64) -> &mut Self {
        self.store(self.next, value);
        self.present |= 1 << self.next;
        self.next += 1;
        self
    }

    /// The next cell, which may be null.
    #[inline(always)]
    pub fn put_if(&mut self, value: Option<u64>) -> &mut Self {
        if let Some(value) = value {
            self.store(self.next, value);
        }
        self.present |= u64::from(value.is_some()) << self.next;
        self.next += 1;
        self
    }

    /// The next so many cells are null.
    #[inline(always)]
    pub fn nulls(&mut self, count: usize) -> &mut Self {
        self.next += count;
        self
    }

    /// The next cell, a text.
    #[inline(always)]
    pub fn text(&mut self, name: Name) -> &mut Self {
        self.put(u64::from(name.number()))
    }

    /// The next cell, a text that may be null.
    #[inline(always)]
    pub fn text_if(&mut self, name: Option<Name>) -> &mut Self {
        self.put_if(name.map(|name| u64::from(name.number())))
    }

    /// The next cell, a signed number.
    #[inline(always)]
    pub fn signed(&mut self, value: i64) -> &mut Self {
        self.put(value as u64)
    }
}

/// Takes the first value of a column that differs from the one it had; in the first row of a
/// batch that one is of the batch before. Gives the bit of the column if it varies from here on.
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
    use proptest::prelude::*;

    type Cell = Option<u64>;

    /// Rows of a table whose cells change seldom, so that columns hold one value for a while.
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
            let mut columns = Columns::new(table, &Live::none()).unwrap();
            for rows in batches {
                for cells in &rows {
                    columns.row(|row| {
                        for (cell, column) in cells.iter().zip(table.columns) {
                            match cell {
                                Some(value) if !column.nullable => row.put(*value),
                                None => row.nulls(1),
                                cell => row.put_if(*cell),
                            };
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

    /// The point of it all: nothing is stored for a column of one value, in any batch.
    #[test]
    fn a_column_of_one_value_stays_one_value() {
        let table = crate::schema::table("edges").unwrap();
        let mut columns = Columns::new(table, &Live::none()).unwrap();
        for batch in 0..3 {
            for row in 0..100 {
                // The second column varies in the first batch only.
                columns.row(|cells| {
                    cells.put(7).put(if batch == 0 { row } else { 3 }).put(row);
                });
            }
            columns.view(|batch| assert!(matches!(batch.columns[0], Cells::Same(7))));
            columns.clear(true);
        }
        columns.row(|cells| {
            cells.put(7).put(3).put(0);
        });
        columns.view(|batch| {
            assert!(matches!(batch.columns[1], Cells::Same(3)));
            assert!(matches!(batch.columns[2], Cells::Each([0])));
        });
    }
}
