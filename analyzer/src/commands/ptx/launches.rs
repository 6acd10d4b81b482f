//! Launches of kernels, one row a name, source and shape.

use std::fmt::Write;

use serde_json::{Value, json};
use trueno_engine::frame::{i64_at, text_at, u64_at};
use trueno_engine::query::{Database, QueryError, collect};
use trueno_execution_graph::Launch;
use trueno_model::units::{NOT_MEASURED, Unit, duration, show};
use trueno_model::{Cell, width};

/// Sums only rows that measure the work itself, not a bound on it.
const SQL: &str = "
SELECT name, ptx_hash, grid_x, grid_y, grid_z, block_x, block_y, block_z, smem_static, smem_dynamic, registers,
  COUNT(*) AS launches,
  SUM(CASE WHEN timing <> 'bound' AND valid AND dur_ns >= 0 THEN 1 ELSE 0 END) AS timed,
  SUM(CASE WHEN timing <> 'bound' AND valid AND dur_ns >= 0 THEN dur_ns ELSE 0 END) AS total_ns,
  MIN(CASE WHEN timing <> 'bound' AND valid AND dur_ns >= 0 THEN dur_ns END) AS min_ns,
  MAX(CASE WHEN timing <> 'bound' AND valid AND dur_ns >= 0 THEN dur_ns END) AS max_ns
FROM (SELECT CAST(name AS VARCHAR) AS name, CAST(ptx_hash AS VARCHAR) AS ptx_hash, grid_x, grid_y, grid_z,
  block_x, block_y, block_z, smem_static, smem_dynamic, registers, timing, valid, dur_ns FROM kernels) AS k
GROUP BY name, ptx_hash, grid_x, grid_y, grid_z, block_x, block_y, block_z, smem_static, smem_dynamic, registers";

#[derive(Clone)]
pub(super) struct Alike {
    pub(super) kernel: String,
    pub(super) launch: Launch,
    pub(super) count: u64,
    timed: u64,
    total_ns: i64,
    min_ns: Option<i64>,
    max_ns: Option<i64>,
}

/// Launches, the longest total time first.
#[derive(Clone, Default)]
pub(super) struct Launches(pub(super) Vec<Alike>);

impl Launches {
    pub(super) fn read(database: &Database) -> Result<Launches, QueryError> {
        let frame = collect(database, SQL)?;
        let mut all: Vec<Alike> = (0..frame.height())
            .map(|row| {
                let number = |column| u64_at(&frame, column, row);
                let text = |column| text_at(&frame, column, row).map(str::to_owned);
                Alike {
                    kernel: text("name").unwrap_or_else(|| "?".to_owned()),
                    launch: Launch {
                        grid: ["grid_x", "grid_y", "grid_z"].map(number),
                        block: ["block_x", "block_y", "block_z"].map(number),
                        smem_static: number("smem_static"),
                        smem_dynamic: number("smem_dynamic"),
                        registers: number("registers"),
                        ptx: text("ptx_hash"),
                        ..Launch::default()
                    },
                    count: number("launches").unwrap_or(0),
                    timed: number("timed").unwrap_or(0),
                    total_ns: i64_at(&frame, "total_ns", row).unwrap_or(0),
                    min_ns: i64_at(&frame, "min_ns", row),
                    max_ns: i64_at(&frame, "max_ns", row),
                }
            })
            .collect();
        all.sort_by(|a, b| {
            let key = |alike: &Alike| {
                (
                    std::cmp::Reverse(alike.total_ns),
                    std::cmp::Reverse(alike.count),
                )
            };
            (key(a), &a.kernel, &a.launch).cmp(&(key(b), &b.kernel, &b.launch))
        });
        Ok(Launches(all))
    }

    pub(super) fn filter_source(&self, hash: &str) -> Launches {
        self.only(|alike| alike.launch.ptx.as_deref() == Some(hash))
    }

    pub(super) fn filter_kernel(&self, name: &str) -> Launches {
        self.only(|alike| alike.kernel == name)
    }

    fn only(&self, keep: impl Fn(&Alike) -> bool) -> Launches {
        Launches(self.0.iter().filter(|alike| keep(alike)).cloned().collect())
    }

    pub(super) fn json(&self) -> Value {
        let row = |alike: &Alike| {
            json!({
                "kernel": alike.kernel,
                "count": alike.count,
                "timed": alike.timed,
                "total_ns": alike.total(),
                "min_ns": alike.min_ns,
                "max_ns": alike.max_ns,
                "grid": alike.launch.grid,
                "block": alike.launch.block,
                "smem_static": alike.launch.smem_static,
                "smem_dynamic": alike.launch.smem_dynamic,
                "registers": alike.launch.registers,
            })
        };
        self.0.iter().map(row).collect()
    }

    /// A line for all launches, then one for each. Every line begins with `lead`.
    pub(super) fn table(&self, lead: &str) -> String {
        let mut out = String::new();
        let number = |value: u64| show(Cell::U64(value), Unit::None);
        let time =
            |ns: Option<i64>| ns.map_or_else(|| NOT_MEASURED.to_owned(), |ns| duration(ns as f64));
        let count: u64 = self.0.iter().map(|alike| alike.count).sum();
        let timed: u64 = self.0.iter().map(|alike| alike.timed).sum();
        let times = self.0.iter().map(|alike| alike.total_ns);
        let total = times.fold(0, i64::saturating_add);
        // Writing to a string cannot fail.
        let _ = match count {
            0 => writeln!(out, "{lead}no launch of it was recorded"),
            _ => writeln!(
                out,
                "{lead}launches: {}, {} in all{}",
                number(count),
                time((timed > 0).then_some(total)),
                match count - timed {
                    0 => String::new(),
                    others => format!("; {} bound or not valid, in no sum", number(others)),
                }
            ),
        };
        let rows: Vec<[String; 6]> = self
            .0
            .iter()
            .map(|alike| {
                let shape = Launch {
                    ptx: None,
                    ..alike.launch.clone()
                };
                [
                    number(alike.count),
                    time(alike.total()),
                    time(alike.min_ns),
                    time(alike.max_ns),
                    width::printable(&alike.kernel).into_owned(),
                    match shape.text() {
                        text if text.is_empty() => NOT_MEASURED.to_owned(),
                        text => text,
                    },
                ]
            })
            .collect();
        if rows.is_empty() {
            return out;
        }
        let headings = ["count", "total", "min", "max", "kernel", "launch"].map(str::to_owned);
        let widths: Vec<usize> = (0..headings.len())
            .map(|at| {
                let cells = rows.iter().map(|row| width::measure(&row[at]));
                cells.max().unwrap_or(0).max(width::measure(&headings[at]))
            })
            .collect();
        for row in std::iter::once(&headings).chain(&rows) {
            let cells: Vec<String> = row
                .iter()
                .enumerate()
                .map(|(at, cell)| width::pad(cell, widths[at], at < 4))
                .collect();
            let _ = writeln!(
                out,
                "{}",
                format!("{lead}  {}", cells.join("  ")).trim_end()
            );
        }
        out
    }
}

impl Alike {
    fn total(&self) -> Option<i64> {
        (self.timed > 0).then_some(self.total_ns)
    }
}
