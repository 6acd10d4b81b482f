//! `trueno-analyze compare`.

use std::path::PathBuf;

use trueno_compare::golden::Opened;
use trueno_compare::runs::operators::OperatorTree;
use trueno_compare::runs::{self, Change, Comparison, Member, Naming, Options, render};
use trueno_model::categories::CategoryRules;
use trueno_model::exit;
use trueno_model::name_groups::NameGroups;
use trueno_render::style::Palette;

use super::charts;
use super::output::{self, Files, Output};
use super::runs::Runs;
use super::search::gather;
use super::stderr::Stderr;
use super::stdout::{on_terminal, page_width};
use crate::cli::{CompareArgs, CompareFail, CompareFormat, CompareOperators};

/// Width of the page without a terminal: wide enough for all columns.
const ELSEWHERE: u16 = 100;

pub fn compare(
    args: &CompareArgs,
    palette: Palette,
    runs: &Runs<'_>,
    stderr: &Stderr,
) -> anyhow::Result<u8> {
    if let Some(dir) = &args.charts {
        output::folder("--charts", dir)?;
    }
    let html_to = args.html.as_deref();
    let sides = [&args.base]
        .into_iter()
        .chain(&args.baseline)
        .chain(&args.runs);
    let sides = sides.map(|path| ("what is compared", Some(path.as_path())));
    let mut files = Files::read(sides.chain([("--categories", args.categories.as_deref())]));
    let html_to = html_to
        .map(|path| files.write("--html", path))
        .transpose()?;
    let result_to = match &args.output {
        Some(path) => Some(files.write("-o", path)?),
        // The page takes its place.
        None if html_to.as_ref().is_some_and(Output::is_stdout) => None,
        None => Some(Output::Stdout),
    };
    if result_to.is_none() && args.format != CompareFormat::Text {
        anyhow::bail!(
            "--html - and --format both write to standard output (hint: give the page a file)"
        );
    }
    let palette = result_to.as_ref().map_or(palette, |to| to.palette(palette));
    let options = Options {
        threshold: args.threshold,
        alpha: args.false_discoveries,
        cap: args.samples as usize,
        resamples: args.resamples as usize,
        seed: args.seed,
    };
    let rules = match &args.categories {
        Some(file) => CategoryRules::read(file)?,
        None => CategoryRules::default(),
    };
    // A library that was named must be one, whether or not it is needed.
    let registry = gather(&args.plugins, stderr)?;
    let registry = (!args.no_path).then_some(&registry);
    let bases: Vec<&PathBuf> = std::iter::once(&args.base).chain(&args.baseline).collect();
    let mut opened: Vec<Opened> = Vec::new();
    let mut groups = NameGroups::default();
    for path in bases.iter().copied().chain(&args.runs) {
        stderr.step(&format!("opening {}", path.display()));
        let one = runs.open_side(path)?;
        // What holds ids on one side does so on the other, however few of them it has.
        groups.merge(&one.name_groups()?);
        opened.push(one);
    }
    // A golden file has names only.
    let vendor = |(path, opened): (&&PathBuf, &Opened)| {
        if opened.is_golden() {
            return Ok(None);
        }
        runs::vendor(&path.display().to_string(), opened.run())
    };
    let paths: Vec<&PathBuf> = bases.iter().copied().chain(&args.runs).collect();
    let vendors = paths.iter().zip(&opened).map(vendor);
    let vendors = vendors.collect::<Result<Vec<_>, _>>()?;
    let (of_base, of_run) = vendors.split_at(bases.len());
    let naming = Naming {
        groups: &groups,
        by_operator: runs::vendors_differ(of_base, of_run),
    };
    let read = |((path, opened), vendor): ((&PathBuf, &Opened), &Option<&'static str>)| -> anyhow::Result<Member> {
        let shown = path.display().to_string();
        stderr.step(&format!("reading {shown}"));
        // A golden file has no times of its own, so no path either.
        let registry = registry.filter(|_| !opened.is_golden());
        let warn = |text: &str| stderr.warn(text);
        let run = opened.run();
        let mut member = runs::read(&shown, run, &rules, &naming, registry, &options, &warn)?;
        member.vendor = *vendor;
        opened.complete(&mut member, &options);
        // A golden file has no rows either.
        if !opened.is_golden() && has_operators(args.operators, &member, stderr) {
            member.operators = Some(OperatorTree::read(opened.run())?);
        }
        Ok(member)
    };
    let members = paths.into_iter().zip(&opened).zip(&vendors).map(read);
    let members = members.collect::<anyhow::Result<Vec<Member>>>()?;
    let (base, run) = members.split_at(bases.len());
    stderr.step("comparing");
    let comparison = runs::compare(base, run, &groups, &options);
    let text = match args.format {
        CompareFormat::Json => render::json(&comparison),
        CompareFormat::Markdown => render::markdown(&comparison, args.top),
        CompareFormat::Text if stderr.is_quiet() => format!("{}\n", render::headline(&comparison)),
        CompareFormat::Text => {
            let asked = args.width.or((!on_terminal()).then_some(ELSEWHERE));
            let (room, is_full) = (page_width(asked), stderr.is_verbose());
            render::terminal(&comparison, room, args.top, is_full, palette)
        }
    };
    if let Some(dir) = &args.charts {
        match runs::render::forest(&comparison) {
            Some(scene) => stderr.wrote_files(dir, &charts::write(&scene, dir, "compare")?),
            None => stderr.warn("--charts: no name has a ratio to draw"),
        }
    }
    if let Some(to) = html_to {
        stderr.step("writing the page");
        let page = render::page(&comparison, args.top);
        to.replace(stderr, |to| to.write_all(page.as_bytes()))?;
    }
    if let Some(to) = result_to {
        to.result(&text, matches!(args.format, CompareFormat::Json), stderr)?;
    }
    Ok(code(&comparison, args, stderr))
}

/// Runs with more rows do not have their operators compared by default.
const MAX_ROWS: u64 = 4_000_000;

fn has_operators(when: CompareOperators, member: &Member, stderr: &Stderr) -> bool {
    let is_long = member.spans > MAX_ROWS;
    if when == CompareOperators::Auto && is_long {
        stderr.warn(&format!(
            "{}: its operators are not compared: it has more than {MAX_ROWS} rows (hint: --operators always)",
            member.shown
        ));
    }
    match when {
        CompareOperators::Auto => !is_long,
        CompareOperators::Always => true,
        CompareOperators::Never => false,
    }
}

/// With fewer runs on each side, a difference may be noise of the machine.
const RUNS_A_SIDE: usize = 3;

const GONE_LISTED: usize = 3;

/// Warns of names that only the base has. They count neither as slower nor as faster, so a renamed or merged kernel
/// is no regression.
fn warn_of_gone(comparison: &Comparison, stderr: &Stderr) {
    let rows = comparison.counts.iter();
    let gone: Vec<String> = rows
        .filter(|row| row.change == Change::Gone)
        .map(|row| format!("{} {}", row.name.kind.word(), row.name.name))
        .collect();
    if gone.is_empty() {
        return;
    }
    let more = match gone.len().saturating_sub(GONE_LISTED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    stderr.warn(&format!(
        "only in the base, and not judged: {}{more} (hint: --fail-on changed fails on these)",
        gone[..gone.len().min(GONE_LISTED)].join(", ")
    ));
}

fn code(comparison: &Comparison, args: &CompareArgs, stderr: &Stderr) -> u8 {
    let fails = match args.fail_on {
        None => false,
        Some(_) if !args.single && comparison.runs_a_side() < RUNS_A_SIDE => {
            stderr.warn(&format!(
                "--fail-on needs at least {RUNS_A_SIDE} runs per side, because the machine may have changed between two \
                 (hint: `trueno-record compare -n 10 -- BASE -- RUN` records in turn; --single judges anyway)"
            ));
            return exit::NOT_MEASURABLE;
        }
        Some(_) if !comparison.incomplete.is_empty() => {
            stderr.fail(&format!(
                "--fail-on needs complete runs, and these are incomplete (hint: record them again): {}",
                comparison.incomplete.join("; ")
            ));
            return exit::NOT_MEASURABLE;
        }
        Some(CompareFail::Slower) => {
            warn_of_gone(comparison, stderr);
            comparison.is_slower()
        }
        Some(CompareFail::Changed) => {
            comparison.is_slower() || comparison.is_faster() || !comparison.counts.is_empty()
        }
    };
    if fails {
        return exit::CHECK_FAILED;
    }
    if !comparison.is_measurable() {
        stderr.warn(
            "nothing could be compared: no name has enough samples with durations on both sides",
        );
        return exit::NOT_MEASURABLE;
    }
    exit::FINE
}
