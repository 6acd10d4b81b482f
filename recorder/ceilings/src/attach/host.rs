//! Comparison of a run's host with this machine, as it is now.

use std::fmt::Debug;

use trueno_format::host;
use trueno_format::run_json::Host;

/// Compares the hosts. Returns the facts that could not be compared because the run lacks them.
///
/// # Errors
/// The values that differ, both of each. A fact that every run should state counts as different if it is missing.
/// Only the microcode may be missing: older runs lack it.
pub(super) fn compare(of_run: &Host) -> Result<Vec<&'static str>, String> {
    between(of_run, &host::facts())
}

fn between(of_run: &Host, here: &Host) -> Result<Vec<&'static str>, String> {
    same("architecture", &of_run.arch, &here.arch)?;
    same("processor", &of_run.cpu_model, &here.cpu_model)?;
    same(
        "processors it may use",
        &of_run.logical_cpus,
        &here.logical_cpus,
    )?;
    same("instruction sets", &of_run.cpu_features, &here.cpu_features)?;
    if of_run.microcode.is_none() && here.microcode.is_some() {
        return Ok(vec!["microcode"]);
    }
    same("microcode", &of_run.microcode, &here.microcode)?;
    Ok(Vec::new())
}

fn same<T: PartialEq + Debug>(
    what: &str,
    of_run: &Option<T>,
    here: &Option<T>,
) -> Result<(), String> {
    let said = |value: &Option<T>| match value {
        Some(value) => format!("{value:?}"),
        None => "not known".to_owned(),
    };
    if of_run == here {
        Ok(())
    } else {
        Err(format!(
            "{what}: {} in the run, {} here",
            said(of_run),
            said(here)
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fact_counts_and_only_the_microcode_may_be_missing() {
        let here = Host {
            name: Some("here".into()),
            arch: Some("x86_64".into()),
            cpu_model: Some("A CPU".into()),
            microcode: Some("0x10".into()),
            logical_cpus: Some(2),
            memory_bytes: Some(1 << 30),
            cpu_features: Some(vec!["avx2".into()]),
            ..Host::default()
        };
        let with = |change: fn(&mut Host)| {
            let mut run = here.clone();
            change(&mut run);
            between(&run, &here)
        };
        assert_eq!(with(|_| {}), Ok(vec![]));
        // A container has another name each time, a kernel keeps another part of the memory.
        assert_eq!(
            with(|run| {
                run.name = None;
                run.kernel = Some("6".into());
                run.memory_bytes = Some(1);
            }),
            Ok(vec![])
        );
        assert_eq!(with(|run| run.microcode = None), Ok(vec!["microcode"]));
        for (change, differs) in [
            (
                (|run| run.arch = Some("aarch64".into())) as fn(&mut Host),
                "architecture: \"aarch64\" in the run, \"x86_64\" here",
            ),
            (
                |run| run.cpu_model = None,
                "processor: not known in the run, \"A CPU\" here",
            ),
            (
                |run| run.logical_cpus = Some(1),
                "processors it may use: 1 in the run, 2 here",
            ),
            (
                |run| run.cpu_features = Some(vec!["avx2".into(), "avx512f".into()]),
                "instruction sets: [\"avx2\", \"avx512f\"] in the run, [\"avx2\"] here",
            ),
            (
                |run| run.microcode = Some("0x11".into()),
                "microcode: \"0x11\" in the run, \"0x10\" here",
            ),
        ] {
            assert_eq!(with(change), Err(differs.to_owned()));
        }
    }
}
