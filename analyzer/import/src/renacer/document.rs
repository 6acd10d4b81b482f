//! The JSON, of which one call at a time is in memory.

use std::fmt;
use std::io::Read;

use serde::Deserialize;
use serde::de::{
    DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor,
};
use serde_json::Value;

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
pub struct Document {
    pub format: Option<String>,
    pub summary: Summary,
    /// In file order.
    pub analyses: Vec<(&'static str, Value)>,
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

/// Called for each call; returns false to stop.
pub type Visit<'v> = dyn FnMut(Syscall) -> bool + 'v;

/// Reads one document. Output of the program may follow it.
pub fn read(reader: impl Read, visit: &mut Visit<'_>) -> Result<Document, serde_json::Error> {
    serde_json::Deserializer::from_reader(reader).deserialize_map(Root(visit))
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

struct Root<'c, 'v>(&'c mut Visit<'v>);

impl<'de> Visitor<'de> for Root<'_, '_> {
    type Value = Document;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with format and syscalls")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Document, A::Error> {
        let mut document = Document::default();
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "format" => document.format = Some(map.next_value()?),
                "syscalls" => map.next_value_seed(Calls(&mut *self.0))?,
                "summary" => document.summary = map.next_value()?,
                key => match ANALYSES.into_iter().find(|name| *name == key) {
                    // Of two of one name in a damaged file the last stays, so that not more than three are held.
                    Some(name) => {
                        document.analyses.retain(|(known, _)| *known != name);
                        document.analyses.push((name, map.next_value()?));
                    }
                    None => {
                        map.next_value::<IgnoredAny>()?;
                    }
                },
            }
        }
        Ok(document)
    }
}

struct Calls<'c, 'v>(&'c mut Visit<'v>);

impl<'de> DeserializeSeed<'de> for Calls<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Calls<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of calls")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut calls: A) -> Result<(), A::Error> {
        while let Some(call) = calls.next_element::<Syscall>()? {
            if !(self.0)(call) {
                return Err(A::Error::custom("stopped"));
            }
        }
        Ok(())
    }
}
