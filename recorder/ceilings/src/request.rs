//! Ceilings for a run that begins.

use trueno_format::{CeilingSource, RecordedCeilings, utc};

use super::{CacheError, CeilingCache, CpuCeilings, Effort, Machine, measure};

/// Choice of ceilings for a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CeilingRequest {
    /// Those kept for this machine; without them none. Reads one file.
    Cached,
    /// Those kept for this machine, else new ones, which are kept. May take seconds.
    CachedOrMeasured,
    /// New ones, which are kept. Takes seconds.
    Measured,
}

impl CeilingRequest {
    /// The ceilings asked for; measured before the run begins.
    fn ceilings(self) -> Result<CpuCeilings, CacheError> {
        let machine = Machine::here();
        let cache = CeilingCache::for_user(&machine);
        let anew = || measure(&Effort::default(), |_| {});
        match (self, cache) {
            (Self::Cached, cache) => cache?.load(&machine),
            (Self::CachedOrMeasured, Ok(cache)) => Ok(cache.load_or(&machine, anew).0),
            (Self::Measured, Ok(cache)) => {
                let mut measured = anew();
                if let Ok(previous) = cache.load(&machine) {
                    measured.compare_with(&previous);
                }
                // They are in the run; that the next one has to measure again is no harm to it.
                let _ = cache.save(&measured);
                Ok(measured)
            }
            (_, Err(_)) => Ok(anew()),
        }
    }
}

impl CpuCeilings {
    /// Entries of `values` in `run.json`.
    pub(super) fn values(&self) -> Vec<(String, String)> {
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

impl CeilingSource for CeilingRequest {
    fn recorded(&self) -> RecordedCeilings {
        match self.ceilings() {
            Ok(found) => found.recorded(),
            Err(problem) => RecordedCeilings {
                ceilings: Vec::new(),
                values: vec![("peaks".to_owned(), format!("not available: {problem}"))],
            },
        }
    }
}
