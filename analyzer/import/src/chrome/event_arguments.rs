//! Arguments of an event that no column takes.

use std::borrow::Cow;
use std::io::Read;

use super::scanner::{Scanned, Scanner, Value};

/// Arguments only counted: ids that only their profiler uses, and those that would dominate the size of a run.
const LEFT_OUT: [&[u8]; 9] = [
    b"cbid",
    b"context",
    b"queued",
    b"Record function id",
    b"Python id",
    b"Python parent id",
    b"Python module id",
    b"Concrete Inputs",
    b"Input Strides",
];
const MAX_VALUE_BYTES: usize = 1 << 12;
pub(super) const MAX_ATTRIBUTES: usize = 64;

#[derive(Debug)]
pub(super) struct Argument {
    pub name: Vec<u8>,
    pub kind: Value,
    /// As [`Scanner::value`] returns it; lists and objects unparsed.
    pub text: Vec<u8>,
}

/// The arguments of one event. The memory is reused.
#[derive(Debug, Default)]
pub(super) struct EventArguments {
    all: Vec<Argument>,
    used: usize,
}

impl EventArguments {
    pub fn clear(&mut self) {
        self.used = 0;
    }

    pub fn iter(&self) -> impl Iterator<Item = &Argument> {
        self.all[..self.used].iter()
    }

    pub fn has(&self, name: &[u8]) -> bool {
        self.iter().any(|argument| argument.name == name)
    }

    pub fn text(&self, name: &[u8]) -> Option<Cow<'_, str>> {
        let argument = self.iter().find(|argument| argument.name == name)?;
        (argument.kind == Value::Text).then(|| String::from_utf8_lossy(&argument.text))
    }

    pub fn take(&mut self, name: &[u8], kind: Value, text: &[u8]) -> bool {
        if text == b"null" && kind == Value::Word {
            return true;
        }
        if LEFT_OUT.contains(&name) || text.len() > MAX_VALUE_BYTES || self.used == MAX_ATTRIBUTES {
            return false;
        }
        let argument = self.next(name, kind);
        argument.text.extend_from_slice(text);
        true
    }

    /// Adds a list or object, which comes next in the scanner; false if there are too many.
    pub fn take_nested<R: Read>(&mut self, name: &[u8], from: &mut Scanner<R>) -> Scanned<bool> {
        if LEFT_OUT.contains(&name) || self.used == MAX_ATTRIBUTES {
            return from.skip().map(|()| false);
        }
        let argument = self.next(name, Value::Nested);
        from.copy(&mut argument.text, MAX_VALUE_BYTES)?;
        let fits = argument.text.len() <= MAX_VALUE_BYTES;
        if !fits {
            self.used -= 1;
        }
        Ok(fits)
    }

    fn next(&mut self, name: &[u8], kind: Value) -> &mut Argument {
        if self.used == self.all.len() {
            self.all.push(Argument {
                name: Vec::new(),
                kind,
                text: Vec::new(),
            });
        }
        let argument = &mut self.all[self.used];
        self.used += 1;
        argument.name.clear();
        argument.text.clear();
        argument.name.extend_from_slice(name);
        argument.kind = kind;
        argument
    }
}
