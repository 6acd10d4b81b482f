//! `trueno-analyze compare`.

use std::path::{Path, PathBuf};

use super::output::{self, Files, Output};
use super::talk::Talk;
use super::{on_terminal, page_width, pictures, search, to_stdout};
use crate::categories::CategoryRules;
use crate::cli::{CompareArgs, CompareFail, CompareFormat};
use crate::compare::{self, Comparison, Member, Options, Verdict, render};
use crate::exit;
use crate::golden::Opened;
use crate::plugin::Roster;
use crate::report::style::Palette;

/// Columns of the page where there is no terminal: all columns have room.
const ELSEWHERE: u16 = 100;

/// Compares, prints, and judges.
pub fn compare(args: &CompareArgs, palette: Palette, talk: &Talk) -> anyhow::Result<u8> {
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
    let on_stdout = html_to.as_ref().is_some_and(Output::is_stdout);
    if on_stdout && args.format != CompareFormat::Table {
        anyhow::bail!(
            "--html - and --format both want standard output (hint: give the page a file)"
        );
    }
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
    let roster = Roster::gather(&search(&args.plugins))?;
    let roster = (!args.no_path).then_some(&roster);
    let read = |path: &Path| -> anyhow::Result<Member> {
        let shown = path.display().to_string();
        talk.step(&format!("reading {shown}"));
        let opened = Opened::open(path)?;
        // A golden file has no times of its own, so no path either.
        let roster = roster.filter(|_| !opened.is_golden());
        let warn = |text: &str| talk.warn(text);
        let run = opened.run();
        let mut member = compare::read(&shown, run, &rules, roster, &options, &warn)?;
        opened.complete(&mut member, &options);
        Ok(member)
    };
    let side = |paths: &mut dyn Iterator<Item = &PathBuf>| -> anyhow::Result<Vec<Member>> {
        paths.map(|path| read(path)).collect()
    };
    let base = side(&mut std::iter::once(&args.base).chain(&args.baseline))?;
    let run = side(&mut args.runs.iter())?;
    talk.step("comparing");
    let comparison = compare::compare(&base, &run, &options);
    let text = match args.format {
        CompareFormat::Json => render::json(&comparison),
        CompareFormat::Markdown => render::markdown(&comparison, args.top),
        CompareFormat::Table => {
            let asked = args.width.or((!on_terminal()).then_some(ELSEWHERE));
            render::terminal(&comparison, page_width(asked), args.top, palette)
        }
    };
    if let Some(dir) = &args.charts {
        match compare::render::forest(&comparison) {
            Some(scene) => pictures::write(&scene, dir, "compare")?,
            None => talk.warn("--charts: no name has a ratio to draw"),
        }
    }
    if let Some(to) = html_to {
        talk.step("writing the page");
        let page = render::page(&comparison, args.top);
        to.replace(|to| to.write_all(page.as_bytes()))?;
    }
    if !on_stdout {
        to_stdout(text.as_bytes())?;
    }
    Ok(code(&comparison, args.fail_on, talk))
}

fn code(comparison: &Comparison, fail_on: Option<CompareFail>, talk: &Talk) -> u8 {
    let changed = || {
        comparison.is_slower()
            || comparison.with(Verdict::Faster) > 0
            || !comparison.counts.is_empty()
    };
    let fails = match fail_on {
        None => false,
        Some(CompareFail::Slower) => comparison.is_slower(),
        Some(CompareFail::Changed) => changed(),
    };
    if fails {
        return exit::CHECK_FAILED;
    }
    if !comparison.is_measurable() {
        talk.warn(
            "nothing could be compared: no name has enough samples with durations on both sides",
        );
        return exit::NOT_MEASURABLE;
    }
    exit::FINE
}
