//! `trueno-analyze report`.

use std::path::{Path, PathBuf};

use anyhow::Context;
use serde_json::Value;
use trueno_compare::golden::Opened;
use trueno_compare::tolerances::Tolerances;
use trueno_engine::run::Run;
use trueno_host::plan::Wish;
use trueno_host::plugin::{Registry, Status};
use trueno_host::window::Wanted;
use trueno_host::{Request, build};
use trueno_model::categories::CategoryRules;
use trueno_model::{Level, Report, SectionStatus};
use trueno_render::style::Palette;
use trueno_render::terminal::Detail;
use trueno_render::{csv, html, json, markdown, terminal};

use super::output::{self, Files, Output};
use super::stderr::Stderr;
use super::{charts, options, page_width, search};
use crate::cli::{ReportArgs, ReportFormat};

/// The plugin that compares backends.
const ROOFLINE: &str = "roofline";
/// The plugin that predicts.
const CRITICAL_PATH: &str = "critical_path";
/// Rows of each table where no other number is asked for.
const ROWS: usize = 10;
/// The same of a brief page.
const BRIEF_ROWS: usize = 7;

/// Makes the report and writes it where it was asked for.
pub fn report(args: &ReportArgs, palette: Palette, stderr: &Stderr) -> anyhow::Result<u8> {
    let baselines = args
        .baseline
        .iter()
        .map(|path| ("--baseline", Some(path.as_path())));
    let read = [
        ("--reference", args.reference.as_deref()),
        ("--categories", args.categories.as_deref()),
        ("--options", args.options_file.as_deref()),
    ];
    let mut files = Files::read(baselines.chain(read));
    let mut open = |flag: &str, path: &Option<PathBuf>| {
        let path = path.as_deref();
        path.map(|path| files.write(flag, path)).transpose()
    };
    let json_to = open("--json", &args.json)?;
    let markdown_to = open("--markdown", &args.markdown)?;
    let html_to = open("--html", &args.html)?;
    let named = [
        ("--json -", &json_to),
        ("--markdown -", &markdown_to),
        ("--html -", &html_to),
    ];
    let mut on_stdout: Vec<&str> = named
        .into_iter()
        .filter(|(_, to)| to.as_ref().is_some_and(Output::is_stdout))
        .map(|(flag, _)| flag)
        .collect();
    let report_to = args.output.as_deref();
    let report_to = report_to.map(|path| files.write("-o", path)).transpose()?;
    let is_chosen = args.format != ReportFormat::Terminal;
    match (&report_to, args.format) {
        (Some(Output::Stdout), _) => on_stdout.push("-o -"),
        (None, ReportFormat::Markdown) => on_stdout.push("--format markdown"),
        (None, ReportFormat::Json) => on_stdout.push("--format json"),
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
    let registry = Registry::gather(&search(&args.plugins))?;
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
    if !args.what_if.is_empty() {
        predicted(&mut wish)?;
        options
            .entry(CRITICAL_PATH.to_owned())
            .or_default()
            .insert("what_if".to_owned(), Value::from(args.what_if.clone()));
    }
    options::check(&options, &registry)?;
    let run = Run::open(&args.run)?;
    let baseline = baseline(args)?;
    let reference = args.reference.as_deref().map(Opened::open).transpose()?;
    if registry.plugins.is_empty() {
        anyhow::bail!(registry.nothing_found());
    }
    let report = build(&Request {
        run: &run,
        baseline: baseline.as_ref().map(Opened::run),
        reference: reference.as_ref().map(Opened::run),
        registry: &registry,
        wish: &wish,
        categories: &categories,
        window: wanted(args),
        options: &options,
        before_each: &|id| stderr.step(&format!("running {id}")),
    })?;
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

    let code = report.exit_code(args.fail_on.map(Level::from));
    let top = args.top.unwrap_or(ROWS);
    let report = if html_to.is_some() || args.charts.is_some() {
        let mut report = report;
        let pictures = charts::gather(&run, &mut report, html_to.is_some(), stderr);
        if let Some(to) = html_to {
            stderr.step("writing the page");
            let extra = pictures.extra(top);
            to.replace(|to| html::write(&report, &extra, to))?;
        }
        if let Some(dir) = &args.charts {
            stderr.step("drawing charts");
            pictures.charts(&report, dir)?;
        }
        report
    } else {
        report
    };
    if let Some(to) = json_to {
        to.replace(|to| json::write(&report, to))?;
    }
    if let Some(to) = markdown_to {
        to.replace(|to| to.write_all(markdown::render(&report, top).as_bytes()))?;
    }
    if let Some(dir) = &args.csv {
        csv_files(&report, dir)?;
    }
    let report_to = match report_to {
        // Another form has standard output.
        None if !is_chosen && !on_stdout.is_empty() => return Ok(code),
        to => to.unwrap_or(Output::Stdout),
    };
    match args.format {
        ReportFormat::Markdown => report_to.text(&markdown::render(&report, top))?,
        ReportFormat::Json => report_to.replace(|to| json::write(&report, to))?,
        ReportFormat::Terminal => {
            let detail = detail(args, stderr);
            let page = terminal::Page {
                width: page_width(args.width),
                top: args.top.unwrap_or(match detail {
                    Detail::Brief | Detail::Head => BRIEF_ROWS,
                    Detail::Full => ROWS,
                }),
                detail,
                palette: report_to.palette(palette),
            };
            report_to.text(&terminal::render(&report, page))?;
        }
    }
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
fn baseline(args: &ReportArgs) -> anyhow::Result<Option<Opened>> {
    Ok(match args.baseline.as_slice() {
        [] => None,
        [one] => Some(Opened::open(one)?),
        several if args.compare_backends => Some(Opened::together(several)?),
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
