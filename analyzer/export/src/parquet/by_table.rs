//! A job of ranks as Parquet, table by table: `kernels/rank=3/000000.parquet`.
//!
//! Rows, numbers and times are those of the job as queries see it, in the order of its files. Databases read the folder
//! of a table as one table, with `rank` from the names of the folders in it. One table of one rank is in memory at a
//! time, and is one file, so that the order of its rows is that of the file.

use std::fs;
use std::path::Path;

use polars::prelude::DataFrame;
use trueno_engine::query::collect;
use trueno_engine::run::{Run, TABLES_JSON};

use super::part::Part;
use super::table_folder::{StoredColumn, StoredTable, TableFolder};
use super::{Sizes, named, write_file};
use crate::error::ExportError;
use crate::rows::Source;

/// Column that is encoded in the folder names.
const RANK: &str = "rank";

/// Writes the tables of a job of ranks into the empty folder `to`. `on_rows` receives the number of rows written
/// since its last call.
///
/// # Errors
/// The run holds no ranks; see [`ExportError`]. What was written until then is left behind.
pub fn to_table_folders(
    run: &Run,
    to: &Path,
    on_rows: &mut dyn FnMut(u64),
) -> Result<(), ExportError> {
    let ranks = run.rank_numbers();
    if ranks.is_empty() {
        let text = "the run holds no ranks: each of its tables is a folder already (hint: without --by-table)";
        return Err(ExportError::Lacking(text.to_owned()));
    }
    let hash = run.hash_of_files();
    let mut folder = TableFolder::new(hash.map_err(|error| named(to, error))?);
    for table in Source::open(run)?.tables() {
        if table.rows > 0 {
            folder.tables.insert(
                table.name.clone(),
                described(run, &table.name, &table.columns),
            );
        }
    }
    for rank in ranks {
        let Some(database) = run.rank_context(rank)? else {
            continue;
        };
        for (name, table) in &mut folder.tables {
            let columns = table.columns.iter().map(|column| quoted(&column.name));
            let columns: Vec<String> = columns.collect();
            let sql = format!("SELECT {} FROM {}", columns.join(", "), quoted(name));
            let rows = collect(&database, &sql).map_err(|source| ExportError::Table {
                table: name.clone(),
                source,
            })?;
            if rows.height() > 0 {
                write(to, name, rank, &rows, on_rows)?;
                table.rows_of_rank.insert(rank, rows.height() as u64);
            }
        }
    }
    let bytes = serde_json::to_vec_pretty(&folder).map_err(std::io::Error::from)?;
    // Last: a folder without it is seen not to be done.
    write_file(&to.join(TABLES_JSON), &bytes)
}

fn described(run: &Run, name: &str, columns: &[String]) -> StoredTable {
    let table = run.tables().into_iter().find(|table| table.name == name);
    let all = table.map(|table| table.columns).unwrap_or_default();
    let is_stored = |name: &str| name != RANK && columns.iter().any(|column| column == name);
    let stored = all.into_iter().filter(|column| is_stored(&column.name));
    let stored = stored.map(|column| StoredColumn {
        name: column.name,
        ty: column.ty,
    });
    StoredTable {
        columns: stored.collect(),
        ..StoredTable::default()
    }
}

fn write(
    to: &Path,
    table: &str,
    rank: u32,
    rows: &DataFrame,
    on_rows: &mut dyn FnMut(u64),
) -> Result<(), ExportError> {
    let folder = to.join(table).join(format!("{RANK}={rank}"));
    fs::create_dir_all(&folder).map_err(|error| named(&folder, error))?;
    let name = format!("{table}/{RANK}={rank}/000000.parquet");
    let mut part = Part::create(to, table, name, rows)?;
    let group_rows = Sizes::default().group_rows;
    for from in (0..rows.height()).step_by(group_rows) {
        let group = rows.slice(from as i64, group_rows);
        part.write(&group)?;
        on_rows(group.height() as u64);
    }
    // No journal: the hashes stand in the file itself.
    part.finish(&mut String::new())?;
    Ok(())
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
