//! Calls with figures, for what sums do not tell: how many lie above a roof, and medians.
//!
//! Of a loaded run they are its rows; of parts of ranks a list of distinct ones with their numbers.

use trueno_analysis::interner::Interner;
use trueno_analysis::quantiles::lower_median;
use trueno_analysis::value_counts::ValueCounts;

use crate::nesting::Standing;
use crate::rows::{NONE, Rows};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Call {
    pub label: u32,
    pub flops: u64,
    pub bytes: u64,
    pub dur_ns: i64,
}

pub trait Calls {
    /// Calls `show` with each call and 1, or with each distinct call and its count.
    fn each(&self, show: impl FnMut(&Call, u64));

    /// Lower median of the durations by label, for the labels in `is_wanted`, which must be of declared work.
    fn medians(&self, is_wanted: &[bool]) -> Vec<Option<i64>>;
}

#[derive(Clone, Copy)]
pub struct RowCalls<'a> {
    pub rows: &'a Rows,
    pub standing: &'a [Vec<Standing>],
}

impl Calls for RowCalls<'_> {
    #[inline]
    fn each(&self, mut show: impl FnMut(&Call, u64)) {
        for (lane, standing) in self.rows.lanes.values().zip(self.standing) {
            for (row, standing) in lane.work.iter().zip(standing) {
                if matches!(standing, Standing::Excluded(_)) {
                    continue;
                }
                let dur_ns = row.end_ns - row.start_ns;
                let work = &self.rows.declared[row.declared as usize];
                if work.label != NONE {
                    let call = Call {
                        label: work.label,
                        flops: work.flops,
                        bytes: work.bytes,
                        dur_ns,
                    };
                    show(&call, 1);
                }
                if row.counted != NONE {
                    let work = &self.rows.counted[row.counted as usize];
                    let call = Call {
                        label: work.label,
                        flops: work.flops,
                        bytes: work.bytes,
                        dur_ns,
                    };
                    show(&call, 1);
                }
            }
        }
    }

    fn medians(&self, is_wanted: &[bool]) -> Vec<Option<i64>> {
        let mut durations: Vec<Vec<i64>> = vec![Vec::new(); is_wanted.len()];
        for (lane, standing) in self.rows.lanes.values().zip(self.standing) {
            for (row, standing) in lane.work.iter().zip(standing) {
                let label = self.rows.declared[row.declared as usize].label;
                let is_counted = label != NONE && !matches!(standing, Standing::Excluded(_));
                if is_counted && is_wanted[label as usize] {
                    durations[label as usize].push(row.end_ns - row.start_ns);
                }
            }
        }
        let of_labels = durations.iter_mut();
        of_labels.map(|of_label| lower_median(of_label)).collect()
    }
}

/// Distinct calls in sorted order, each with its count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallCounts {
    all: Vec<(Call, u64)>,
}

impl CallCounts {
    pub fn count(calls: &impl Calls) -> Self {
        let mut distinct: Interner<Call> = Interner::default();
        let mut counts: Vec<u64> = Vec::new();
        calls.each(|call, count| {
            let number = distinct.number(*call) as usize;
            if number == counts.len() {
                counts.push(0);
            }
            counts[number] = counts[number].saturating_add(count);
        });
        Self::merge(distinct.all().iter().copied().zip(counts).collect())
    }

    pub fn merge(mut all: Vec<(Call, u64)>) -> Self {
        all.sort_unstable();
        all.dedup_by(|next, kept| {
            let is_same = next.0 == kept.0;
            if is_same {
                kept.1 = kept.1.saturating_add(next.1);
            }
            is_same
        });
        Self { all }
    }

    pub fn iter(&self) -> impl Iterator<Item = &(Call, u64)> + Clone {
        self.all.iter()
    }
}

impl Calls for CallCounts {
    fn each(&self, mut show: impl FnMut(&Call, u64)) {
        for (call, count) in &self.all {
            show(call, *count);
        }
    }

    fn medians(&self, is_wanted: &[bool]) -> Vec<Option<i64>> {
        let mut medians = vec![None; is_wanted.len()];
        for of_label in self.all.chunk_by(|a, b| a.0.label == b.0.label) {
            let label = of_label[0].0.label as usize;
            if is_wanted.get(label) == Some(&true) {
                let mut durations = ValueCounts::default();
                for (call, count) in of_label {
                    durations.add(call.dur_ns, *count);
                }
                medians[label] = durations.of_rank(durations.len().div_ceil(2));
            }
        }
        medians
    }
}
