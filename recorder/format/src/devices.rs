//! Devices of a run, from the values that recorders and traces give of them.

use std::collections::BTreeMap;

use crate::schema::DeviceRow;
use crate::text::Texts;

/// Prefixes of the keys in `values` that describe a device: those of PyTorch's traces, of Nsight Systems and ours.
/// A number and the property follow.
const KEYS: [&str; 3] = ["trace.deviceProperties.", "gpu:", "device."];

/// Device and property that a key in `values` tells of; a number alone gives the name.
pub fn device_property(key: &str) -> Option<(u32, &str)> {
    let rest = KEYS.iter().find_map(|start| key.strip_prefix(start))?;
    let (number, property) = rest.split_once('.').unwrap_or((rest, "name"));
    Some((number.parse().ok()?, property))
}

/// Rows of `devices`, by number.
pub fn device_rows(values: &BTreeMap<String, String>, texts: &mut dyn Texts) -> Vec<DeviceRow> {
    let mut rows: BTreeMap<u32, DeviceRow> = BTreeMap::new();
    let mut majors: BTreeMap<u32, &str> = BTreeMap::new();
    for (key, value) in values {
        let Some((number, property)) = device_property(key) else {
            continue;
        };
        let row = rows.entry(number).or_insert_with(|| DeviceRow {
            device: texts.intern(&format!("gpu:{number}")),
            ..DeviceRow::default()
        });
        match property {
            "name" => row.name = Some(texts.intern(value)),
            "memory_bytes" | "totalGlobalMem" => row.memory_bytes = value.parse().ok(),
            "multiprocessors" | "numSms" => row.multiprocessors = value.parse().ok(),
            // Keys are in order, so the major version comes before the minor one.
            "compute_capability_major" | "computeMajor" => {
                majors.insert(number, value);
            }
            "compute_capability_minor" | "computeMinor" => {
                let major = majors.get(&number);
                row.compute_capability =
                    major.map(|major| texts.intern(&format!("{major}.{value}")));
            }
            _ => {}
        }
    }
    rows.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::device_property;

    #[test]
    fn keys_of_all_writers_tell_of_devices() {
        let of = |key| device_property(key);
        assert_eq!(of("trace.deviceProperties.3.numSms"), Some((3, "numSms")));
        assert_eq!(of("gpu:0.name"), Some((0, "name")));
        assert_eq!(of("device.1"), Some((1, "name")));
        assert_eq!(of("device.1.driver"), Some((1, "driver")));
        for other in ["gpu.driver_version", "device.x.name", "seed", "gpu:"] {
            assert_eq!(of(other), None, "{other}");
        }
    }
}
