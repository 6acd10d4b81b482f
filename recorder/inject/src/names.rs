//! Texts by number.

use std::collections::HashMap;

#[derive(Debug, Default)]
pub struct Names {
    numbers: HashMap<Box<[u8]>, u32>,
    /// A sequence of number, length and text, as in a chunk of names.
    new: Vec<u8>,
}

impl Names {
    pub fn number(&mut self, text: &[u8]) -> u32 {
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        let number = self.numbers.len() as u32 + 1;
        self.numbers.insert(text.into(), number);
        write(&mut self.new, number, text);
        number
    }

    pub fn take_new(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.new)
    }
}

pub fn write(to: &mut Vec<u8>, number: u32, text: &[u8]) {
    let text = &text[..text.len().min(1 << 20)];
    to.extend_from_slice(&number.to_le_bytes());
    to.extend_from_slice(&(text.len() as u32).to_le_bytes());
    to.extend_from_slice(text);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_has_one_number_and_is_written_once() {
        let mut names = Names::default();
        assert_eq!(names.number(b"a"), 1);
        assert_eq!(names.number(b"b"), 2);
        assert_eq!(names.number(b"a"), 1);
        assert_eq!(names.take_new().len(), 2 * 9);
        names.number(b"a");
        assert!(names.take_new().is_empty());
    }
}
