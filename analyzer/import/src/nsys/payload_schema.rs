//! Layouts of NVTX payloads, as an export lists them, and the values in their bytes.
//!
//! `NVTX_EVENTS.binaryData` holds a header of 32 bytes and the payload; its layout stands in
//! `NVTX_PAYLOAD_SCHEMA_ENTRIES`, words of enumerations in `NVTX_PAYLOAD_ENUM_ENTRIES`. Numbers are
//! little-endian:
//!
//! | bytes of the header | |
//! | --- | --- |
//! | 0 to 8 | domain |
//! | 8 to 16 | schema |
//! | 16 to 24 | length of the payload |
//! | 24 to 32 | its place, of which versions have different notions |
//!
//! Types are those of `nvToolsExtPayload.h` (NVTX 3) on 64-bit Linux.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Map, Value as Json};

use super::source::{Scan, Source, Value};
use crate::{Error, Notes};

const HEADER_BYTES: usize = 32;
/// Flags of an entry that is an array or whose value is stored elsewhere.
const NOT_IN_PLACE: i64 = 0x7e;

/// Domain and schema; schema ids are unique only within a domain.
type Key = (i64, i64);

#[derive(Debug, Default)]
pub struct Schemas {
    /// Entries by schema. `None` if processes registered different layouts.
    layouts: HashMap<Key, Option<BTreeMap<i64, Entry>>>,
    words: HashMap<Key, HashMap<i64, String>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    name: String,
    kind: i64,
    flags: i64,
    offset: usize,
}

impl Schemas {
    pub fn read(source: &mut dyn Source) -> Result<Self, Error> {
        let mut schemas = Self::default();
        let table = "NVTX_PAYLOAD_SCHEMA_ENTRIES";
        let columns = [
            "domainId", "schemaId", "idx", "flags", "type", "name", "offset",
        ];
        if source.has_columns(table, &columns) {
            source.merged(&[Scan::new(table, &columns)], &mut |_, values| {
                schemas.take_entry(values);
                Ok(())
            })?;
        }
        let table = "NVTX_PAYLOAD_ENUM_ENTRIES";
        let columns = ["domainId", "schemaId", "name", "value"];
        if source.has_columns(table, &columns) {
            source.merged(&[Scan::new(table, &columns)], &mut |_, values| {
                if let [
                    Value::Int(domain),
                    Value::Int(schema),
                    Value::Text(word),
                    Value::Int(value),
                ] = values
                {
                    let words = schemas.words.entry((*domain, *schema)).or_default();
                    words.insert(*value, word.clone().into_owned());
                }
                Ok(())
            })?;
        }
        Ok(schemas)
    }

    fn take_entry(&mut self, values: &[Value<'_>]) {
        let [
            Value::Int(domain),
            Value::Int(schema),
            Value::Int(number),
            flags,
            Value::Int(kind),
            Value::Text(name),
            offset,
        ] = values
        else {
            return;
        };
        let or_zero = |value: &Value<'_>| match value {
            Value::Int(value) => Some(*value),
            Value::Null => Some(0),
            _ => None,
        };
        let offset = or_zero(offset).and_then(|offset| usize::try_from(offset).ok());
        let (Some(flags), Some(offset)) = (or_zero(flags), offset) else {
            return;
        };
        let entry = Entry {
            name: name.clone().into_owned(),
            kind: *kind,
            flags,
            offset,
        };
        let layout = self.layouts.entry((*domain, *schema));
        let layout = layout.or_insert_with(|| Some(BTreeMap::new()));
        let is_other = layout.as_mut().is_some_and(|entries| {
            let known = entries.entry(*number).or_insert_with(|| entry.clone());
            *known != entry
        });
        if is_other {
            *layout = None;
        }
    }

    /// The values of a payload by name. What cannot be read is noted.
    pub fn members(&self, data: &[u8], notes: &mut Notes) -> Map<String, Json> {
        let mut found = Map::new();
        let Some((key, payload)) = parts(data) else {
            notes.skip("NVTX: payloads of a length that is not the stated one");
            return found;
        };
        let Some(layout) = self.layouts.get(&key) else {
            notes.skip("NVTX: payloads whose layout the export does not list");
            return found;
        };
        let Some(layout) = layout else {
            notes.skip("NVTX: payloads that processes laid out differently");
            return found;
        };
        for entry in layout.values() {
            match self.value(key.0, entry, payload) {
                Some(value) => drop(found.insert(entry.name.clone(), value)),
                None => notes.leave_out_argument(&entry.name),
            }
        }
        found
    }

    fn value(&self, domain: i64, entry: &Entry, payload: &[u8]) -> Option<Json> {
        if entry.flags & NOT_IN_PLACE != 0 {
            return None;
        }
        let bytes = payload.get(entry.offset..)?;
        if let Some(words) = self.words.get(&(domain, entry.kind)) {
            let number = i32::from_le_bytes(*bytes.first_chunk()?);
            let word = words.get(&i64::from(number));
            return Some(word.map_or_else(|| number.into(), |word| word.as_str().into()));
        }
        number(entry.kind, bytes)
    }
}

fn parts(data: &[u8]) -> Option<(Key, &[u8])> {
    let (header, payload) = data.split_at_checked(HEADER_BYTES)?;
    let word = |at: usize| Some(u64::from_le_bytes(*header.get(at..)?.first_chunk()?));
    let length = usize::try_from(word(16)?).ok()?;
    let key = (word(0)?.cast_signed(), word(8)?.cast_signed());
    (payload.len() == length).then_some((key, payload))
}

fn number(kind: i64, bytes: &[u8]) -> Option<Json> {
    Some(match kind {
        // Plain `char` is signed there.
        1 | 11 => i8::from_le_bytes(*bytes.first_chunk()?).into(),
        2 | 12 | 32 => u8::from_le_bytes(*bytes.first_chunk()?).into(),
        3 | 13 => i16::from_le_bytes(*bytes.first_chunk()?).into(),
        4 | 14 => u16::from_le_bytes(*bytes.first_chunk()?).into(),
        5 | 15 => i32::from_le_bytes(*bytes.first_chunk()?).into(),
        // Categories, colours and threads have types of their own.
        6 | 16 | 68 | 69 | 73 => u32::from_le_bytes(*bytes.first_chunk()?).into(),
        7 | 9 | 17 => i64::from_le_bytes(*bytes.first_chunk()?).into(),
        // Lengths, addresses, scopes and threads too.
        8 | 10 | 18 | 22 | 23 | 70 | 74 => u64::from_le_bytes(*bytes.first_chunk()?).into(),
        19 | 43 => f32::from_le_bytes(*bytes.first_chunk()?).into(),
        20 | 44 => f64::from_le_bytes(*bytes.first_chunk()?).into(),
        _ => return None,
    })
}
