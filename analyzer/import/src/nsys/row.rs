//! A row of an export, read with suspicion.

use super::source::{Scan, Value};
use crate::Notes;

#[derive(Clone, Copy)]
pub struct Row<'r> {
    pub scan: &'r Scan,
    pub values: &'r [Value<'r>],
}

impl Row<'_> {
    /// An integer. Any other value but null is counted in the notes.
    pub fn int(&self, column: usize, notes: &mut Notes) -> Option<i64> {
        match self.values.get(column) {
            Some(Value::Int(value)) => Some(*value),
            None | Some(Value::Null) => None,
            Some(_) => self.no(column, "no integer", notes),
        }
    }

    pub fn unsigned(&self, column: usize, notes: &mut Notes) -> Option<u64> {
        let value = self.int(column, notes)?;
        u64::try_from(value)
            .ok()
            .or_else(|| self.no(column, "negative", notes))
    }

    pub fn u32(&self, column: usize, notes: &mut Notes) -> Option<u32> {
        let value = self.int(column, notes)?;
        u32::try_from(value)
            .ok()
            .or_else(|| self.no(column, "not of 32 bits", notes))
    }

    pub fn number(&self, column: usize) -> Option<f64> {
        match self.values.get(column) {
            Some(Value::Int(value)) => Some(*value as f64),
            Some(Value::Real(value)) => Some(*value),
            _ => None,
        }
    }

    pub fn text(&self, column: usize) -> Option<&str> {
        match self.values.get(column) {
            Some(Value::Text(text)) => Some(text),
            _ => None,
        }
    }

    /// Start and length, or the reason why there are none.
    pub fn interval(&self, origin_ns: i64, notes: &mut Notes) -> Result<(i64, i64), &'static str> {
        let start = self.int(0, notes).ok_or("no start")?;
        let end = self.int(1, notes).ok_or("no end")?;
        if start == 0 && end == 0 {
            return Err("start and end are 0, so it was not timed");
        }
        let dur_ns = end.checked_sub(start).ok_or("length beyond 64 bits")?;
        let start_ns = start.checked_sub(origin_ns).ok_or("start beyond 64 bits")?;
        if start_ns.checked_add(dur_ns.max(0)).is_none() {
            return Err("end beyond 64 bits");
        }
        Ok((start_ns, dur_ns))
    }

    fn no<T>(&self, column: usize, what: &str, notes: &mut Notes) -> Option<T> {
        let column = self
            .scan
            .columns
            .get(column)
            .and_then(Option::as_deref)
            .unwrap_or("?");
        notes.leave_out(&format!("{}.{column} is {what}: null", self.scan.table));
        None
    }
}
