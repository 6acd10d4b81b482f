//! Sums of samples, of one rank or of several: figures that can be merged exactly.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::function::Function;
use crate::waits::Waits;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Line {
    pub file: String,
    pub line: i64,
}

/// Kind and name of rows that samples lie in.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BrickKey {
    /// As in `bricks`, or `kernel`.
    pub kind: String,
    /// Name of the row, or of its group.
    pub name: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub samples: u64,
    /// Sum of the periods, saturating.
    pub period: u64,
    pub without_period: u64,
}

impl Tally {
    pub fn one(period: Option<u64>) -> Self {
        Self {
            samples: 1,
            period: period.unwrap_or(0),
            without_period: u64::from(period.is_none()),
        }
    }

    pub fn add(&mut self, other: Self) {
        // A sum that stops at the largest number is the same in each grouping.
        self.samples = self.samples.saturating_add(other.samples);
        self.period = self.period.saturating_add(other.period);
        self.without_period = self.without_period.saturating_add(other.without_period);
    }

    /// Sum of the periods; `None` if a sample has no period, or on overflow.
    pub fn known_period(&self) -> Option<i64> {
        let period = i64::try_from(self.period).ok();
        period.filter(|_| self.samples > 0 && self.without_period == 0)
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FunctionSum {
    /// Samples in which the function was the innermost.
    pub innermost: Tally,
    /// Samples in which the function was on the stack.
    pub inclusive: u64,
    /// Samples in which the function was the innermost, by line, where lines are known.
    pub lines: BTreeMap<Line, u64>,
}

impl FunctionSum {
    /// The line with the most samples, and their number. Among equal ones the first.
    pub fn hottest_line(&self) -> Option<(&Line, u64)> {
        let lines = self.lines.iter();
        let hottest = lines.max_by_key(|(line, count)| (**count, Reverse(*line)));
        hottest.map(|(line, count)| (line, *count))
    }
}

/// Where samples of a thread that waited were taken.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct WaitPlace {
    pub thread: i64,
    pub function: Function,
    pub file: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventSum {
    /// Without those in `waiting`, as all sums below.
    pub all: Tally,
    pub functions: BTreeMap<Function, FunctionSum>,
    pub threads: BTreeMap<i64, Tally>,
    /// By the row that the samples lie in, then by function.
    pub bricks: BTreeMap<BrickKey, BTreeMap<Function, u64>>,
    /// Samples whose innermost function only waits, by its name.
    pub waiting: BTreeMap<WaitPlace, u64>,
}

impl EventSum {
    /// Samples of a thread: those in which it waited, and all.
    pub fn of_thread(&self, thread: i64) -> (u64, u64) {
        let waiting = self.waiting.iter().filter(|(of, _)| of.thread == thread);
        let waiting = waiting.fold(0_u64, |sum, (_, count)| sum.saturating_add(*count));
        let running = self.threads.get(&thread).map_or(0, |tally| tally.samples);
        (waiting, waiting.saturating_add(running))
    }

    /// Functions by innermost samples, then by samples on the stack, then by name.
    pub fn functions_in_order(&self) -> Vec<(&Function, &FunctionSum)> {
        let mut all: Vec<_> = self.functions.iter().collect();
        // The sort keeps the order of names.
        all.sort_by_key(|(function, sum)| {
            let samples = (sum.innermost.samples, sum.inclusive);
            (Reverse(samples), function.name.is_none())
        });
        all
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    pub events: BTreeMap<String, EventSum>,
    pub thread_names: BTreeMap<i64, String>,
    pub waits: Waits,
    /// References to rows of `stacks` that do not exist.
    pub missing_stacks: u64,
    pub circular_stacks: u64,
}

impl Sums {
    pub fn event(&mut self, event: &str) -> &mut EventSum {
        self.events.entry(event.to_owned()).or_default()
    }

    /// Events: first those that count time, then by number of samples.
    pub fn events_in_order(&self) -> Vec<(&str, &EventSum)> {
        let events = self.events.iter().filter(|(_, sum)| sum.all.samples > 0);
        let mut all: Vec<(&str, &EventSum)> =
            events.map(|(event, sum)| (event.as_str(), sum)).collect();
        all.sort_by_key(|(event, sum)| (!counts_time(event), Reverse(sum.all.samples)));
        all
    }
}

/// True for events whose period is nanoseconds of CPU time. Modifiers, as in `cpu-clock:u`, do not change that.
pub fn counts_time(event: &str) -> bool {
    let name = event.split(':').next().unwrap_or(event);
    matches!(name, "cpu-clock" | "task-clock")
}
