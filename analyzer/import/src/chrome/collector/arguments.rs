//! Arguments that no column takes, kept until it is known which rows their events become: attributes of these.

use std::collections::HashMap;
use std::path::Path;

use trueno_format::run_writer::{RunWriter, Text};
use trueno_format::schema::AttributeRow;

use super::Collector;
use crate::Error;
use crate::chrome::decimal::integer;
use crate::chrome::event::Event;
use crate::chrome::event_arguments::{Argument, MAX_ATTRIBUTES};
use crate::chrome::record::{low, pair};
use crate::chrome::scanner::Value;
use crate::sorter::Sorter;

mod ty {
    pub const INTEGER: u32 = 0;
    pub const UNSIGNED: u32 = 1;
    pub const NUMBER: u32 = 2;
    pub const TRUTH: u32 = 3;
    pub const TEXT: u32 = 4;
}

/// Arguments of all events, kept until it is known which rows the events become.
pub struct KeptArguments {
    /// Event; argument index and type; key; value.
    values: Sorter<4>,
    places: Sorter<2>,
    has_any: bool,
    /// Texts, indexed by the number that values use.
    texts: Vec<Text>,
    numbers: HashMap<Text, u64>,
}

impl KeptArguments {
    pub fn new(folder: &Path) -> Self {
        Self {
            values: Sorter::small(folder.join("import.arguments")),
            places: Sorter::small(folder.join("import.places")),
            has_any: false,
            texts: Vec::new(),
            numbers: HashMap::new(),
        }
    }

    fn text(&mut self, text: &[u8], into: &mut RunWriter) -> u64 {
        let text = into.text(&String::from_utf8_lossy(text));
        *self.numbers.entry(text).or_insert_with(|| {
            self.texts.push(text);
            self.texts.len() as u64 - 1
        })
    }

    fn value(&mut self, argument: &Argument, into: &mut RunWriter) -> (u32, u64) {
        let text = argument.text.as_slice();
        match (argument.kind, text) {
            (Value::Word, b"true") => return (ty::TRUTH, 1),
            (Value::Word, b"false") => return (ty::TRUTH, 0),
            (Value::Word | Value::Number, _) => {}
            (Value::Text | Value::Nested, _) => return (ty::TEXT, self.text(text, into)),
        }
        let whole = integer(text);
        let number = || std::str::from_utf8(text).ok()?.parse::<f64>().ok();
        if let Some(value) = whole.and_then(|value| i64::try_from(value).ok()) {
            (ty::INTEGER, value.cast_unsigned())
        } else if let Some(value) = whole.and_then(|value| u64::try_from(value).ok()) {
            (ty::UNSIGNED, value)
        } else if let Some(value) = number() {
            (ty::NUMBER, value.to_bits())
        } else {
            (ty::TEXT, self.text(text, into))
        }
    }

    fn row(&self, span: u64, [_, place_and_type, name, word]: [u64; 4]) -> AttributeRow {
        let of_type = |ty: u32| (low(place_and_type) == ty).then_some(word);
        AttributeRow {
            span,
            name: self.texts[name as usize],
            integer: of_type(ty::INTEGER).map(u64::cast_signed),
            unsigned: of_type(ty::UNSIGNED),
            number: of_type(ty::NUMBER).map(f64::from_bits),
            truth: of_type(ty::TRUTH).map(|word| word != 0),
            text: of_type(ty::TEXT).map(|text| self.texts[text as usize]),
        }
    }
}

impl Collector<'_> {
    /// Keeps the arguments of an event, identified by its position in the file. `is_end` if they come from the
    /// event that ended the interval.
    pub(super) fn keep_arguments(
        &mut self,
        order: u64,
        event: &Event,
        is_end: bool,
    ) -> Result<(), Error> {
        let first = if is_end { MAX_ATTRIBUTES } else { 0 };
        for (place, argument) in event.others.iter().enumerate() {
            let kept = &mut self.arguments;
            let (ty, word) = kept.value(argument, self.into);
            let name = kept.text(&argument.name, self.into);
            let place = (first + place) as u32;
            kept.values.push([order, pair(place, ty), name, word])?;
            kept.has_any = true;
        }
        Ok(())
    }

    /// An attribute that is computed, of the event at this position.
    pub(super) fn keep_integer(&mut self, order: u64, name: &str, value: i64) -> Result<(), Error> {
        let kept = &mut self.arguments;
        let name = kept.text(name.as_bytes(), self.into);
        let place = pair(u32::MAX, ty::INTEGER);
        kept.values
            .push([order, place, name, value.cast_unsigned()])?;
        kept.has_any = true;
        Ok(())
    }

    pub fn became(&mut self, order: u64, id: u64) -> Result<(), Error> {
        self.kernel_became(order, id)?;
        let kept = &mut self.arguments;
        if !kept.has_any {
            return Ok(());
        }
        kept.places.push([order, id])
    }

    /// Writes the arguments of events that became rows and counts the others.
    pub fn write_arguments(&mut self) -> Result<(), Error> {
        if !self.arguments.has_any {
            return Ok(());
        }
        let mut values = self.arguments.values.take()?;
        let mut places = self.arguments.places.take()?;
        let mut place = places.next()?;
        while let Some(value) = values.next()? {
            let order = value[0];
            while place.is_some_and(|[of, _]| of < order) {
                place = places.next()?;
            }
            let id = place.filter(|[of, _]| *of == order).map(|[_, id]| id);
            let row = self.arguments.row(id.unwrap_or_default(), value);
            if id.is_some() {
                self.add(&row)?;
            } else {
                let name = self.into.str(row.name).to_owned();
                *self.notes.arguments_left_out.entry(name).or_default() += 1;
            }
        }
        Ok(())
    }
}
