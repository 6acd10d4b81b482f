//! Shapes and arguments, as an operator's event states them.

use std::borrow::Cow;

use super::decimal::identity;
use crate::signatures::Lists;

/// The lists that an operator's event has, as they stand in the file; empty: not stated.
#[derive(Debug, Default)]
pub(super) struct Shapes {
    lists: Lists,
    collective: Collective,
}

/// A collective's message, which PyTorch states beside shapes that lack its element type.
#[derive(Debug, Default)]
struct Collective {
    name: Vec<u8>,
    element_type: Vec<u8>,
    sent: Option<u64>,
    received: Option<u64>,
}

impl Collective {
    /// The message as shapes: elements sent and received, their type, and the collective's name.
    fn lists(&self) -> Option<Lists> {
        let (sent, received) = (self.sent?, self.received?);
        let is_word = |text: &[u8]| {
            text.iter()
                .all(|byte| byte.is_ascii_graphic() && !b"\"\\".contains(byte))
        };
        let [name, element_type] = [&self.name, &self.element_type];
        if name.is_empty() || element_type.is_empty() || !is_word(name) || !is_word(element_type) {
            return None;
        }
        let [name, element_type] = [name, element_type].map(|text| String::from_utf8_lossy(text));
        Some([
            format!("[[{sent}],[{received}]]").into_bytes(),
            format!("[\"{element_type}\",\"{element_type}\"]").into_bytes(),
            Vec::new(),
            format!("[\"{name}\"]").into_bytes(),
        ])
    }
}

impl Shapes {
    /// The place of a list, if the key is one's.
    pub fn of(&mut self, key: &[u8]) -> Option<&mut Vec<u8>> {
        let at = match key {
            b"Input Dims" | b"Input dims" => 0,
            b"Input type" => 1,
            b"Input Strides" => 2,
            b"Concrete Inputs" => 3,
            _ => return None,
        };
        Some(&mut self.lists[at])
    }

    /// Takes an argument, if it tells of a collective; false if it does not.
    pub fn set_collective(&mut self, key: &[u8], value: &[u8]) -> bool {
        let of = &mut self.collective;
        match key {
            b"Collective name" => of.name = value.to_owned(),
            b"dtype" => of.element_type = value.to_owned(),
            b"In msg nelems" => of.sent = identity(value),
            b"Out msg nelems" => of.received = identity(value),
            _ => return false,
        }
        true
    }

    /// The lists, in the order of a signature's columns.
    pub fn lists(&self) -> Cow<'_, Lists> {
        let collective = self.collective.lists();
        collective.map_or(Cow::Borrowed(&self.lists), Cow::Owned)
    }

    pub fn clear(&mut self) {
        self.lists.iter_mut().for_each(Vec::clear);
        self.collective = Collective::default();
    }
}
