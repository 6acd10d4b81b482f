//! Tables of parts, put one behind the other as a host does it.

use crate::build::TableBuilder;
use crate::column::{Column, ColumnType};
use crate::error::{Error, Result};
use crate::table::Table;

use super::Output;

/// The inputs for merging: the concatenated tables of the parts, and `others`.
pub(super) fn rows_of_parts(
    declared: &[(&str, bool)],
    parts: &[Output],
    others: impl IntoIterator<Item = TableBuilder>,
) -> Result<Vec<TableBuilder>> {
    let of_parts = declared.iter().filter_map(|(name, _)| {
        let tables = parts.iter().flat_map(|part| &part.tables);
        concatenated(name, tables.filter(|table| table.name() == *name))
    });
    of_parts.chain(others.into_iter().map(Ok)).collect()
}

fn concatenated<'a>(
    name: &str,
    tables: impl Iterator<Item = &'a Table>,
) -> Option<Result<TableBuilder>> {
    let tables: Vec<&Table> = tables.collect();
    let first = tables.first()?;
    let names = |table: &Table| -> Vec<String> {
        let columns = table
            .columns()
            .map(|(name, column)| format!("{name} {}", column.ty()));
        columns.collect()
    };
    if let Some(other) = tables.iter().find(|table| names(table) != names(first)) {
        return Some(Err(Error::failed(format!(
            "parts differ in the columns of {name}: {:?} and {:?}",
            names(first),
            names(other)
        ))));
    }
    let columns = first.columns().map(|(column, of_first)| {
        let all = tables.iter().filter_map(|table| table.column(column).ok());
        (column, of_first.ty(), all.collect::<Vec<&Column>>())
    });
    let mut builder = Table::build(name);
    for (column, ty, all) in columns {
        macro_rules! cells {
            ($kind:ident) => {
                all.iter().flat_map(|column| match column {
                    Column::$kind(cells) => cells.iter().collect::<Vec<_>>(),
                    _ => Vec::new(),
                })
            };
        }
        builder = match ty {
            ColumnType::I64 => builder.i64(column, cells!(I64)),
            ColumnType::U64 => builder.u64(column, cells!(U64)),
            ColumnType::F64 => builder.f64(column, cells!(F64)),
            ColumnType::Bool => builder.bool(column, cells!(Bool)),
            ColumnType::Text => builder.text(column, cells!(Text)),
        };
    }
    Some(Ok(builder))
}
