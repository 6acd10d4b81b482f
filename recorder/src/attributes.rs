//! Attributes: keys and values that a program says of a row, beside the row's columns.
//!
//! Each is a record of its own, on its way as soon as it is set: a program that is killed before the row has ended
//! loses none. A row without attributes has no part in it.

use crate::lane::Lane;
use crate::names::{LimitedTexts, Name};
use crate::recorder::Recorder;
use crate::span::Span;
use crate::span_id::SpanId;
use trueno_format::record::{Record, attribute_type, kind, row_id};
use trueno_format::schema::TableId;

pub(crate) static TEXTS: LimitedTexts = LimitedTexts::new();

/// Type of a text that is not stored.
const REFUSED: u8 = u8::MAX;

/// The value of an attribute: a whole number, a floating-point number, a truth value or a text.
///
/// Guards take `impl Into<AttributeValue>`. A text is interned when it is recorded; use a [`Name`] for one that repeats,
/// to look it up once. Texts longer than 64 KiB, and those beyond 64 MiB of different ones in a process, are not stored:
/// their attributes count as dropped rows of `attributes`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AttributeValue<'a>(Value<'a>);

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Value<'a> {
    Integer(i64),
    /// A value that does not fit in i64.
    Unsigned(u64),
    Number(f64),
    Truth(bool),
    Text(&'a str),
    Interned(Name),
}

#[derive(Clone, Copy)]
pub(crate) struct StoredValue {
    ty: u8,
    word: u64,
}

impl<'a> AttributeValue<'a> {
    pub(crate) fn value(self) -> Value<'a> {
        self.0
    }

    /// The value in the form of a record. Texts are interned.
    #[inline(always)]
    pub(crate) fn store(self) -> StoredValue {
        let (ty, word) = match self.0 {
            Value::Integer(value) => (attribute_type::INTEGER, value.cast_unsigned()),
            Value::Unsigned(value) => (attribute_type::UNSIGNED, value),
            Value::Number(value) => (attribute_type::NUMBER, value.to_bits()),
            Value::Truth(value) => (attribute_type::TRUTH, u64::from(value)),
            Value::Interned(name) => (attribute_type::TEXT, u64::from(name.number())),
            Value::Text(text) => return store_text(text),
        };
        StoredValue { ty, word }
    }
}

#[inline(never)]
fn store_text(text: &str) -> StoredValue {
    match TEXTS.intern(text) {
        Some(name) => AttributeValue(Value::Interned(name)).store(),
        None => StoredValue {
            ty: REFUSED,
            word: 0,
        },
    }
}

impl From<u64> for AttributeValue<'_> {
    #[inline]
    fn from(value: u64) -> Self {
        Self(i64::try_from(value).map_or(Value::Unsigned(value), Value::Integer))
    }
}

impl From<usize> for AttributeValue<'_> {
    #[inline]
    fn from(value: usize) -> Self {
        Self::from(value as u64)
    }
}

macro_rules! from_numbers {
    ($($ty:ty)*, $value:ident as $stored:ty) => {$(
        impl From<$ty> for AttributeValue<'_> {
            #[inline]
            fn from(value: $ty) -> Self {
                Self(Value::$value(value as $stored))
            }
        }
    )*};
}

from_numbers!(i8 i16 i32 i64 isize u8 u16 u32, Integer as i64);
from_numbers!(f32 f64, Number as f64);

impl From<bool> for AttributeValue<'_> {
    #[inline]
    fn from(value: bool) -> Self {
        Self(Value::Truth(value))
    }
}

impl<'a> From<&'a str> for AttributeValue<'a> {
    #[inline]
    fn from(text: &'a str) -> Self {
        Self(Value::Text(text))
    }
}

impl<'a> From<&'a String> for AttributeValue<'a> {
    #[inline]
    fn from(text: &'a String) -> Self {
        Self(Value::Text(text))
    }
}

impl From<Name> for AttributeValue<'_> {
    #[inline]
    fn from(name: Name) -> Self {
        Self(Value::Interned(name))
    }
}

impl Lane {
    /// Publishes an attribute of the row with that id, or counts it as dropped.
    #[inline(always)]
    fn attribute(&mut self, row: u64, key: Name, StoredValue { ty, word }: StoredValue) {
        if ty == REFUSED {
            return self.drop_rows(TableId::Attributes, 1, Some(key.text()));
        }
        self.push(
            TableId::Attributes,
            Record {
                name: key.number(),
                kind: kind::ATTRIBUTE,
                flags: ty,
                m: [row, word, 0, 0],
                ..Record::default()
            },
        );
    }
}

impl Span<'_> {
    /// Sets an attribute of the row. Does nothing if the row is not recorded.
    #[inline(always)]
    pub fn set<'a>(&mut self, key: impl Into<Name>, value: impl Into<AttributeValue<'a>>) {
        if self.is_on() && self.recorder.records(TableId::Attributes) {
            // First: it may be code of the program.
            let (key, value) = (key.into(), value.into().store());
            let seq = self.seq();
            if let Some(lane) = self.lane() {
                set(lane, seq, key, value);
            }
        }
    }
}

/// Not inlined and without the guard: the guard's address would force it into memory.
#[inline(never)]
fn set(lane: &mut Lane, seq: u32, key: Name, value: StoredValue) {
    let row = row_id(lane.thread().index, seq);
    lane.attribute(row, key, value);
}

impl Recorder {
    /// Sets an attribute of a row by its id, from any thread, also after the row has ended.
    ///
    /// ```
    /// # let rec = trueno_recorder::Recorder::disabled();
    /// let brick = rec.brick("AttentionScore");
    /// let id = brick.id();
    /// std::thread::scope(|scope| {
    ///     scope.spawn(|| rec.attribute(id, "answered_by", "worker 3"));
    /// });
    /// ```
    pub fn attribute<'a>(
        &self,
        row: SpanId,
        key: impl Into<Name>,
        value: impl Into<AttributeValue<'a>>,
    ) {
        if !row.is_none() && self.records(TableId::Attributes) {
            // First: it may be code of the program.
            let (key, value) = (key.into(), value.into().store());
            self.stored_attribute(row, key, value);
        }
    }

    pub(crate) fn stored_attribute(&self, row: SpanId, key: Name, value: StoredValue) {
        if !self.records(TableId::Attributes) {
            return;
        }
        let set = |lane: &mut Lane| lane.attribute(row.get(), key, value);
        if self.with_lane(set).is_none() {
            self.no_ring(TableId::Attributes);
        }
    }
}
