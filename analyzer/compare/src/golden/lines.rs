//! Layout of a golden file: a line for each name and each tensor, so that a difference of two files is read as
//! what has changed.

use std::fmt::Write as _;

use serde::Serialize;
use serde_json::{Value, json};

use super::distribution::LEVELS;
use super::file::{FORMAT, Golden, MAJOR, MINOR, NameLine, NameRow, TENSOR_COLUMNS, TensorRow};

impl Golden {
    /// The content of the file. The same run always gives the same text.
    pub fn text(&self) -> String {
        let mut out = String::from("{\n");
        // All of it is made of texts, numbers and lists: writing it does not fail.
        let format = json!({ "name": FORMAT, "major": MAJOR, "minor": MINOR });
        let _ = writeln!(out, "\"format\": {format},");
        let source = serde_json::to_string_pretty(&self.source).unwrap_or_default();
        let _ = writeln!(out, "\"source\": {source},");
        let _ = writeln!(out, "\"backends\": {},", line(&self.backends));
        let memory = serde_json::to_string_pretty(&self.memory).unwrap_or_default();
        let _ = writeln!(out, "\"memory\": {memory},");
        let _ = writeln!(out, "\"levels\": {},", line(&LEVELS.map(number)));
        list(&mut out, "names", self.names.iter().map(name_line));
        out.push_str(",\n");
        let _ = writeln!(out, "\"tensor_columns\": {},", line(&TENSOR_COLUMNS));
        list(&mut out, "tensors", self.tensors.iter().map(tensor_line));
        out.push_str("\n}\n");
        out
    }
}

fn line(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

fn list(out: &mut String, key: &str, lines: impl Iterator<Item = String>) {
    let _ = write!(out, "\"{key}\": [");
    for (at, line) in lines.enumerate() {
        out.push_str(if at == 0 { "\n" } else { ",\n" });
        out.push_str(&line);
    }
    out.push(']');
}

fn number(value: f64) -> Value {
    if value.fract() == 0.0 && value.abs() < 9e15 {
        Value::from(value as i64)
    } else {
        Value::from(value)
    }
}

fn name_line(row: &NameRow) -> String {
    let mut value = serde_json::to_value(NameLine {
        kind: row.name.kind,
        name: row.name.name.clone(),
        count: row.count,
        untimed: row.untimed,
        inflation: row.distribution.inflation,
        ns: Vec::new(),
    })
    .unwrap_or_default();
    let quantiles = row.distribution.quantiles_ns.iter();
    value["ns"] = quantiles.map(|ns| number(*ns)).collect();
    // Keys in the order people read them.
    let keys = ["kind", "name", "count", "untimed", "inflation", "ns"];
    let parts = keys.iter().filter_map(|key| {
        let value = value.get(key)?;
        Some(format!("{}: {}", line(key), line(value)))
    });
    format!("{{{}}}", parts.collect::<Vec<_>>().join(", "))
}

fn tensor_line(row: &TensorRow) -> String {
    let [nan, inf, zero] = row.counts;
    let [min, max, absmax, mean, l2] = row.moments;
    line(&json!([
        row.name,
        row.layer,
        row.iteration,
        row.position,
        row.thread,
        row.backend,
        row.dtype,
        row.shape,
        row.elements,
        format!("{:016x}", row.hash),
        nan,
        inf,
        zero,
        min,
        max,
        absmax,
        mean,
        l2,
    ]))
}
