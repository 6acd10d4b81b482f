//! Tolerances of tensors as a user gives them: for all of them, or by patterns of names.

use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

#[derive(Clone, Debug, PartialEq)]
pub enum Tolerance {
    Relative(f64),
    Absolute(f64),
    File(PathBuf),
}

impl Tolerance {
    /// Parses a value as typed. Without `=` it is a file.
    ///
    /// # Errors
    /// The expected form.
    pub fn parse(text: &str) -> Result<Self, String> {
        let Some((key, value)) = text.split_once('=') else {
            return Ok(Self::File(text.into()));
        };
        let number = value.parse().ok().filter(|value| is_tolerance(*value));
        match (key, number) {
            ("rtol", Some(value)) => Ok(Self::Relative(value)),
            ("atol", Some(value)) => Ok(Self::Absolute(value)),
            _ => Err(
                "expected rtol=X or atol=X with X of 0 or more, such as rtol=1e-3,atol=1e-6, or a TOML file"
                    .to_owned(),
            ),
        }
    }
}

fn is_tolerance(value: f64) -> bool {
    value.is_finite() && value >= 0.0
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tolerances {
    /// Relative; computed if missing.
    pub rtol: Option<f64>,
    /// Absolute, per element; 0 if missing.
    pub atol: Option<f64>,
    /// By name, in order. The first match counts.
    #[serde(default)]
    pub tensor: Vec<Tensor>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tensor {
    /// `*` matches any text, `?` one character. Case is ignored.
    pub name: String,
    /// Relative; the general one if missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rtol: Option<f64>,
    /// Absolute; the general one if missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub atol: Option<f64>,
}

impl Tolerances {
    /// Combines all values. A later one replaces an earlier one for the same thing.
    ///
    /// # Errors
    /// A file cannot be read, or holds something else.
    pub fn given(parts: &[Tolerance]) -> anyhow::Result<Self> {
        let mut all = Self::default();
        for part in parts {
            match part {
                Tolerance::Relative(rtol) => all.rtol = Some(*rtol),
                Tolerance::Absolute(atol) => all.atol = Some(*atol),
                Tolerance::File(file) => {
                    let of = Self::read(file)?;
                    all.rtol = of.rtol.or(all.rtol);
                    all.atol = of.atol.or(all.atol);
                    all.tensor.extend(of.tensor);
                }
            }
        }
        Ok(all)
    }

    fn read(file: &Path) -> anyhow::Result<Self> {
        let text = std::fs::read_to_string(file)
            .with_context(|| format!("--tolerance {}: cannot be read", file.display()))?;
        let wrong = |problem: String| {
            anyhow!(
                "--tolerance {}: {} (hint: keys rtol and atol, and tables [[tensor]] of name, rtol and atol)",
                file.display(),
                problem.trim()
            )
        };
        let all: Self = toml::from_str(&text).map_err(|error| wrong(error.to_string()))?;
        all.checked().map_err(wrong)?;
        Ok(all)
    }

    /// Checks that all values are valid tolerances.
    ///
    /// # Errors
    /// The tolerance that is not.
    pub fn checked(&self) -> Result<(), String> {
        let own = [("rtol", self.rtol), ("atol", self.atol)];
        let named = self.tensor.iter();
        let named = named.flat_map(|of| [("rtol", of.rtol), ("atol", of.atol)]);
        for (key, value) in own.into_iter().chain(named) {
            if let Some(value) = value.filter(|value| !is_tolerance(*value)) {
                return Err(format!("{key} must be 0 or more, not {value}"));
            }
        }
        let bare = self.tensor.iter().find(|of| of.rtol.or(of.atol).is_none());
        match bare {
            Some(of) => Err(format!("tensor {:?} has neither rtol nor atol", of.name)),
            None => Ok(()),
        }
    }

    pub fn options(&self) -> Map<String, Value> {
        let mut options = Map::new();
        for (key, value) in [("rtol", self.rtol), ("atol", self.atol)] {
            options.extend(value.map(|value| (key.to_owned(), Value::from(value))));
        }
        if !self.tensor.is_empty() {
            // Texts and finite numbers: this does not fail.
            let named = serde_json::to_value(&self.tensor).unwrap_or_default();
            options.insert("by_name".to_owned(), named);
        }
        options
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_typed() {
        assert_eq!(Tolerance::parse("rtol=1e-3"), Ok(Tolerance::Relative(1e-3)));
        assert_eq!(Tolerance::parse("atol=0"), Ok(Tolerance::Absolute(0.0)));
        let file = Tolerance::File("x.toml".into());
        assert_eq!(Tolerance::parse("x.toml"), Ok(file));
        for wrong in [
            "rtol=", "rtol=x", "rtol=-1", "rtol=inf", "rtol=NaN", "tol=1",
        ] {
            assert!(Tolerance::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_file_says_what_it_means_or_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("x.toml");
        let read = |text: &str| {
            std::fs::write(&file, text).unwrap();
            Tolerances::given(&[
                Tolerance::Relative(0.5),
                Tolerance::File(file.clone()),
                Tolerance::Absolute(0.25),
            ])
        };
        let named = "rtol = 1e-6\n[[tensor]]\nname = \"a*\"\nrtol = 0.1\n[[tensor]]\nname = \"b\"\natol = 2";
        let options = Value::Object(read(named).unwrap().options());
        let expected = r#"{"atol":0.25,"by_name":[{"name":"a*","rtol":0.1},{"atol":2.0,"name":"b"}],"rtol":1e-6}"#;
        assert_eq!(options.to_string(), expected);
        assert!(Tolerances::default().options().is_empty());
        for (wrong, says) in [
            ("rtl = 1", "rtl"),
            ("[[tensor]]\nname = \"a\"\nrtol = 1\nlayer = 3", "layer"),
            ("[[tensor]]\nrtol = 1", "name"),
            ("[[tensor]]\nname = \"a\"", "neither rtol nor atol"),
            ("atol = -1", "0 or more"),
            ("rtol = nan", "0 or more"),
            ("rtol", "x.toml"),
        ] {
            let error = format!("{:#}", read(wrong).unwrap_err());
            assert!(error.contains(says) && error.contains("x.toml"), "{error}");
        }
    }
}
