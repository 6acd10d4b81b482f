//! `demo`: two recorded runs to try the program on.

use std::fs;
use std::path::Path;

use anyhow::{Context, bail};
use trueno_render::commands::quoted;
use trueno_render::style::Palette;

use super::report;
use super::runs::Runs;
use super::stderr::Stderr;
use super::to_stdout;
use crate::cli::{Cli, Command, DemoArgs};

type File = (&'static str, &'static [u8]);

macro_rules! files {
    ($run:literal) => {
        files!($run: "run.json" "batches.jsonl" "allocations/000000.arrow" "bricks/000000.arrow"
            "checksums/000000.arrow" "clock_pairs/000000.arrow" "edges/000000.arrow" "kernels/000000.arrow"
            "syncs/000000.arrow" "threads/000000.arrow" "tiles/000000.arrow")
    };
    ($run:literal: $($file:literal)*) => {
        ($run, &[$((
            $file,
            include_bytes!(concat!("../../demo/", $run, "/", $file)).as_slice(),
        )),*])
    };
}

/// A small transformer on AVX-512, and the same with one operator that does its work three times.
const RUNS: [(&str, &[File]); 2] = [files!("before.run"), files!("after.run")];

pub(super) fn demo(
    args: &DemoArgs,
    page: Palette,
    runs: &Runs,
    stderr: &Stderr,
) -> anyhow::Result<u8> {
    let folder = &args.output;
    if folder.exists() {
        bail!(
            "{}: exists already (hint: name another folder with -o)",
            folder.display()
        );
    }
    for (run, files) in RUNS {
        write(&folder.join(run), files)?;
    }
    let [before, after] = RUNS.map(|(run, _)| folder.join(run));
    let words = [
        "trueno-analyze".as_ref(),
        "report".as_ref(),
        before.as_os_str(),
    ];
    let cli: Cli = trueno_command_line::parse(words.map(ToOwned::to_owned).to_vec())
        .context("the report of the demo")?;
    let Command::Report(report) = &cli.command else {
        bail!("the report of the demo is not a report");
    };
    let code = report::report(report, page, runs, stderr)?;
    let [before, after, html] =
        [&before, &after, &folder.join("report.html")].map(|path| quoted(&path.to_string_lossy()));
    let steps = [
        format!("report {before} --html {html}"),
        format!("report {before} --baseline {after}"),
        format!("compare {before} {after}"),
        format!("tree {before} --merge"),
        format!(
            "query {before} 'SELECT name, COUNT(*) AS calls, SUM(dur_ns) AS total_ns FROM kernels GROUP BY name ORDER BY total_ns DESC'"
        ),
        format!("tui {before}"),
        format!("serve {before} {after} --open"),
    ];
    let steps = steps
        .map(|step| format!("  trueno-analyze {step}\n"))
        .concat();
    to_stdout(
        format!("\n{after} is the same program with one operator that does its work three times. Try:\n{steps}")
            .as_bytes(),
    )?;
    Ok(code)
}

fn write(run: &Path, files: &[File]) -> anyhow::Result<()> {
    for (name, bytes) in files {
        let path = run.join(name);
        let parent = path.parent().unwrap_or(run);
        fs::create_dir_all(parent)
            .with_context(|| format!("{}: cannot be created", parent.display()))?;
        fs::write(&path, bytes)
            .with_context(|| format!("{}: cannot be written", path.display()))?;
    }
    Ok(())
}
