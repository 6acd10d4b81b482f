//! Samples of durations, by name.

use crate::random::Random;

/// Kind of thing that a name names.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    Iteration,
    /// Self time of the bricks of a category on host threads, per iteration.
    Category,
    /// Time of the kernels of a category on devices, per iteration.
    DeviceCategory,
    Layer,
    Brick,
    Function,
    Task,
    Kernel,
    DeviceKernel,
    Transfer,
    Call,
}

impl Kind {
    pub fn word(self) -> &'static str {
        match self {
            Kind::Iteration => "iteration",
            Kind::Category => "category",
            Kind::DeviceCategory => "device category",
            Kind::Layer => "layer",
            Kind::Brick => "brick",
            Kind::Function => "function",
            Kind::Task => "task",
            Kind::Kernel => "kernel",
            Kind::DeviceKernel => "device kernel",
            Kind::Transfer => "transfer",
            Kind::Call => "call",
        }
    }
}

/// A name whose rows are compared on both sides.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
pub struct Name {
    pub kind: Kind,
    pub name: String,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sampled {
    pub count: u64,
    /// Rows without a duration of their own: bound to a wait, invalid, or negative.
    pub untimed: u64,
    /// Sum over the other rows in nanoseconds.
    pub total_ns: f64,
    /// Their durations in order of their starts, in nanoseconds. At most the requested number, drawn from all.
    pub durations: Vec<f64>,
    pub(crate) starts: Vec<i64>,
}

impl Sampled {
    pub fn timed(&self) -> u64 {
        self.count - self.untimed
    }

    /// Adds a row with a duration, which is already counted, to a reservoir of `cap` samples (algorithm R,
    /// Vitter 1985). Each row is kept with the same probability.
    pub fn add(&mut self, start_ns: i64, dur_ns: i64, cap: usize, random: &mut Random) {
        self.total_ns += dur_ns as f64;
        let seen = self.timed() as usize;
        if self.durations.len() < cap {
            self.durations.push(dur_ns as f64);
            self.starts.push(start_ns);
        } else {
            let at = random.below(seen);
            if at < cap {
                self.durations[at] = dur_ns as f64;
                self.starts[at] = start_ns;
            }
        }
    }

    pub fn sort_by_start(&mut self) {
        let mut pairs: Vec<(i64, f64)> = self
            .starts
            .drain(..)
            .zip(self.durations.drain(..))
            .collect();
        pairs.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
        self.durations = pairs.into_iter().map(|(_, dur)| dur).collect();
    }

    /// All rows are samples, in order of time.
    pub fn from_durations(durations: Vec<f64>) -> Self {
        Self {
            count: durations.len() as u64,
            untimed: 0,
            total_ns: durations.iter().sum(),
            durations,
            starts: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reservoir_is_a_fair_draw_in_the_order_of_time() {
        let mut late = 0;
        for seed in 0..200 {
            let mut random = Random::new(seed, "x");
            let mut sampled = Sampled::default();
            for row in 0..100 {
                sampled.count += 1;
                sampled.add(row, row, 10, &mut random);
            }
            sampled.sort_by_start();
            assert_eq!(sampled.durations.len(), 10);
            assert!(sampled.durations.is_sorted());
            late += sampled.durations.iter().filter(|d| **d >= 50.0).count();
        }
        // Half of 2000 on average, with a standard deviation of 21.
        assert!((900..1100).contains(&late), "{late}");
    }
}
