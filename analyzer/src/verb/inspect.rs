//! `trueno-analyze query`, `tables` and `info`: what a run holds, without plugins.

use std::io::{self, BufWriter, Write};

use anyhow::bail;

use super::{page_width, to_stdout};
use crate::cli::{InfoArgs, QueryArgs, QueryFormat, TablesArgs};
use crate::query::output::Format;
use crate::query::{collect_in_order, output};
use crate::run::Run;
use crate::{exit, inspect};

/// Runs one query and prints its rows.
pub fn query(args: &QueryArgs) -> anyhow::Result<u8> {
    let database = Run::open(&args.run)?.sql_context()?;
    let frame = collect_in_order(&database, &args.sql)?;
    let format = match args.format {
        QueryFormat::Table => Format::Table {
            room: page_width(None),
            limit: args.top,
        },
        QueryFormat::Json => Format::Json,
        QueryFormat::Csv => Format::Csv,
    };
    let mut to = BufWriter::new(io::stdout().lock());
    output::write(&frame, format, &mut to)?;
    to.flush()?;
    Ok(exit::FINE)
}

/// Lists the published tables, or the columns of one.
pub fn tables(args: &TablesArgs) -> anyhow::Result<u8> {
    let run = Run::open(&args.run)?;
    let name = args.table.as_deref();
    let text = if args.json {
        inspect::tables_json(&run, name)
    } else {
        inspect::tables(&run, name, page_width(None))
    };
    let Some(text) = text else {
        let known: Vec<String> = run.tables().into_iter().map(|table| table.name).collect();
        bail!(
            "there is no table {} (hint: there are {})",
            name.unwrap_or_default(),
            known.join(", ")
        );
    };
    to_stdout(text.as_bytes())?;
    Ok(exit::FINE)
}

/// Says what a run holds and how complete it is.
pub fn info(args: &InfoArgs) -> anyhow::Result<u8> {
    let run = Run::open(&args.run)?;
    let text = if args.json {
        inspect::info_json(&run)
    } else {
        inspect::info(&run, page_width(None))
    };
    to_stdout(text.as_bytes())?;
    Ok(exit::FINE)
}
