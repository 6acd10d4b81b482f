//! The document, with stacks as a tree.

use std::collections::HashMap;
use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::json::{self, Members, list_into};

#[derive(Debug, Default)]
pub struct Document {
    pub frames: Vec<FrameText>,
    pub profiles: Vec<Profile>,
}

#[derive(Debug, Deserialize)]
pub struct FrameText {
    pub name: String,
    #[serde(default)]
    pub file: Option<String>,
    #[serde(default, deserialize_with = "line")]
    pub line: Option<u32>,
}

/// Some writers state -1 for an unknown line.
fn line<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u32>, D::Error> {
    let value = serde_json::Value::deserialize(from)?;
    let line = value.as_u64().and_then(|line| u32::try_from(line).ok());
    Ok(line.filter(|line| *line > 0))
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Shared {
    frames: Vec<FrameText>,
}

/// A thread, or whatever the writer stored as one profile.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Profile {
    #[serde(rename = "type")]
    pub kind: String,
    pub name: String,
    pub unit: String,
    #[serde(rename = "startValue")]
    pub start: f64,
    #[serde(rename = "endValue")]
    pub end: f64,
    pub samples: Samples,
    pub weights: Vec<f64>,
    pub events: Vec<Event>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Event {
    #[serde(rename = "type", deserialize_with = "is_open")]
    pub is_open: bool,
    pub frame: u32,
    pub at: f64,
}

fn is_open<'de, D: Deserializer<'de>>(from: D) -> Result<bool, D::Error> {
    match String::deserialize(from)?.as_str() {
        "O" => Ok(true),
        "C" => Ok(false),
        other => Err(serde::de::Error::custom(format!(
            "expected the type O or C of an event, found {other:?}"
        ))),
    }
}

/// Stacks of samples as a tree, and the innermost function of each sample.
#[derive(Debug, Default)]
pub struct Samples {
    /// Index of the caller, which precedes its callees, and frame.
    pub nodes: Vec<(u32, u32)>,
    ids: HashMap<(u32, u32), u32>,
    pub leaves: Vec<u32>,
    /// What the first stack that is none holds instead of numbers of frames.
    pub malformed: Option<&'static str>,
}

/// The caller of outermost functions, and the innermost function of an empty stack.
const NOBODY: u32 = u32::MAX;

impl Samples {
    fn node(&mut self, caller: u32, frame: u32) -> u32 {
        let next = self.nodes.len() as u32;
        let id = *self.ids.entry((caller, frame)).or_insert(next);
        if id == next {
            self.nodes.push((caller, frame));
        }
        id
    }
}

impl<'de> Deserialize<'de> for Samples {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let mut samples = Self::default();
        from.deserialize_seq(All(&mut samples))?;
        samples.ids = HashMap::new();
        Ok(samples)
    }
}

struct All<'s>(&'s mut Samples);
struct Stack<'s>(&'s mut Samples);

impl<'de> Visitor<'de> for All<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of stacks")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while let Some(leaf) = list.next_element_seed(Stack(self.0))? {
            self.0.leaves.push(leaf);
        }
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for Stack<'_> {
    type Value = u32;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<u32, D::Error> {
        from.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Stack<'_> {
    type Value = u32;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a stack: numbers of frames, the outermost first")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<u32, A::Error> {
        let mut innermost = NOBODY;
        while let Some(frame) = list.next_element::<FrameNumber>()? {
            match frame.0 {
                Ok(frame) => innermost = self.0.node(innermost, frame),
                Err(found) => self.0.malformed = self.0.malformed.or(Some(found)),
            }
        }
        Ok(innermost)
    }
}

/// The number of a frame, or what stands in its place.
struct FrameNumber(Result<u32, &'static str>);

impl<'de> Deserialize<'de> for FrameNumber {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(AnyValue)
    }
}

struct AnyValue;

impl<'de> Visitor<'de> for AnyValue {
    type Value = FrameNumber;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the number of a frame")
    }

    fn visit_u64<E>(self, value: u64) -> Result<FrameNumber, E> {
        let number = u32::try_from(value);
        Ok(FrameNumber(number.map_err(|_| "a number beyond 32 bits")))
    }

    fn visit_i64<E>(self, _: i64) -> Result<FrameNumber, E> {
        Ok(FrameNumber(Err("a negative number")))
    }

    fn visit_f64<E>(self, _: f64) -> Result<FrameNumber, E> {
        Ok(FrameNumber(Err("a fraction")))
    }

    fn visit_bool<E>(self, _: bool) -> Result<FrameNumber, E> {
        Ok(FrameNumber(Err("true or false")))
    }

    fn visit_unit<E>(self) -> Result<FrameNumber, E> {
        Ok(FrameNumber(Err("null")))
    }

    fn visit_str<E>(self, _: &str) -> Result<FrameNumber, E> {
        Ok(FrameNumber(Err("text")))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<FrameNumber, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(FrameNumber(Err("a list")))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<FrameNumber, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(FrameNumber(Err("an object")))
    }
}

impl Members for Document {
    const EXPECTED: &'static str = "an object with shared and profiles";

    fn member<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        match key {
            "shared" => self.frames = map.next_value::<Shared>()?.frames,
            "profiles" => {
                map.next_value_seed(list_into("a list of profiles", &mut self.profiles))?;
            }
            _ => json::ignore(map)?,
        }
        Ok(())
    }
}
