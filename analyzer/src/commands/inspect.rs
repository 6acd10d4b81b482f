//! `trueno-analyze tables` and `info`: what a run holds, without plugins.

use anyhow::bail;
use trueno_engine::spans;
use trueno_model::exit;
use trueno_render::inspect;

use super::output::Output;
use super::runs::Runs;
use super::stderr::Stderr;
use super::stdout::page_width;
use crate::cli::{InfoArgs, TablesArgs};

pub fn tables(args: &TablesArgs, runs: &Runs<'_>, stderr: &Stderr) -> anyhow::Result<u8> {
    let to = Output::open(args.result.output.as_deref())?;
    let run = runs.open(&args.run)?;
    let mut tables = run.tables();
    tables.extend(spans::computed_tables());
    let name = args.table.as_deref();
    let text = if args.result.is_json() {
        inspect::tables_json(&tables, name)
    } else {
        inspect::tables(&tables, name, page_width(None))
    };
    let Some(text) = text else {
        let name = name.unwrap_or_default();
        if name.contains('.') {
            bail!(
                "{name} is not a table of the run: names with a dot are tables of plugins \
                 (hint: `trueno-analyze plugins list -v` lists them, `trueno-analyze query RUN \"SELECT * FROM {name}\"` runs the plugin)"
            );
        }
        let known: Vec<String> = tables.into_iter().map(|table| table.name).collect();
        bail!(
            "there is no table {name} (hint: there are {}; tables of plugins are listed by `trueno-analyze plugins list -v`)",
            known.join(", ")
        );
    };
    to.result(&text, args.result.is_json(), stderr)?;
    Ok(exit::FINE)
}

pub fn info(args: &InfoArgs, runs: &Runs<'_>, stderr: &Stderr) -> anyhow::Result<u8> {
    let to = Output::open(args.result.output.as_deref())?;
    let run = runs.open(&args.run)?;
    let text = if args.result.is_json() {
        inspect::info_json(run.facts(), run.problems())
    } else {
        inspect::info(run.facts(), run.problems(), page_width(None))
    };
    to.result(&text, args.result.is_json(), stderr)?;
    Ok(exit::FINE)
}
