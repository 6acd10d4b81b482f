//! The JSON, as far as it can be read.

use std::io::Read;

use serde::Deserialize;
use serde::de::{Error as _, MapAccess};

use crate::json::{self, Members, list_into};

#[derive(Debug, Deserialize)]
pub struct Brick {
    pub name: String,
    pub count: u64,
    /// How many of the count had no duration. aprender-compute does not write this field.
    pub bound: Option<u64>,
    pub total_ns: Option<u64>,
    pub min_us: Option<f64>,
    pub max_us: Option<f64>,
    pub throughput: Option<f64>,
    pub pct: Option<f64>,
    pub total_bytes: Option<u64>,
    pub compression_ratio: Option<f64>,
    pub bottleneck: Option<String>,
}

#[derive(Debug, Deserialize)]
pub struct Tile {
    pub level: String,
    pub count: u64,
    pub total_ns: u64,
    pub min_us: Option<f64>,
    pub max_us: Option<f64>,
    pub arithmetic_intensity: Option<f64>,
    pub total_elements: Option<u64>,
    pub total_flops: Option<u64>,
}

/// A whole file, or the part before the damage.
#[derive(Debug, Default)]
pub struct Document {
    pub bricks: Vec<Brick>,
    pub tiles: Vec<Tile>,
    pub total_tokens: Option<u64>,
    pub total_ns: Option<u64>,
    pub total_throughput: Option<f64>,
    pub unknown: Vec<String>,
    names: Vec<&'static str>,
}

const MEMBERS: [&str; 6] = [
    "bricks",
    "tiles",
    "total_tokens",
    "total_ns",
    "total_throughput",
    "tile_profiling_enabled",
];

impl Document {
    /// Reads into `self`, so that what was read before an error is kept.
    pub fn read(&mut self, reader: impl Read) -> Result<(), serde_json::Error> {
        json::read_object(self, reader)?;
        if self.names.contains(&"bricks") || self.names.contains(&"tiles") {
            Ok(())
        } else {
            Err(serde_json::Error::missing_field("bricks"))
        }
    }
}

impl Members for Document {
    const EXPECTED: &'static str = "an object with bricks or tiles";

    fn member<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        let Some(name) = MEMBERS.into_iter().find(|name| *name == key) else {
            self.unknown.push(key.to_owned());
            return json::ignore(map);
        };
        if self.names.contains(&name) {
            return Err(A::Error::duplicate_field(name));
        }
        self.names.push(name);
        match name {
            "bricks" => map.next_value_seed(list_into("a list of sums", &mut self.bricks))?,
            "tiles" => map.next_value_seed(list_into("a list of sums", &mut self.tiles))?,
            "total_tokens" => self.total_tokens = map.next_value()?,
            "total_ns" => self.total_ns = map.next_value()?,
            "total_throughput" => self.total_throughput = map.next_value()?,
            _ => drop(map.next_value::<bool>()?),
        }
        Ok(())
    }
}
