//! Devices that are alike: of one name and with the same ceilings, so that work on either has the same roof.

use std::collections::BTreeMap;

use trueno_analysis::roofline::ceilings::{Ceiling, Ceilings};

/// Class of devices with neither a known name nor ceilings.
const UNKNOWN: u32 = u32::MAX;

/// Classes of equal devices; each has the number of its first device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceClasses {
    of_devices: BTreeMap<u32, u32>,
}

impl DeviceClasses {
    /// `devices` are pairs of device and name.
    pub fn new(devices: &[(String, String)], ceilings: &Ceilings) -> Self {
        let mut facts: BTreeMap<u32, (Vec<&str>, Vec<Ceiling>)> = BTreeMap::new();
        for (device, name) in devices {
            if let Some(number) = number(device) {
                facts.entry(number).or_default().0.push(name);
            }
        }
        for ceiling in &ceilings.rows {
            if let Some(number) = number(&ceiling.device) {
                let device = String::new();
                let ceiling = ceiling.clone();
                let of = &mut facts.entry(number).or_default().1;
                of.push(Ceiling { device, ..ceiling });
            }
        }
        // As texts, since numbers that are none are equal there.
        let mut classes: BTreeMap<String, u32> = BTreeMap::new();
        let of_devices = facts.into_iter().map(|(device, facts)| {
            let class = *classes.entry(format!("{facts:?}")).or_insert(device);
            (device, class)
        });
        Self {
            of_devices: of_devices.collect(),
        }
    }

    pub fn of(&self, device: u32) -> u32 {
        self.of_devices.get(&device).copied().unwrap_or(UNKNOWN)
    }
}

fn number(device: &str) -> Option<u32> {
    device.strip_prefix("gpu:")?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ceiling(device: &str, value: f64) -> Ceiling {
        Ceiling {
            device: device.to_owned(),
            kind: "bandwidth".to_owned(),
            level: Some("dram".to_owned()),
            precision: None,
            threads: None,
            value,
            unit: "bytes/s".to_owned(),
            source: "measured".to_owned(),
            operation: None,
            spread: None,
            settled: None,
            earlier: None,
        }
    }

    #[test]
    fn devices_of_one_name_and_the_same_ceilings_are_alike() {
        let devices = [(0, "A"), (1, "A"), (2, "B"), (3, "A")];
        let devices = devices.map(|(device, name)| (format!("gpu:{device}"), name.to_owned()));
        let ceilings = Ceilings {
            rows: vec![
                ceiling("gpu:3", 1.0),
                ceiling("cpu", 2.0),
                ceiling("gpu:4", 1.0),
            ],
            ..Ceilings::default()
        };
        let classes = DeviceClasses::new(&devices, &ceilings);
        let of: Vec<u32> = (0..6).map(|device| classes.of(device)).collect();
        assert_eq!(of, [0, 0, 2, 3, 4, UNKNOWN]);
    }
}
