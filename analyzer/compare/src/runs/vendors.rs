//! Vendors of devices: kernels of one have no namesakes on another's.

use std::collections::BTreeSet;

use trueno_engine::frame::Rows;
use trueno_engine::query::{Database, QueryError, collect};
use trueno_engine::run::Run;
use trueno_format::device_property;

use super::samples::names;

/// Lower-case words in a device's name, and its vendor.
const DEVICES: [(&str, &str); 12] = [
    ("nvidia", "NVIDIA"),
    ("tesla", "NVIDIA"),
    ("geforce", "NVIDIA"),
    ("amd", "AMD"),
    ("instinct", "AMD"),
    ("radeon", "AMD"),
    ("gfx9", "AMD"),
    ("intel", "Intel"),
    ("ascend", "Huawei"),
    ("tpu", "Google"),
    ("gaudi", "Intel"),
    ("apple", "Apple"),
];

/// Prefixes of calls that put work on a device, and the vendor.
const CALLS: [(&str, &str); 9] = [
    ("cudaLaunch", "NVIDIA"),
    ("cuLaunch", "NVIDIA"),
    ("cudaMemcpy", "NVIDIA"),
    ("hipLaunch", "AMD"),
    ("hipModuleLaunch", "AMD"),
    ("hipExtModuleLaunch", "AMD"),
    ("hipMemcpy", "AMD"),
    ("zeCommand", "Intel"),
    ("aclrt", "Huawei"),
];

/// The vendor of a run's devices, by their names or else by calls. `None` if unknown or mixed.
///
/// # Errors
/// The engine could not run a query.
pub fn vendor(run: &Run, database: &Database) -> Result<Option<&'static str>, QueryError> {
    let mut stated: Vec<String> = run
        .facts()
        .values
        .iter()
        .filter(|(key, _)| device_property(key).is_some_and(|(_, property)| property == "name"))
        .map(|(_, name)| name.clone())
        .collect();
    if stated.is_empty() {
        let sql =
            "SELECT DISTINCT CAST(name AS VARCHAR) AS name FROM devices WHERE device <> 'cpu'";
        let frame = collect(database, sql)?;
        let names = Rows::new(&frame).text("name")?;
        stated.extend(names.iter().flatten().map(str::to_owned));
    }
    let by_name: BTreeSet<&str> = stated.iter().filter_map(|name| of_device(name)).collect();
    let by_call = || -> Result<BTreeSet<&str>, QueryError> {
        let calls = names(database, "calls", "name")?;
        Ok(calls.values().filter_map(|name| of_call(name)).collect())
    };
    let found = if by_name.is_empty() {
        by_call()?
    } else {
        by_name
    };
    let mut found = found.into_iter();
    Ok(found.next().filter(|_| found.next().is_none()))
}

fn of_device(name: &str) -> Option<&'static str> {
    let name = name.to_lowercase();
    let mut words = name.split(|c: char| !c.is_alphanumeric());
    let found = words.find_map(|word| DEVICES.iter().find(|(known, _)| word.starts_with(known)));
    found.map(|(_, vendor)| *vendor)
}

fn of_call(name: &str) -> Option<&'static str> {
    let found = CALLS.iter().find(|(begin, _)| name.starts_with(begin));
    found.map(|(_, vendor)| *vendor)
}

/// Whether kernels must be compared by the operator that launched them, because the sides have devices of different
/// vendors.
pub fn differ(base: &[Option<&str>], run: &[Option<&str>]) -> bool {
    let known = |side: &[Option<&str>]| -> Option<BTreeSet<String>> {
        side.iter().map(|one| one.map(str::to_owned)).collect()
    };
    let (Some(base), Some(run)) = (known(base), known(run)) else {
        return false;
    };
    !base.is_empty() && !run.is_empty() && base.is_disjoint(&run)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vendors_are_known_by_devices_and_by_calls() {
        for (name, vendor) in [
            ("NVIDIA H100 80GB HBM3", Some("NVIDIA")),
            ("Tesla V100-SXM2-16GB", Some("NVIDIA")),
            ("AMD Instinct MI300X", Some("AMD")),
            ("gfx942:sramecc+:xnack-", Some("AMD")),
            ("Intel(R) Data Center GPU Max 1550", Some("Intel")),
            ("Ascend910B3", Some("Huawei")),
            ("GPU", None),
            ("A damned device", None),
        ] {
            assert_eq!(of_device(name), vendor, "{name}");
        }
        assert_eq!(of_call("cudaLaunchKernel"), Some("NVIDIA"));
        assert_eq!(of_call("hipExtModuleLaunchKernel"), Some("AMD"));
        assert_eq!(of_call("read"), None);
    }

    #[test]
    fn sides_differ_where_all_vendors_are_known_and_none_is_on_both() {
        let (nvidia, amd) = (Some("NVIDIA"), Some("AMD"));
        assert!(differ(&[nvidia], &[amd, amd]));
        assert!(!differ(&[nvidia], &[nvidia]));
        assert!(!differ(&[nvidia, amd], &[amd]));
        assert!(!differ(&[nvidia], &[None]));
        assert!(!differ(&[], &[amd]));
    }
}
