//! Rows whose durations are all the same, so that they carry no information.
//!
//! Measured times of work differ. A list of something else that was drawn as a trace has one made-up duration.

use trueno_analysis::evidence::MIN_INSTANCES;
use trueno_analysis::wording::time;
use trueno_plugin::Severity;

use crate::check::{Check, Spec};

/// Of rows that begin at different times, so many must last equally long: a coarse clock makes a few equal.
const MANY: u64 = 10 * MIN_INSTANCES;

const DIFFER: Spec = Spec {
    name: "durations_differ",
    fault: "all rows have one duration",
    expected: "durations that differ",
    severity: Severity::Error,
    suggestion: "constant durations carry no information, so nothing follows from times, shares or gains here: look for where \
                 the work itself was timed",
};

/// Rows that show work, by their extremes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alike {
    pub rows: u64,
    pub least_dur_ns: i64,
    pub most_dur_ns: i64,
    pub first_start_ns: i64,
    pub last_start_ns: i64,
}

impl Alike {
    pub fn of_row(start_ns: i64, dur_ns: i64) -> Self {
        Self {
            rows: 1,
            least_dur_ns: dur_ns,
            most_dur_ns: dur_ns,
            first_start_ns: start_ns,
            last_start_ns: start_ns,
        }
    }

    #[inline]
    pub fn merge(into: &mut Option<Self>, other: Self) {
        let Some(all) = into else {
            *into = Some(other);
            return;
        };
        all.rows = all.rows.saturating_add(other.rows);
        all.least_dur_ns = all.least_dur_ns.min(other.least_dur_ns);
        all.most_dur_ns = all.most_dur_ns.max(other.most_dur_ns);
        all.first_start_ns = all.first_start_ns.min(other.first_start_ns);
        all.last_start_ns = all.last_start_ns.max(other.last_start_ns);
    }

    /// Too few rows say nothing of whether durations differ.
    fn is_enough(&self) -> bool {
        let is_one_start = self.first_start_ns == self.last_start_ns;
        self.rows >= if is_one_start { MIN_INSTANCES } else { MANY }
    }
}

pub fn check(alike: Option<&Alike>) -> Check {
    let Some(alike) = alike else {
        return DIFFER.not_measurable("no row shows when work ran");
    };
    let (rows, dur_ns) = (alike.rows, alike.most_dur_ns);
    if alike.least_dur_ns < dur_ns {
        return DIFFER.pass("0", format!("of {rows} rows"));
    }
    if dur_ns == 0 {
        return DIFFER.not_measurable("no row has a duration");
    }
    if !alike.is_enough() {
        return DIFFER.not_measurable(format!("too few rows: {rows}"));
    }
    let found = format!("{rows} rows of {}", time(dur_ns));
    let starts = if alike.first_start_ns == alike.last_start_ns {
        "all of them begin at one moment"
    } else {
        "they begin at different times"
    };
    DIFFER.fail(found, rows, starts)
}
