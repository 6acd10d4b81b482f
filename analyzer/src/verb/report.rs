//! `trueno-analyze report`.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context;
use serde_json::{Map, Value};

use super::output::{self, Output};
use super::talk::Talk;
use super::{page_width, search, to_stdout};
use crate::categories::CategoryRules;
use crate::cli::{ReportArgs, Setting};
use crate::golden::Opened;
use crate::plan::Wish;
use crate::plugin::{Roster, Status};
use crate::report::style::Palette;
use crate::report::{self, Report, Request, SectionStatus, csv, json, markdown, terminal};
use crate::run::Run;
use crate::tolerances::Tolerances;
use crate::window::Wanted;

/// Makes the report and writes it where it was asked for.
pub fn report(args: &ReportArgs, palette: Palette, talk: &Talk) -> anyhow::Result<u8> {
    let json_to = args
        .json
        .as_deref()
        .map(|path| Output::open("--json", path))
        .transpose()?;
    let markdown_to = args
        .markdown
        .as_deref()
        .map(|path| Output::open("--markdown", path))
        .transpose()?;
    let stdout_taken = [&json_to, &markdown_to]
        .into_iter()
        .flatten()
        .filter(|to| to.is_stdout())
        .count();
    if stdout_taken > 1 {
        anyhow::bail!(
            "--json - and --markdown - both want standard output (hint: give one of them a file)"
        );
    }
    if let Some(dir) = &args.csv {
        output::folder("--csv", dir)?;
    }

    let categories = match &args.categories {
        Some(file) => CategoryRules::read(file)?,
        None => CategoryRules::default(),
    };
    let roster = Roster::gather(&search(&args.plugins))?;
    for entry in &roster.entries {
        if let Status::Refused { why } = &entry.status {
            talk.warn(&format!("plugin not loaded: {why}"));
        }
    }
    for place in roster.places.iter().filter(|place| place.refused) {
        talk.warn(&format!(
            "{}: {}",
            place.dir.display(),
            place.why_not.as_deref().unwrap_or_default()
        ));
    }
    let run = Run::open(&args.run)?;
    let baseline = args.baseline.as_deref().map(Opened::open).transpose()?;
    let reference = args.reference.as_deref().map(Opened::open).transpose()?;
    if roster.plugins.is_empty() {
        anyhow::bail!(roster.nothing_found());
    }
    let wish = Wish {
        only: args.only.clone(),
        skip: args.skip.clone(),
    };
    let mut options = options(&args.set);
    let tolerances = Tolerances::given(&args.tolerance)?.options();
    if !tolerances.is_empty() {
        options
            .entry("divergence".to_owned())
            .or_default()
            .extend(tolerances);
    }
    if !args.what_if.is_empty() {
        options
            .entry("critical_path".to_owned())
            .or_default()
            .insert("what_if".to_owned(), Value::from(args.what_if.clone()));
    }
    let report = report::build(&Request {
        run: &run,
        baseline: baseline.as_ref().map(Opened::run),
        reference: reference.as_ref().map(Opened::run),
        roster: &roster,
        wish: &wish,
        categories: &categories,
        window: wanted(args),
        options: &options,
        before_each: &|id| talk.step(&format!("running {id}")),
    })?;
    for section in report
        .sections
        .iter()
        .filter(|section| section.status == SectionStatus::Failed)
    {
        talk.warn(&format!(
            "{}: {}",
            section.plugin,
            section.message.as_deref().unwrap_or("failed")
        ));
    }

    if let Some(to) = json_to {
        to.replace(|to| json::write(&report, to))?;
    }
    if let Some(to) = markdown_to {
        to.replace(|to| to.write_all(markdown::render(&report, args.top).as_bytes()))?;
    }
    if let Some(dir) = &args.csv {
        csv_files(&report, dir)?;
    }
    if stdout_taken == 0 {
        let page = terminal::Page {
            width: page_width(args.width),
            top: args.top,
            palette,
        };
        to_stdout(terminal::render(&report, page).as_bytes())?;
    }
    Ok(report.exit_code(args.fail_on))
}

/// The part of the run that was asked for.
fn wanted(args: &ReportArgs) -> Option<Wanted> {
    let times = || {
        let any = args.from.is_some() || args.to.is_some();
        any.then_some(Wanted::Times(args.from, args.to))
    };
    args.window.clone().or_else(times)
}

/// The last of several settings of one key holds.
fn options(set: &[Setting]) -> BTreeMap<String, Map<String, Value>> {
    let mut options: BTreeMap<String, Map<String, Value>> = BTreeMap::new();
    for Setting { plugin, key, value } in set {
        options
            .entry(plugin.clone())
            .or_default()
            .insert(key.clone(), value.clone());
    }
    options
}

fn csv_files(report: &Report, dir: &Path) -> anyhow::Result<()> {
    for section in &report.sections {
        for table in &section.tables {
            let path = dir.join(format!("{}.{}.csv", section.plugin, table.name()));
            let mut bytes = Vec::new();
            csv::write(table, &mut bytes)?;
            std::fs::write(&path, bytes)
                .with_context(|| format!("{}: cannot be written", path.display()))?;
        }
    }
    Ok(())
}
