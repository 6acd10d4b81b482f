//! Ceilings of a machine's processor.

use serde::{Deserialize, Serialize};
use trueno_format::{Ceiling, CeilingSource, RecordedCeilings, utc};

use crate::clock::CoreClock;
use crate::machine::Machine;

/// Ceilings of a machine and how they came about. Its JSON is what [`CeilingCache`](crate::CeilingCache) keeps and
/// `trueno-record peaks --format json` prints.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CpuCeilings {
    /// The machine they hold for.
    pub machine: Machine,
    /// Seconds since the Unix epoch.
    pub measured_at_s: u64,
    /// While they were measured.
    pub clock: CoreClock,
    /// Gaps in the measurement with their reasons, and other remarks.
    pub notes: Vec<String>,
    /// The ceilings, bandwidth first.
    pub ceilings: Vec<Ceiling>,
}

impl CpuCeilings {
    pub(crate) fn values(&self) -> Vec<(String, String)> {
        let (count, at) = (self.ceilings.len(), utc(self.measured_at_s.cast_signed()));
        let mut values = vec![("peaks", format!("{count} ceilings, measured {at}"))];
        if let Some(hz) = self.clock.hz {
            values.push(("peaks.clock_hz", format!("{hz:.0}")));
        }
        if !self.notes.is_empty() {
            values.push(("peaks.notes", self.notes.join("; ")));
        }
        let owned = values.into_iter().map(|(key, text)| (key.to_owned(), text));
        owned.collect()
    }
}

impl CeilingSource for CpuCeilings {
    fn recorded(&self) -> RecordedCeilings {
        RecordedCeilings {
            ceilings: self.ceilings.clone(),
            values: self.values(),
        }
    }
}
