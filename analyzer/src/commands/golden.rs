//! `trueno-analyze golden`.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use trueno_compare::golden::{Golden, Listed, SUFFIX, listed};
use trueno_model::categories::CategoryRules;
use trueno_model::{Losses, exit};

use super::output::{Files, Output};
use super::runs::Runs;
use super::stderr::Stderr;
use super::stdout::{page_width, to_stdout};
use crate::cli::{GoldenCommand, GoldenListArgs, GoldenSaveArgs, GoldenShowArgs};

pub fn golden(command: &GoldenCommand, runs: &Runs<'_>, stderr: &Stderr) -> anyhow::Result<u8> {
    match command {
        GoldenCommand::Save(args) => save(args, runs, stderr),
        GoldenCommand::List(args) => list(args, stderr),
        GoldenCommand::Show(args) => show(args),
    }
}

fn save(args: &GoldenSaveArgs, runs: &Runs<'_>, stderr: &Stderr) -> anyhow::Result<u8> {
    let to = match &args.output {
        Some(path) => path.clone(),
        None => place(&args.run)?,
    };
    if to != Path::new("-") && to.exists() && !args.overwrite {
        bail!(
            "{}: already exists (hint: give --overwrite, and check the difference before you commit it)",
            to.display()
        );
    }
    let rules = match &args.categories {
        Some(file) => CategoryRules::read(file)?,
        None => CategoryRules::default(),
    };
    let run = runs.open(&args.run)?;
    if let Some(losses) = Losses::find(run.facts(), run.problems(), &|_| true) {
        stderr.fail(&format!(
            "{}: no golden file was written (hint: record the run again): {}",
            args.run.display(),
            losses.words("the run")
        ));
        return Ok(exit::NOT_MEASURABLE);
    }
    let golden = Golden::from_run(&run, &args.run.display().to_string(), &rules)?;
    if golden.is_empty() {
        stderr.warn("the run has nothing to compare against later: no golden file was written");
        return Ok(exit::NOT_MEASURABLE);
    }
    let text = golden.text();
    let mut files = Files::read([("--categories", args.categories.as_deref())]);
    let output = files.write("-o", &to)?;
    output.result(&text, true, stderr)?;
    stderr.step(&format!(
        "it holds {} names and {} tensors",
        golden.names.len(),
        golden.tensors.len()
    ));
    Ok(exit::FINE)
}

/// Default output path: `decode.run` becomes `decode.golden.json` in the working directory.
fn place(run: &Path) -> anyhow::Result<PathBuf> {
    let whole = std::fs::canonicalize(run).unwrap_or_else(|_| run.to_owned());
    let Some(stem) = whole.file_stem() else {
        bail!("{}: no name for a file (hint: give -o FILE)", run.display());
    };
    let mut name = stem.to_owned();
    name.push(SUFFIX);
    Ok(PathBuf::from(name))
}

fn list(args: &GoldenListArgs, stderr: &Stderr) -> anyhow::Result<u8> {
    let to = Output::open(args.result.output.as_deref())?;
    let problem = || format!("{}: cannot be listed", args.folder.display());
    let mut files = Vec::new();
    for entry in std::fs::read_dir(&args.folder).with_context(problem)? {
        let path = entry.with_context(problem)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.ends_with(SUFFIX) && path.is_file() {
            files.push(path);
        }
    }
    files.sort();
    let files: Vec<Listed> = files.iter().map(|file| Listed::read(file)).collect();
    let text = if args.result.is_json() {
        serde_json::to_string_pretty(&files)? + "\n"
    } else {
        listed(&files)
    };
    to.result(&text, args.result.is_json(), stderr)?;
    if files.is_empty() {
        stderr.warn(&format!(
            "{}: there is no *{SUFFIX} (hint: trueno-analyze golden save RUN makes one)",
            args.folder.display()
        ));
    }
    let problems = files.iter().filter_map(|file| file.problem.as_ref());
    problems.clone().for_each(|problem| stderr.warn(problem));
    Ok(match problems.count() {
        0 => exit::FINE,
        _ => exit::CANNOT_ANALYSE,
    })
}

fn show(args: &GoldenShowArgs) -> anyhow::Result<u8> {
    let golden = Golden::read(&args.file)?;
    to_stdout(golden.shown(page_width(args.width), args.top).as_bytes())?;
    Ok(exit::FINE)
}
