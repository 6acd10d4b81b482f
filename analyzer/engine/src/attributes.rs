//! Attributes of rows: the table `attributes`, by row.

use std::collections::BTreeMap;
use std::fmt;

use polars::prelude::DataFrame;

use crate::frame::{Rows, i64_at, text_at};
use crate::query::{Database, QueryError, collect};

const ROWS: &str =
    "SELECT span, name_id, integer, unsigned, number, truth, text_id FROM attributes";

#[derive(Clone, Debug, Default)]
pub struct Attributes {
    /// Row id of each attribute. Sorted by row, then by key.
    spans: Vec<u64>,
    /// Key and value of each attribute, parallel to `spans`.
    values: Vec<(u32, Stored)>,
    texts: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum AttributeValue<'a> {
    Integer(i64),
    Unsigned(u64),
    Number(f64),
    Truth(bool),
    Text(&'a str),
}

#[derive(Clone, Copy, Debug)]
enum Stored {
    Integer(i64),
    Unsigned(u64),
    Number(f64),
    Truth(bool),
    Text(u32),
}

impl Attributes {
    /// Reads the attributes. If a key occurs twice in a row, the last value wins.
    ///
    /// # Errors
    /// The table cannot be read.
    pub fn read(database: &Database) -> Result<Self, QueryError> {
        let frame = collect(database, ROWS)?;
        if frame.height() == 0 {
            return Ok(Self::default());
        }
        let mut texts = Vec::new();
        let names = numbers(database, "name", &mut texts)?;
        let values = numbers(database, "text", &mut texts)?;
        let rows = Rows::new(&frame);
        let (span, name) = (rows.u64("span")?, rows.i64("name_id")?);
        let (integer, unsigned) = (rows.i64("integer")?, rows.u64("unsigned")?);
        let (number, text) = (rows.f64("number")?, rows.i64("text_id")?);
        let truth = truths(&frame)?;
        let stored = |row| {
            (integer.get(row).map(Stored::Integer))
                .or_else(|| unsigned.get(row).map(Stored::Unsigned))
                .or_else(|| number.get(row).map(Stored::Number))
                .or_else(|| truth.get(row).map(Stored::Truth))
                .or_else(|| Some(Stored::Text(*values.get(&text.get(row)?)?)))
        };
        let mut found: Vec<(u64, u32, Stored)> = (0..frame.height())
            .filter_map(|row| {
                let name = *names.get(&name.get(row)?)?;
                Some((span.get(row)?, name, stored(row)?))
            })
            .collect();
        // As rows of one key lie in the order in which they were recorded, so they stay.
        found.sort_by(|a, b| (a.0, &texts[a.1 as usize]).cmp(&(b.0, &texts[b.1 as usize])));
        found.dedup_by(|later, kept| {
            let is_same = (later.0, later.1) == (kept.0, kept.1);
            if is_same {
                *kept = *later;
            }
            is_same
        });
        Ok(Self {
            spans: found.iter().map(|(span, ..)| *span).collect(),
            values: found.iter().map(|&(_, key, value)| (key, value)).collect(),
            texts,
        })
    }

    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// The attributes of a row, sorted by key.
    pub fn of(&self, span: u64) -> impl ExactSizeIterator<Item = (&str, AttributeValue<'_>)> {
        let from = self.spans.partition_point(|id| *id < span);
        let count = self.spans[from..].partition_point(|id| *id == span);
        self.values[from..from + count].iter().map(|(key, value)| {
            let value = match *value {
                Stored::Integer(value) => AttributeValue::Integer(value),
                Stored::Unsigned(value) => AttributeValue::Unsigned(value),
                Stored::Number(value) => AttributeValue::Number(value),
                Stored::Truth(value) => AttributeValue::Truth(value),
                Stored::Text(text) => AttributeValue::Text(&self.texts[text as usize]),
            };
            (self.texts[*key as usize].as_str(), value)
        })
    }

    /// The attributes of a row as text, such as `batch=4 · stage=prefill`; empty if it has none.
    pub fn text(&self, span: u64) -> String {
        let all = self.of(span).map(|(key, value)| format!("{key}={value}"));
        all.collect::<Vec<_>>().join(" · ")
    }
}

impl fmt::Display for AttributeValue<'_> {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AttributeValue::Integer(value) => value.fmt(to),
            AttributeValue::Unsigned(value) => value.fmt(to),
            AttributeValue::Number(value) => value.fmt(to),
            AttributeValue::Truth(value) => value.fmt(to),
            AttributeValue::Text(value) => value.fmt(to),
        }
    }
}

/// Maps the numbers of a column's texts to indices into `texts`.
fn numbers(
    database: &Database,
    column: &str,
    texts: &mut Vec<String>,
) -> Result<BTreeMap<i64, u32>, QueryError> {
    // This form is answered from the run's dictionary.
    let sql = format!("SELECT DISTINCT {column}_id AS number, {column} AS text FROM attributes");
    let frame = collect(database, &sql)?;
    let mut numbers = BTreeMap::new();
    for row in 0..frame.height() {
        if let (Some(number), Some(text)) =
            (i64_at(&frame, "number", row), text_at(&frame, "text", row))
        {
            numbers.insert(number, texts.len() as u32);
            texts.push(text.to_owned());
        }
    }
    Ok(numbers)
}

fn truths(frame: &DataFrame) -> Result<polars::prelude::BooleanChunked, QueryError> {
    let truths = frame
        .column("truth")
        .and_then(|column| column.bool().cloned());
    truths.map_err(|error| QueryError::Failed(error.to_string()))
}
