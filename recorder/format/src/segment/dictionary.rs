//! Texts to keys of a text column.

use crate::text::Text;

/// Dictionary of one text column within one segment.
#[derive(Default)]
pub(crate) struct Dictionary {
    /// By the number of the text: the key + 1; 0: not there yet.
    keys: Vec<u32>,
    /// Texts by key.
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
        if at >= self.keys.len() {
            self.keys.resize((at + 1).next_power_of_two(), 0);
        }
        self.texts.push(text);
        self.keys[at] = self.texts.len() as u32;
        self.texts.len() as i32 - 1
    }

    pub fn clear(&mut self) {
        for text in self.texts.drain(..) {
            self.keys[text.number() as usize] = 0;
        }
    }
}
