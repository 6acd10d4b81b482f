//! `trueno-analyze plugins check`.

use std::time::Duration;

use super::talk::Talk;
use super::{isolation, search, to_stdout};
use crate::cli::{CheckFormat, PluginCheckArgs};
use crate::exit;
use crate::plugin::isolate::{AVAILABLE, Isolation, Which};
use crate::plugin::{Roster, Search};
use crate::report::style::Palette;
use crate::rules::{Sample, Subject, render, trial};
use crate::run::Run;

/// Odd inputs are small: a plugin that takes longer over one has lost itself.
const TIME: Duration = Duration::from_secs(30);

/// Tries the plugin. A rule that is broken is exit code 1.
pub fn check(args: &PluginCheckArgs, palette: Palette, talk: &Talk) -> anyhow::Result<u8> {
    if !AVAILABLE {
        anyhow::bail!(
            "plugins are tried in processes of their own, which this system does not have"
        );
    }
    let mut limits = isolation(&args.plugins).limits;
    limits.time = args.plugins.plugin_timeout.unwrap_or(TIME);
    let alone = Roster::gather(&Search {
        files: vec![args.file.clone()],
        allow_unsafe: args.plugins.allow_unsafe_plugins,
        isolation: Isolation {
            which: Which::All,
            limits,
        },
        ..Search::default()
    })?;
    let Some(plugin) = alone.plugins.first() else {
        anyhow::bail!("{}: no plugin in it", args.file.display());
    };
    let others = Roster::gather(&search(&args.plugins))?;
    let sample = match &args.run {
        Some(_) => None,
        None => {
            talk.step("recording a small run");
            Some(Sample::record().map_err(|why| anyhow::anyhow!(why))?)
        }
    };
    let path = match (&args.run, &sample) {
        (Some(run), _) => run.clone(),
        (None, Some(sample)) => sample.run(),
        (None, None) => anyhow::bail!("no run to try it on"),
    };
    let run = Run::open(&path)?;
    let all = trial(&Subject {
        file: &args.file,
        plugin,
        others: &others,
        run: &run,
    });
    let text = match args.format {
        CheckFormat::Text => render::text(&plugin.descriptor, &all, palette),
        CheckFormat::Json => {
            render::json(&plugin.descriptor, &args.file.display().to_string(), &all)
        }
    };
    to_stdout(text.as_bytes())?;
    Ok(if render::broken(&all) > 0 {
        exit::CHECK_FAILED
    } else {
        exit::FINE
    })
}
