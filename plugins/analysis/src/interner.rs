//! Numbers for things, in the order they are first seen.

use std::hash::Hash;

use trueno_plugin::Result;

use crate::hash::FastMap;
use crate::source::Source;

/// Numbered things: labels, groups.
#[derive(Clone, Debug)]
pub struct Interner<T> {
    all: Vec<T>,
    numbers: FastMap<T, u32>,
    last: Option<(T, u32)>,
}

impl<T> Default for Interner<T> {
    fn default() -> Self {
        Self {
            all: Vec::new(),
            numbers: FastMap::default(),
            last: None,
        }
    }
}

impl<T: Copy + Eq + Hash> Interner<T> {
    /// The number of one; a new one when it was not seen before. Neighbouring rows often ask for the same.
    #[inline]
    pub fn number(&mut self, of: T) -> u32 {
        if let Some((last, number)) = self.last
            && last == of
        {
            return number;
        }
        let next = self.all.len() as u32;
        let number = *self.numbers.entry(of).or_insert(next);
        if number == next {
            self.all.push(of);
        }
        self.last = Some((of, number));
        number
    }

    /// The one with a number that [`number`](Self::number) gave.
    #[inline]
    pub fn get(&self, number: u32) -> T {
        self.all[number as usize]
    }

    /// All values, by number.
    #[inline]
    pub fn all(&self) -> &[T] {
        &self.all
    }
}

/// Numbered texts.
#[derive(Clone, Debug, Default)]
pub struct Texts {
    texts: Vec<String>,
    numbers: FastMap<String, u32>,
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

    /// The text of a number, if it has one.
    pub fn get(&self, number: u32) -> Option<&str> {
        self.texts.get(number as usize).map(String::as_str)
    }

    /// All texts, by number.
    pub fn all(&self) -> &[String] {
        &self.texts
    }

    /// The number of texts.
    pub fn len(&self) -> usize {
        self.texts.len()
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    /// Takes in a list of distinct texts (`SELECT DISTINCT name_id AS id, name AS text`) and gives, by
    /// the number in the table's column, the number here.
    ///
    /// Text columns of a run have such a companion `<column>_id`, valid in one process: a number a row
    /// and a list of the few distinct texts is much cheaper than millions of texts.
    ///
    /// # Errors
    /// The input lacks a column or has it in another type.
    pub fn read_distinct(
        &mut self,
        run: &mut impl Source,
        input: &str,
    ) -> Result<FastMap<i64, u32>> {
        let table = run.table(input)?;
        let (id, text) = (table.i64("id")?, table.text("text")?);
        let mut known = FastMap::default();
        for row in 0..table.rows() {
            if let (Some(id), Some(text)) = (id.get(row), text.get(row)) {
                known.insert(id, self.number(text));
            }
        }
        Ok(known)
    }
}

impl<'a> FromIterator<&'a str> for Texts {
    /// Numbers texts in the given order.
    fn from_iter<I: IntoIterator<Item = &'a str>>(texts: I) -> Self {
        let mut out = Self::default();
        for text in texts {
            out.number(text);
        }
        out
    }
}
