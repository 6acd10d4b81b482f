//! From a golden file to a run that holds what it kept: tensors, and what is said of the recording.
//!
//! The tensors are written to a folder for temporary files and opened like any run, so that there is one way to
//! compare. Samples of durations are made again from a seed; nothing else of a time is kept.

use std::collections::BTreeMap;
use std::path::Path;

use trueno_format::Error;
use trueno_format::run_json::{Clock, Host, Producer, Program, RunJson};
use trueno_format::run_writer::{Cell, RunWriter};

use super::distribution::sampled;
use super::file::{Golden, TensorRow};
use crate::runs::{Name, Options, Sampled};
use trueno_statistics::Random;

impl Golden {
    /// Samples of every name, generated from the distributions. They are the same each time.
    pub fn samples(&self, options: &Options) -> BTreeMap<Name, Sampled> {
        let rows = self.names.iter().map(|row| {
            let timed = row.count - row.untimed;
            let purpose = format!("golden {} {}", row.name.kind.word(), row.name.name);
            let mut random = Random::new(options.seed, &purpose);
            let count = usize::try_from(timed).unwrap_or(usize::MAX);
            let samples = row
                .distribution
                .samples(count.min(options.cap), &mut random);
            (row.name.clone(), sampled(row.count, row.untimed, samples))
        });
        rows.collect()
    }

    /// Writes a run directory, which must not exist. Only `checksums` has rows.
    ///
    /// # Errors
    /// It cannot be written.
    pub(super) fn restore(&self, path: &Path) -> Result<(), Error> {
        let mut writer = RunWriter::create(path, self.run_json())?;
        if let Some(table) = writer.table("checksums") {
            for (nth, row) in self.tensors.iter().enumerate() {
                let cells: Vec<Cell> = table
                    .schema()
                    .columns
                    .iter()
                    .map(|column| cell(&mut writer, row, nth, column.name))
                    .collect();
                writer.row(table, &cells)?;
            }
        }
        writer.finish(None)?;
        Ok(())
    }

    fn run_json(&self) -> RunJson {
        let of = self.source.clone();
        let recorder = of.recorder.unwrap_or_default();
        let (name, version) = recorder.rsplit_once(' ').unwrap_or((&recorder, ""));
        RunJson {
            producer: Producer {
                name: name.to_owned(),
                version: version.to_owned(),
            },
            label: of.label,
            program: Program {
                argv: of.program,
                pid: None,
            },
            host: Host {
                os: of.os,
                arch: of.arch,
                cpu_model: of.cpu_model,
                logical_cpus: of.logical_cpus,
                memory_bytes: of.memory_bytes,
                cpu_features: of.cpu_features,
                ..Host::default()
            },
            clock: Clock {
                source: of.clock.unwrap_or_default(),
                resolution_ns: of.clock_resolution_ns,
                ..Clock::default()
            },
            dropped: u64::from(of.complete == Some(false)),
            // Of an imported run it is not known what was dropped.
            imported: of.complete.is_none(),
            values: of.values,
            ..RunJson::default()
        }
    }
}

fn cell(writer: &mut RunWriter, row: &TensorRow, nth: usize, column: &str) -> Cell {
    let mut text = |text: &str| Cell::Text(writer.text(text));
    let ([nan, inf, zero], [min, max, absmax, mean, l2]) = (row.counts, row.moments);
    match column {
        "name" => text(&row.name),
        "layer" => row.layer.into(),
        "iteration" => row.iteration.into(),
        "position" => row.position.into(),
        "backend" => row.backend.as_deref().map_or(Cell::Null, text),
        "thread" => Cell::U64(row.thread),
        "time_ns" => Cell::I64(nth as i64),
        "dtype" => text(&row.dtype),
        "shape" => text(&row.shape),
        "elements" => Cell::U64(row.elements),
        "hash" => Cell::U64(row.hash),
        "hash_fnv64" => Cell::U64(0),
        "nan_count" => nan.into(),
        "inf_count" => inf.into(),
        "zero_count" => zero.into(),
        "min" => min.into(),
        "max" => max.into(),
        "absmax" => absmax.into(),
        "mean" => mean.into(),
        "l2" => l2.into(),
        _ => Cell::Null,
    }
}
