//! "What if this took so much": rules as typed.

use trueno_plugin::Error;

#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    pub text: String,
    pub target: Target,
    pub change: Change,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    Name(String),
    Category(String),
    Kind(String),
    Id(u64),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Change {
    Scale(f64),
    Absolute(i64),
    /// At this share of the roof, unless it is already faster.
    Roof(f64),
}

impl Change {
    pub fn apply(self, measured_ns: i64) -> i64 {
        match self {
            Self::Scale(scale) => scaled(measured_ns, scale),
            Self::Absolute(ns) => ns,
            // Only work has a roof.
            Self::Roof(_) => measured_ns,
        }
    }
}

/// A duration times a factor, rounded to the nearest nanosecond.
#[inline]
pub fn scaled(ns: i64, scale: f64) -> i64 {
    if scale == 1.0 {
        return ns;
    }
    // `f64::round` is a call into libm where the target has no instruction for it, and this is done for every segment.
    let exact = ns as f64 * scale;
    let whole = exact as i64;
    let rest = exact - whole as f64;
    whole.saturating_add(i64::from(rest >= 0.5) - i64::from(rest <= -0.5))
}

/// Length of a scaled stretch of a timeline. Touching stretches keep touching, so rounding errors do not add up.
#[inline]
pub fn stretched(start_ns: i64, end_ns: i64, scale: f64) -> i64 {
    scaled(end_ns, scale) - scaled(start_ns, scale)
}

const EXPECTED: &str = "expected TARGET=VALUE, such as `QkvProjection=0.5`, `kind:transfer=0`, \
                        `category:GEMM=0.8`, `id:42=10us`, `category:GEMM=0.8roof`; VALUE is a factor, a time with its unit (ns, us, ms, s), \
                        or a share of the roof";

impl Rule {
    /// Parses `TARGET=VALUE`.
    ///
    /// # Errors
    /// [`Error::BadOption`] with what was expected.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let wrong = |why: &str| Error::bad_option(format!("what_if `{text}`: {why}; {EXPECTED}"));
        let (target, value) = text
            .rsplit_once('=')
            .ok_or_else(|| wrong("there is no `=`"))?;
        let (target, value) = (target.trim(), value.trim());
        let change =
            change(value).ok_or_else(|| wrong("the value is neither a factor nor a time"))?;
        let target = match target.split_once(':') {
            Some(("name", name)) => Target::Name(name.to_owned()),
            Some(("category", name)) => Target::Category(name.to_owned()),
            Some(("kind", name)) => Target::Kind(name.to_owned()),
            Some(("id", id)) => Target::Id(
                id.parse()
                    .map_err(|_| wrong("the id is not a whole number"))?,
            ),
            _ => Target::Name(target.to_owned()),
        };
        let is_empty = matches!(&target, Target::Name(name) | Target::Category(name) | Target::Kind(name) if name.is_empty());
        if is_empty {
            return Err(wrong("nothing comes before the `=`"));
        }
        Ok(Self {
            text: text.to_owned(),
            target,
            change,
        })
    }
}

fn change(value: &str) -> Option<Change> {
    if let Some(share) = value.strip_suffix("roof") {
        let share = match share.trim() {
            "" => 1.0,
            share => share.parse().ok()?,
        };
        return (share > 0.0 && share <= 1.0).then_some(Change::Roof(share));
    }
    let unit = value.find(|c: char| c.is_ascii_alphabetic() && c != 'e' && c != 'E');
    let (number, factor) = match unit {
        None => (value, None),
        Some(at) => {
            let ns = match value[at..].trim() {
                "ns" => 1.0,
                "us" | "µs" => 1e3,
                "ms" => 1e6,
                "s" => 1e9,
                _ => return None,
            };
            (value[..at].trim(), Some(ns))
        }
    };
    // `µ` is no ASCII letter.
    let (number, factor) = match number.strip_suffix('µ') {
        Some(number) if factor == Some(1e9) => (number.trim(), Some(1e3)),
        _ => (number, factor),
    };
    let number: f64 = number.parse().ok()?;
    let is_sane = number.is_finite() && (0.0..=1e15).contains(&number);
    is_sane.then(|| match factor {
        None => Change::Scale(number),
        Some(ns) => Change::Absolute((number * ns).round() as i64),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn rules_say_what_and_how_long() {
        let parsed = |text: &str| {
            Rule::parse(text)
                .map(|rule| (rule.target, rule.change))
                .unwrap()
        };
        let name = |name: &str| Target::Name(name.to_owned());
        assert_eq!(
            parsed("QkvProjection=0.5"),
            (name("QkvProjection"), Change::Scale(0.5))
        );
        assert_eq!(parsed("aten::mm=2"), (name("aten::mm"), Change::Scale(2.0)));
        assert_eq!(parsed("a=b=1e-1"), (name("a=b"), Change::Scale(0.1)));
        assert_eq!(
            parsed("name:kind:x=1"),
            (name("kind:x"), Change::Scale(1.0))
        );
        assert_eq!(
            parsed("kind:transfer=0"),
            (Target::Kind("transfer".into()), Change::Scale(0.0))
        );
        assert_eq!(
            parsed("category:GEMM = 10us"),
            (Target::Category("GEMM".into()), Change::Absolute(10_000))
        );
        assert_eq!(
            parsed("id:7=1.5 ms"),
            (Target::Id(7), Change::Absolute(1_500_000))
        );
        assert_eq!(parsed("x=3µs"), (name("x"), Change::Absolute(3_000)));
        assert_eq!(parsed("x=2s"), (name("x"), Change::Absolute(2_000_000_000)));
        assert_eq!(parsed("x=roof"), (name("x"), Change::Roof(1.0)));
        assert_eq!(parsed("x=0.8 roof"), (name("x"), Change::Roof(0.8)));
    }

    proptest! {
        #[test]
        fn times_are_scaled_to_the_nearest_nanosecond(ns in any::<i64>(), bits in 0..64, scale in 0.0..4.0_f64, halves in 0..8_u32) {
            let ns = ns >> bits;
            for scale in [scale, f64::from(halves) / 2.0] {
                prop_assert_eq!(scaled(ns, scale), if scale == 1.0 { ns } else { (ns as f64 * scale).round() as i64 });
            }
        }
    }

    #[test]
    fn what_is_no_rule_says_what_one_is() {
        for wrong in [
            "", "x", "=1", "x=", "x=-1", "x=NaN", "x=inf", "x=1h", "id:y=1", "kind:=1", "x=1e99",
            "x=0roof", "x=2roof", "x=aroof",
        ] {
            let error = Rule::parse(wrong).unwrap_err().to_string();
            assert!(error.contains("expected TARGET=VALUE"), "{wrong}: {error}");
        }
    }
}
