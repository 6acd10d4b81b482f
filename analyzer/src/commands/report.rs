//! `trueno-analyze report`.

use std::path::Path;

use anyhow::Context;
use serde_json::Value;
use trueno_compare::golden::Opened;
use trueno_compare::tolerances::Tolerances;
use trueno_host::plan::Wish;
use trueno_host::plugin::Status;
use trueno_host::window::Wanted;
use trueno_host::{OverRanks, Request, build};
use trueno_model::categories::CategoryRules;
use trueno_model::csv::CsvTexts;
use trueno_model::{Rated, Report, SectionStatus, Severity, exit};
use trueno_render::style::Palette;
use trueno_render::{Detail, FORMS, Layout, ReportForm, csv, form};

use super::annotations;
use super::ceilings;
use super::charts::Charts;
use super::options;
use super::output::{self, Files, Output};
use super::running::Running;
use super::runs::Runs;
use super::search::gather;
use super::stderr::Stderr;
use super::stdout::page_width;
use crate::cli::ReportArgs;

/// The plugin that compares backends.
const ROOFLINE: &str = "roofline";
/// The plugin that knows the work of operators.
const OPERATORS: &str = "operators";
/// The plugin that predicts.
const CRITICAL_PATH: &str = "critical_path";

/// Makes the report and writes it where it was asked for.
pub fn report(
    args: &ReportArgs,
    palette: Palette,
    runs: &Runs<'_>,
    stderr: &Stderr,
) -> anyhow::Result<u8> {
    let baselines = args
        .baseline
        .iter()
        .map(|path| ("--baseline", Some(path.as_path())));
    let read = [
        ("--reference", args.reference.as_deref()),
        ("--categories", args.categories.as_deref()),
        ("--options", args.options_file.as_deref()),
        ("--operators", args.operators.as_deref()),
    ];
    let ceilings = args
        .ceilings
        .iter()
        .map(|path| ("--ceilings", Some(path.as_path())));
    let mut files = Files::read(baselines.chain(ceilings).chain(read));
    let shorthands = [
        ("--json", "json", &args.json),
        ("--markdown", "markdown", &args.markdown),
        ("--html", "html", &args.html),
    ];
    let mut outputs: Vec<(&dyn ReportForm, Output)> = Vec::new();
    let mut on_stdout: Vec<String> = Vec::new();
    for (flag, name, path) in shorthands {
        if let (Some(path), Some(form)) = (path, form(name)) {
            let to = files.write(flag, path)?;
            if to.is_stdout() {
                on_stdout.push(format!("{flag} -"));
            }
            outputs.push((form, to));
        }
    }
    let report_to = args.output.as_deref();
    let report_to = report_to.map(|path| files.write("-o", path)).transpose()?;
    let is_chosen = args.format.name() != FORMS[0].name();
    match &report_to {
        Some(Output::Stdout) => on_stdout.push("-o -".to_owned()),
        None if is_chosen => on_stdout.push(format!("--format {}", args.format.name())),
        _ => {}
    }
    if let [first, second, ..] = on_stdout.as_slice() {
        anyhow::bail!(
            "{first} and {second} both want standard output (hint: give one of them a file)"
        );
    }
    if let Some(dir) = &args.charts {
        output::folder("--charts", dir)?;
    }
    if let Some(dir) = &args.csv {
        output::folder("--csv", dir)?;
    }

    let categories = match &args.categories {
        Some(file) => CategoryRules::read(file)?,
        None => CategoryRules::default(),
    };
    let registry = gather(&args.plugins, stderr)?;
    for entry in &registry.entries {
        if let Status::Refused { why } = &entry.status {
            stderr.warn(&format!("plugin not loaded: {why}"));
        }
    }
    for place in registry.places.iter().filter(|place| place.refused) {
        stderr.warn(&format!(
            "{}: {}",
            place.dir.display(),
            place.why_not.as_deref().unwrap_or_default()
        ));
    }
    let mut wish = Wish {
        only: args.only.clone(),
        skip: args.skip.clone(),
    };
    let mut options = options::gather(args.options_file.as_deref(), &args.set)?;
    if args.compare_backends {
        wish.only.push(ROOFLINE.to_owned());
        options
            .entry(ROOFLINE.to_owned())
            .or_default()
            .insert("compare_backends".to_owned(), Value::Bool(true));
    }
    let tolerances = Tolerances::given(&args.tolerance)?.options();
    if !tolerances.is_empty() {
        options
            .entry("divergence".to_owned())
            .or_default()
            .extend(tolerances);
    }
    if let Some(file) = &args.operators {
        let rules = std::fs::read_to_string(file)
            .with_context(|| format!("--operators {}: cannot be read", file.display()))?;
        options
            .entry(OPERATORS.to_owned())
            .or_default()
            .insert("rules".to_owned(), Value::from(rules));
    }
    if !args.what_if.is_empty() {
        predicted(&mut wish)?;
        options
            .entry(CRITICAL_PATH.to_owned())
            .or_default()
            .insert("what_if".to_owned(), Value::from(args.what_if.clone()));
    }
    options::check(&options, &registry)?;
    let mut run = runs.open(&args.run)?;
    ceilings::give(&mut run, &args.ceilings)?;
    let baseline = baseline(args, runs)?;
    let reference = args
        .reference
        .as_deref()
        .map(|path| runs.open_side(path))
        .transpose()?;
    if registry.plugins.is_empty() {
        anyhow::bail!(registry.nothing_found());
    }
    let running = Running::new(&registry, stderr);
    let built = build(&Request {
        run: &run,
        baseline: baseline.as_ref().map(Opened::run),
        reference: reference.as_ref().map(Opened::run),
        registry: &registry,
        wish: &wish,
        categories: &categories,
        window: wanted(args),
        options: &options,
        over_ranks: OverRanks {
            together: args.together,
            most_rows: args.most_rows,
        },
        before_each: &|id| {
            stderr.step(&format!("running {id}"));
            running.begin(id);
        },
        after_each: &|id| running.end(id),
    });
    drop(running);
    let mut report = built?;
    for section in report
        .sections
        .iter()
        .filter(|section| section.status == SectionStatus::Failed)
    {
        stderr.warn(&format!(
            "{}: {}",
            section.plugin,
            section.message.as_deref().unwrap_or("failed")
        ));
    }

    let fail_on = args.fail_on.map(Severity::from);
    let code = report.exit_code(fail_on);
    if code == exit::CHECK_FAILED {
        for culprit in report.culprits(fail_on.unwrap_or(Severity::Info)) {
            let Rated {
                plugin,
                severity,
                title,
                ..
            } = culprit;
            stderr.fail(&format!("{severity}: {title} [{plugin}]"));
        }
    }
    if args.annotations.is_some() {
        annotations::findings(&report, fail_on);
    }
    let last = match report_to {
        // Another form has standard output.
        None if !is_chosen && !on_stdout.is_empty() => None,
        to => Some((args.format, to.unwrap_or(Output::Stdout))),
    };
    let mut forms = outputs.iter().chain(&last);
    let with_evidence = forms.any(|(form, _)| form.shows_timeline());
    let charts = (with_evidence || args.charts.is_some())
        .then(|| Charts::gather(&run, &mut report, &categories, with_evidence, stderr));
    let layout = Layout {
        width: page_width(args.width),
        top: args.top,
        detail: detail(args, stderr),
        palette,
        timeline: charts.as_ref().and_then(Charts::timeline),
        evidence: charts.as_ref().map(Charts::evidence),
    };
    let write = |(form, to): (&dyn ReportForm, Output)| {
        if form.shows_timeline() {
            stderr.step("writing the page");
        }
        let palette = to.palette(palette);
        to.replace(|to| form.write(&report, &Layout { palette, ..layout }, to))
    };
    outputs.into_iter().try_for_each(write)?;
    if let (Some(dir), Some(charts)) = (&args.charts, &charts) {
        stderr.step("drawing charts");
        charts.write(&report, dir)?;
    }
    if let Some(dir) = &args.csv {
        let texts = match args.csv_exact {
            true => CsvTexts::Exact,
            false => CsvTexts::Guarded,
        };
        csv_files(&report, texts, dir)?;
    }
    last.map_or(Ok(()), write)?;
    Ok(code)
}

/// All of what was asked for by name, or loudly.
fn detail(args: &ReportArgs, stderr: &Stderr) -> Detail {
    let by_name = !args.only.is_empty() || args.compare_backends;
    match stderr.is_quiet() {
        true => Detail::Head,
        false if stderr.is_verbose() || by_name => Detail::Full,
        false => Detail::Brief,
    }
}

/// A prediction that was asked for is shown, whatever else is.
fn predicted(wish: &mut Wish) -> anyhow::Result<()> {
    anyhow::ensure!(
        !wish.skip.iter().any(|skip| skip == CRITICAL_PATH),
        "--what-if: {CRITICAL_PATH} predicts, and --skip {CRITICAL_PATH} leaves it out (hint: give one of the two)"
    );
    if !wish.only.is_empty() {
        wish.only.push(CRITICAL_PATH.to_owned());
    }
    Ok(())
}

/// The run to compare with; several only where a plugin can tell them apart.
fn baseline(args: &ReportArgs, runs: &Runs<'_>) -> anyhow::Result<Option<Opened>> {
    Ok(match args.baseline.as_slice() {
        [] => None,
        [one] => Some(runs.open_side(one)?),
        several if args.compare_backends => {
            let several = several.iter().map(|path| runs.directory(path));
            Some(Opened::together(
                &several.collect::<anyhow::Result<Vec<_>>>()?,
            )?)
        }
        several => anyhow::bail!(
            "a report is compared with one run, not with {} (hint: --compare-backends takes several; \
             `trueno-analyze compare` takes repetitions)",
            several.len()
        ),
    })
}

/// The part of the run that was asked for.
fn wanted(args: &ReportArgs) -> Option<Wanted> {
    let times = || {
        let any = args.from.is_some() || args.to.is_some();
        any.then_some(Wanted::Times(args.from, args.to))
    };
    args.window.clone().or_else(times)
}

fn csv_files(report: &Report, texts: CsvTexts, dir: &Path) -> anyhow::Result<()> {
    for section in &report.sections {
        for table in &section.tables {
            let path = dir.join(format!("{}.{}.csv", section.plugin, table.name()));
            let mut bytes = Vec::new();
            csv::write(table, texts, &mut bytes)?;
            std::fs::write(&path, bytes)
                .with_context(|| format!("{}: cannot be written", path.display()))?;
        }
    }
    Ok(())
}
