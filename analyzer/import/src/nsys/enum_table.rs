//! Numbers that stand for words: by the export's own lists, else by the numbers that all versions have had.

use std::collections::HashMap;

use super::source::{Scan, Source, Value};
use crate::Error;

#[derive(Debug, Default)]
pub struct EnumTable(HashMap<i64, String>);

impl EnumTable {
    /// Reads the table of that name; empty if it is missing.
    pub fn read(source: &mut dyn Source, table: &str) -> Result<Self, Error> {
        let columns = ["id", "name"];
        let mut words = HashMap::new();
        if source.has_columns(table, &columns) {
            let scan = Scan::new(table, &columns);
            source.merged(&[scan], &mut |_, values| {
                if let [Value::Int(number), Value::Text(word)] = values {
                    words.insert(*number, word.clone().into_owned());
                }
                Ok(())
            })?;
        }
        Ok(Self(words))
    }

    /// The numbers of words that are selected.
    pub fn numbers(&self, is_selected: impl Fn(&str) -> bool) -> impl Iterator<Item = i64> {
        let selected = self.0.iter().filter(move |(_, word)| is_selected(word));
        selected.map(|(number, _)| *number)
    }

    pub fn word(&self, number: i64) -> Option<&str> {
        self.0.get(&number).map(String::as_str)
    }

    /// Converts a number by its word or, if the table lacks it, by the number itself.
    pub fn value<T>(
        &self,
        number: Option<i64>,
        from_words: fn(&str) -> Option<T>,
        from_number: fn(i64) -> Option<T>,
    ) -> Option<T> {
        let number = number?;
        self.word(number)
            .map_or_else(|| from_number(number), from_words)
    }
}
