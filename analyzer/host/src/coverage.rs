//! Coverage: the share of the wall time that the recording explains.

use polars_arrow::array::{Array, PrimitiveArray, StructArray};
use trueno_analysis::intervals::IntervalSetBuilder;
use trueno_engine::query::{Claims, Database, Planned, QueryError};
use trueno_engine::run::Run;
use trueno_format::schema::interval_tables;

use crate::rows::Rows;

/// Everything that ran, in any order. Runs, iterations and layers only frame work. Rows with `timing = 'bound'` and
/// kernels marked invalid do not say when anything ran. There is one query per table, so each reads only its own
/// columns.
const RUNNING: [&str; 5] = [
    "SELECT start_ns, dur_ns FROM bricks \
     WHERE kind <> 'run' AND kind <> 'iteration' AND kind <> 'layer' AND timing <> 'bound'",
    "SELECT start_ns, dur_ns FROM kernels WHERE valid AND timing <> 'bound'",
    "SELECT start_ns, dur_ns FROM tiles",
    "SELECT start_ns, dur_ns FROM transfers WHERE timing <> 'bound'",
    "SELECT start_ns, dur_ns FROM calls",
];

pub fn running() -> String {
    RUNNING.join(" UNION ALL ")
}

/// Share of the wall time in which at least one brick, function, task, kernel, tile, transfer or call was running
/// on any lane. It is the length of the union of their intervals inside `[0, wall_ns)`, divided by `wall_ns`. For a
/// job it is the mean over its ranks. `None` if nothing of the kind was recorded or there is no wall time.
///
/// # Errors
/// The engine could not publish a table or run the query; the message says why.
pub fn coverage(run: &Run) -> Result<Option<f64>, String> {
    let database = run.sql_context().map_err(|error| error.to_string())?;
    let rows = Rows::new(run, &database);
    coverage_of(&rows, run.facts().wall_ns).map_err(|error| error.to_string())
}

pub(crate) fn coverage_of(
    rows: &Rows<'_>,
    wall_ns: Option<i64>,
) -> Result<Option<f64>, QueryError> {
    let Some(wall_ns) = wall_ns.filter(|wall| *wall > 0) else {
        return Ok(None);
    };
    let (mut count, mut covered_ns) = (0, 0);
    let tables: Vec<&str> = interval_tables().map(|table| table.name).collect();
    rows.each(&tables, |database| {
        let mut running = Running::new(wall_ns);
        add_rows(database, &mut running)?;
        count += running.rows;
        covered_ns += i128::from(running.union_ns());
        Ok(())
    })?;
    let all_ns = i128::from(wall_ns) * rows.count() as i128;
    Ok((count > 0).then(|| covered_ns as f64 / all_ns as f64))
}

fn add_rows(database: &Database, running: &mut Running) -> Result<(), QueryError> {
    let claims: Vec<Claims> = RUNNING.iter().map(|sql| database.claims(sql)).collect();
    for (sql, claims) in RUNNING.into_iter().zip(claims) {
        let rows = database.planned(sql).and_then(Planned::rows)?;
        for batch in rows.holding(claims).into_batches() {
            let batch = batch.map_err(|error| QueryError::Failed(error.to_string()))?;
            let columns = batch.as_any().downcast_ref::<StructArray>();
            let [start, dur] = columns.map_or(&[][..], StructArray::values) else {
                return Err(QueryError::Failed("a batch without its columns".to_owned()));
            };
            let times = |column: &dyn Array| -> Option<PrimitiveArray<i64>> {
                column.as_any().downcast_ref().cloned()
            };
            let (Some(start), Some(dur)) = (times(&**start), times(&**dur)) else {
                return Err(QueryError::Failed("times that are not integers".to_owned()));
            };
            running.add(
                batch.len(),
                start
                    .iter()
                    .zip(dur.iter())
                    .filter_map(|(start, dur)| Some((*start?, *dur?))),
            );
        }
        // Most kernels and calls lie in the bricks, which come first.
        running.union.seal();
    }
    Ok(())
}

/// Union of the intervals of everything that ran, inside `[0, wall_ns)`.
struct Running {
    wall_ns: i64,
    rows: usize,
    union: IntervalSetBuilder<i64>,
}

impl Running {
    fn new(wall_ns: i64) -> Self {
        Self {
            wall_ns,
            rows: 0,
            union: IntervalSetBuilder::default(),
        }
    }

    fn add(&mut self, rows: usize, intervals: impl Iterator<Item = (i64, i64)>) {
        self.rows += rows;
        for (start_ns, dur_ns) in intervals {
            let end_ns = start_ns.saturating_add(dur_ns).min(self.wall_ns);
            self.union.add(start_ns.max(0), end_ns);
        }
    }

    fn union_ns(self) -> i64 {
        self.union.finish().total_ns()
    }
}

#[cfg(test)]
mod tests {
    use super::Running;
    use proptest::prelude::*;

    proptest! {
        /// Compares with counting covered nanoseconds one by one.
        #[test]
        fn the_union_counts_each_nanosecond_once(
            intervals in proptest::collection::vec((-5..60_i64, -3..20_i64), 0..20),
            wall_ns in 1..70_i64,
        ) {
            let inside = |t: i64| intervals.iter().any(|(start, dur)| *start <= t && t < start + dur);
            let slow = (0..wall_ns).filter(|t| inside(*t)).count() as i64;
            let mut running = Running::new(wall_ns);
            running.add(intervals.len(), intervals.iter().copied());
            prop_assert_eq!(running.union_ns(), slow);
        }
    }
}
