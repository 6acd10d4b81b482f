//! The iterations of each thread, by time.

use std::collections::BTreeMap;

use trueno_analysis::hash::FastSet;
use trueno_analysis::producer::Producer;
use trueno_analysis::quantiles::median;
use trueno_analysis::window::Window;
use trueno_plugin::{Result, Run, rank};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Iteration {
    pub id: u64,
    /// The program's number of the iteration.
    pub number: Option<u64>,
    pub start_ns: i64,
    pub wall_ns: i64,
    /// Time since the end of the previous one; `None` for the first.
    pub gap_ns: Option<i64>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Series {
    pub name: String,
    pub thread: i64,
    /// Sorted by time; no iteration lies in another.
    pub iterations: Vec<Iteration>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Loaded {
    pub series: Vec<Series>,
    pub ids: FastSet<u64>,
    pub left_out: LeftOut,
    pub producer: Producer,
}

/// How many rows are in no series, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// Rows that only bound the work.
    pub bound: u64,
    /// Rows that overlap an earlier one on the same thread.
    pub nested: u64,
    /// Rows without a thread or a time, or with a negative duration.
    pub broken: u64,
    /// Rows that do not lie wholly in the report's window.
    pub outside: u64,
    /// Rows at either end of the recording that are much shorter than the others.
    pub cut: u64,
}

/// A first or last iteration shorter than this share of the median may have been cut off.
const MIN_WHOLE: f64 = 0.5;

impl Loaded {
    /// Reads inputs `iterations`, `report_window` and `ranks`.
    ///
    /// # Errors
    /// An input lacks a column or has it in another type.
    pub fn load(run: &mut Run) -> Result<Self> {
        let has_ranks = !run.table("ranks")?.is_missing();
        let window = Window::read(run)?;
        let wall = run.table("run")?;
        let wall_ns = wall.i64("wall_ns")?.iter().flatten().next();
        let table = run.table("iterations")?;
        let (id, thread) = (table.u64("id")?, table.i64("thread")?);
        let (number, bound) = (table.u64("iteration")?, table.bool("is_bound")?);
        let (start, dur) = (table.i64("start_ns")?, table.i64("dur_ns")?);
        let mut out = Self {
            producer: Producer::of_run(&wall),
            ..Self::default()
        };
        let mut threads: BTreeMap<i64, Vec<Iteration>> = BTreeMap::new();
        out.ids.extend(id.iter().flatten());
        for row in 0..table.rows() {
            let (Some(id), Some(thread), Some(start_ns), Some(wall_ns)) = (
                id.get(row),
                thread.get(row),
                start.get(row),
                dur.get(row).filter(|dur| *dur >= 0),
            ) else {
                out.left_out.broken += 1;
                continue;
            };
            let end_ns = start_ns.saturating_add(wall_ns);
            if window.is_some_and(|window| !window.contains(start_ns, end_ns)) {
                out.left_out.outside += 1;
                continue;
            }
            if bound.get(row) == Some(true) {
                out.left_out.bound += 1;
                continue;
            }
            threads.entry(thread).or_default().push(Iteration {
                id,
                number: number.get(row),
                start_ns,
                wall_ns,
                gap_ns: None,
            });
        }
        for (thread, mut rows) in threads {
            // Of two that begin together the longer is the outer one.
            rows.sort_by_key(|row| (row.start_ns, std::cmp::Reverse(row.wall_ns), row.id));
            let mut iterations: Vec<Iteration> = Vec::with_capacity(rows.len());
            for mut row in rows {
                if let Some(before) = iterations.last() {
                    let gap_ns = row
                        .start_ns
                        .saturating_sub(before.start_ns.saturating_add(before.wall_ns));
                    if gap_ns < 0 {
                        out.left_out.nested += 1;
                        continue;
                    }
                    row.gap_ns = Some(gap_ns);
                }
                iterations.push(row);
            }
            if let Some(until_ns) = wall_ns.filter(|_| window.is_none()) {
                out.left_out.cut += without_cut(&mut iterations, until_ns);
            }
            let name = if has_ranks {
                let (rank, thread) = rank::of_place(thread);
                format!("rank {rank} thread {thread}")
            } else {
                format!("thread {thread}")
            };
            out.series.push(Series {
                name,
                thread,
                iterations,
            });
        }
        Ok(out)
    }
}

/// Removes the first and the last iteration if the recording begins or ends close to them and they are too short to
/// be whole. Returns how many were removed.
fn without_cut(iterations: &mut Vec<Iteration>, until_ns: i64) -> u64 {
    let before = iterations.len();
    let is_cut = |end: &Iteration, others: &[Iteration], off_ns: i64| {
        let mut walls: Vec<f64> = others.iter().map(|row| row.wall_ns as f64).collect();
        median(&mut walls).is_some_and(|usual_ns| {
            (end.wall_ns as f64) < MIN_WHOLE * usual_ns && (off_ns as f64) < usual_ns
        })
    };
    if let Some((last, others)) = iterations.split_last()
        && is_cut(
            last,
            others,
            until_ns.saturating_sub(last.start_ns.saturating_add(last.wall_ns)),
        )
    {
        iterations.pop();
    }
    if let Some((first, others)) = iterations.split_first()
        && is_cut(first, others, first.start_ns)
    {
        iterations.remove(0);
        iterations[0].gap_ns = None;
    }
    (before - iterations.len()) as u64
}
