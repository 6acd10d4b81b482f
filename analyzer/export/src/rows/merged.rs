//! The intervals of all tables, in one order.

use std::cmp::Reverse;

use polars::prelude::DataFrame;
use trueno_engine::frame::{i64_at, u64_at};
use trueno_engine::query::collect;

use super::{Source, Stored, failed};
use crate::error::ExportError;

/// Rows of one table within a window, by start.
struct Part<'t> {
    table: &'t Stored,
    frame: DataFrame,
    /// Start, the latest end first, and id.
    keys: Vec<(i64, Reverse<i64>, u64)>,
    next: usize,
}

impl Source<'_> {
    /// Hands out the intervals of all tables by their start; of equals the longer first, then those
    /// of the outer table. What encloses others so comes before them.
    pub(crate) fn each_span(
        &self,
        mut take: impl FnMut(&Stored, &DataFrame, usize) -> Result<(), ExportError>,
    ) -> Result<(), ExportError> {
        let tables: Vec<Stored> = self
            .interval_tables()
            .filter(|table| table.rows > 0)
            .collect();
        for window in self.windows(&tables, "start_ns")? {
            let mut parts = Vec::new();
            for table in &tables {
                let quoted: Vec<String> =
                    table.columns.iter().map(|c| format!("\"{c}\"")).collect();
                let sql = format!(
                    "SELECT {} FROM \"{}\"{window} ORDER BY start_ns, dur_ns DESC, id",
                    quoted.join(", "),
                    table.name
                );
                let frame = collect(&self.database, &sql).map_err(|e| failed(&table.name, e))?;
                let keys = (0..frame.height()).map(|row| key(&frame, row)).collect();
                parts.push(Part {
                    table,
                    frame,
                    keys,
                    next: 0,
                });
            }
            // Few tables: the first of them with the least key is the next.
            while let Some(at) = (0..parts.len())
                .filter(|at| parts[*at].next < parts[*at].keys.len())
                .min_by_key(|at| (parts[*at].keys[parts[*at].next], *at))
            {
                let part = &mut parts[at];
                take(part.table, &part.frame, part.next)?;
                part.next += 1;
            }
        }
        Ok(())
    }
}

fn key(frame: &DataFrame, row: usize) -> (i64, Reverse<i64>, u64) {
    let start_ns = i64_at(frame, "start_ns", row).unwrap_or(0);
    let dur_ns = i64_at(frame, "dur_ns", row).unwrap_or(0);
    let id = u64_at(frame, "id", row).unwrap_or(0);
    (start_ns, Reverse(start_ns.saturating_add(dur_ns)), id)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use trueno_engine::run::Run;

    #[test]
    fn windows_hand_out_all_intervals_in_one_order() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../datasets/decode/simd.run");
        let run = Run::open(&path).unwrap();
        let mut source = Source::open(&run).unwrap();
        let mut orders = Vec::new();
        for window_rows in [u64::MAX, 100] {
            source.window_rows = window_rows;
            let mut order = Vec::new();
            let take = |table: &Stored, frame: &DataFrame, row: usize| {
                order.push((key(frame, row), table.name.clone()));
                Ok(())
            };
            source.each_span(take).unwrap();
            orders.push(order);
        }
        let rows: u64 = source.interval_tables().map(|table| table.rows).sum();
        assert_eq!(orders[0].len() as u64, rows);
        assert!(orders[0] == orders[1], "windows change the order");
        assert!(orders[0].is_sorted_by_key(|((start_ns, end_ns, _), _)| (*start_ns, *end_ns)));
    }
}
