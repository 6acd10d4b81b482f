//! Results of a series, and the output tables.

use trueno_analysis::quantiles::{median, nearest_rank};
use trueno_plugin::{Table, TableBuilder};

use crate::Options;
use crate::declared::{Declared, WORK};
use crate::outlier_cause::{Names, OutlierCause};
use crate::series::{Iteration, Series};
use crate::statistics::{mean, variation};
use crate::warm_up::{SteadyState, drift, fence, steady_state};

#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    pub iteration: Iteration,
    /// `warm-up` or `steady`; `None` if that is unknown.
    pub phase: Option<&'static str>,
    /// `slow` or `fast`; `None` for neither, or outside the steady state.
    pub outlier: Option<&'static str>,
    pub cause: Option<OutlierCause>,
    /// Declared work, by kind.
    pub work: [Option<f64>; 2],
}

#[derive(Clone, Debug, PartialEq)]
pub struct Result {
    pub name: String,
    pub thread: i64,
    pub steady_state: SteadyState,
    pub rows: Vec<Judged>,
}

impl Result {
    pub fn judge(series: &Series, declared: &Declared, names: &Names, options: &Options) -> Self {
        let wall = |rows: &[Iteration]| rows.iter().map(|row| row.wall_ns).collect::<Vec<_>>();
        let steady_state = steady_state(&wall(&series.iterations), options);
        let steady: &[Iteration] = match steady_state {
            SteadyState::From(first) => &series.iterations[first..],
            _ => &[],
        };
        let fence = fence(&wall(steady), options);
        let first_ns = steady.first().map(|row| row.start_ns);
        let judge = |row: &Iteration| {
            let is_steady = first_ns.map(|first_ns| row.start_ns >= first_ns);
            Judged {
                iteration: *row,
                phase: is_steady.map(|is_steady| if is_steady { "steady" } else { "warm-up" }),
                outlier: fence
                    .filter(|_| is_steady == Some(true))
                    .and_then(|fence| fence.judge(row.wall_ns)),
                cause: None,
                work: [0, 1].map(|work| declared.value(work, row.id)),
            }
        };
        let mut rows: Vec<Judged> = series.iterations.iter().map(judge).collect();
        let slow = |row: &&mut Judged| row.outlier == Some("slow");
        let slow_ones: Vec<Iteration> = rows
            .iter_mut()
            .filter(slow)
            .map(|row| row.iteration)
            .collect();
        let causes = names.outlier_causes(series, steady, &slow_ones);
        for (row, cause) in rows.iter_mut().filter(slow).zip(causes) {
            row.cause = cause;
        }
        Self {
            name: series.name.clone(),
            thread: series.thread,
            steady_state,
            rows,
        }
    }

    pub fn steady(&self) -> &[Judged] {
        match self.steady_state {
            SteadyState::From(first) => &self.rows[first..],
            _ => &[],
        }
    }

    pub fn steady_ns(&self) -> Vec<i64> {
        self.steady()
            .iter()
            .map(|row| row.iteration.wall_ns)
            .collect()
    }

    pub fn busy_ns(&self) -> i128 {
        self.steady_ns().into_iter().map(i128::from).sum()
    }

    /// Iterations before the steady state; `None` if there is no steady state.
    pub fn warm_up(&self) -> Option<&[Judged]> {
        match self.steady_state {
            SteadyState::From(first) => Some(&self.rows[..first]),
            _ => None,
        }
    }

    pub fn drift(&self) -> Option<f64> {
        drift(&self.steady_ns())
    }

    /// Work that steady iterations declare, and the wall time of those iterations.
    pub fn declared(&self, work: usize) -> Option<(f64, i128)> {
        let declaring = self
            .steady()
            .iter()
            .filter_map(|row| Some((row.work[work]?, row.iteration.wall_ns)));
        declaring.fold(None, |sum, (value, wall_ns)| {
            let (values, walls) = sum.unwrap_or((0.0, 0));
            Some((values + value, walls + i128::from(wall_ns)))
        })
    }

    /// Time between steady iterations over the time from the first one's start to the last one's end.
    pub fn gap_share(&self) -> Option<f64> {
        let (first, last) = (self.steady().first()?, self.steady().last()?);
        let [from, to] = [first, last].map(|row| i128::from(row.iteration.start_ns));
        let elapsed_ns = to + i128::from(last.iteration.wall_ns) - from;
        let busy_ns = self.busy_ns();
        (elapsed_ns > 0).then(|| (elapsed_ns - busy_ns) as f64 / elapsed_ns as f64)
    }
}

fn per_s(count: f64, ns: i128) -> Option<f64> {
    (ns > 0).then(|| count / (ns as f64 / 1e9))
}

/// Table `iterations`: every iteration of every series, by time.
///
/// `series`: the thread; `number`: position in the series, from 0; `iteration`: the program's number; `phase`:
/// warm-up or steady, null if unknown; `outlier`: slow or fast, in the steady state; `slow_name`, `slow_excess_ns`,
/// `slow_kind`: the name whose self time exceeds its median most; `tokens`, `samples`: declared; `tokens_per_s`,
/// `samples_per_s`: those / wall; `gap_ns`: time since the end of the previous one; `id`: the row of `bricks`.
pub fn iterations(results: &[Result]) -> TableBuilder {
    let rows: Vec<(&str, usize, &Judged)> = results
        .iter()
        .flat_map(|result| {
            result
                .rows
                .iter()
                .enumerate()
                .map(|(at, row)| (result.name.as_str(), at, row))
        })
        .collect();
    let cause = |row: &Judged| row.cause.clone();
    let rate = |row: &Judged, work: usize| {
        row.work[work].and_then(|value| per_s(value, i128::from(row.iteration.wall_ns)))
    };
    let table = Table::build("iterations")
        .text("series", rows.iter().map(|row| row.0))
        .u64("number", rows.iter().map(|row| row.1 as u64))
        .u64("iteration", rows.iter().map(|row| row.2.iteration.number))
        .i64("wall_ns", rows.iter().map(|row| row.2.iteration.wall_ns))
        .text("phase", rows.iter().map(|row| row.2.phase))
        .text("outlier", rows.iter().map(|row| row.2.outlier))
        .text(
            "slow_name",
            rows.iter()
                .map(|row| cause(row.2).map(|cause| cause.name.1)),
        )
        .f64(
            "slow_excess_ns",
            rows.iter()
                .map(|row| cause(row.2).map(|cause| cause.excess_ns)),
        )
        .text(
            "slow_kind",
            rows.iter()
                .map(|row| cause(row.2).map(|cause| cause.name.0)),
        );
    let with_work = WORK.iter().enumerate().fold(table, |table, (work, name)| {
        table
            .f64(name, rows.iter().map(|row| row.2.work[work]))
            .f64(
                &format!("{name}_per_s"),
                rows.iter().map(|row| rate(row.2, work)),
            )
    });
    with_work
        .i64("start_ns", rows.iter().map(|row| row.2.iteration.start_ns))
        .i64("gap_ns", rows.iter().map(|row| row.2.iteration.gap_ns))
        .u64("id", rows.iter().map(|row| row.2.iteration.id))
}

/// Table `summary`: a row for each series. Except for the first three, columns are about the steady state, and null
/// without one.
///
/// `warm_up`, `steady`: iterations before the steady state and in it; `p99_ns`: by nearest rank, so the largest of
/// fewer than 100; `variation_share`: standard deviation / mean; `slow`, `fast`: outliers; `warm_up_ns`: wall time
/// of warm-up; `drift_share`: median of the last third / of the first − 1; `gap_share`: time between iterations /
/// elapsed time; `iterations_per_s`: iterations / Σ wall; `tokens`, `samples`: Σ declared; `tokens_per_s`,
/// `samples_per_s`: those / Σ wall of the iterations that declare them.
pub fn summary(results: &[Result]) -> TableBuilder {
    let floats = |result: &Result| {
        result
            .steady_ns()
            .iter()
            .map(|wall| *wall as f64)
            .collect::<Vec<_>>()
    };
    let steady = |result: &Result| result.warm_up().map(|_| result.steady().len() as u64);
    let outliers = |result: &Result, which: &str| {
        let count = || {
            result
                .steady()
                .iter()
                .filter(|row| row.outlier == Some(which))
                .count() as u64
        };
        result.warm_up().map(|_| count())
    };
    let rate = |result: &Result| per_s(steady(result)? as f64, result.busy_ns());
    let warm_up_ns = |result: &Result| -> Option<i64> {
        Some(
            result
                .warm_up()?
                .iter()
                .map(|row| row.iteration.wall_ns)
                .fold(0, i64::saturating_add),
        )
    };
    let table = Table::build("summary")
        .text("series", results.iter().map(|result| &result.name))
        .u64(
            "iterations",
            results.iter().map(|result| result.rows.len() as u64),
        )
        .u64(
            "warm_up",
            results
                .iter()
                .map(|result| result.warm_up().map(|rows| rows.len() as u64)),
        )
        .u64("steady", results.iter().map(steady))
        .f64(
            "median_ns",
            results.iter().map(|result| median(&mut floats(result))),
        )
        .i64(
            "p99_ns",
            results
                .iter()
                .map(|result| nearest_rank(&mut result.steady_ns(), 99)),
        )
        .f64(
            "mean_ns",
            results.iter().map(|result| mean(&floats(result))),
        )
        .f64(
            "variation_share",
            results.iter().map(|result| variation(&floats(result))),
        )
        .u64(
            "slow",
            results.iter().map(|result| outliers(result, "slow")),
        )
        .u64(
            "fast",
            results.iter().map(|result| outliers(result, "fast")),
        )
        .i64("warm_up_ns", results.iter().map(warm_up_ns))
        .f64("drift_share", results.iter().map(Result::drift))
        .f64("gap_share", results.iter().map(Result::gap_share))
        .f64("iterations_per_s", results.iter().map(rate));
    WORK.iter().enumerate().fold(table, |table, (work, name)| {
        let rate = |result: &Result| {
            result
                .declared(work)
                .and_then(|(value, wall_ns)| per_s(value, wall_ns))
        };
        table
            .f64(
                name,
                results
                    .iter()
                    .map(|result| result.declared(work).map(|(value, _)| value)),
            )
            .f64(&format!("{name}_per_s"), results.iter().map(rate))
    })
}
