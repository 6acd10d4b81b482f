//! `trueno-analyze tables` and `info`: what a run holds, without plugins.

use anyhow::bail;

use super::{page_width, to_stdout};
use crate::cli::{InfoArgs, TablesArgs};
use crate::run::Run;
use crate::{exit, inspect};

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
        let name = name.unwrap_or_default();
        if name.contains('.') {
            bail!(
                "{name} is no table of the run: names with a dot are tables that plugins make \
                 (hint: `trueno-analyze plugins list -v` lists them, `trueno-analyze query RUN \"SELECT * FROM {name}\"` runs the plugin)"
            );
        }
        let known: Vec<String> = run.tables().into_iter().map(|table| table.name).collect();
        bail!(
            "there is no table {name} (hint: there are {}; tables of plugins are listed by `trueno-analyze plugins list -v`)",
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
