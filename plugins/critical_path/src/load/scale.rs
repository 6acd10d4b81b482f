//! Times that are short or long in a run.
//!
//! How soon a host goes on and how long a call lasts that did not block depends on the machine and on the profiler. The unit
//! is the usual call that launches one kernel: 3 to 14 µs in public traces. Thresholds are so many of these, so that a
//! verdict does not change where everything is slower. Only errors of clocks are times of their own.

use trueno_analysis::hash::FastMap;
use trueno_analysis::lanes::{Class, Lanes};

use crate::load::dependencies::{SpanAt, span};

const CALL_NS: i64 = 5_000;
/// Plausible launch times: from a bare driver call to a driver that is traced call by call.
const POSSIBLE_NS: (i64, i64) = (200, 100_000);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale {
    call_ns: i64,
}

impl Default for Scale {
    fn default() -> Self {
        Self { call_ns: CALL_NS }
    }
}

impl Scale {
    /// Uses the lower quartile of launch calls: longer ones may have waited or loaded code. Graph launches do
    /// not count, because they launch many kernels.
    pub fn new(run: &Lanes, launches: &FastMap<SpanAt, SpanAt>) -> Self {
        let mut kernels: FastMap<SpanAt, u32> = FastMap::default();
        for (work, call) in launches {
            let class = run.labels.get(span(run, *work).label).class;
            if class == Class::Kernel {
                *kernels.entry(*call).or_default() += 1;
            }
        }
        let single = kernels.into_iter().filter(|(_, count)| *count == 1);
        let mut times: Vec<i64> = single.map(|(call, _)| span(run, call).dur_ns()).collect();
        times.sort_unstable();
        let quarter = times.len().saturating_sub(1) / 4;
        times
            .get(quarter)
            .map_or_else(Self::default, |call_ns| Self {
                call_ns: (*call_ns).clamp(POSSIBLE_NS.0, POSSIBLE_NS.1),
            })
    }

    pub fn calls(self, count: i64) -> i64 {
        self.call_ns.saturating_mul(count)
    }
}
