//! Properties of devices, of which a run may give a dozen each: one aspect that names what differs.

use std::collections::{BTreeMap, BTreeSet};

use trueno_format::device_property;

use super::comparability::{Aspect, Standing};
use super::side::Member;

type Devices<'a> = BTreeMap<u32, BTreeMap<&'a str, &'a str>>;

fn devices(member: &Member) -> Devices<'_> {
    let mut devices = Devices::new();
    for (key, value) in &member.facts.values {
        if let Some((number, property)) = device_property(key) {
            devices.entry(number).or_default().insert(property, value);
        }
    }
    devices
}

/// Distinct names of the devices of a side.
pub(super) fn names(side: &[Member]) -> BTreeSet<String> {
    let all = side.iter().flat_map(|member| devices(member).into_values());
    all.filter_map(|device| device.get("name").map(|name| (*name).to_owned()))
        .collect()
}

pub(super) fn is_one(member: &Member) -> bool {
    devices(member).len() == 1
}

/// `None` if no run has properties of devices.
pub(super) fn aspect(base: &[Member], run: &[Member]) -> Option<Aspect> {
    let sides = [base, run].map(|side| side.iter().map(devices).collect::<BTreeSet<_>>());
    let all = || sides.iter().flatten().flat_map(Devices::values);
    let properties: BTreeSet<&str> = all().flat_map(|device| device.keys().copied()).collect();
    let differing: Vec<&str> = properties
        .iter()
        .copied()
        .filter(|property| {
            let of = |devices: &Devices<'_>| -> Vec<(u32, Option<String>)> {
                let value =
                    |device: &BTreeMap<&str, &str>| device.get(property).map(|v| (*v).to_owned());
                devices
                    .iter()
                    .map(|(number, device)| (*number, value(device)))
                    .collect()
            };
            let values: BTreeSet<_> = sides.iter().flatten().map(of).collect();
            values.len() > 1
        })
        .collect();
    // Another device has other properties, which its name says.
    let told = match differing.as_slice() {
        [] => vec!["name"],
        some if some.contains(&"name") => vec!["name"],
        some => some.to_vec(),
    };
    let words = |side: &BTreeSet<Devices<'_>>| -> String {
        let words: Vec<String> = side
            .iter()
            .map(|devices| in_words(devices, &told))
            .collect();
        words.join("; ")
    };
    (!properties.is_empty()).then(|| Aspect {
        aspect: "devices".to_owned(),
        standing: if differing.is_empty() {
            Standing::Same
        } else {
            Standing::Differs
        },
        base: words(&sides[0]),
        run: words(&sides[1]),
        is_detail: false,
    })
}

/// Describes devices with these properties. Equal devices are grouped: `0 to 7: NVIDIA A100`.
fn in_words(devices: &Devices<'_>, told: &[&str]) -> String {
    let mut groups: Vec<(String, Vec<u32>)> = Vec::new();
    for (number, device) in devices {
        let value = |property: &&str| {
            let value = device.get(property).copied().unwrap_or("not given");
            match *property {
                "name" => value.to_owned(),
                property => format!("{property} {value}"),
            }
        };
        let text = told.iter().map(value).collect::<Vec<_>>().join(", ");
        match groups.iter_mut().find(|group| group.0 == text) {
            Some(group) => group.1.push(*number),
            None => groups.push((text, vec![*number])),
        }
    }
    let groups = groups.iter().map(|(text, numbers)| {
        let is_range = numbers.windows(2).all(|two| two[0] + 1 == two[1]);
        let numbers = match numbers.as_slice() {
            [first, .., last] if is_range => format!("{first} to {last}"),
            some => some
                .iter()
                .map(u32::to_string)
                .collect::<Vec<_>>()
                .join(", "),
        };
        format!("{numbers}: {text}")
    });
    let groups: Vec<String> = groups.collect();
    if groups.is_empty() {
        "not given".to_owned()
    } else {
        groups.join("; ")
    }
}
