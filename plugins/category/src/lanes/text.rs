//! Texts by number: kinds, names and categories of all tables in one list.

use super::hash::FastMap;

/// Category of time that lies in no brick: run, iteration and layer rows, and
/// work that ran directly in them.
pub const OUTSIDE: u32 = 0;
/// Category of a brick that has none.
pub const UNCATEGORISED: u32 = 1;
/// Stands for "that of the enclosing brick" until the lanes are sorted.
pub const INHERITED: u32 = 2;

/// Category of time in which a thread waited for others.
pub const WAITING: u32 = 3;

/// Numbered texts. The first four are the categories above.
pub struct Texts {
    texts: Vec<String>,
    numbers: FastMap<String, u32>,
}

impl Default for Texts {
    fn default() -> Self {
        let mut all = Self {
            texts: Vec::new(),
            numbers: FastMap::default(),
        };
        for text in ["outside bricks", "uncategorised", "", "waiting"] {
            all.number(text);
        }
        all
    }
}

impl Texts {
    /// The number of a text; a new one when it was not seen before.
    pub fn number(&mut self, text: &str) -> u32 {
        if let Some(&number) = self.numbers.get(text) {
            return number;
        }
        let number = self.texts.len() as u32;
        self.texts.push(text.to_owned());
        self.numbers.insert(text.to_owned(), number);
        number
    }

    /// The text of a number that [`number`](Self::number) gave.
    pub fn text(&self, number: u32) -> &str {
        &self.texts[number as usize]
    }

    /// The text of a number, if it has one: labels that were given up while lanes were read may have none.
    pub fn get(&self, number: u32) -> Option<&str> {
        self.texts.get(number as usize).map(String::as_str)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.texts.len()
    }

    /// Never: four are there from the start.
    pub fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }
}
