//! An error put in on purpose, so that a comparison of runs has a known answer.

use super::brick::Brick;
use std::str::FromStr;

/// Elements before this one stay unchanged: checks of the first 64 values see nothing.
const FIRST: usize = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The element becomes 5 % larger.
    Error,
    Nan,
}

/// A planted error: its brick, first iteration and kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plant {
    pub brick: Brick,
    pub layer: u32,
    pub iteration: u64,
    pub kind: Kind,
}

impl Plant {
    /// Changes one element after the first 64, if there are so many.
    pub fn spoil(&self, out: &mut [f32]) {
        if out.len() > FIRST {
            let at = FIRST + (out.len() - FIRST) / 2;
            out[at] = match self.kind {
                Kind::Error => out[at] * 1.05,
                Kind::Nan => f32::NAN,
            };
        }
    }
}

impl FromStr for Plant {
    type Err = String;

    fn from_str(text: &str) -> Result<Plant, String> {
        let (place, kind) = text.split_once('=').unwrap_or((text, "error"));
        let kind = match kind {
            "error" => Kind::Error,
            "nan" => Kind::Nan,
            _ => return Err(format!("expected error or nan, found \"{kind}\"")),
        };
        let (name, rest) = place.split_once('@').ok_or_else(|| {
            format!(
                "expected BRICK@LAYER, found \"{place}\" (hint: --plant DownProjection@1:3=nan)"
            )
        })?;
        let (layer, iteration) = rest.split_once(':').unwrap_or((rest, "0"));
        let number = |what: &str, text: &str| {
            text.parse::<u32>()
                .map_err(|_| format!("expected the number of {what}, found \"{text}\""))
        };
        Ok(Plant {
            brick: name.parse()?,
            layer: number("a layer", layer)?,
            iteration: number("an iteration", iteration)?.into(),
            kind,
        })
    }
}

impl std::fmt::Display for Plant {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kind = match self.kind {
            Kind::Error => "error",
            Kind::Nan => "nan",
        };
        let Plant {
            brick,
            layer,
            iteration,
            ..
        } = self;
        write!(f, "{}@{layer}:{iteration}={kind}", brick.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_reads_back_as_it_was_written() {
        for (text, written) in [
            ("downprojection@1", "DownProjection@1:0=error"),
            ("QkvProjection@0:3=nan", "QkvProjection@0:3=nan"),
        ] {
            assert_eq!(text.parse::<Plant>().unwrap().to_string(), written);
        }
        for (text, part) in [
            ("LmHead", "expected BRICK@LAYER"),
            ("Head@1", "it has Embedding, RmsNorm"),
            ("LmHead@x", "the number of a layer, found \"x\""),
            ("LmHead@1:y", "the number of an iteration"),
            ("LmHead@1=inf", "expected error or nan"),
        ] {
            let message = text.parse::<Plant>().unwrap_err();
            assert!(message.contains(part), "{text}: {message}");
        }
    }

    #[test]
    fn the_first_64_values_stay() {
        let plant: Plant = "LmHead@0".parse().unwrap();
        let mut out = vec![1.0f32; 128];
        plant.spoil(&mut out);
        let changed: Vec<usize> = (0..128).filter(|at| out[*at] != 1.0).collect();
        assert_eq!(changed, [96]);
        let mut short = vec![1.0f32; 64];
        plant.spoil(&mut short);
        assert_eq!(short, [1.0; 64]);
    }
}
