//! Shapes and arguments of operators, each combination once.

use std::collections::HashMap;

use trueno_format::run_writer::RunWriter;
use trueno_format::schema::SignatureRow;

use super::decimal::identity;
use crate::{Error, Notes};

/// Bytes of one list of shapes at most: an optimiser's step names a thousand tensors.
pub(super) const MAX_SHAPE_BYTES: usize = 1 << 16;
/// Bytes of all that are kept, so that memory stays flat where no two are equal.
const MAX_BYTES: usize = 64 << 20;

/// The lists that an operator's event has, as they stand in the file; empty: not stated.
#[derive(Debug, Default)]
pub(super) struct Shapes {
    lists: [Vec<u8>; 4],
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
    fn lists(&self) -> Option<[Vec<u8>; 4]> {
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

    pub fn clear(&mut self) {
        self.lists.iter_mut().for_each(Vec::clear);
        self.collective = Collective::default();
    }
}

/// The numbers of all that were met.
#[derive(Default)]
pub(super) struct Signatures {
    numbers: HashMap<Box<[u8]>, u32>,
    bytes: usize,
    /// Memory to be used again.
    key: Vec<u8>,
}

impl Signatures {
    /// The number of these shapes, whose row is written when they are new.
    pub fn number(
        &mut self,
        shapes: &Shapes,
        into: &mut RunWriter,
        notes: &mut Notes,
    ) -> Result<Option<u32>, Error> {
        let collective = shapes.collective.lists();
        let lists = collective.as_ref().unwrap_or(&shapes.lists);
        if lists.iter().all(Vec::is_empty) {
            return Ok(None);
        }
        if lists.iter().any(|list| list.len() > MAX_SHAPE_BYTES) {
            notes.leave_out("shapes of an operator: longer than 64 KiB");
            return Ok(None);
        }
        self.key.clear();
        for list in lists {
            without_spaces(list, &mut self.key);
            self.key.push(b'\n');
        }
        if let Some(number) = self.numbers.get(self.key.as_slice()) {
            return Ok(Some(*number));
        }
        if self.bytes + self.key.len() > MAX_BYTES {
            notes.leave_out("shapes of an operator: 64 MiB of different ones are kept");
            return Ok(None);
        }
        self.bytes += self.key.len();
        let number = self.numbers.len() as u32;
        let text = String::from_utf8_lossy(&self.key);
        let mut texts = text.split('\n').map(|list| match list {
            "" => None,
            list => Some(into.text(list)),
        });
        let row = SignatureRow {
            id: u64::from(number),
            input_dims: texts.next().flatten(),
            input_types: texts.next().flatten(),
            input_strides: texts.next().flatten(),
            concrete_inputs: texts.next().flatten(),
        };
        notes.add(into, &row)?;
        self.numbers.insert(self.key.as_slice().into(), number);
        Ok(Some(number))
    }
}

/// Adds JSON without the white space between its values: writers differ in it.
pub(super) fn without_spaces(json: &[u8], to: &mut Vec<u8>) {
    let (mut in_text, mut escaped) = (false, false);
    for byte in json {
        match byte {
            // None stands in a text, where it must be escaped.
            b'\n' => continue,
            b' ' | b'\t' | b'\r' if !in_text => continue,
            b'"' if !escaped => in_text = !in_text,
            _ => {}
        }
        escaped = in_text && *byte == b'\\' && !escaped;
        to.push(*byte);
    }
}

#[cfg(test)]
mod tests {
    use super::without_spaces;

    #[test]
    fn white_space_between_values_goes_and_that_in_texts_stays() {
        let mut out = Vec::new();
        without_spaces(br#"[ [1, 2], "a b", "\" , \\", ""  ]"#, &mut out);
        assert_eq!(out, br#"[[1,2],"a b","\" , \\",""]"#);
    }
}
