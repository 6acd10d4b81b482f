//! `trueno-analyze report`.

use std::path::{Path, PathBuf};

use anyhow::Context;
use trueno_engine::run::{FilesAtOnce, Run};
use trueno_host::{PartCache, build};
use trueno_model::csv::CsvTexts;
use trueno_model::{CHANGED_WHILE_READ, Problem, Rated, Report, RunState, Severity, exit};
use trueno_render::style::Palette;
use trueno_render::{Detail, FORMS, Layout, ReportForm, csv, form};

use super::annotations;
use super::charts::{Beside, Charts};
use super::cluster;
use super::output::{self, Files, Output, Raw};
use super::pdf::Browser;
use super::report_setup::ReportSetup;
use super::rerun;
use super::running::Running;
use super::runs::Runs;
use super::stderr::Stderr;
use super::stdout::{on_terminal, page_width};
use crate::cli::ReportArgs;

pub fn report(
    args: &ReportArgs,
    palette: Palette,
    runs: &Runs<'_>,
    stderr: &Stderr,
) -> anyhow::Result<u8> {
    let outputs = Outputs::open(args)?;
    let setup = ReportSetup::open(args, runs, stderr)?;
    let files = setup.run.files_now();
    let mut report = analysed(args, &setup, stderr)?;
    let fail_on = args.fail_on.map(Severity::from);
    let code = match changed_meanwhile(&setup.run, &files) {
        None => report.exit_code(fail_on),
        Some(changed) => {
            stderr.warn(&changed.text);
            report.problems.insert(0, changed);
            exit::CANNOT_ANALYSE
        }
    };
    if let Some(fail_on) = fail_on {
        say_why(&report, fail_on, code, stderr);
    }
    if args.annotations.is_some() {
        annotations::findings(&report, fail_on);
    }
    let beside = Beside {
        evidence: outputs.pdf.is_some() || outputs.forms().any(ReportForm::shows_evidence),
        timeline: args.charts.is_some()
            || outputs.pdf.is_some()
            || outputs.forms().any(ReportForm::shows_timeline),
    };
    let charts = beside
        .is_any()
        .then(|| Charts::gather(&setup.run, &mut report, &setup.categories, beside, stderr));
    let layout = Layout {
        width: page_width(args.width),
        top: args.top,
        detail: detail(args, stderr),
        is_summary: args.summary,
        palette,
        timeline: charts.as_ref().and_then(Charts::timeline),
        stacks: charts.as_ref().map_or(&[], Charts::stacks),
        evidence: charts.as_ref().map(Charts::evidence),
        commands: &rerun::commands(args),
    };
    let write = |(form, to): Destination| {
        if form.shows_timeline() {
            stderr.step("writing the page");
        }
        let palette = to.palette(palette);
        let layout = Layout { palette, ..layout };
        let raw = if form.is_json() {
            Raw::Json
        } else {
            Raw::Never
        };
        to.replace_raw(stderr, raw, |to| form.write(&report, &layout, to))
    };
    outputs.files.into_iter().try_for_each(write)?;
    if let Some((browser, to)) = outputs.pdf {
        stderr.step("printing the page");
        let palette = Palette::new(false);
        let mut page = Vec::new();
        form("html").map_or(Ok(()), |html| {
            html.write(&report, &Layout { palette, ..layout }, &mut page)
        })?;
        let pdf = browser.print(&page)?;
        to.replace(stderr, |to| to.write_all(&pdf))?;
    }
    if let (Some(dir), Some(charts)) = (&args.charts, &charts) {
        stderr.step("drawing charts");
        stderr.wrote_files(dir, &charts.write(&report, dir)?);
    }
    if let Some(dir) = &args.csv {
        let texts = if args.csv_exact {
            CsvTexts::Exact
        } else {
            CsvTexts::Guarded
        };
        stderr.wrote_files(dir, &csv_files(&report, texts, dir)?);
    }
    outputs.page.map_or(Ok(()), write)?;
    Ok(code)
}

type Destination = (&'static dyn ReportForm, Output);

/// Outputs of the report. They are opened before the work starts, so that errors come early.
struct Outputs {
    files: Vec<Destination>,
    pdf: Option<(Browser, Output)>,
    /// The output of `--format` and `-o`; `None` if the other outputs replace it.
    page: Option<Destination>,
}

impl Outputs {
    /// Opens all outputs.
    ///
    /// # Errors
    /// One cannot be written, or is a file that the report reads; two use standard output.
    fn open(args: &ReportArgs) -> anyhow::Result<Self> {
        let inputs = [
            ("--reference", args.reference.as_deref()),
            ("--categories", args.categories.as_deref()),
            ("--options", args.options_file.as_deref()),
            ("--operators", args.operators.as_deref()),
        ];
        let several = [
            ("--baseline", &args.baseline),
            ("--ceilings", &args.ceilings),
        ];
        let several = several
            .into_iter()
            .flat_map(|(flag, paths)| paths.iter().map(move |path| (flag, Some(path.as_path()))));
        let mut opened = Files::read(several.chain(inputs));
        let mut files = Vec::new();
        let mut on_stdout: Vec<String> = Vec::new();
        for (flag, name, path) in [
            ("--json", "json", &args.json),
            ("--markdown", "markdown", &args.markdown),
            ("--html", "html", &args.html),
            ("--card", "card", &args.card),
            ("--sarif", "sarif", &args.sarif),
            ("--editor", "editor", &args.editor),
        ] {
            if let (Some(path), Some(form)) = (path, form(name)) {
                let to = opened.write(flag, path)?;
                if to.is_stdout() {
                    on_stdout.push(format!("{flag} -"));
                }
                files.push((form, to));
            }
        }
        let pdf = match &args.pdf {
            Some(path) => Some((Browser::find()?, opened.write("--pdf", path)?)),
            None => None,
        };
        if pdf.as_ref().is_some_and(|(_, to)| to.is_stdout()) {
            on_stdout.push("--pdf -".to_owned());
        }
        let page_to = args.output.as_deref();
        let page_to = page_to.map(|path| opened.write("-o", path)).transpose()?;
        match (&page_to, args.format) {
            (Some(Output::Stdout), _) => on_stdout.push("-o -".to_owned()),
            (None, Some(form)) => on_stdout.push(format!("--format {}", form.name())),
            _ => {}
        }
        if let [first, second, ..] = on_stdout.as_slice() {
            anyhow::bail!(
                "{first} and {second} both write to standard output (hint: give one of them a file)"
            );
        }
        for (flag, dir) in [("--charts", &args.charts), ("--csv", &args.csv)] {
            if let Some(dir) = dir {
                output::folder(flag, dir)?;
            }
        }
        let binary = files.iter().map(|(form, to)| (*form, to.is_stdout()));
        let page_form = args
            .format
            .map(|form| (form, page_to.as_ref().is_none_or(Output::is_stdout)));
        let mut binary = binary.chain(page_form);
        if let Some((form, _)) = binary.find(|(form, is_stdout)| *is_stdout && form.is_binary())
            && on_terminal()
        {
            anyhow::bail!(
                "the form {} is a picture (hint: write it to a file, with --{} FILE)",
                form.name(),
                form.name()
            );
        }
        let writes_files =
            !files.is_empty() || pdf.is_some() || args.charts.is_some() || args.csv.is_some();
        let page = match (args.format, page_to) {
            (None, None) if writes_files => None,
            (form, to) => Some((form.unwrap_or(FORMS[0]), to.unwrap_or(Output::Stdout))),
        };
        Ok(Self { files, pdf, page })
    }

    fn forms(&self) -> impl Iterator<Item = &'static dyn ReportForm> {
        let all = self.files.iter().chain(&self.page);
        all.map(|(form, _)| *form)
    }
}

fn analysed(args: &ReportArgs, setup: &ReportSetup, stderr: &Stderr) -> anyhow::Result<Report> {
    let part_cache = setup.part_cache(args)?;
    let request = setup.request(args, None, &|_| {}, &|_| {});
    let elsewhere = cluster::make_parts(args, &request, stderr)?;
    let running = Running::new(&setup.registry, stderr);
    let before_each = |id: &str| {
        stderr.step(&format!("running {id}"));
        running.begin(id);
    };
    let after_each = |id: &str| running.end(id);
    let built = build(&setup.request(args, part_cache.as_ref(), &before_each, &after_each));
    drop(running);
    let report = built?;
    if let Some(elsewhere) = elsewhere {
        elsewhere.doubt(stderr);
    }
    for text in part_cache.iter().flat_map(PartCache::messages) {
        stderr.warn(&text);
    }
    for (plugin, why) in report.failures() {
        stderr.warn(&format!("{plugin}: {why}"));
    }
    Ok(report)
}

/// Problem of a finished run whose files changed during the report. Its tables may mix old and new rows.
fn changed_meanwhile(run: &Run, files: &FilesAtOnce) -> Option<Problem> {
    const SHOWN: usize = 3;
    if run.facts().state == RunState::Recording {
        return None;
    }
    let changed = files.changed();
    let names: Vec<String> = changed
        .iter()
        .take(SHOWN)
        .map(|path| path.display().to_string())
        .collect();
    let more = match changed.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    (!changed.is_empty()).then(|| {
        Problem::error(
            CHANGED_WHILE_READ,
            format!(
                "{}{more} changed while the run was read, so figures may be of neither state (hint: report again when nothing \
                 writes to the run)",
                names.join(", ")
            ),
        )
    })
}

fn say_why(report: &Report, fail_on: Severity, code: u8, stderr: &Stderr) {
    if code == exit::CHECK_FAILED {
        for Rated {
            plugin,
            severity,
            title,
            ..
        } in report.culprits(fail_on)
        {
            stderr.fail(&format!("{severity}: {title} [{plugin}]"));
        }
    }
    if code == exit::NOT_MEASURABLE
        && let Some(losses) = report.losses()
    {
        stderr.fail(&format!(
            "--fail-on {fail_on} cannot be judged (hint: record the run again): {}",
            losses.words("the run")
        ));
    }
}

/// Full detail with `-v`, or if plugins were selected by name.
fn detail(args: &ReportArgs, stderr: &Stderr) -> Detail {
    let by_name = !args.only.is_empty() || args.compare_backends;
    if args.findings {
        Detail::Findings
    } else if stderr.is_quiet() {
        Detail::Head
    } else if stderr.is_verbose() || by_name {
        Detail::Full
    } else {
        Detail::Brief
    }
}

fn csv_files(report: &Report, texts: CsvTexts, dir: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for section in &report.sections {
        for table in &section.tables {
            let path = dir.join(format!("{}.{}.csv", section.plugin, table.name()));
            let mut bytes = Vec::new();
            csv::write(table, texts, &mut bytes)?;
            std::fs::write(&path, bytes)
                .with_context(|| format!("{}: cannot be written", path.display()))?;
            files.push(path);
        }
    }
    Ok(files)
}
