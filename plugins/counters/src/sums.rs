//! Sums of counts and of readings, of one rank or of several: all of them can be merged in any grouping.

use std::collections::BTreeMap;

use trueno_analysis::exact_sum::ExactSum;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sums {
    pub bricks: BTreeMap<String, BrickSum>,
    /// By name, unit and source.
    pub values: BTreeMap<ValueKey, ValueSum>,
}

/// Counts that a brick may have. [`RATES`] divides them by each other.
pub const COUNTS: [&str; 11] = [
    "cycles",
    "instructions",
    "l2_accesses",
    "l2_misses",
    "l3_accesses",
    "l3_misses",
    "task_clock",
    "page_faults",
    "off_cpu_ns",
    "dur_ns",
    "elements",
];
/// How many of [`COUNTS`], from the first, the CPU or the kernel counted.
pub const COUNTED: usize = 8;

/// Indices into [`COUNTS`].
pub mod at {
    pub const CYCLES: usize = 0;
    pub const INSTRUCTIONS: usize = 1;
    pub const L2_ACCESSES: usize = 2;
    pub const L2_MISSES: usize = 3;
    pub const L3_ACCESSES: usize = 4;
    pub const L3_MISSES: usize = 5;
    pub const TASK_CLOCK: usize = 6;
    pub const PAGE_FAULTS: usize = 7;
    pub const OFF_CPU_NS: usize = 8;
    pub const DUR_NS: usize = 9;
    pub const ELEMENTS: usize = 10;
}

/// Numerator and denominator of each rate, as indices into [`COUNTS`].
pub const RATES: [(usize, usize); 6] = [
    (at::INSTRUCTIONS, at::CYCLES),
    (at::CYCLES, at::ELEMENTS),
    (at::L2_MISSES, at::L2_ACCESSES),
    (at::L3_MISSES, at::L3_ACCESSES),
    (at::L3_MISSES, at::INSTRUCTIONS),
    (at::OFF_CPU_NS, at::DUR_NS),
];

pub type Counts = [Option<u64>; COUNTS.len()];

/// Numerator and denominator, summed over the calls that have both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rate {
    pub of: u64,
    pub by: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BrickSum {
    pub calls: u64,
    /// Calls with a scaled count, because its counter did not run all the time.
    pub estimated_calls: u64,
    /// Sums, each over the calls that have the count; `None` if no call has it.
    pub counts: Counts,
    /// In the order of [`RATES`].
    pub rates: [Rate; RATES.len()],
}

#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ValueKey {
    pub name: String,
    pub unit: Option<String>,
    /// `measured`, `declared`, `computed` or `nominal`.
    pub source: String,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct ValueSum {
    pub readings: u64,
    /// Readings that are infinite or NaN. No other field includes them.
    pub not_finite: u64,
    pub min: Option<f64>,
    pub max: Option<f64>,
    /// Time and value of the latest reading; of several at that time, the largest.
    pub last: Option<(i64, f64)>,
    pub sum: ExactSum,
}

/// Saturating.
fn add(to: &mut u64, more: u64) {
    *to = to.saturating_add(more);
}

fn add_known(to: &mut Option<u64>, more: Option<u64>) {
    if let Some(more) = more {
        add(to.get_or_insert(0), more);
    }
}

impl Rate {
    /// The quotient; `None` if the denominator is 0 or a sum overflowed.
    pub fn value(self) -> Option<f64> {
        let is_known = self.by > 0 && self.of < u64::MAX && self.by < u64::MAX;
        is_known.then(|| self.of as f64 / self.by as f64)
    }
}

impl BrickSum {
    /// The quotient of two counts. The pair must be in [`RATES`].
    pub fn rate(&self, of: usize, by: usize) -> Option<f64> {
        let at = RATES.iter().position(|rate| *rate == (of, by))?;
        self.rates[at].value()
    }

    pub fn add(&mut self, counts: Counts, is_estimated: bool) {
        let mut one = Self {
            calls: 1,
            estimated_calls: u64::from(is_estimated),
            counts,
            ..Self::default()
        };
        for (rate, (of, by)) in one.rates.iter_mut().zip(RATES) {
            if let (Some(of), Some(by)) = (counts[of], counts[by]) {
                *rate = Rate { of, by };
            }
        }
        self.merge(&one);
    }

    pub fn merge(&mut self, other: &Self) {
        add(&mut self.calls, other.calls);
        add(&mut self.estimated_calls, other.estimated_calls);
        for (sum, more) in self.counts.iter_mut().zip(other.counts) {
            add_known(sum, more);
        }
        for (sum, more) in self.rates.iter_mut().zip(other.rates) {
            add(&mut sum.of, more.of);
            add(&mut sum.by, more.by);
        }
    }
}

impl ValueSum {
    pub fn add(&mut self, time_ns: i64, value: f64) {
        let is_finite = value.is_finite();
        // One zero: which of two comes first would else decide what is shown.
        let value = if value == 0.0 { 0.0 } else { value };
        let mut sum = ExactSum::default();
        if is_finite {
            sum.add(value);
        }
        self.merge(&Self {
            readings: 1,
            not_finite: u64::from(!is_finite),
            min: is_finite.then_some(value),
            max: is_finite.then_some(value),
            last: is_finite.then_some((time_ns, value)),
            sum,
        });
    }

    pub fn merge(&mut self, other: &Self) {
        add(&mut self.readings, other.readings);
        add(&mut self.not_finite, other.not_finite);
        let of_both = |a: Option<f64>, b: Option<f64>, pick: fn(f64, f64) -> f64| match (a, b) {
            (Some(a), Some(b)) => Some(pick(a, b)),
            (a, b) => a.or(b),
        };
        self.min = of_both(self.min, other.min, f64::min);
        self.max = of_both(self.max, other.max, f64::max);
        let both = [self.last, other.last].into_iter().flatten();
        self.last = both.max_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
        self.sum.merge(&other.sum);
    }

    /// Mean of the finite readings, not weighted by how long each lasted.
    pub fn mean(&self) -> Option<f64> {
        let numbers = self.readings.checked_sub(self.not_finite)?;
        (numbers > 0).then(|| Some(self.sum.value()? / numbers as f64))?
    }
}
