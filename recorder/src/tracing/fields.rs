//! Fields of spans and events.

use std::fmt::Debug;

use tracing_core::field::{Field, Visit};
use tracing_core::{Metadata, field};

use crate::names::Name;
use crate::recorder::Recorder;
use crate::row_details::{Labels, Work};
use trueno_format::Source;

/// Columns that declared numbers go to, as they stand in a row's work.
const WORK: [&str; 4] = ["elements", "flops", "bytes_read", "bytes_written"];
/// Fields of events with this prefix are counter readings.
const GAUGE: &str = "gauge.";

/// The fields of a span that mean something.
#[derive(Clone, Copy)]
pub(super) struct Fields {
    pub work: Work,
    pub labels: Labels,
    /// The program's own choice, whatever the name.
    pub brick: Option<bool>,
    /// Field `number`.
    number: Option<u64>,
    /// The first other whole number.
    first: Option<u64>,
}

impl Default for Fields {
    fn default() -> Self {
        Self {
            work: Work::default(),
            labels: Labels::NONE,
            brick: None,
            number: None,
            first: None,
        }
    }
}

impl Fields {
    /// The number of an iteration or layer.
    pub fn number(&self) -> Option<u64> {
        self.number.or(self.first)
    }

    /// Takes what is given in `later`, and keeps the rest.
    pub fn merge(&mut self, later: &Self) {
        for at in 0..WORK.len() {
            if later.work.given & 1 << at != 0 {
                self.work.set(at, later.work.m[at]);
            }
        }
        let given = |name: Name| name.number() != 0;
        if given(later.labels.backend) {
            self.labels.backend = later.labels.backend;
        }
        if given(later.labels.category) {
            self.labels.category = later.labels.category;
        }
        self.brick = later.brick.or(self.brick);
        self.number = later.number.or(self.number);
        self.first = self.first.or(later.first);
    }

    /// A number of one of the work columns, or one that may be an iteration's.
    fn whole(&mut self, field: &Field, value: u64) {
        match WORK.iter().position(|name| *name == field.name()) {
            Some(at) => self.work.set(at, value),
            None if field.name() == "number" => self.number = Some(value),
            None => self.first = self.first.or(Some(value)),
        }
    }

    fn text(&mut self, field: &Field, text: &str) {
        match (field.name(), text) {
            ("backend", text) => self.labels.backend = Name::new(text),
            ("category", text) => self.labels.category = Name::new(text),
            ("kind", "brick") => self.brick = Some(true),
            ("kind", "function") => self.brick = Some(false),
            _ => {}
        }
    }
}

impl Visit for Fields {
    fn record_u64(&mut self, field: &Field, value: u64) {
        self.whole(field, value);
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        if let Ok(value) = u64::try_from(value) {
            self.whole(field, value);
        }
    }

    fn record_u128(&mut self, field: &Field, value: u128) {
        if let Ok(value) = u64::try_from(value) {
            self.whole(field, value);
        }
    }

    fn record_i128(&mut self, field: &Field, value: i128) {
        if let Ok(value) = u64::try_from(value) {
            self.whole(field, value);
        }
    }

    /// FLOPs are often computed as such.
    fn record_f64(&mut self, field: &Field, value: f64) {
        let fits = value >= 0.0 && value < u64::MAX as f64;
        if fits && WORK.contains(&field.name()) {
            self.whole(field, value as u64);
        }
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        if field.name() == "brick" {
            self.brick = Some(value);
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.text(field, value);
    }

    /// Only what is kept is shown: that may cost anything.
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if matches!(field.name(), "backend" | "category" | "kind") {
            self.text(field, &format!("{value:?}"));
        }
    }
}

/// Returns whether an event holds readings.
pub(super) fn has_gauge(metadata: &Metadata<'_>) -> bool {
    let mut fields = metadata.fields().iter();
    fields.any(|field: field::Field| field.name().starts_with(GAUGE))
}

/// Records the readings of an event.
pub(super) struct Gauges<'r>(pub &'r Recorder);

impl Gauges<'_> {
    fn reading(&self, field: &Field, value: f64) {
        if let Some(name) = field.name().strip_prefix(GAUGE) {
            self.0.counter(name, value, "", Source::Declared);
        }
    }
}

impl Visit for Gauges<'_> {
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.reading(field, value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.reading(field, value as f64);
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.reading(field, value as f64);
    }

    fn record_u128(&mut self, field: &Field, value: u128) {
        self.reading(field, value as f64);
    }

    fn record_i128(&mut self, field: &Field, value: i128) {
        self.reading(field, value as f64);
    }

    fn record_debug(&mut self, _: &Field, _: &dyn Debug) {}
}
