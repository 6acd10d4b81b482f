//! Shapes and arguments of operators, each combination once.

use std::collections::HashMap;

use trueno_format::run_writer::RunWriter;
use trueno_format::schema::SignatureRow;

use crate::{Error, Notes};

/// Limit for one list of shapes; an optimizer step names a thousand tensors.
pub(crate) const MAX_SHAPE_BYTES: usize = 1 << 16;
/// Limit for all kept shapes, so that memory stays bounded if no two are equal.
const MAX_BYTES: usize = 64 << 20;

/// Dimensions, element types, strides and other arguments, as JSON; empty if not stated.
pub(crate) type Lists = [Vec<u8>; 4];

#[derive(Default)]
pub(crate) struct Signatures {
    numbers: HashMap<Box<[u8]>, u32>,
    bytes: usize,
    key: Vec<u8>,
}

impl Signatures {
    pub fn number(
        &mut self,
        lists: &Lists,
        into: &mut RunWriter,
        notes: &mut Notes,
    ) -> Result<Option<u32>, Error> {
        if lists.iter().all(Vec::is_empty) {
            return Ok(None);
        }
        if lists.iter().any(|list| list.len() > MAX_SHAPE_BYTES) {
            notes.skip("shapes of an operator: longer than 64 KiB");
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
            notes.skip("shapes of an operator: 64 MiB of different ones are kept");
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

/// Appends JSON without white space between values, because writers differ in it.
pub(crate) fn without_spaces(json: &[u8], to: &mut Vec<u8>) {
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
