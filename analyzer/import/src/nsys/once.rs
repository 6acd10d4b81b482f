//! Exports that hold every row twice, read as if each were there once.

use std::collections::{BTreeSet, HashSet};

use super::source::{Scan, Source, Times, Value, Visit};
use crate::Error;

/// The tables of an export. Tables with doubled rows return each row once.
pub struct Once<'s> {
    inner: &'s mut dyn Source,
    doubled: BTreeSet<String>,
    left_out: u64,
}

impl<'s> Once<'s> {
    pub fn new(inner: &'s mut dyn Source) -> Self {
        Self {
            inner,
            doubled: BTreeSet::new(),
            left_out: 0,
        }
    }

    /// From now on leaves out every second of equal rows of these tables.
    pub fn leave_out_doubles(&mut self, doubled: BTreeSet<String>) {
        self.doubled = doubled;
    }

    pub fn leaves_out_doubles(&self) -> bool {
        !self.doubled.is_empty()
    }

    pub fn left_out(&self) -> u64 {
        self.left_out
    }
}

/// A hash that identifies a row within its table.
fn hash(values: &[Value<'_>]) -> u64 {
    let mut bytes = Vec::with_capacity(values.len() * 9);
    for value in values {
        match value {
            Value::Null => bytes.push(0),
            Value::Int(value) => {
                bytes.push(1);
                bytes.extend(value.to_le_bytes());
            }
            Value::Real(value) => {
                bytes.push(2);
                bytes.extend(value.to_le_bytes());
            }
            Value::Text(text) => {
                bytes.push(3);
                bytes.extend((text.len() as u64).to_le_bytes());
                bytes.extend(text.as_bytes());
            }
            Value::Blob(blob) => {
                bytes.push(4);
                bytes.extend((blob.len() as u64).to_le_bytes());
                bytes.extend(blob.as_ref());
            }
        }
    }
    xxhash_rust::xxh3::xxh3_64(&bytes)
}

/// Detects tables that contain every row twice: the XOR of the hashes is then 0.
#[derive(Clone, Copy, Debug, Default)]
pub struct Doubles {
    sum: u64,
    rows: u64,
}

impl Doubles {
    pub fn add(&mut self, values: &[Value<'_>]) {
        self.sum ^= hash(values);
        self.rows += 1;
    }

    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    pub fn are_all(&self) -> bool {
        self.rows > 1 && self.sum == 0
    }
}

impl Source for Once<'_> {
    fn tables(&self) -> Vec<String> {
        self.inner.tables()
    }

    fn columns(&self, table: &str) -> Option<&[String]> {
        self.inner.columns(table)
    }

    fn rows(&self, table: &str) -> u64 {
        self.inner.rows(table)
    }

    fn earliest(
        &mut self,
        table: &str,
        start: &str,
        end: Option<&str>,
    ) -> Result<(Option<i64>, Vec<String>), Error> {
        self.inner.earliest(table, start, end)
    }

    fn times(
        &mut self,
        table: &str,
        times: Times<'_>,
        visit: &mut dyn FnMut(i64, i64),
    ) -> Result<Vec<String>, Error> {
        self.inner.times(table, times, visit)
    }

    fn merged(&mut self, scans: &[Scan], visit: &mut Visit<'_>) -> Result<Vec<String>, Error> {
        let Self {
            inner,
            doubled,
            left_out,
        } = self;
        let is_doubled: Vec<bool> = scans
            .iter()
            .map(|scan| doubled.contains(&scan.table))
            .collect();
        // Equal rows start together. Of each table those of the last start.
        let mut together: Vec<(Option<Value<'static>>, HashSet<u64>)> =
            scans.iter().map(|_| (None, HashSet::new())).collect();
        inner.merged(scans, &mut |scan, values| {
            if !is_doubled[scan] {
                return visit(scan, values);
            }
            let start = match values.first() {
                Some(Value::Int(start)) => Value::Int(*start),
                _ => Value::Null,
            };
            let (last, seen) = &mut together[scan];
            if last.as_ref() != Some(&start) {
                seen.clear();
                *last = Some(start);
            }
            let row = hash(values);
            if seen.remove(&row) {
                *left_out += 1;
                return Ok(());
            }
            seen.insert(row);
            visit(scan, values)
        })
    }
}
