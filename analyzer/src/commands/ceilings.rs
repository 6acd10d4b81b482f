//! Ceilings that a user gives as files of `trueno-record peaks`.

use std::path::{Path, PathBuf};

use anyhow::Context;
use serde::Deserialize;
use trueno_engine::run::Run;
use trueno_format::{Ceiling, device_property};

/// Ceilings of one processor or GPU. Other fields of the file are ignored.
#[derive(Deserialize)]
struct Measured {
    gpu: Option<Gpu>,
    ceilings: Vec<Ceiling>,
}

#[derive(Deserialize)]
struct Gpu {
    name: String,
}

/// A processor's file holds one object, a file of GPUs a list.
#[derive(Deserialize)]
#[serde(untagged)]
enum Document {
    One(Box<Measured>),
    All(Vec<Measured>),
}

/// Adds the ceilings in these files to a run. Those of a GPU apply to every device of the run with the same name.
pub fn give(run: &mut Run, files: &[PathBuf]) -> anyhow::Result<()> {
    if files.is_empty() {
        return Ok(());
    }
    let devices: Vec<(u32, &str)> = run
        .facts()
        .values
        .iter()
        .filter_map(|(key, value)| match device_property(key)? {
            (number, "name") => Some((number, value.as_str())),
            _ => None,
        })
        .collect();
    let mut given = Vec::new();
    for file in files {
        for measured in read(file)? {
            let Some(gpu) = measured.gpu else {
                given.extend(measured.ceilings);
                continue;
            };
            let same: Vec<u32> = devices
                .iter()
                .filter(|(_, name)| *name == gpu.name)
                .map(|(number, _)| *number)
                .collect();
            if same.is_empty() {
                anyhow::bail!(
                    "--ceilings {}: they belong to {}, and the run names {} (hint: ceilings apply only to their own device)",
                    file.display(),
                    gpu.name,
                    named(&devices)
                );
            }
            for number in same {
                given.extend(measured.ceilings.iter().map(|ceiling| Ceiling {
                    device: format!("gpu:{number}").into(),
                    ..ceiling.clone()
                }));
            }
        }
    }
    run.give_ceilings(given);
    Ok(())
}

fn read(file: &Path) -> anyhow::Result<Vec<Measured>> {
    let context = || format!("--ceilings {}", file.display());
    let text =
        std::fs::read_to_string(file).with_context(|| format!("{}: cannot be read", context()))?;
    let document = serde_json::from_str(&text).with_context(|| {
        format!(
            "{}: is not a file of ceilings (hint: `trueno-record peaks -o FILE` writes one)",
            context()
        )
    })?;
    let all = match document {
        Document::One(measured) => vec![*measured],
        Document::All(all) => all,
    };
    if all.iter().all(|measured| measured.ceilings.is_empty()) {
        anyhow::bail!("{}: holds no ceiling", context())
    } else {
        Ok(all)
    }
}

fn named(devices: &[(u32, &str)]) -> String {
    let mut names: Vec<&str> = devices.iter().map(|device| device.1).collect();
    names.sort_unstable();
    names.dedup();
    if names.is_empty() {
        "no device".to_owned()
    } else {
        names.join(", ")
    }
}
