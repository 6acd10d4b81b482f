//! Hashes of an earlier run: of tensors that are what they were, nothing but the hash is recorded.

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;

use crate::names::Name;
use trueno_format::record::Context;
use trueno_format::regular_file;

const FORMAT: &str = "trueno-golden";
const MAJOR: u64 = 1;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Place {
    name: Name,
    layer: Option<u32>,
    iteration: Option<u64>,
    position: Option<u64>,
}

/// The hashes of one place in the order of recording, and how many have been compared.
#[derive(Debug, Default)]
struct Hashes {
    hashes: Vec<u64>,
    asked: AtomicUsize,
}

/// The hashes of a run. Never grows: other places are not counted.
#[derive(Debug, Default)]
pub(crate) struct Baseline {
    places: HashMap<Place, Hashes>,
    /// Number of hashes.
    pub tensors: u64,
}

impl Baseline {
    /// Reads a golden file. The error says what is wrong with it, and not which it is.
    pub fn read(file: &Path) -> Result<Self, String> {
        let text = regular_file::read(file)
            .map_err(|error| format!("{}: cannot be read: {error}", file.display()))?;
        Self::parse(&text).map_err(|problem| {
            format!(
                "{}: {problem} (hint: `trueno-analyze golden save RUN` creates such a file)",
                file.display()
            )
        })
    }

    fn parse(text: &[u8]) -> Result<Self, String> {
        let file: Value =
            serde_json::from_slice(text).map_err(|error| format!("not JSON: {error}"))?;
        if file["format"]["name"] != FORMAT {
            return Err(format!("it is not marked as a {FORMAT}"));
        }
        if file["format"]["major"]
            .as_u64()
            .is_none_or(|major| major > MAJOR)
        {
            let found = &file["format"]["major"];
            return Err(format!(
                "format {found} of {FORMAT}, this program reads up to {MAJOR}"
            ));
        }
        let list = |key: &str| {
            file[key]
                .as_array()
                .ok_or_else(|| format!("{key} is missing"))
        };
        let columns = list("tensor_columns")?;
        let column = |name: &str| {
            let at = columns.iter().position(|column| column == name);
            at.ok_or_else(|| format!("tensor_columns: there is no {name}"))
        };
        let at = [
            column("name")?,
            column("layer")?,
            column("iteration")?,
            column("position")?,
            column("hash")?,
        ];
        let mut baseline = Self::default();
        for (nth, row) in list("tensors")?.iter().enumerate() {
            let (place, hash) = tensor(at.map(|at| &row[at]))
                .ok_or_else(|| format!("tensors, number {}: damaged", nth + 1))?;
            baseline.places.entry(place).or_default().hashes.push(hash);
            baseline.tensors += 1;
        }
        Ok(baseline)
    }

    /// Returns whether the next tensor of this place had this hash.
    pub fn has(&self, name: Name, context: Context, position: Option<u64>, hash: u64) -> bool {
        let place = Place {
            name,
            layer: context.layer,
            iteration: context.iteration,
            position,
        };
        let Some(of) = self.places.get(&place) else {
            return false;
        };
        let nth = of.asked.fetch_add(1, Ordering::Relaxed);
        of.hashes.get(nth) == Some(&hash)
    }
}

fn tensor([name, layer, iteration, position, hash]: [&Value; 5]) -> Option<(Place, u64)> {
    let number = |value: &Value| match value {
        Value::Null => Some(None),
        value => value.as_u64().map(Some),
    };
    let layer = match number(layer)? {
        None => None,
        Some(layer) => Some(u32::try_from(layer).ok()?),
    };
    let place = Place {
        name: Name::new(name.as_str()?),
        layer,
        iteration: number(iteration)?,
        position: number(position)?,
    };
    Some((place, u64::from_str_radix(hash.as_str()?, 16).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(tensors: &str) -> String {
        format!(
            r#"{{"format": {{"name": "trueno-golden", "major": 1, "minor": 0}},
                "tensor_columns": ["name", "layer", "iteration", "position", "more", "hash"],
                "tensors": [{tensors}]}}"#
        )
    }

    #[test]
    fn the_nth_of_a_place_is_held_against_the_nth() {
        let rows = r#"["a",0,1,null,9,"00ff"],["a",0,1,null,9,"0100"],["a",1,1,null,9,"00ff"]"#;
        let baseline = Baseline::parse(file(rows).as_bytes()).unwrap();
        assert_eq!(baseline.tensors, 3);
        let context = |layer| Context {
            layer: Some(layer),
            iteration: Some(1),
        };
        let a = Name::new("a");
        let asked = [
            (context(0), None, 0xff, true),
            (context(0), None, 0x100, true),
            // A third one is new.
            (context(0), None, 0x100, false),
            (context(1), Some(7), 0xff, false),
            (context(1), None, 0xfe, false),
            (Context::default(), None, 0xff, false),
        ];
        for (at, (context, position, hash, expected)) in asked.into_iter().enumerate() {
            assert_eq!(baseline.has(a, context, position, hash), expected, "{at}");
        }
    }

    #[test]
    fn what_is_no_golden_file_is_refused() {
        let good = file(r#"["a",0,1,null,9,"00ff"]"#);
        for (text, says) in [
            ("", "not JSON"),
            ("{}", "not marked as a"),
            (&good.replace("\"major\": 1", "\"major\": 2"), "format 2"),
            (&good.replace("\"hash\"", "\"h\""), "no hash"),
            (&good.replace("00ff", "xx"), "number 1"),
            (&good.replace("tensors", "tensor"), "tensors is missing"),
        ] {
            let error = Baseline::parse(text.as_bytes()).unwrap_err();
            assert!(error.contains(says), "{error}");
        }
    }
}
