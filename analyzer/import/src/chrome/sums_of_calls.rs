//! Sums over all calls of a name, which clang's `-ftime-trace` draws as rows from the start of the file, each on a lane of
//! its own.

use super::decimal::float;
use super::event::Event;

/// A sum, with the number of calls in it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct SumOfCalls {
    pub calls: f64,
    pub sum_ns: i64,
}

impl SumOfCalls {
    /// `None` if the event is an interval. A sum is called `Total …`, and takes its `count` times its `avg ms`.
    pub fn of(event: &Event, dur_ns: i64) -> Option<Self> {
        if !event.name.starts_with(b"Total ") {
            return None;
        }
        let argument = |name: &[u8]| {
            let mut arguments = event.others.iter();
            float(&arguments.find(|of| of.name == name)?.text)
        };
        let (calls, average_ms) = (argument(b"count")?, argument(b"avg ms")?);
        // clang writes whole milliseconds.
        let is_mean = (dur_ns as f64 / 1e6 / calls - average_ms).abs() <= 1.0;
        (calls >= 1.0 && is_mean).then_some(Self {
            calls,
            sum_ns: dur_ns,
        })
    }
}
