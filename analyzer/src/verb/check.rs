//! `trueno-analyze check`.

use super::output::{Files, Output};
use super::talk::Talk;
use super::{page_width, search, to_stdout};
use crate::categories::CategoryRules;
use crate::check::{self, Config, Subject, exit_code, render};
use crate::cli::CheckArgs;
use crate::golden::Opened;
use crate::plugin::Roster;
use crate::report::style::Palette;
use crate::run::Run;

/// Checks, prints, and judges.
pub fn check(args: &CheckArgs, palette: Palette, talk: &Talk) -> anyhow::Result<u8> {
    let mut files = Files::read([
        ("--assert", Some(args.assertions.as_path())),
        ("--golden", args.golden.as_deref()),
        ("--reference", args.reference.as_deref()),
        ("--categories", args.categories.as_deref()),
    ]);
    let junit_to = args
        .junit
        .as_deref()
        .map(|path| files.write("--junit", path))
        .transpose()?;
    let junit_takes_stdout = junit_to.as_ref().is_some_and(Output::is_stdout);
    if junit_takes_stdout && args.json {
        anyhow::bail!("--json and --junit - both want standard output (hint: give --junit a file)");
    }
    let config = Config::read(&args.assertions)?;
    let rules = match &args.categories {
        Some(file) => CategoryRules::read(file)?,
        None => CategoryRules::default(),
    };
    let roster = Roster::gather(&search(&args.plugins))?;
    let run = Run::open(&args.run)?;
    let golden = args.golden.as_deref().map(Opened::open).transpose()?;
    let reference = args.reference.as_deref().map(Opened::open).transpose()?;
    let shown = |path: &std::path::Path| path.display().to_string();
    let golden_shown = args.golden.as_deref().map(shown);
    let golden = golden.as_ref().zip(golden_shown.clone());
    let subject = Subject::new(&run, shown(&args.run), golden, &roster, &rules)?;
    let subject = subject.with_reference(reference.as_ref().map(Opened::run));
    let outcomes = check::check(&config, &subject, &|name| {
        talk.step(&format!("checking {name}"));
    })?;
    let code = exit_code(&outcomes);
    if let Some(to) = junit_to {
        to.replace(|to| to.write_all(render::junit(&outcomes, &shown(&args.run)).as_bytes()))?;
    }
    if junit_takes_stdout {
        return Ok(code);
    }
    let text = if args.json {
        render::json(&outcomes, &shown(&args.run), golden_shown.as_deref(), code)
    } else {
        render::terminal(&outcomes, page_width(args.width), palette)
    };
    to_stdout(text.as_bytes())?;
    Ok(code)
}
