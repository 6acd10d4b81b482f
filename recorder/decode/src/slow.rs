//! A brick made slower on purpose, so that a comparison has a known answer.

use super::brick::Brick;
use std::str::FromStr;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slow {
    pub brick: Brick,
    /// Mean repetitions of its work, 1 to 1000.
    pub factor: f64,
}

impl Slow {
    /// Repetitions of call number `call` (from 0). The sum over calls `0..n` is `floor(n * factor)`.
    pub fn repetitions(&self, call: u64) -> u64 {
        let total_before = |calls: u64| (calls as f64 * self.factor).floor() as u64;
        (total_before(call + 1) - total_before(call)).max(1)
    }
}

impl FromStr for Slow {
    type Err = String;

    fn from_str(text: &str) -> Result<Slow, String> {
        let (name, factor) = text.split_once('=').ok_or_else(|| {
            format!("expected BRICK=FACTOR, found \"{text}\" (hint: --slow LmHead=3)")
        })?;
        let brick = name.parse()?;
        match factor.parse::<f64>() {
            Ok(factor) if (1.0..=1000.0).contains(&factor) => Ok(Slow { brick, factor }),
            _ => Err(format!(
                "expected a factor from 1 to 1000, found \"{factor}\""
            )),
        }
    }
}

impl std::fmt::Display for Slow {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}={}", self.brick.name(), self.factor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fractional_factor_is_met_on_average() {
        let slow: Slow = "lmhead=2.5".parse().unwrap();
        assert_eq!(slow.brick, Brick::LmHead);
        let repetitions: Vec<u64> = (0..6).map(|call| slow.repetitions(call)).collect();
        assert_eq!(repetitions, [2, 3, 2, 3, 2, 3]);
    }

    #[test]
    fn nonsense_is_refused_with_what_would_do() {
        for (text, part) in [
            ("LmHead", "expected BRICK=FACTOR"),
            ("Head=2", "it has Embedding, RmsNorm"),
            ("LmHead=0.5", "from 1 to 1000"),
            ("LmHead=NaN", "from 1 to 1000"),
        ] {
            let message = text.parse::<Slow>().unwrap_err();
            assert!(message.contains(part), "{text}: {message}");
        }
    }
}
