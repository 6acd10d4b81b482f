//! Nominal ceilings of devices that a run names: figures of data sheets.

use std::collections::BTreeMap;

use serde::Deserialize;
use trueno_analysis::roofline::ceilings::Ceiling;

const SHEETS: &str = include_str!("nominal.toml");
/// Vendor prefixes that some drivers add to a device name.
const VENDORS: [&str; 2] = ["NVIDIA ", "Tesla "];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Sheets {
    device: Vec<Sheet>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Sheet {
    names: Vec<String>,
    source: String,
    dram: f64,
    vector: BTreeMap<String, f64>,
    matrix: BTreeMap<String, f64>,
}

/// A device of the run with the figures of its data sheet.
#[derive(Clone, Debug, PartialEq)]
pub struct Named {
    pub name: String,
    pub source: String,
    pub ceilings: Vec<Ceiling>,
}

/// Devices that have a data sheet here. `devices` are pairs of device and name. The ceilings are the peaks of
/// matrix units, vector units and memory times `achievable_share`.
pub fn of_devices(devices: &[(String, String)], achievable_share: f64) -> Vec<Named> {
    let named = devices
        .iter()
        .filter_map(|(device, name)| named(device, name, achievable_share));
    named.collect()
}

fn named(device: &str, name: &str, achievable_share: f64) -> Option<Named> {
    let short = bare(name);
    let sheets = sheets().device;
    let sheet = sheets
        .into_iter()
        .find(|sheet| sheet.names.iter().any(|of| of == short))?;
    let ceiling = |kind: &str, level: &str, precision: Option<&String>, value: f64| Ceiling {
        device: device.to_owned(),
        kind: kind.to_owned(),
        level: Some(level.to_owned()),
        precision: precision.cloned(),
        threads: None,
        value: value * achievable_share,
        unit: if kind == "compute" {
            "flop/s"
        } else {
            "bytes/s"
        }
        .to_owned(),
        source: "nominal".to_owned(),
        operation: None,
        spread: None,
        settled: None,
        earlier: None,
    };
    let compute = |level: &'static str, of: &BTreeMap<String, f64>| {
        let rows = of.iter();
        rows.map(move |(precision, tera)| ceiling("compute", level, Some(precision), tera * 1e12))
            .collect::<Vec<_>>()
    };
    let mut ceilings = vec![ceiling("bandwidth", "dram", None, sheet.dram * 1e9)];
    ceilings.extend(compute("cuda_cores", &sheet.vector));
    ceilings.extend(compute("matrix", &sheet.matrix));
    Some(Named {
        name: name.to_owned(),
        source: sheet.source,
        ceilings,
    })
}

fn bare(name: &str) -> &str {
    VENDORS.iter().fold(name.trim(), |name, vendor| {
        name.strip_prefix(vendor).unwrap_or(name)
    })
}

/// Names with a data sheet that share a model with `name`, closest first: `H100` for `H100 80GB HBM3 MIG 1g.10gb`.
/// Empty if `name` itself has a data sheet.
pub fn near(name: &str) -> Vec<String> {
    let name = bare(name);
    let words = |name: &str| -> Vec<String> {
        let words = name.split(|letter: char| !letter.is_alphanumeric());
        words
            .filter(|word| !word.is_empty())
            .map(str::to_lowercase)
            .collect()
    };
    let own = words(name);
    // A model has a number: `MI300X`, `A100`, `4090`.
    let is_model = |word: &String| word.bytes().filter(u8::is_ascii_digit).count() > 1;
    let is_size = |word: &String| word.ends_with("gb") || word.ends_with("hbm3");
    let mut found: Vec<(usize, String)> = Vec::new();
    for of in sheets().device.into_iter().flat_map(|sheet| sheet.names) {
        if of == name {
            return Vec::new();
        }
        let theirs = words(&of);
        let mut shared = theirs.iter().filter(|word| own.contains(word));
        let count = shared.clone().count();
        if shared.any(|word| is_model(word) && !is_size(word)) {
            found.push((count, of));
        }
    }
    found.sort_by(|a, b| (b.0, &a.1).cmp(&(a.0, &b.1)));
    found.into_iter().map(|row| row.1).collect()
}

fn sheets() -> Sheets {
    toml::from_str(SHEETS).expect("the file in this crate is what its type says")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drivers_names_find_their_sheets_and_others_none() {
        for name in [
            "NVIDIA H100 80GB HBM3",
            "Tesla V100-SXM2-16GB",
            "A100-SXM4-40GB",
            "NVIDIA A100-SXM4-40GB",
            "AMD Instinct MI300X",
        ] {
            let found = named("gpu:0", name, 1.0).expect(name);
            assert!(found.source.contains("data sheet"), "{}", found.source);
        }
        for other in [
            "NVIDIA A100-SXM4-40GB MIG 3g.20gb",
            "NVIDIA GeForce RTX 4090 Laptop GPU",
            "NVIDIA GeForce RTX 4090 D",
            "H100",
            "",
        ] {
            assert_eq!(named("gpu:0", other, 1.0), None, "{other}");
        }
    }

    #[test]
    fn a_name_without_a_sheet_says_which_are_near() {
        let first = |name: &str| near(name).into_iter().next();
        let expect = |name: &str, of: &str| assert_eq!(first(name).as_deref(), Some(of), "{name}");
        expect("NVIDIA A100-SXM4-40GB MIG 3g.20gb", "A100-SXM4-40GB");
        expect("NVIDIA GeForce RTX 4090 Laptop GPU", "GeForce RTX 4090");
        expect("AMD Instinct MI300X HF", "AMD Instinct MI300X");
        assert_eq!(first("NVIDIA H100 80GB HBM3"), None);
        assert_eq!(first("GeForce GTX 1080"), None);
        assert_eq!(first("AMD Radeon Graphics"), None);
    }

    #[test]
    fn figures_are_dense_and_in_order() {
        let sheets = sheets().device;
        assert!(sheets.len() >= 24, "{}", sheets.len());
        let mut names = std::collections::BTreeSet::new();
        for sheet in &sheets {
            let of = |precision: &str| sheet.matrix.get(precision).copied();
            assert!(!sheet.source.is_empty());
            assert!(
                sheet.names.iter().all(|name| names.insert(name)),
                "{:?}",
                sheet.names
            );
            // Twice as fast with half of the bits: a sparse figure beside dense ones would be found here.
            for (narrow, wide) in [
                ("f8", "f16"),
                ("f4", "f8"),
                ("i8", "f16"),
                ("f16", "tf32"),
                ("bf16", "tf32"),
            ] {
                if let (Some(narrow), Some(wide)) = (of(narrow), of(wide)) {
                    let times = narrow / wide;
                    assert!((0.99..=4.01).contains(&times), "{:?}: {times}", sheet.names);
                }
            }
            if let (Some(half), Some(brain)) = (of("f16"), of("bf16")) {
                assert_eq!(half, brain, "{:?}", sheet.names);
            }
            let single = sheet.vector["f32"];
            let balance = single * 1e3 / sheet.dram;
            assert!(
                (8.0..=120.0).contains(&balance),
                "{:?}: {balance} FLOPs a byte",
                sheet.names
            );
        }
    }

    #[test]
    fn a_share_lowers_every_ceiling() {
        let [all, part] =
            [1.0, 0.8].map(|share| named("gpu:3", "NVIDIA L4", share).expect("a sheet"));
        for (all, part) in all.ceilings.iter().zip(&part.ceilings) {
            assert_eq!(part.value, all.value * 0.8);
            assert_eq!(
                (part.device.as_str(), part.source.as_str()),
                ("gpu:3", "nominal")
            );
        }
    }
}
