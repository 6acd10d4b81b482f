//! Iterations of programs that state them as NVTX ranges.
//!
//! NVTX has no iterations, but programs name their ranges by a few words: `step`, `iteration 7`, `train_step`,
//! `ProfilerStep#3`, `train#step_num=3#`. The ranges of one thread under one name count if there are several, none overlaps
//! another, and the median time between them is no longer than their median. So an optimizer's `step` beside `forward` and
//! `backward` does not count where it takes less than half of the time.

use std::collections::BTreeMap;

/// Names of iterations, in small letters, without separators and numbers.
const NAMES: [&str; 12] = [
    "batch",
    "iter",
    "iteration",
    "minibatch",
    "profilerstep",
    "step",
    "trainbatch",
    "trainingstep",
    "trainiter",
    "trainiteration",
    "trainstep",
    "trainingiteration",
];
/// What JAX puts behind the name of a step.
const JAX_STEP: &str = "#step_num=";
const MIN_COUNT: usize = 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Span {
    start: i64,
    end: i64,
    stated: Option<u64>,
}

/// Candidates, by thread and name.
#[derive(Debug, Default)]
pub struct Candidates(BTreeMap<(i64, String), Vec<Span>>);

/// The iterations of one thread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Iterations {
    pub thread: i64,
    /// Start, end and number, in the order of time.
    spans: Vec<(i64, i64, u64)>,
}

/// The name without separators and its number, if it is one of an iteration.
fn parse(name: &str) -> Option<(String, Option<u64>)> {
    if let Some((name, rest)) = name.split_once(JAX_STEP) {
        let digits = rest.split(|of: char| !of.is_ascii_digit()).next();
        return Some((name.to_owned(), digits?.parse().ok()));
    }
    let words = name.trim_end_matches([')', ']', '#', '.']);
    let plain = words.trim_end_matches(|of: char| of.is_ascii_digit());
    let stated = words[plain.len()..].parse().ok();
    let is_word = |of: &char| {
        !matches!(
            of,
            ' ' | '_' | '-' | '.' | '#' | ':' | '=' | '/' | '(' | '['
        )
    };
    let word: String = plain.chars().filter(is_word).collect();
    let word = word.to_ascii_lowercase();
    NAMES.contains(&word.as_str()).then_some((word, stated))
}

/// The lower one of two in the middle; 0 of none.
fn median(values: impl Iterator<Item = i64>) -> i64 {
    let mut values: Vec<i64> = values.collect();
    values.sort_unstable();
    values
        .get(values.len().saturating_sub(1) / 2)
        .copied()
        .unwrap_or(0)
}

impl Candidates {
    /// Adds a range, in any order.
    pub fn add(&mut self, thread: i64, start: i64, end: i64, name: &str) {
        if let Some((word, stated)) = parse(name) {
            let span = Span {
                start,
                // Times of a foreign file may be turned round.
                end: end.max(start),
                stated,
            };
            self.0.entry((thread, word)).or_default().push(span);
        }
    }

    /// Replaces ends: `end_of` gets the thread, start and end of each range.
    pub fn set_ends(&mut self, end_of: impl Fn(i64, i64, i64) -> i64) {
        for ((thread, _), spans) in &mut self.0 {
            for span in spans {
                span.end = end_of(*thread, span.start, span.end);
            }
        }
    }

    /// Of the threads and names that qualify, the one whose ranges last longest.
    pub fn choose(self) -> Option<Iterations> {
        let qualified = self.0.into_iter().filter_map(|((thread, _), mut spans)| {
            spans.sort_by_key(|span| (span.start, span.end));
            let apart = spans.windows(2).all(|pair| pair[0].end <= pair[1].start);
            let filled: i128 = spans
                .iter()
                .map(|span| i128::from(span.end) - i128::from(span.start))
                .sum();
            let between = spans
                .windows(2)
                .map(|pair| pair[1].start.saturating_sub(pair[0].end));
            let is_dense = median(between)
                <= median(spans.iter().map(|span| span.end.saturating_sub(span.start)));
            let qualifies = spans.len() >= MIN_COUNT && apart && is_dense;
            qualifies.then_some((filled, thread, spans))
        });
        // Of equal ones the first.
        let best = qualified.fold(
            None,
            |best: Option<(i128, i64, Vec<Span>)>, next| match best {
                Some(best) if best.0 >= next.0 => Some(best),
                _ => Some(next),
            },
        );
        let (_, thread, spans) = best?;
        let stated: Option<Vec<u64>> = spans.iter().map(|span| span.stated).collect();
        let stated = stated.filter(|stated| stated.windows(2).all(|pair| pair[0] < pair[1]));
        let numbers = stated.unwrap_or_else(|| (0..spans.len() as u64).collect());
        let spans = spans.iter().zip(numbers);
        Some(Iterations {
            thread,
            spans: spans
                .map(|(span, number)| (span.start, span.end, number))
                .collect(),
        })
    }
}

impl Iterations {
    /// Number of the iteration that is exactly this range.
    pub fn of_range(&self, thread: i64, start: i64, end: i64) -> Option<u64> {
        let found = self.around(start, end)?;
        (self.thread == thread && (found.0, found.1) == (start, end)).then_some(found.2)
    }

    /// Number of the iteration that encloses an interval, of whichever thread.
    pub fn number(&self, start: i64, end: i64) -> Option<u64> {
        self.around(start, end).map(|found| found.2)
    }

    fn around(&self, start: i64, end: i64) -> Option<(i64, i64, u64)> {
        let after = self.spans.partition_point(|span| span.0 <= start);
        let found = *self.spans.get(after.checked_sub(1)?)?;
        (end <= found.1).then_some(found)
    }
}

/// Key in `run.json` of what was inferred.
pub const VALUE: &str = "iterations.inferred";

/// States how many ranges are counted as iterations; `None` if none is.
pub fn text<'i>(of_processes: impl IntoIterator<Item = &'i Iterations>) -> Option<String> {
    let count: usize = of_processes
        .into_iter()
        .map(|found| found.spans.len())
        .sum();
    (count > 0)
        .then(|| format!("{count} NVTX ranges are counted as iterations, because of their names"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(ranges: &[(i64, i64, i64, &str)]) -> Option<Iterations> {
        let mut all = Candidates::default();
        for (thread, start, end, name) in ranges {
            all.add(*thread, *start, *end, name);
        }
        all.choose()
    }

    #[test]
    fn names_of_iterations() {
        for (name, word, number) in [
            ("step", "step", None),
            ("Iteration 12", "iteration", Some(12)),
            ("train_step", "trainstep", None),
            ("ProfilerStep#3", "profilerstep", Some(3)),
            ("iter_7", "iter", Some(7)),
            ("Training step (5)", "trainingstep", Some(5)),
            ("train#step_num=9,_r=1#", "train", Some(9)),
        ] {
            assert_eq!(parse(name), Some((word.to_owned(), number)), "{name}");
        }
        for name in [
            "forward",
            "optimizer.step",
            "Optimizer.step#SGD.step",
            "epoch 3",
            "steps",
            "",
            "7",
        ] {
            assert_eq!(parse(name), None, "{name}");
        }
    }

    #[test]
    fn numbers_are_stated_or_in_order() {
        let stated = chosen(&[(1, 0, 10, "step 4"), (1, 10, 20, "step 6")]).unwrap();
        assert_eq!(
            (stated.number(0, 10), stated.number(12, 13)),
            (Some(4), Some(6))
        );
        assert_eq!(stated.of_range(1, 10, 20), Some(6));
        assert_eq!(stated.of_range(2, 10, 20), None);
        assert_eq!(stated.number(5, 15), None, "in two of them");
        let repeated = chosen(&[(1, 0, 10, "step 4"), (1, 10, 20, "step 4")]).unwrap();
        assert_eq!(
            (repeated.number(0, 1), repeated.number(19, 20)),
            (Some(0), Some(1))
        );
    }

    #[test]
    fn what_leaves_most_time_out_or_overlaps_is_no_iteration() {
        let optimizer = [(1, 8, 10, "step"), (1, 18, 20, "step"), (1, 28, 30, "step")];
        assert_eq!(chosen(&optimizer), None);
        assert_eq!(chosen(&[(1, 0, 10, "step"), (1, 5, 20, "step")]), None);
        assert_eq!(chosen(&[(1, 0, 10, "step")]), None, "one is no series");
        // A long pause between two of many is no evidence.
        let paused = [
            (1, 0, 10, "step"),
            (1, 11, 20, "step"),
            (1, 2000, 2010, "step"),
            (1, 2011, 2020, "step"),
        ];
        assert!(chosen(&paused).is_some());
    }

    #[test]
    fn the_longest_series_counts() {
        let found = chosen(&[
            (1, 0, 10, "batch 0"),
            (1, 10, 20, "batch 1"),
            (2, 0, 4, "step"),
            (2, 4, 8, "step"),
        ]);
        assert_eq!(
            found.map(|found| (found.thread, found.spans.len())),
            Some((1, 2))
        );
    }
}
