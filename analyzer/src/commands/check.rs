//! `trueno-analyze check`.

use std::path::Path;

use anyhow::bail;
use trueno_compare::check::{self, CheckedRun, Config, Subject, exit_code, render, worst};
use trueno_compare::golden::Opened;
use trueno_model::categories::CategoryRules;
use trueno_render::style::Palette;

use super::annotations;
use super::output::{Files, Output};
use super::runs::Runs;
use super::search::gather;
use super::stderr::Stderr;
use super::stdout::page_width;
use crate::cli::{CheckArgs, CheckFormat};

pub fn check(
    args: &CheckArgs,
    palette: Palette,
    runs: &Runs<'_>,
    stderr: &Stderr,
) -> anyhow::Result<u8> {
    let Some(assertions) = args.assertions.as_deref() else {
        bail!(
            "there is nothing to check (hint: --assert FILE, or [[assertion]] in trueno.toml of this folder or one above)"
        );
    };
    let mut files = Files::read([
        ("--assert", Some(assertions)),
        ("--golden", args.golden.as_deref()),
        ("--reference", args.reference.as_deref()),
        ("--categories", args.categories.as_deref()),
    ]);
    let junit_to = args
        .junit
        .as_deref()
        .map(|path| files.write("--junit", path))
        .transpose()?;
    let format = if args.json {
        CheckFormat::Json
    } else {
        args.format
    };
    let result_to = match &args.output {
        Some(path) => Some(files.write("-o", path)?),
        // What `--junit -` writes takes its place.
        None if junit_to.as_ref().is_some_and(Output::is_stdout) => None,
        None => Some(Output::Stdout),
    };
    if result_to.is_none() && format != CheckFormat::Text {
        anyhow::bail!(
            "--format and --junit - both write to standard output (hint: give --junit a file)"
        );
    }
    let config = Config::read(assertions)?;
    let rules = match &args.categories {
        Some(file) => CategoryRules::read(file)?,
        None => CategoryRules::default(),
    };
    let registry = gather(&args.plugins, stderr)?;
    let open_side = |path| runs.open_side(path);
    let golden = args.golden.as_deref().map(open_side).transpose()?;
    let reference = args.reference.as_deref().map(open_side).transpose()?;
    let shown = |path: &Path| path.display().to_string();
    let golden_shown = args.golden.as_deref().map(shown);
    let mut checked = Vec::new();
    for path in &args.runs {
        let run = runs.open(path)?;
        let golden = golden.as_ref().zip(golden_shown.clone());
        let subject = Subject::new(&run, shown(path), golden, &registry, &rules)?;
        let subject = subject.with_reference(reference.as_ref().map(Opened::run));
        let outcomes = check::check(&config, &subject, &|name| {
            stderr.step(&format!("checking {name}"));
        })?;
        if args.annotations.is_some() {
            annotations::outcomes(&outcomes, &shown(path));
        }
        checked.push(CheckedRun {
            run: shown(path),
            wall_ns: run.facts().wall_ns,
            golden: golden_shown.clone(),
            exit_code: exit_code(&outcomes),
            outcomes,
        });
    }
    let code = worst(&checked);
    if let Some(to) = junit_to {
        to.replace(stderr, |to| {
            to.write_all(render::junit(&checked).as_bytes())
        })?;
    }
    if let Some(to) = result_to {
        let text = match format {
            CheckFormat::Text => {
                render::terminal(&checked, page_width(args.width), to.palette(palette))
            }
            CheckFormat::Json => render::json(&checked),
            CheckFormat::Junit => render::junit(&checked),
            CheckFormat::Markdown => render::markdown(&checked),
        };
        to.result(&text, matches!(format, CheckFormat::Json), stderr)?;
    }
    Ok(code)
}
