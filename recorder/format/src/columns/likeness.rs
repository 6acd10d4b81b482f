//! Rows that repeat the row before them but for a few columns, added column by column.

use super::{Columns, begin_to_vary};
use crate::segment::BATCH_ROWS;
use crate::waiting_rows::{COLUMN_STRIDE, RowOrigin};

/// Rows being added. None of them is one before [`RowsLikeLast::end`].
pub struct RowsLikeLast<'a> {
    columns: &'a mut Columns,
    /// Index of the first row; there is a row before it.
    at: usize,
    rows: usize,
    given: u64,
    varies: u64,
}

impl Columns {
    /// Begins `rows` rows like the last one. There must be one, and room.
    #[inline]
    pub fn rows_like_last(&mut self, rows: usize) -> RowsLikeLast<'_> {
        debug_assert!(self.rows > 0 && self.rows + rows <= BATCH_ROWS);
        RowsLikeLast {
            at: self.rows,
            rows,
            given: 0,
            varies: self.varies,
            columns: self,
        }
    }
}

impl RowsLikeLast<'_> {
    /// Gives the cells of a column that are there in the last row and so in these. `word` gives that of each row.
    #[inline(always)]
    pub fn column(&mut self, column: usize, word: impl Fn(usize) -> u64) {
        let (first, values) = self.columns.waiting.split();
        if self.varies >> column & 1 == 0 {
            let same = first[column];
            let Some(differs) = (0..self.rows).find(|row| word(*row) != same) else {
                return;
            };
            let at = self.at + differs;
            self.varies |= begin_to_vary(first, values, column, at, word(differs));
        }
        let cells = &mut values[column * COLUMN_STRIDE + self.at..][..self.rows];
        for (row, cell) in cells.iter_mut().enumerate() {
            *cell = word(row);
        }
        self.given |= 1 << column;
    }

    /// Makes them rows: the first is of the record at `origin`, the others of those behind it.
    #[inline(always)]
    pub fn end(self, origin: RowOrigin) {
        let (_, values) = self.columns.waiting.split();
        let mut repeated = self.varies & !self.given;
        while repeated != 0 {
            let column = repeated.trailing_zeros() as usize;
            repeated &= repeated - 1;
            let cells = &mut values[column * COLUMN_STRIDE + self.at - 1..][..=self.rows];
            let last = cells[0];
            cells[1..].fill(last);
        }
        if self.varies != self.columns.varies {
            self.columns.set_varies(self.varies);
        }
        // Last: from now on they are rows.
        for row in 0..self.rows {
            let origin = origin.plus(row as u64);
            self.columns.waiting.set_origin(self.at + row, origin);
        }
        self.columns.rows += self.rows;
    }
}
