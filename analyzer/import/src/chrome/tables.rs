//! The tables that are written, and the texts that stand in many rows.

use trueno_recorder::run_writer::{Cell, RunWriter, Text};

use super::collector::Collector;
use crate::Error;

/// Texts of kinds and of timings.
pub(super) struct Tables {
    pub iteration: Text,
    pub function: Text,
    pub brick: Text,
    pub task: Text,
    pub host: Text,
    pub device: Text,
    pub declared: Text,
    pub measured: Text,
    pub bytes: Text,
    pub launches: Text,
    pub depends_on: Text,
    pub spawns: Text,
    pub joins: Text,
    pub negative: Text,
}

impl Tables {
    pub fn new(run: &mut RunWriter) -> Self {
        Self {
            iteration: run.text("iteration"),
            function: run.text("function"),
            brick: run.text("brick"),
            task: run.text("task"),
            host: run.text("host"),
            device: run.text("device"),
            declared: run.text("declared"),
            measured: run.text("measured"),
            bytes: run.text("bytes"),
            launches: run.text("launches"),
            depends_on: run.text("depends_on"),
            spawns: run.text("spawns"),
            joins: run.text("joins"),
            negative: run.text("ends before it begins"),
        }
    }

    /// Adds a row and counts it.
    pub fn put(
        &self,
        collector: &mut Collector<'_>,
        table: &'static str,
        cells: &[Cell],
    ) -> Result<(), Error> {
        let Some(id) = collector.into.table(table) else {
            return Err(trueno_recorder::Error::Row {
                table,
                problem: "no such table".to_owned(),
            }
            .into());
        };
        collector.into.row(id, cells)?;
        collector.notes.keep(table);
        Ok(())
    }
}
