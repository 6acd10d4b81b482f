//! Columns of a batch that are the same in all its rows, put together once.

use trueno_engine::query::{BatchValues, RowBatch, RowWindow};

use super::OpenTable;

/// Which columns of a batch have values, in order.
pub(crate) struct Shape<T> {
    pub(crate) pieces: Vec<Piece<T>>,
}

pub(crate) enum Piece<T> {
    /// Adjacent columns that have equal values in all rows.
    Same(T),
    Column(usize),
}

pub(crate) struct WindowShapes<T>(Vec<Vec<Shape<T>>>);

impl<T> WindowShapes<T> {
    /// `same` combines columns that are equal in a batch, given their indices and values. `except` are left
    /// out.
    pub(crate) fn new(
        tables: &[OpenTable],
        window: &RowWindow,
        except: &[&[&str]],
        mut same: impl FnMut(&OpenTable, &[(usize, u64)]) -> T,
    ) -> Self {
        let of_table = |((table, window), except): ((&OpenTable, _), &&[&str])| {
            let window: &trueno_engine::query::TableWindow = window;
            let is_shown = |at: &usize| !except.contains(&table.columns[*at].as_str());
            let shown: Vec<usize> = (0..table.columns.len()).filter(is_shown).collect();
            let shape = |batch| Shape::new(table, batch, &shown, &mut same);
            window.batches().map(shape).collect()
        };
        let tables = tables.iter().zip(&window.tables).zip(except);
        Self(tables.map(of_table).collect())
    }

    pub(crate) fn of(&mut self, table: usize, batch: usize) -> &mut Shape<T> {
        &mut self.0[table][batch]
    }
}

impl<T> Shape<T> {
    fn new(
        table: &OpenTable,
        batch: &RowBatch,
        columns: &[usize],
        same: &mut impl FnMut(&OpenTable, &[(usize, u64)]) -> T,
    ) -> Self {
        let mut pieces = Vec::new();
        let mut together = Vec::new();
        for &column in columns {
            match batch.values(column) {
                BatchValues::Missing => {}
                BatchValues::Same(bits) => together.push((column, bits)),
                BatchValues::Several => {
                    if !together.is_empty() {
                        pieces.push(Piece::Same(same(table, &together)));
                        together.clear();
                    }
                    pieces.push(Piece::Column(column));
                }
            }
        }
        if !together.is_empty() {
            pieces.push(Piece::Same(same(table, &together)));
        }
        Self { pieces }
    }
}
