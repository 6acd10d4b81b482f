//! Facts that a file states beside its events.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

const MAX_TEXT: usize = 1 << 10;
const DEVICES: &str = "trace.deviceProperties.";
const MAX_VALUES: usize = 512;

#[derive(Debug, Default)]
pub(super) struct Facts {
    /// Entries of `values` in run.json.
    pub values: BTreeMap<String, String>,
    /// Add this to times to get Unix time.
    pub base_ns: Option<i64>,
    pub host_name: Option<String>,
    /// The process group of the job, if there is exactly one.
    pub only_group: Option<ProcessGroup>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ProcessGroup {
    pub name: String,
    pub ranks: Vec<u32>,
}

impl ProcessGroup {
    fn only(of_job: &Value) -> Option<Self> {
        let [group] = of_job.get("pg_config")?.as_array()?.as_slice() else {
            return None;
        };
        let ranks = group.get("ranks")?.as_array()?.iter();
        let ranks: Option<Vec<u32>> = ranks
            .map(|rank| rank.as_u64().and_then(|rank| u32::try_from(rank).ok()))
            .collect();
        Some(Self {
            name: group.get("pg_name")?.as_str()?.to_owned(),
            ranks: ranks.filter(|ranks| !ranks.is_empty())?,
        })
    }
}

impl Facts {
    pub fn take(&mut self, key: &str, json: Option<&[u8]>) -> bool {
        let Some(value) = json.and_then(|json| serde_json::from_slice::<Value>(json).ok()) else {
            return false;
        };
        match (key, &value) {
            ("baseTimeNanoseconds", value) => self.base_ns = value.as_i64(),
            ("host_name", Value::String(name)) => self.host_name = Some(name.clone()),
            ("distributedInfo", of_job) => self.only_group = ProcessGroup::only(of_job),
            _ => {}
        }
        self.put(&format!("trace.{key}"), &value)
    }

    /// Names devices that the file does not describe.
    pub fn name_devices(&mut self, nouns: &BTreeMap<u32, &'static str>) {
        for (number, noun) in nouns {
            let described = format!("trace.deviceProperties.{number}.name");
            if !self.values.contains_key(&described) {
                let key = format!("device.{number}.name");
                self.values.insert(key, (*noun).to_owned());
            }
        }
    }

    /// If the only described device and the only device with work have different numbers, gives the description
    /// the other number. Returns the old and the new number.
    pub fn rename_only_device(
        &mut self,
        mut used: impl Iterator<Item = u32>,
    ) -> Option<(u32, u32)> {
        let (only, None) = (used.next()?, used.next()) else {
            return None;
        };
        let number = |key: &str| {
            key.strip_prefix(DEVICES)?
                .split('.')
                .next()?
                .parse::<u32>()
                .ok()
        };
        let described: BTreeSet<u32> = self.values.keys().filter_map(|key| number(key)).collect();
        let mut described = described.into_iter();
        let (Some(stated), None) = (described.next(), described.next()) else {
            return None;
        };
        if stated == only {
            return None;
        }
        let (old, new) = (format!("{DEVICES}{stated}."), format!("{DEVICES}{only}."));
        let values = std::mem::take(&mut self.values).into_iter();
        self.values = values
            .map(|(key, value)| match key.strip_prefix(&old) {
                Some(rest) => (format!("{new}{rest}"), value),
                None => (key, value),
            })
            .collect();
        Some((stated, only))
    }

    /// If the file describes several devices, all alike, gives their description to devices with work that it does not
    /// describe. Returns these, and the number of those it describes.
    pub fn describe_like_others(
        &mut self,
        used: impl Iterator<Item = u32>,
    ) -> Option<(Vec<u32>, usize)> {
        let mut described: BTreeMap<u32, BTreeMap<&str, &str>> = BTreeMap::new();
        for (key, value) in &self.values {
            let of_device = key
                .strip_prefix(DEVICES)
                .and_then(|key| key.split_once('.'));
            if let Some((number, name)) = of_device
                && let Ok(number) = number.parse()
            {
                let facts = described.entry(number).or_default();
                if name != "id" {
                    facts.insert(name, value);
                }
            }
        }
        let first = described.values().next()?;
        let are_alike = described.len() > 1 && described.values().all(|facts| facts == first);
        let others: Vec<u32> = used.filter(|used| !described.contains_key(used)).collect();
        if !are_alike || first.is_empty() || others.is_empty() {
            return None;
        }
        let mut added = BTreeMap::new();
        for number in &others {
            let facts = first.iter();
            let facts = facts
                .map(|(name, value)| (format!("{DEVICES}{number}.{name}"), (*value).to_owned()));
            added.extend(facts);
        }
        let count = described.len();
        self.values.extend(added);
        Some((others, count))
    }

    pub fn window(&mut self, name: &[u8], dur_ns: i64) {
        let name = String::from_utf8_lossy(name);
        self.values
            .insert(format!("trace.window_ns.{name}"), dur_ns.to_string());
    }

    fn put(&mut self, key: &str, value: &Value) -> bool {
        let text = match value {
            Value::Null => return true,
            Value::Object(fields) => {
                return fields.iter().fold(true, |all, (name, value)| {
                    self.put(&format!("{key}.{name}"), value) && all
                });
            }
            // Devices and their like: objects with a number, or short lists of numbers.
            Value::Array(items) if items.iter().all(|item| item.get("id").is_some()) => {
                return items.iter().fold(true, |all, item| {
                    let id = item["id"].to_string();
                    self.put(&format!("{key}.{}", id.trim_matches('"')), item) && all
                });
            }
            Value::Array(items)
                if !items
                    .iter()
                    .all(|item| item.is_number() || item.is_string()) =>
            {
                return false;
            }
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        if text.len() > MAX_TEXT || self.values.len() >= MAX_VALUES {
            return false;
        }
        self.values.insert(key.to_owned(), text);
        true
    }
}
