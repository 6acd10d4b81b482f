//! Results of all series, of one rank or of several: a thread is of one rank, so is its series.

use trueno_analysis::producer::Producer;
use trueno_plugin::{Chart, Result, Run};

use crate::declared::{Counts, Declared};
use crate::outlier_cause::Names;
use crate::series::{LeftOut, Loaded};
use crate::{Options, findings, self_times, tables};

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Analysis {
    pub results: Vec<tables::Result>,
    pub left_out: LeftOut,
    pub declared: Counts,
    pub producer: Producer,
}

impl Analysis {
    /// Judges each series.
    ///
    /// # Errors
    /// An input lacks a column or has it in another type.
    pub fn judge(run: &mut Run, loaded: &Loaded, options: &Options) -> Result<Self> {
        let declared = Declared::load(run, &loaded.ids)?;
        let names = if loaded.series.is_empty() {
            Names::default()
        } else {
            self_times::load(run)?
        };
        let mut results = Vec::with_capacity(loaded.series.len());
        for series in &loaded.series {
            run.check_cancelled()?;
            results.push(tables::Result::judge(series, &declared, &names, options));
        }
        Ok(Self {
            results,
            left_out: loaded.left_out,
            declared: declared.counts,
            producer: loaded.producer,
        })
    }

    /// Emits tables, findings and the chart. Without any series, only says why there is none.
    ///
    /// # Errors
    /// The host refuses something.
    pub fn emit(&self, run: &mut Run, options: &Options) -> Result<()> {
        if self.results.is_empty() {
            return run.finding(findings::nothing_recorded(&self.left_out, self.producer));
        }
        run.emit(tables::summary(&self.results))?;
        run.emit(tables::iterations(&self.results))?;
        let found = findings::findings(
            &self.left_out,
            &self.results,
            &self.declared,
            options,
            self.producer,
        );
        for finding in found {
            run.finding(finding)?;
        }
        run.chart(
            Chart::line("wall time of iterations", "iterations", "number", "wall_ns")
                .series("series")
                .label("outlier")
                .axes("iteration", "wall time"),
        )
    }
}
