//! Texts to keys of a text column.

use std::collections::HashMap;

use crate::text::Text;

/// Larger numbers are looked up in a map. Otherwise a single damaged number in the waiting rows would cost memory
/// for all numbers below it.
const DENSE_NUMBERS: usize = 1 << 22;

#[derive(Default)]
pub(crate) struct Dictionary {
    /// Key + 1, indexed by the number of the text; 0 if absent.
    keys: Vec<u32>,
    /// The same for numbers from [`DENSE_NUMBERS`] on.
    high_keys: HashMap<u32, u32>,
    texts: Vec<Text>,
}

impl Dictionary {
    pub fn len(&self) -> usize {
        self.texts.len()
    }

    /// Texts by key.
    pub fn texts(&self) -> &[Text] {
        &self.texts
    }

    #[inline]
    pub fn key(&mut self, text: Text) -> i32 {
        let at = text.number() as usize;
        match self.keys.get(at) {
            Some(key) if *key != 0 => *key as i32 - 1,
            _ => self.add(text),
        }
    }

    #[cold]
    fn add(&mut self, text: Text) -> i32 {
        let at = text.number() as usize;
        let next = self.texts.len() as u32 + 1;
        if at >= DENSE_NUMBERS {
            let key = *self.high_keys.entry(text.number()).or_insert(next);
            if key == next {
                self.texts.push(text);
            }
            return key as i32 - 1;
        }
        if at >= self.keys.len() {
            self.keys.resize((at + 1).next_power_of_two(), 0);
        }
        self.texts.push(text);
        self.keys[at] = next;
        next as i32 - 1
    }

    pub fn clear(&mut self) {
        self.high_keys.clear();
        for text in self.texts.drain(..) {
            if let Some(key) = self.keys.get_mut(text.number() as usize) {
                *key = 0;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_no_text_has_cost_no_memory() {
        let mut dictionary = Dictionary::default();
        for _ in 0..2 {
            let keys = [7, u32::MAX, 7, u32::MAX, 1 << 22, 0].map(Text::from_number);
            assert_eq!(keys.map(|text| dictionary.key(text)), [0, 1, 0, 1, 2, 3]);
            assert_eq!((dictionary.len(), dictionary.keys.len()), (4, 8));
            dictionary.clear();
        }
    }
}
