//! Sums of what was timed.

use std::fmt;

/// `part / whole`, or 0 if `whole` is 0.
pub(super) fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

/// Limit of a brick, as the program states it; nothing here finds it out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum BrickBottleneck {
    #[default]
    Unknown,
    Memory,
    Compute,
}

impl fmt::Display for BrickBottleneck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Unknown => "unknown",
            Self::Memory => "memory",
            Self::Compute => "compute",
        })
    }
}

/// Sums over the samples of one brick.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct BrickStats {
    /// The brick.
    pub name: String,
    /// Samples, with and without a duration.
    pub count: u64,
    /// Those of them whose end is only bounded: they have no part in times.
    pub bound: u64,
    /// Sum of durations.
    pub total_ns: u64,
    /// Shortest duration; `u64::MAX` where there is none.
    pub min_ns: u64,
    /// Longest duration.
    pub max_ns: u64,
    /// Elements of all samples.
    pub total_elements: u64,
    /// Elements of those samples that have a duration.
    pub timed_elements: u64,
    /// Bytes read, where given.
    pub total_bytes: u64,
    /// Bytes written, where given.
    pub total_compressed_bytes: u64,
    /// Bottleneck that the program set.
    pub bottleneck: BrickBottleneck,
    /// Cycles of those samples that have them.
    pub total_cycles: u64,
    /// Fewest cycles; `u64::MAX` where there are none.
    pub min_cycles: u64,
    /// Most cycles.
    pub max_cycles: u64,
    /// Samples that have cycles.
    pub counted: u64,
    /// Elements of those samples.
    pub counted_elements: u64,
}

impl BrickStats {
    /// No samples yet.
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            min_ns: u64::MAX,
            min_cycles: u64::MAX,
            ..Self::default()
        }
    }

    /// Adds a sample that took `elapsed_ns`.
    pub fn add_sample(&mut self, elapsed_ns: u64, elements: u64) {
        self.count += 1;
        self.total_ns += elapsed_ns;
        self.min_ns = self.min_ns.min(elapsed_ns);
        self.max_ns = self.max_ns.max(elapsed_ns);
        self.total_elements += elements;
        self.timed_elements += elements;
    }

    /// Adds a sample with the bytes it read and wrote.
    pub fn add_sample_with_bytes(
        &mut self,
        elapsed_ns: u64,
        elements: u64,
        input_bytes: u64,
        output_bytes: u64,
    ) {
        self.add_sample(elapsed_ns, elements);
        self.total_bytes += input_bytes;
        self.total_compressed_bytes += output_bytes;
    }

    /// Adds a sample with its cycles, as the caller counted them. Time-stamp counters do not count cycles of a core: they
    /// run at a rate of their own.
    pub fn add_sample_with_cycles(&mut self, elapsed_ns: u64, elements: u64, cycles: u64) {
        self.add_sample(elapsed_ns, elements);
        self.counted += 1;
        self.counted_elements += elements;
        self.total_cycles += cycles;
        self.min_cycles = self.min_cycles.min(cycles);
        self.max_cycles = self.max_cycles.max(cycles);
    }

    pub(super) fn add_bound(&mut self, elements: u64) {
        self.count += 1;
        self.bound += 1;
        self.total_elements += elements;
    }

    /// Mean duration in microseconds; 0: no duration.
    pub fn avg_us(&self) -> f64 {
        ratio(self.total_ns as f64 / 1e3, (self.count - self.bound) as f64)
    }

    /// Shortest duration in microseconds; 0: no duration.
    pub fn min_us(&self) -> f64 {
        if self.count == self.bound {
            return 0.0;
        }
        self.min_ns as f64 / 1e3
    }

    /// Longest duration in microseconds; 0: no duration.
    pub fn max_us(&self) -> f64 {
        self.max_ns as f64 / 1e3
    }

    /// Elements a second of the samples that have a duration; 0: none.
    pub fn throughput(&self) -> f64 {
        ratio(self.timed_elements as f64, self.total_ns as f64 / 1e9)
    }

    /// The same as [`BrickStats::throughput`]: it counts elements, whatever they are.
    pub fn tokens_per_sec(&self) -> f64 {
        self.throughput()
    }

    /// 10^9 bytes read a second; 0: no bytes were given, or nothing has a duration.
    pub fn throughput_gbps(&self) -> f64 {
        ratio(self.total_bytes as f64, self.total_ns as f64)
    }

    /// Bytes read by bytes written; 0: none were written.
    pub fn compression_ratio(&self) -> f64 {
        ratio(self.total_bytes as f64, self.total_compressed_bytes as f64)
    }
}

impl BrickStats {
    /// Cycles an element, of the samples that have cycles. NaN: none has.
    pub fn cycles_per_element(&self) -> f64 {
        measured(self.total_cycles, self.counted_elements)
    }

    /// Mean cycles of the samples that have them. NaN: none has.
    pub fn avg_cycles(&self) -> f64 {
        measured(self.total_cycles, self.counted)
    }

    /// NaN: instructions are not counted here, and how many an element takes nobody states. The recorder counts them with
    /// its feature `perf`; elements a cycle are the reverse of [`BrickStats::cycles_per_element`].
    pub fn estimated_ipc(&self) -> f64 {
        f64::NAN
    }

    /// Says that there is no diagnosis: it would take instructions, see [`BrickStats::estimated_ipc`].
    pub fn diagnose_from_cycles(&self) -> &'static str {
        "insufficient data: instructions were not counted"
    }

    /// Notes a bottleneck.
    pub fn set_bottleneck(&mut self, bottleneck: BrickBottleneck) {
        self.bottleneck = bottleneck;
    }

    /// The bottleneck noted last.
    pub fn get_bottleneck(&self) -> BrickBottleneck {
        self.bottleneck
    }

    pub(super) fn timed(&self) -> u64 {
        self.count - self.bound.min(self.count)
    }
}

/// `sum / of`, or NaN if `of` is 0.
fn measured(sum: u64, of: u64) -> f64 {
    if of == 0 {
        return f64::NAN;
    }
    sum as f64 / of as f64
}

/// Sums over the bricks of one category.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CategoryStats {
    /// Sum of durations.
    pub total_ns: u64,
    /// Elements of all samples.
    pub total_elements: u64,
    /// Elements of those samples that have a duration.
    pub timed_elements: u64,
    /// Samples, with and without a duration.
    pub count: u64,
    /// Those whose end is only bounded.
    pub bound: u64,
}

impl CategoryStats {
    pub(super) fn add(&mut self, brick: &BrickStats) {
        self.total_ns += brick.total_ns;
        self.total_elements += brick.total_elements;
        self.timed_elements += brick.timed_elements;
        self.count += brick.count;
        self.bound += brick.bound;
    }

    /// Mean duration in microseconds; 0: no duration.
    pub fn avg_us(&self) -> f64 {
        ratio(self.total_ns as f64 / 1e3, (self.count - self.bound) as f64)
    }

    /// Elements a second of the samples that have a duration; 0: none.
    pub fn throughput(&self) -> f64 {
        ratio(self.timed_elements as f64, self.total_ns as f64 / 1e9)
    }

    /// Percent of `total_ns`, which the caller chooses; 0: it is 0.
    pub fn percentage(&self, total_ns: u64) -> f64 {
        ratio(100.0 * self.total_ns as f64, total_ns as f64)
    }
}
