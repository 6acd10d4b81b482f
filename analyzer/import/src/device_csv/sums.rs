//! Sums by name, without a time of anything: `--stats` of rocprofv3 and rocprof, summaries of `nsys stats`, Ascend's
//! `op_statistic.csv`.

use super::columns::{Column, Row};
use crate::chrome::feed::Feed;
use crate::{Error, Notes};

const MAX_SUMS: usize = 1 << 16;

#[derive(Debug, Default)]
pub struct Sums(Vec<(String, f64)>);

impl Sums {
    pub fn row(&mut self, row: Row<'_>, notes: &mut Notes) {
        let Some(name) = row.text(Column::Name).or(row.text(Column::Function)) else {
            notes.leave_out("row without a name");
            return;
        };
        if self.0.len() >= MAX_SUMS {
            notes.leave_out("sum of one of very many names");
            return;
        }
        for (column, what) in [
            (Column::Count, "calls"),
            (Column::Total, "total [ns]"),
            (Column::Least, "min [ns]"),
            (Column::Most, "max [ns]"),
        ] {
            let value = row
                .text(column)
                .and_then(|cell| cell.replace(',', "").parse::<f64>().ok());
            let Some(value) = value else { continue };
            let factor = match column {
                Column::Count => 1.0,
                _ => row.columns.unit(column).map_or(1.0, |unit| unit.0),
            };
            self.0.push((format!("sum: {name} {what}"), value * factor));
        }
    }

    pub fn write(&mut self, feed: &mut Feed<'_>) -> Result<(), Error> {
        if self.0.is_empty() {
            return Ok(());
        }
        let text = "the file has sums by name only, no time of anything: they are counters, and nothing can be said of \
                    what happened when; give the trace (kernel_trace.csv, cuda_gpu_trace, trace_view.json)";
        feed.import().problem(text);
        for (name, value) in self.0.drain(..) {
            feed.counter(0, &name, 0, value)?;
        }
        Ok(())
    }
}
