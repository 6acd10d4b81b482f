//! Texts of rows, by number.

use trueno_analysis::hash::FastMap;
use trueno_plugin::{Error, I64Column, Result, Run, Table};

use super::Rows;

/// Our numbers of texts by the numbers in a column.
pub(super) type TextsById = FastMap<Option<i64>, Option<u32>>;

impl Rows {
    pub(super) fn read_texts(&mut self, run: &mut Run, input: &str) -> Result<TextsById> {
        let known = self.texts.read_distinct(run, input)?.into_iter();
        let both = known.map(|(id, number)| (Some(id), Some(number)));
        Ok(both.chain([(None, None)]).collect())
    }
}

/// Our number of a text.
pub(super) fn known(texts: &TextsById, id: Option<i64>) -> Result<Option<u32>> {
    texts.get(&id).copied().ok_or_else(|| {
        Error::bad_input(format!(
            "text number {id:?} is not among the distinct texts, which should list all of them"
        ))
    })
}

/// The columns packed into one number a row, and for each number what `of` makes of it.
pub(super) fn packed<const N: usize, T>(
    table: &Table,
    columns: [&str; N],
    mut of: impl FnMut([Option<i64>; N]) -> Result<T>,
) -> Result<(Vec<u32>, Vec<T>)> {
    let mut cells: Vec<&I64Column> = Vec::with_capacity(N);
    for column in columns {
        cells.push(table.i64(column)?);
    }
    let mut numbers = Vec::with_capacity(table.rows());
    let mut all = Vec::new();
    let mut known: FastMap<[Option<i64>; N], u32> = FastMap::default();
    for row in 0..table.rows() {
        let key = std::array::from_fn(|at| cells[at].get(row));
        let number = match known.get(&key) {
            Some(number) => *number,
            None => {
                let number = all.len() as u32;
                all.push(of(key)?);
                known.insert(key, number);
                number
            }
        };
        numbers.push(number);
    }
    Ok((numbers, all))
}

/// A table without columns that are no longer needed: they take as much memory as what is made of them.
pub(super) fn without(table: Table, columns: &[&str]) -> Result<Table> {
    let name = table.name().to_owned();
    let mut left = table.into_columns();
    left.retain(|(column, _)| !columns.contains(&column.as_str()));
    Table::from_columns(name, left)
}
