//! The JSON, of which one call at a time is in memory.

use std::fmt;
use std::io::Read;

use serde::Deserialize;
use serde::de::{
    DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor,
};

/// One call; what it was given is left out.
#[derive(Debug, Deserialize)]
pub struct Syscall {
    pub name: String,
    #[serde(default)]
    pub result: Option<i64>,
    #[serde(default)]
    pub duration_us: Option<u64>,
}

/// All but the calls.
#[derive(Debug, Default)]
pub struct Document {
    pub format: Option<String>,
    pub total_syscalls: Option<u64>,
}

#[derive(Deserialize)]
struct Summary {
    #[serde(default)]
    total_syscalls: Option<u64>,
}

/// A function that takes a call; it gives false to stop.
pub type Visit<'v> = dyn FnMut(Syscall) -> bool + 'v;

/// Reads one document; the program's output may follow it.
pub fn read(reader: impl Read, visit: &mut Visit<'_>) -> Result<Document, serde_json::Error> {
    serde_json::Deserializer::from_reader(reader).deserialize_map(Root(visit))
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
                "summary" => document.total_syscalls = map.next_value::<Summary>()?.total_syscalls,
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
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
