//! `trueno-analyze plugins new`.

use std::fmt::Write;
use std::path::PathBuf;

use trueno_host::plugin::{Search, find};
use trueno_host::scaffold::{self, NewPlugin, Sdk};
use trueno_model::exit;
use trueno_render::style::{Meaning, Palette};

use super::search::linked;
use super::stdout::to_stdout;
use crate::cli::{Lang, NewArgs};

pub fn new(args: &NewArgs, palette: Palette) -> anyhow::Result<u8> {
    scaffold::check_name(&args.name)?;
    let executable = std::env::current_exe().and_then(std::fs::canonicalize).ok();
    let shipped = find(&Search {
        executable: executable.clone(),
        ..Search::default()
    })?;
    let namesake = shipped
        .candidates
        .iter()
        .find(|candidate| candidate.id.as_ref() == Some(&args.name));
    if let Some(namesake) = namesake {
        anyhow::bail!(
            "there is a plugin {} already: {} (hint: another name; of two plugins of one name, only the first that is found runs)",
            args.name,
            namesake.file.display()
        );
    }
    if linked().iter().any(|linked| linked.id == args.name) {
        anyhow::bail!(
            "there is a plugin {} already, which is a part of this program (hint: another name)",
            args.name
        );
    }
    let sdk = match &args.sdk {
        Some(given) => Sdk::given(given).map_err(|why| anyhow::anyhow!("--sdk {why}"))?,
        None => {
            let here = std::env::current_dir().ok();
            let places: Vec<PathBuf> = executable.into_iter().chain(here).collect();
            Sdk::around(&places)
        }
    };
    let dir = args
        .dir
        .clone()
        .unwrap_or_else(|| PathBuf::from(&args.name));
    let made = scaffold::create(&NewPlugin {
        id: args.name.clone(),
        lang: args.lang.into(),
        dir: dir.clone(),
        sdk: sdk.clone(),
    })?;
    let mut out = String::new();
    // Writing to a string cannot fail.
    let heading = format!("plugin {} in {}", args.name, dir.display());
    let _ = writeln!(out, "{}", palette.paint(Meaning::Heading, &heading));
    for file in &made.files {
        let _ = writeln!(out, "  {file}");
    }
    if args.lang == Lang::Rust {
        let _ = writeln!(out, "{}", sdk.hint());
    }
    if let Some(root) = &made.workspace {
        let _ = writeln!(
            out,
            "it lies in the cargo workspace {}, which must list it among its members",
            root.display()
        );
    }
    let _ = writeln!(out, "next:");
    let library = &made.library;
    let enter = format!("cd {}", dir.display());
    let steps = std::iter::once(enter.as_str()).chain(made.steps.iter().copied());
    for line in [
        steps.collect::<Vec<_>>().join(" && "),
        format!(
            "trueno-analyze report RUN --plugin-file {library} --plugin-id {}",
            args.name
        ),
        format!("trueno-analyze plugins check {library} RUN"),
    ] {
        let _ = writeln!(out, "  {line}");
    }
    to_stdout(out.as_bytes())?;
    Ok(exit::FINE)
}
