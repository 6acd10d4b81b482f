//! Contents of a golden file, for people.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use serde::Serialize;
use trueno_model::{units, width};

use super::file::{Golden, NameRow};

impl Golden {
    pub fn is_empty(&self) -> bool {
        self.names.is_empty() && self.tensors.is_empty()
    }

    /// Lines of at most `room` columns, with `top` rows of each table: the longest in total, or the first.
    pub fn shown(&self, room: usize, top: usize) -> String {
        let mut out = String::new();
        for (what, value) in self.facts() {
            for (at, line) in width::wrap(&width::printable(&value), room.saturating_sub(12))
                .iter()
                .enumerate()
            {
                let what = if at == 0 { what } else { "" };
                let _ = writeln!(out, "{what:<10}  {line}");
            }
        }
        self.show_names(&mut out, top);
        self.show_tensors(&mut out, top);
        out
    }

    fn facts(&self) -> Vec<(&'static str, String)> {
        let of = &self.source;
        let mut facts = Vec::new();
        let mut fact = |what, value: String| {
            if !value.is_empty() {
                facts.push((what, value));
            }
        };
        fact("label", of.label.clone().unwrap_or_default());
        fact("program", of.program.join(" "));
        fact("processor", of.cpu_model.clone().unwrap_or_default());
        fact("recorder", of.recorder.clone().unwrap_or_default());
        fact("backends", self.backends.join(" "));
        fact(
            "complete",
            match of.complete {
                Some(true) => "yes",
                Some(false) => "no",
                None => "not known",
            }
            .to_owned(),
        );
        let values: Vec<String> = of.values.iter().map(|(k, v)| format!("{k}={v}")).collect();
        fact("values", values.join(" "));
        for (place, memory) in &self.memory {
            let bytes = |bytes: i64| units::scaled(bytes as f64, "B");
            let (peak, kept) = (bytes(memory.peak_bytes), bytes(memory.kept_bytes));
            fact("memory", format!("{place}: peak {peak}, kept {kept}"));
        }
        facts
    }

    fn show_names(&self, out: &mut String, top: usize) {
        let median = |row: &NameRow| row.distribution.quantile(0.5).unwrap_or(0.0);
        let cost = |row: &NameRow| (row.count - row.untimed) as f64 * median(row);
        let mut rows: Vec<&NameRow> = self.names.iter().collect();
        rows.sort_by(|a, b| cost(b).total_cmp(&cost(a)).then(a.name.cmp(&b.name)));
        let ns = |value: Option<f64>| value.map_or("–".to_owned(), units::duration);
        let lines = rows.iter().take(top).map(|row| {
            vec![
                row.name.kind.word().to_owned(),
                width::printable(&row.name.name).into_owned(),
                row.count.to_string(),
                ns(row.distribution.quantile(0.5)),
                ns(row.distribution.quantile(0.1)),
                ns(row.distribution.quantile(0.9)),
                ns(row.distribution.quantile(0.99)),
            ]
        });
        let heads = ["kind", "name", "count", "median", "10 %", "90 %", "99 %"];
        aligned(out, &heads, 2, lines.collect(), self.names.len());
    }

    fn show_tensors(&self, out: &mut String, top: usize) {
        let mut by_name: BTreeMap<(&str, &str, &str), u64> = BTreeMap::new();
        for row in &self.tensors {
            *by_name
                .entry((&row.name, &row.dtype, &row.shape))
                .or_default() += 1;
        }
        let total = by_name.len();
        let lines = by_name
            .iter()
            .take(top)
            .map(|((name, dtype, shape), count)| {
                let [name, dtype, shape] =
                    [name, dtype, shape].map(|text| width::printable(text).into_owned());
                vec![name, dtype, shape, count.to_string()]
            });
        let heads = ["tensor", "dtype", "shape", "count"];
        aligned(out, &heads, 3, lines.collect(), total);
    }
}

/// A table after a blank line. The first `texts` columns are left-aligned.
fn aligned(out: &mut String, heads: &[&str], texts: usize, rows: Vec<Vec<String>>, total: usize) {
    if rows.is_empty() {
        return;
    }
    out.push('\n');
    let shown = rows.len();
    let heads = heads.iter().map(|head| (*head).to_owned()).collect();
    let lines: Vec<Vec<String>> = std::iter::once(heads).chain(rows).collect();
    let widths: Vec<usize> = (0..lines[0].len())
        .map(|at| {
            lines
                .iter()
                .map(|line| width::measure(&line[at]))
                .max()
                .unwrap_or(0)
        })
        .collect();
    for line in &lines {
        let cells = line.iter().zip(&widths).enumerate();
        let cells = cells.map(|(at, (cell, width))| width::pad(cell, *width, at >= texts));
        let line = cells.collect::<Vec<_>>().join("  ");
        let _ = writeln!(out, "{}", line.trim_end());
    }
    if shown < total {
        let _ = writeln!(out, "… and {} more", total - shown);
    }
}

#[derive(Debug, Serialize)]
pub struct Listed {
    pub file: String,
    pub bytes: u64,
    pub problem: Option<String>,
    pub label: Option<String>,
    pub program: Vec<String>,
    pub names: usize,
    pub tensors: usize,
}

impl Listed {
    pub fn read(file: &Path) -> Self {
        let (golden, problem) = match Golden::read(file) {
            Ok(golden) => (Some(golden), None),
            Err(error) => (None, Some(error.to_string())),
        };
        let name = file.file_name().unwrap_or_default();
        Self {
            file: name.to_string_lossy().into_owned(),
            bytes: file.metadata().map_or(0, |data| data.len()),
            problem,
            names: golden.as_ref().map_or(0, |golden| golden.names.len()),
            tensors: golden.as_ref().map_or(0, |golden| golden.tensors.len()),
            label: golden.as_ref().and_then(|g| g.source.label.clone()),
            program: golden.map(|g| g.source.program).unwrap_or_default(),
        }
    }
}

const NAME: usize = 28;
/// Width of the description, so that a line fits in 80 columns.
const ABOUT: usize = 26;

pub fn listed(files: &[Listed]) -> String {
    let mut out = String::new();
    let rows = files.iter().map(|file| {
        let program = width::printable(&file.program.join(" ")).into_owned();
        let about = match (&file.problem, &file.label) {
            (Some(_), _) => "cannot be read".to_owned(),
            (None, Some(label)) => format!("{}: {program}", width::printable(label)),
            (None, None) => program,
        };
        vec![
            width::shorten(&width::printable(&file.file), NAME).into_owned(),
            width::shorten(&about, ABOUT).into_owned(),
            file.names.to_string(),
            file.tensors.to_string(),
            units::scaled(file.bytes as f64, "B"),
        ]
    });
    let heads = ["file", "of", "names", "tensors", "size"];
    aligned(&mut out, &heads, 2, rows.collect(), files.len());
    out.trim_start().to_owned()
}
