//! A file that nothing vouches for, held against the table whose folder it lies in.

use polars::prelude::DataFrame;
use trueno_format::schema;

use crate::run::columns::{convertible, dtype, plain_type_name, published_type};

/// Why these rows do not belong to the table: a column that is never null is missing, has another type, or contains
/// nulls. `None` if they may belong to it, or the table is unknown.
pub(super) fn foreign_to(table: &str, rows: &DataFrame) -> Option<String> {
    let table = schema::table(table)?;
    let never_null = table.columns.iter().filter(|column| !column.nullable);
    never_null.into_iter().find_map(|column| {
        let name = column.name;
        let Ok(found) = rows.column(name) else {
            return Some(format!("it has no column {name}"));
        };
        let (found_type, expected) = (published_type(found.dtype()), dtype(column.ty));
        if !convertible(&found_type, &expected) {
            let (found, expected) = (plain_type_name(&found_type), plain_type_name(&expected));
            return Some(format!("its column {name} is {found}, expected {expected}"));
        }
        let nulls = found.null_count();
        (nulls > 0)
            .then(|| format!("its column {name}, which is never null, is so in {nulls} rows"))
    })
}

/// The fault of a file that is left out for this reason.
pub(super) fn fault(table: &str, reason: &str) -> String {
    format!(
        "left out, as its rows are not those of {table}: {reason} (hint: move the file to where it belongs)"
    )
}
