//! `trueno-analyze ptx`: the source of a kernel, with the launches that used it.

mod launches;
mod sources;

use anyhow::{Context, bail};
use launches::Launches;
use serde_json::json;
use sources::{Found, Sources};
use trueno_model::exit;

use super::output::Output;
use super::runs::Runs;
use super::stderr::Stderr;
use crate::cli::PtxArgs;

/// Prints a PTX source. Exit code 3 if none was recorded.
pub fn ptx(args: &PtxArgs, runs: &Runs<'_>, stderr: &Stderr) -> anyhow::Result<u8> {
    let to = Output::open(args.result.output.as_deref())?;
    let run = runs.open(&args.run)?;
    let database = run.sql_context()?;
    let launches = Launches::read(&database).context("the launches cannot be read")?;
    let sources = Sources::read(&database, &launches).context("the sources cannot be read")?;
    let Some(which) = &args.which else {
        if sources.is_empty() {
            stderr.warn("the run holds no kernel source");
            return Ok(exit::NOT_MEASURABLE);
        }
        let text = if args.result.is_json() {
            format!("{:#}\n", sources.json())
        } else {
            sources.list()
        };
        to.result(&text, args.result.is_json(), stderr)?;
        return Ok(exit::FINE);
    };
    let hash = match sources.find(which, &launches) {
        Found::One(hash) => hash,
        Found::Several(hashes) => bail!(
            "{which}: {} sources fit (hint: give the hash of one of them)\n{}",
            hashes.len(),
            sources.some(&hashes)
        ),
        Found::NoSource => {
            if args.launches {
                let of_name = launches.filter_kernel(which);
                let text = if args.result.is_json() {
                    format!("{:#}\n", json!({"hash": null, "launches": of_name.json()}))
                } else {
                    of_name.table("")
                };
                to.result(&text, args.result.is_json(), stderr)?;
                return Ok(exit::FINE);
            }
            stderr.warn(&format!(
                "{which}: the run holds no source of this kernel (hint: --launches shows its launches)"
            ));
            return Ok(exit::NOT_MEASURABLE);
        }
        Found::Nothing(near) if near.is_empty() => {
            bail!("{which}: no kernel and no source has this name or hash")
        }
        Found::Nothing(near) => bail!(
            "{which}: no kernel and no source has this name or hash (hint: there is {})",
            near.join(", ")
        ),
    };
    let used = launches.filter_source(&hash);
    let source = match run.kernel_source(&hash) {
        _ if args.launches => None,
        Ok((text, true)) => Some(text),
        Ok((text, false)) => {
            stderr.warn(&format!(
                "{hash}: the source has changed since it was recorded (its hash differs)"
            ));
            Some(text)
        }
        Err(error) => {
            stderr.warn(&error.to_string());
            return Ok(exit::NOT_MEASURABLE);
        }
    };
    if args.result.is_json() {
        let value = json!({
            "hash": hash,
            "names": sources.names(&hash),
            "launches": used.json(),
            "source": source,
        });
        to.result(&format!("{value:#}\n"), true, stderr)?;
        return Ok(exit::FINE);
    }
    let lead = if args.launches { "" } else { "// " };
    let mut text = format!("{lead}{}\n", sources.line(&hash));
    text.push_str(&used.table(lead));
    if let Some(source) = source {
        text.push('\n');
        text.push_str(&source);
        if !source.ends_with('\n') {
            text.push('\n');
        }
    }
    to.text(&text, stderr)?;
    Ok(exit::FINE)
}
