//! Instants: named moments of the program, rows of `annotations`; and closures as bricks.

use std::fmt::Write as _;

use crate::attributes::{AttributeValue, TEXTS, Value};
use crate::lane::Lane;
use crate::names::{MAX_TEXT_BYTES, Name};
use crate::recorder::Recorder;
use crate::reentrancy::ReentrancyGuard;
use trueno_format::record::{Record, kind};
use trueno_format::schema::TableId;

impl Recorder {
    /// Records that something happened now: a row of `annotations` of kind `instant`, under the brick open here.
    ///
    /// ```
    /// # let rec = trueno_recorder::Recorder::disabled();
    /// rec.instant("cache flushed");
    /// ```
    #[inline]
    pub fn instant(&self, name: impl Into<Name>) {
        if self.records(TableId::Annotations) {
            self.instant_at(name.into(), None);
        }
    }

    /// Records an instant with arguments, which are stored as JSON. An instant counts as dropped if its arguments are
    /// longer than 64 KiB, or beyond 64 MiB of different ones in a process.
    ///
    /// ```
    /// # let rec = trueno_recorder::Recorder::disabled();
    /// rec.instant_with("request", &[("tokens", 128.into()), ("model", "tiny".into())]);
    /// ```
    pub fn instant_with(&self, name: impl Into<Name>, arguments: &[(&str, AttributeValue<'_>)]) {
        if !self.records(TableId::Annotations) {
            return;
        }
        // First: it may be code of the program.
        let name = name.into();
        let _reentrancy = ReentrancyGuard::enter();
        let mut json = Arguments::default();
        for (key, value) in arguments {
            json.add(key, *value);
        }
        self.instant_of(name, json);
    }

    /// Records an instant, or counts it as dropped if its arguments are not stored.
    pub(crate) fn instant_of(&self, name: Name, arguments: Arguments) {
        if arguments.json.is_empty() {
            return self.instant_at(name, None);
        }
        match arguments.intern() {
            Some(text) => self.instant_at(name, Some(text)),
            None => {
                let name = Some(name.text());
                let drop = |lane: &mut Lane| lane.drop_rows(TableId::Annotations, 1, name);
                if self.with_lane(drop).is_none() {
                    self.no_ring(TableId::Annotations);
                }
            }
        }
    }

    fn instant_at(&self, name: Name, arguments: Option<Name>) {
        self.event(TableId::Annotations, |lane| Record {
            start: lane.now(),
            parent: lane.brick_below(lane.depth()),
            name: name.number(),
            kind: kind::INSTANT,
            flags: u8::from(arguments.is_some()),
            m: [
                arguments.map_or(0, |text| u64::from(text.number())),
                0,
                0,
                0,
            ],
            ..Record::default()
        });
    }

    /// Runs a closure inside a [brick](Recorder::brick), and returns its result.
    ///
    /// ```
    /// # let rec = trueno_recorder::Recorder::disabled();
    /// let sum = rec.time("sum", || (1..=100).sum::<u64>());
    /// assert_eq!(sum, 5050);
    /// ```
    #[inline]
    #[track_caller]
    pub fn time<R>(&self, name: impl Into<Name>, work: impl FnOnce() -> R) -> R {
        let _brick = self.brick(name);
        work()
    }
}

#[derive(Default)]
pub(crate) struct Arguments {
    json: String,
}

impl Arguments {
    /// Adds an argument; nothing once the text is too long.
    pub fn add(&mut self, key: &str, value: AttributeValue<'_>) {
        if self.json.len() > MAX_TEXT_BYTES {
            return;
        }
        self.json.push(if self.json.is_empty() { '{' } else { ',' });
        self.quote(key);
        self.json.push(':');
        // Text takes all that is written.
        let _ = match value.value() {
            Value::Integer(value) => write!(self.json, "{value}"),
            Value::Unsigned(value) => write!(self.json, "{value}"),
            Value::Truth(value) => write!(self.json, "{value}"),
            // Debug: a fraction of zero stays, so that it is read as what it was.
            Value::Number(value) if value.is_finite() => write!(self.json, "{value:?}"),
            // JSON has no such numbers.
            Value::Number(value) => write!(self.json, "\"{value}\""),
            Value::Text(text) => {
                self.quote(text);
                Ok(())
            }
            Value::Interned(name) => {
                self.quote(name.as_str());
                Ok(())
            }
        };
    }

    fn quote(&mut self, text: &str) {
        self.json
            .push_str(&serde_json::Value::from(text).to_string());
    }

    /// Finishes and interns the object, which is not empty. `None` if it is not stored.
    fn intern(mut self) -> Option<Name> {
        self.json.push('}');
        TEXTS.intern(&self.json)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_json_whatever_stands_in_them() {
        let mut arguments = Arguments::default();
        arguments.add("a \"b\"\n", "\u{1}é".into());
        arguments.add("n", f64::NEG_INFINITY.into());
        arguments.add("n", 2.0.into());
        arguments.add("u", u64::MAX.into());
        arguments.add("i", i64::MIN.into());
        arguments.add("t", true.into());
        let text = arguments.intern().unwrap().as_str();
        assert_eq!(
            text,
            "{\"a \\\"b\\\"\\n\":\"\\u0001é\",\"n\":\"-inf\",\"n\":2.0,\"u\":18446744073709551615,\
             \"i\":-9223372036854775808,\"t\":true}"
        );
        let read: serde_json::Value = serde_json::from_str(text).unwrap();
        assert_eq!(read["u"], u64::MAX);
        let mut long = Arguments::default();
        for _ in 0..3 {
            long.add("x", "y".repeat(MAX_TEXT_BYTES / 2).as_str().into());
        }
        assert!(long.json.len() < 2 * MAX_TEXT_BYTES);
        assert_eq!(long.intern(), None);
    }
}
