//! Rows of a table in order of a time, with memory for a window of them.
//!
//! The times are read twice: first a sample of each part of the table says where windows of
//! about as many rows each begin, then it is counted which parts have rows in which window. A
//! window is read from those parts only, and sorted alone.

use std::collections::VecDeque;

use polars::prelude::{
    Column, DataFrame, DataType, Engine, Expr, IdxSize, LazyFrame, PolarsResult,
    SortMultipleOptions, col, lit,
};

use crate::panic_guard::guarded;

const WINDOW_ROWS: usize = 1 << 19;

#[derive(Clone, Debug)]
pub struct Order {
    /// Integer column; rows without a value come first.
    pub time: String,
    /// Column that orders rows with equal times, largest first; rows without a value come last.
    pub then_down: Option<String>,
}

/// Returns the rows in frames. The sort is stable; without an order, rows stay as stored.
pub struct Ordered {
    parts: Vec<LazyFrame>,
    order: Option<Order>,
    window_rows: usize,
    waiting: VecDeque<Window>,
}

#[derive(Debug, Default)]
struct Window {
    parts: Vec<usize>,
    rows: Rows,
}

#[derive(Debug, Default)]
enum Rows {
    /// `rows` rows starting at index `first`.
    Stored { first: i64, rows: IdxSize },
    #[default]
    Untimed,
    /// Times from the first (inclusive) to the second (exclusive).
    Timed(i64, Option<i64>),
}

impl Ordered {
    pub fn new(parts: Vec<LazyFrame>, order: Option<Order>) -> Result<Self, String> {
        Self::with_windows(parts, order, WINDOW_ROWS)
    }

    fn with_windows(
        parts: Vec<LazyFrame>,
        order: Option<Order>,
        window_rows: usize,
    ) -> Result<Self, String> {
        let mut ordered = Self {
            parts,
            order,
            window_rows,
            waiting: VecDeque::new(),
        };
        ordered.waiting = match ordered.order.clone() {
            Some(order) => ordered.windows(&order.time)?,
            None => ordered.as_stored()?,
        };
        Ok(ordered)
    }

    fn as_stored(&self) -> Result<VecDeque<Window>, String> {
        let mut windows = VecDeque::new();
        for (part, frame) in self.parts.iter().enumerate() {
            let count = collect(frame.clone().select([polars::prelude::len()]))?;
            let count: usize = (count.columns().first())
                .and_then(|count| count.get(0).ok()?.extract())
                .unwrap_or(0);
            windows.extend((0..count).step_by(self.window_rows).map(|first| Window {
                parts: vec![part],
                rows: Rows::Stored {
                    first: first as i64,
                    rows: self.window_rows.min(count - first) as IdxSize,
                },
            }));
        }
        Ok(windows)
    }

    fn windows(&self, time: &str) -> Result<VecDeque<Window>, String> {
        let step = (self.window_rows / 256).max(1);
        let mut sample = Vec::new();
        for frame in &self.parts {
            let (times, _) = times(frame, time)?;
            sample.extend(times.iter().copied().step_by(step));
        }
        sample.sort_unstable();
        let edges = edges(&sample, self.window_rows / step);
        let mut untimed = Window::default();
        let mut windows: Vec<Window> = (0..edges.len())
            .map(|i| Window {
                parts: Vec::new(),
                rows: Rows::Timed(edges[i], edges.get(i + 1).copied()),
            })
            .collect();
        for (part, frame) in self.parts.iter().enumerate() {
            let (times, without) = times(frame, time)?;
            if without > 0 {
                untimed.parts.push(part);
            }
            let mut from = 0;
            for (i, window) in windows.iter_mut().enumerate() {
                let end = edges.get(i + 1).map_or(times.len(), |&edge| {
                    from + times[from..].partition_point(|&time| time < edge)
                });
                if end > from {
                    window.parts.push(part);
                }
                from = end;
            }
        }
        let all = std::iter::once(untimed).chain(windows);
        // Of rows of one time there may be too many to sort, and no need to.
        let is_sorted = |window: &Window| {
            let one_time = match window.rows {
                Rows::Timed(from, to) => from.checked_add(1) == to,
                Rows::Untimed | Rows::Stored { .. } => true,
            };
            one_time && self.order.as_ref().is_none_or(|o| o.then_down.is_none())
        };
        let mut waiting = VecDeque::new();
        for window in all.filter(|window| !window.parts.is_empty()) {
            if is_sorted(&window) {
                waiting.extend(window.parts.iter().map(|&part| Window {
                    parts: vec![part],
                    rows: match window.rows {
                        Rows::Timed(from, to) => Rows::Timed(from, to),
                        _ => Rows::Untimed,
                    },
                }));
            } else {
                waiting.push_back(window);
            }
        }
        Ok(waiting)
    }

    fn read(&self, window: &Window) -> Result<DataFrame, String> {
        let time = self.order.as_ref().map(|order| integer(&order.time));
        let mut all: Option<DataFrame> = None;
        for &part in &window.parts {
            let frame = self.parts[part].clone();
            let frame = match (&window.rows, time.clone()) {
                (Rows::Stored { first, rows }, _) => frame.slice(*first, *rows),
                (_, None) => frame,
                (Rows::Untimed, Some(time)) => frame.filter(time.is_null()),
                (Rows::Timed(from, None), Some(time)) => frame.filter(time.gt_eq(lit(*from))),
                (Rows::Timed(from, Some(to)), Some(time)) => {
                    frame.filter(time.clone().gt_eq(lit(*from)).and(time.lt(lit(*to))))
                }
            };
            let frame = collect(frame)?;
            all = Some(match all {
                None => frame,
                Some(mut all) => {
                    guarded(|| all.vstack_mut(&frame).map(|_| ()))?;
                    all
                }
            });
        }
        let frame = all.unwrap_or_default();
        match (&self.order, &window.rows) {
            (Some(order), Rows::Untimed | Rows::Timed(..)) => guarded(|| sort(&frame, order)),
            _ => Ok(frame),
        }
    }
}

impl Iterator for Ordered {
    type Item = Result<DataFrame, String>;

    fn next(&mut self) -> Option<Self::Item> {
        let window = self.waiting.pop_front()?;
        let frame = self.read(&window);
        if frame.is_err() {
            self.waiting.clear();
        }
        Some(frame)
    }
}

/// Starts of the windows, from a sorted sample. A time that would fill a window gets one of its own.
fn edges(sample: &[i64], samples_of_a_window: usize) -> Vec<i64> {
    let mut edges: Vec<i64> = Vec::new();
    for at in (0..sample.len()).step_by(samples_of_a_window.max(1)) {
        let time = sample[at];
        match edges.last() {
            Some(&last) if last == time => edges.extend(time.checked_add(1)),
            // The window of one time ends here already.
            Some(&last) if last > time => {}
            _ => edges.push(time),
        }
    }
    edges
}

/// The times of a part, sorted, and how many of its rows have none.
fn times(frame: &LazyFrame, time: &str) -> Result<(Vec<i64>, usize), String> {
    let frame = collect(frame.clone().select([integer(time)]))?;
    let column = frame.columns().first().and_then(|column| column.i64().ok());
    let Some(column) = column else {
        return Ok((Vec::new(), frame.height()));
    };
    let mut times: Vec<i64> = column.iter().flatten().collect();
    times.sort_unstable();
    let without = frame.height() - times.len();
    Ok((times, without))
}

fn integer(column: &str) -> Expr {
    col(column).cast(DataType::Int64)
}

fn sort(frame: &DataFrame, order: &Order) -> PolarsResult<DataFrame> {
    let by = |name: &str| -> PolarsResult<Column> { frame.column(name)?.cast(&DataType::Int64) };
    let mut keys = vec![by(&order.time)?];
    let (mut down, mut nulls_last) = (vec![false], vec![false]);
    if let Some(then) = &order.then_down {
        keys.push(by(then)?);
        down.push(true);
        nulls_last.push(true);
    }
    let options = SortMultipleOptions::default()
        .with_order_descending_multi(down)
        .with_nulls_last_multi(nulls_last)
        .with_maintain_order(true);
    let order = if let [time] = keys.as_slice() {
        time.as_materialized_series()
            .arg_sort(polars::prelude::SortOptions::default().with_maintain_order(true))
    } else {
        let first = keys.remove(0);
        first
            .as_materialized_series()
            .arg_sort_multiple(&keys, &options)?
    };
    frame.take(&order)
}

fn collect(frame: LazyFrame) -> Result<DataFrame, String> {
    Ok(guarded(|| frame.collect_with_engine(Engine::Streaming))?.unwrap_single())
}

#[cfg(test)]
mod tests {
    use polars::prelude::{IntoLazy, NamedFrom, Series};
    use proptest::prelude::*;

    use super::*;

    fn part(rows: &[(Option<i64>, Option<i64>, u32)]) -> LazyFrame {
        let time: Vec<_> = rows.iter().map(|row| row.0).collect();
        let end: Vec<_> = rows.iter().map(|row| row.1).collect();
        let number: Vec<_> = rows.iter().map(|row| row.2).collect();
        let columns = vec![
            Series::new("time".into(), time).into(),
            Series::new("end".into(), end).into(),
            Series::new("number".into(), number).into(),
        ];
        DataFrame::new(rows.len(), columns).unwrap().lazy()
    }

    fn numbers(ordered: Ordered) -> Vec<u32> {
        ordered
            .flat_map(|frame| {
                let frame = frame.unwrap();
                let numbers = frame.column("number").unwrap().u32().unwrap().clone();
                numbers.iter().flatten().collect::<Vec<_>>()
            })
            .collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]
        #[test]
        fn rows_come_as_one_stable_sort_would_have_them(
            parts in proptest::collection::vec(
                proptest::collection::vec((proptest::option::weighted(0.9, -9..9_i64), proptest::option::weighted(0.8, -3..3_i64)), 0..40),
                0..5,
            ),
            far in any::<bool>(),
            ends in any::<bool>(),
            window_rows in 1..50_usize,
        ) {
            let scale = if far { i64::MAX / 9 } else { 1 };
            let mut number = 0;
            let parts: Vec<Vec<_>> = parts.iter().map(|rows| rows.iter().map(|(time, end)| {
                number += 1;
                (time.map(|time| time * scale), *end, number)
            }).collect()).collect();
            let mut all: Vec<_> = parts.iter().flatten().copied().collect();
            let frames = || parts.iter().map(|rows| part(rows)).collect::<Vec<_>>();
            prop_assert_eq!(
                numbers(Ordered::with_windows(frames(), None, window_rows).unwrap()),
                all.iter().map(|row| row.2).collect::<Vec<_>>()
            );
            all.sort_by(|a, b| {
                let down = if ends { b.1.cmp(&a.1) } else { std::cmp::Ordering::Equal };
                a.0.cmp(&b.0).then(down)
            });
            let order = Order { time: "time".into(), then_down: ends.then(|| "end".into()) };
            let found = numbers(Ordered::with_windows(frames(), Some(order), window_rows).unwrap());
            prop_assert_eq!(found, all.iter().map(|row| row.2).collect::<Vec<_>>());
        }
    }

    #[test]
    fn windows_share_out_the_rows_also_where_many_are_of_one_time() {
        assert!(edges(&[], 2).is_empty());
        assert_eq!(edges(&[1, 2, 3, 4, 5], 2), [1, 3, 5]);
        assert_eq!(edges(&[1, 7, 7, 7, 7, 7, 9, 9], 2), [1, 7, 8, 9]);
        assert_eq!(edges(&[i64::MAX; 5], 2), [i64::MAX]);
    }
}
