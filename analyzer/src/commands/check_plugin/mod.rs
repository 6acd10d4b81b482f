//! `trueno-analyze plugins check`.

mod render;

use std::time::Duration;

use trueno_host::conformance::{Sample, Subject, trial};
use trueno_host::plugin::isolate::{AVAILABLE, Isolation, Which};
use trueno_host::plugin::{Registry, Search};
use trueno_model::exit;
use trueno_render::style::Palette;

use super::output::Output;
use super::runs::Runs;
use super::search::{isolation, search};
use super::stderr::Stderr;
use crate::cli::PluginCheckArgs;

/// Odd inputs are small: a plugin that takes longer than this over one hangs.
const TIME: Duration = Duration::from_secs(30);

/// Tries the plugin on odd inputs. Exit code 1 if it breaks a rule.
pub fn check(
    args: &PluginCheckArgs,
    palette: Palette,
    runs: &Runs<'_>,
    stderr: &Stderr,
) -> anyhow::Result<u8> {
    if !AVAILABLE {
        anyhow::bail!(
            "plugins are tested in separate processes, which this system does not support"
        );
    }
    let to = Output::open(args.result.output.as_deref())?;
    let mut limits = isolation(&args.plugins).limits;
    limits.time = Some(args.plugins.plugin_timeout.unwrap_or(TIME));
    let alone = Registry::gather(&Search {
        files: vec![args.file.clone()],
        allow_unsafe: args.plugins.allow_unsafe_plugins,
        isolation: Isolation {
            which: Which::All,
            limits,
        },
        ..Search::default()
    })?;
    let Some(plugin) = alone.plugins.first() else {
        anyhow::bail!("{}: contains no plugin", args.file.display());
    };
    let others = Registry::gather(&search(&args.plugins))?;
    let sample = match &args.run {
        Some(_) => None,
        None => {
            stderr.step("recording a small run");
            Some(Sample::record().map_err(|why| anyhow::anyhow!(why))?)
        }
    };
    let path = match (&args.run, &sample) {
        (Some(run), _) => run.clone(),
        (None, Some(sample)) => sample.run(),
        (None, None) => anyhow::bail!("no run to test it on"),
    };
    let run = runs.open(&path)?;
    let all = trial(&Subject {
        file: &args.file,
        plugin,
        others: &others,
        run: &run,
    });
    let text = if args.result.is_json() {
        render::json(&plugin.descriptor, &args.file.display().to_string(), &all)
    } else {
        render::text(&plugin.descriptor, &all, to.palette(palette))
    };
    to.result(&text, args.result.is_json(), stderr)?;
    Ok(if render::broken(&all) > 0 {
        exit::CHECK_FAILED
    } else {
        exit::FINE
    })
}
