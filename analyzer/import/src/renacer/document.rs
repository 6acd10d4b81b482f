//! The JSON, of which one call at a time is in memory.

use serde::Deserialize;
use serde::de::MapAccess;
use serde_json::Value;

use crate::json::{self, Members, list};
use crate::strace::instants::Source;

/// Members other than calls that become instants.
pub const ANALYSES: [&str; 3] = [
    "ml_analysis",
    "isolation_forest_analysis",
    "autoencoder_analysis",
];

#[derive(Debug, Deserialize)]
pub struct Syscall {
    pub name: String,
    /// The first three registers in hexadecimal. For `openat` the second is the quoted path.
    #[serde(default)]
    pub args: Vec<String>,
    #[serde(default)]
    pub result: Option<i64>,
    #[serde(default)]
    pub duration_us: Option<u64>,
    #[serde(default)]
    pub source: Option<Source>,
}

#[derive(Debug, Default)]
pub struct Found {
    pub format: Option<String>,
    pub summary: Summary,
    /// In file order.
    pub analyses: Vec<(&'static str, Value)>,
}

pub struct Document<V> {
    /// Takes each call, or returns the reason to stop.
    visit: V,
    pub found: Found,
}

impl<V> Document<V> {
    pub fn new(visit: V) -> Self {
        let found = Found::default();
        Self { visit, found }
    }
}

#[derive(Debug, Default, Deserialize)]
pub struct Summary {
    #[serde(default)]
    pub total_syscalls: Option<u64>,
    #[serde(default)]
    pub total_time_us: Option<u64>,
    #[serde(default)]
    pub exit_code: Option<i64>,
}

/// True if a document begins here, as far as the text goes: the program may have printed other JSON first.
pub fn begins(text: &[u8]) -> bool {
    let Some(members) = text.trim_ascii_start().strip_prefix(b"{") else {
        return false;
    };
    let members = members.trim_ascii_start();
    let names = ["version", "format", "syscalls", "summary"];
    let names = names.into_iter().chain(ANALYSES);
    members.is_empty()
        || names.map(|name| format!("\"{name}\"")).any(|name| {
            members.starts_with(name.as_bytes()) || name.as_bytes().starts_with(members)
        })
}

impl<V: FnMut(Syscall) -> Result<(), &'static str>> Members for Document<V> {
    const EXPECTED: &'static str = "an object with format and syscalls";

    fn member<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        match key {
            "format" => self.found.format = Some(map.next_value()?),
            "syscalls" => map.next_value_seed(list("an array of calls", &mut self.visit))?,
            "summary" => self.found.summary = map.next_value()?,
            key => match ANALYSES.into_iter().find(|name| *name == key) {
                // Of two of one name in a damaged file the last stays, so that not more than three are held.
                Some(name) => {
                    self.found.analyses.retain(|(known, _)| *known != name);
                    self.found.analyses.push((name, map.next_value()?));
                }
                None => json::ignore(map)?,
            },
        }
        Ok(())
    }
}
