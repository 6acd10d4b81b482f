//! One event of an export, with all columns of its row.

use std::io::Read;

use super::mark::MARK;
use crate::chrome::scanner::{Scanned, Scanner, Value};

const MAX_SOURCE: usize = 64 << 20;
/// Limit for the columns of one row; no table has as many.
const MAX_FIELDS: usize = 256;

#[derive(Debug, Default)]
pub(super) struct Event {
    /// 0 if there is none.
    pub phase: u8,
    pub category: Vec<u8>,
    pub name: Vec<u8>,
    /// Decimal microseconds; empty if there is none.
    pub time: Vec<u8>,
    /// Decimal microseconds; empty if there is none.
    pub duration: Vec<u8>,
    arguments: Fields,
    marked: Fields,
    /// The member of [`MARK`] that becomes a file instead of a cell, `ptx_source`.
    source: Option<Vec<u8>>,
    key: Vec<u8>,
    value: Vec<u8>,
}

#[derive(Debug, Default)]
struct Fields {
    /// Number of fields in use; the rest is memory kept for reuse.
    used: usize,
    all: Vec<Field>,
    key: Vec<u8>,
}

#[derive(Debug)]
pub(super) struct Field {
    pub name: Vec<u8>,
    pub kind: Value,
    pub text: Vec<u8>,
}

pub(super) enum Row<'a> {
    Fields(&'a [Field]),
    /// Only drawn for viewers; its row, if any, comes in another event.
    Drawn,
    Foreign,
}

impl Event {
    pub fn kernel_source(&self) -> Option<&str> {
        std::str::from_utf8(self.source.as_deref()?).ok()
    }

    pub fn row(&self) -> Row<'_> {
        match (self.phase, self.name.as_slice()) {
            (b'X' | b'b' | b's' | b'i', _) | (b'M', b"trueno_row") => self.arguments.row(),
            (b'C', _) => self.marked.row(),
            (b'M', b"thread_name") if self.marked.used > 0 => self.marked.row(),
            (b'e' | b'f' | b'M', _) => Row::Drawn,
            _ => Row::Foreign,
        }
    }

    /// Reads an object; its opening brace comes next.
    pub fn read<R: Read>(&mut self, from: &mut Scanner<R>) -> Scanned<()> {
        self.phase = 0;
        (self.arguments.used, self.marked.used) = (0, 0);
        self.source = None;
        let Self {
            category,
            name,
            time,
            duration,
            ..
        } = self;
        for text in [category, name, time, duration] {
            text.clear();
        }
        let mut key = std::mem::take(&mut self.key);
        let done = from.members(&mut key, |key, from| self.field(key, from));
        self.key = key;
        done
    }

    fn field<R: Read>(&mut self, key: &[u8], from: &mut Scanner<R>) -> Scanned<()> {
        let into = match key {
            b"cat" => &mut self.category,
            b"name" => &mut self.name,
            b"ts" => &mut self.time,
            b"dur" => &mut self.duration,
            b"ph" => {
                from.value(&mut self.value)?;
                if let [phase] = self.value.as_slice() {
                    self.phase = *phase;
                }
                return Ok(());
            }
            b"args" if from.space()? == Some(b'{') => return self.arguments.read(from, None),
            _ if key == MARK.as_bytes() && from.space()? == Some(b'{') => {
                return self.marked.read(from, Some(&mut self.source));
            }
            _ => return from.skip(),
        };
        from.plain(into)
    }
}

impl Fields {
    fn row(&self) -> Row<'_> {
        Row::Fields(&self.all[..self.used])
    }

    /// `source` receives the member of that name.
    fn read<R: Read>(
        &mut self,
        from: &mut Scanner<R>,
        mut source: Option<&mut Option<Vec<u8>>>,
    ) -> Scanned<()> {
        let mut key = std::mem::take(&mut self.key);
        let done = from.members(&mut key, |key, from| {
            if let (b"ptx_source", Some(source)) = (key, &mut source) {
                let mut text = Vec::new();
                if from.long_value(&mut text, MAX_SOURCE)? == Value::Text {
                    **source = Some(text);
                }
                return Ok(());
            }
            // Rows of their own say the same, with their types.
            if key == b"attributes" && source.is_none() {
                return from.skip();
            }
            if self.used == self.all.len() {
                self.all.push(Field {
                    name: Vec::new(),
                    kind: Value::Nested,
                    text: Vec::new(),
                });
            }
            let field = &mut self.all[self.used];
            field.name.clear();
            field.name.extend_from_slice(key);
            field.kind = from.value(&mut field.text)?;
            // The last is written over by those for which there is no room.
            self.used = (self.used + 1).min(MAX_FIELDS);
            Ok(())
        });
        self.key = key;
        done
    }
}
