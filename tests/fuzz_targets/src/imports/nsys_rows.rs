//! Tables of Nsight Systems from a text: a line `=TABLE COLUMN COLUMN …` begins one, each line behind it is a row.
//!
//! Cells stand between blanks: `-` is null, a whole number is one, a number with a point is a real one, bytes are `!` and
//! their digits in hexadecimal, all else is a text.

use std::borrow::Cow;
use std::cmp::Ordering;

use trueno_import::Error;
use trueno_import::nsys::source::{Scan, Source, Value, Visit, is_timed};

pub struct Rows {
    tables: Vec<Table>,
}

struct Table {
    name: String,
    columns: Vec<String>,
    rows: Vec<Vec<Value<'static>>>,
}

impl Rows {
    /// Parses tables from a text. If two share a name, the first wins.
    pub fn parse(text: &str) -> Self {
        let mut tables: Vec<Table> = Vec::new();
        for line in text.lines() {
            let mut words = line.split(' ').map(str::to_owned);
            match line.strip_prefix('=') {
                Some(head) => {
                    let mut words = head.split(' ').map(str::to_owned);
                    tables.push(Table {
                        name: words.next().unwrap_or_default(),
                        columns: words.collect(),
                        rows: Vec::new(),
                    });
                }
                None => {
                    if let Some(table) = tables.last_mut() {
                        let cell =
                            |_: &String| words.next().map_or(Value::Null, |word| value(&word));
                        table.rows.push(table.columns.iter().map(cell).collect());
                    }
                }
            }
        }
        Self { tables }
    }

    fn table(&self, name: &str) -> Option<&Table> {
        self.tables.iter().find(|table| table.name == name)
    }
}

/// Decodes pairs of hexadecimal digits. Any other text gives its own bytes.
fn bytes(word: &str) -> Vec<u8> {
    let pairs = word.as_bytes().chunks(2);
    let digits = pairs.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok());
    let bytes: Option<Vec<u8>> = digits.collect();
    bytes.unwrap_or_else(|| word.as_bytes().to_vec())
}

fn value(word: &str) -> Value<'static> {
    match word {
        "-" => Value::Null,
        _ if word.starts_with('!') => Value::Blob(bytes(&word[1..]).into()),
        _ => match (word.parse(), word.parse()) {
            (Ok(whole), _) => Value::Int(whole),
            (_, Ok(real)) if word.contains('.') => Value::Real(real),
            _ => Value::Text(Cow::Owned(word.to_owned())),
        },
    }
}

impl Table {
    /// Its rows, as the scan requests them.
    fn scan(&self, scan: &Scan) -> Vec<Vec<Value<'static>>> {
        let place = |column: &Option<String>| {
            let column = column.as_ref()?;
            self.columns.iter().position(|name| name == column)
        };
        let places: Vec<Option<usize>> = scan.columns.iter().map(place).collect();
        let cell = |row: &[Value<'static>], place: &Option<usize>| {
            place.map_or(Value::Null, |at| row[at].clone())
        };
        let rows = self.rows.iter();
        let mut rows: Vec<Vec<Value<'static>>> = rows
            .map(|row| places.iter().map(|place| cell(row, place)).collect())
            .collect();
        rows.sort_by(|a, b| order(a.first(), b.first()).then_with(|| order(b.get(1), a.get(1))));
        rows
    }
}

/// Sqlite's order of values: null, numbers, texts, bytes.
fn order(a: Option<&Value<'_>>, b: Option<&Value<'_>>) -> Ordering {
    let number = |value: &Value<'_>| match value {
        Value::Int(whole) => Some(*whole as f64),
        Value::Real(real) => Some(*real),
        _ => None,
    };
    let rank = |value: &Value<'_>| match value {
        Value::Null => 0,
        Value::Int(_) | Value::Real(_) => 1,
        Value::Text(_) => 2,
        Value::Blob(_) => 3,
    };
    match (a, b) {
        (Some(Value::Int(a)), Some(Value::Int(b))) => a.cmp(b),
        (Some(Value::Text(a)), Some(Value::Text(b))) => a.cmp(b),
        (Some(a), Some(b)) => match (number(a), number(b)) {
            (Some(a), Some(b)) => a.total_cmp(&b),
            _ => rank(a).cmp(&rank(b)),
        },
        _ => Ordering::Equal,
    }
}

impl Source for Rows {
    fn tables(&self) -> Vec<String> {
        let mut names: Vec<String> = self.tables.iter().map(|table| table.name.clone()).collect();
        names.sort();
        names.dedup();
        names
    }

    fn columns(&self, table: &str) -> Option<&[String]> {
        Some(&self.table(table)?.columns)
    }

    fn rows(&self, table: &str) -> u64 {
        self.table(table).map_or(0, |table| table.rows.len() as u64)
    }

    fn earliest(
        &mut self,
        table: &str,
        start: &str,
        end: Option<&str>,
    ) -> Result<(Option<i64>, Vec<String>), Error> {
        let scan = Scan {
            table: table.to_owned(),
            columns: vec![Some(start.to_owned()), end.map(str::to_owned)],
        };
        let rows = self.table(table).map(|table| table.scan(&scan));
        let whole = |value: &Value<'_>| match value {
            Value::Int(whole) => Some(*whole),
            _ => None,
        };
        let starts = rows.into_iter().flatten().filter_map(|row| {
            let start = whole(&row[0])?;
            is_timed(start, whole(&row[1])).then_some(start)
        });
        Ok((starts.min(), Vec::new()))
    }

    fn merged(&mut self, scans: &[Scan], visit: &mut Visit<'_>) -> Result<Vec<String>, Error> {
        let mut all: Vec<(usize, Vec<Value<'static>>)> = Vec::new();
        for (nth, scan) in scans.iter().enumerate() {
            let rows = self.table(&scan.table).map(|table| table.scan(scan));
            all.extend(rows.into_iter().flatten().map(|row| (nth, row)));
        }
        all.sort_by(|(_, a), (_, b)| order(a.first(), b.first()));
        for (nth, row) in &all {
            visit(*nth, row)?;
        }
        Ok(Vec::new())
    }
}
