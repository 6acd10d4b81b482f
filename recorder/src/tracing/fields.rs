//! Fields of spans and events.

use std::fmt::{self, Debug, Write as _};

use tracing_core::field::{Field, Visit};
use tracing_core::{Metadata, field};

use crate::attributes::{AttributeValue, StoredValue};
use crate::instant::Arguments;
use crate::names::{MAX_TEXT_BYTES, Name};
use crate::recorder::Recorder;
use crate::row_details::{Labels, Work};
use trueno_format::Source;

const WORK: [&str; 4] = ["elements", "flops", "bytes_read", "bytes_written"];
const GAUGE: &str = "gauge.";

pub(super) struct Fields {
    pub work: Work,
    pub labels: Labels,
    /// The program's own choice, whatever the name.
    pub brick: Option<bool>,
    number: Option<u64>,
    /// The first integer with another name.
    first: Option<u64>,
    /// Fields without a column. `None` if attributes are not recorded.
    attributes: Option<Vec<(Name, StoredValue)>>,
}

impl Fields {
    /// Without fields so far, for a recorder that keeps attributes or does not.
    pub fn new(keeps_attributes: bool) -> Self {
        Self {
            attributes: keeps_attributes.then(Vec::new),
            work: Work::default(),
            labels: Labels::NONE,
            brick: None,
            number: None,
            first: None,
        }
    }

    /// Keys and values of fields without a column.
    pub fn attributes(&self) -> &[(Name, StoredValue)] {
        self.attributes.as_deref().unwrap_or(&[])
    }

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
        if let Some(attributes) = &mut self.attributes {
            for (key, value) in later.attributes() {
                match attributes.iter_mut().find(|(known, _)| known == key) {
                    Some((_, known)) => *known = *value,
                    None => attributes.push((*key, *value)),
                }
            }
        }
    }

    fn attribute<'a>(&mut self, field: &Field, value: impl Into<AttributeValue<'a>>) {
        if let Some(attributes) = &mut self.attributes {
            attributes.push((Name::new(field.name()), value.into().store()));
        }
    }

    /// A number for one of the work columns, or possibly an iteration's number.
    fn whole(&mut self, field: &Field, value: u64) {
        match WORK.iter().position(|name| *name == field.name()) {
            Some(at) => self.work.set(at, value),
            None if field.name() == "number" => self.number = Some(value),
            None => self.first = self.first.or(Some(value)),
        }
    }

    fn wide<T: TryInto<u64> + TryInto<i64> + Copy + fmt::Display>(
        &mut self,
        field: &Field,
        value: T,
    ) {
        let unsigned = value.try_into().ok();
        if let Some(value) = unsigned {
            self.whole(field, value);
        }
        if WORK.contains(&field.name()) {
            return;
        }
        match (value.try_into(), unsigned) {
            (Ok::<i64, _>(value), _) => self.attribute(field, value),
            (_, Some::<u64>(value)) => self.attribute(field, value),
            _ => self.attribute(field, &value.to_string()),
        }
    }

    fn text(&mut self, field: &Field, text: &str) {
        match (field.name(), text) {
            ("backend", text) => self.labels.backend = Name::new(text),
            ("category", text) => self.labels.category = Name::new(text),
            ("kind", "brick") => self.brick = Some(true),
            ("kind", "function") => self.brick = Some(false),
            _ => self.attribute(field, text),
        }
    }
}

impl Visit for Fields {
    fn record_u64(&mut self, field: &Field, value: u64) {
        self.wide(field, value);
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.wide(field, value);
    }

    fn record_u128(&mut self, field: &Field, value: u128) {
        self.wide(field, value);
    }

    fn record_i128(&mut self, field: &Field, value: i128) {
        self.wide(field, value);
    }

    /// FLOPs are often computed as floats.
    fn record_f64(&mut self, field: &Field, value: f64) {
        let fits = value >= 0.0 && value < u64::MAX as f64;
        match WORK.contains(&field.name()) {
            true if fits => self.whole(field, value as u64),
            true => {}
            false => self.attribute(field, value),
        }
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        match field.name() {
            "brick" => self.brick = Some(value),
            _ => self.attribute(field, value),
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.text(field, value);
    }

    /// Only formats what is stored, because formatting can be arbitrarily expensive.
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let is_known = matches!(field.name(), "backend" | "category" | "kind");
        if is_known || self.attributes.is_some() {
            self.text(field, &shown(value));
        }
    }
}

/// Formats a value, up to the limit on stored texts.
fn shown(value: &dyn Debug) -> String {
    struct Shown(String);

    impl fmt::Write for Shown {
        fn write_str(&mut self, part: &str) -> fmt::Result {
            self.0.push_str(part);
            if self.0.len() <= MAX_TEXT_BYTES {
                Ok(())
            } else {
                Err(fmt::Error)
            }
        }
    }

    let mut shown = Shown(String::new());
    // What there is of it is the text.
    let _ = write!(shown, "{value:?}");
    shown.0
}

pub(super) fn has_gauge(metadata: &Metadata<'_>) -> bool {
    let mut fields = metadata.fields().iter();
    fields.any(|field: field::Field| field.name().starts_with(GAUGE))
}

pub(super) fn has_words(metadata: &Metadata<'_>) -> bool {
    let mut fields = metadata.fields().iter();
    fields.any(|field: field::Field| !field.name().starts_with(GAUGE))
}

/// The message of an event, and its other fields except readings.
#[derive(Default)]
pub(super) struct Words {
    pub message: Option<String>,
    pub arguments: Arguments,
}

impl Words {
    fn word<'a>(&mut self, field: &Field, value: impl Into<AttributeValue<'a>>) {
        if !field.name().starts_with(GAUGE) {
            self.arguments.add(field.name(), value.into());
        }
    }

    fn text(&mut self, field: &Field, text: &str) {
        match field.name() {
            "message" => self.message = Some(text.to_owned()),
            _ => self.word(field, text),
        }
    }
}

impl Visit for Words {
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.word(field, value);
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.word(field, value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.word(field, value);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.word(field, value);
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.text(field, value);
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.text(field, &shown(value));
    }
}

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
