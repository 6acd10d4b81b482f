//! Ceilings for a run that begins.

use trueno_format::{CeilingSource, RecordedCeilings};

use super::{CacheError, CeilingCache, CpuCeilings, Effort, Machine, Progress, measure};

/// Choice of ceilings for a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CeilingRequest {
    /// Those cached for this machine, or none. Reads one file.
    Cached,
    /// Those cached for this machine, or else new ones, which are then cached. May take seconds.
    CachedOrMeasured,
    /// New ones, which are then cached. Takes seconds.
    Measured,
}

/// A choice of ceilings that tells how far their measurement is; see [`CeilingRequest::telling`].
#[derive(Clone, Copy, Debug)]
pub struct Telling {
    request: CeilingRequest,
    tell: fn(Progress<'_>),
}

impl CeilingRequest {
    /// The same; where something is measured, `tell` hears of each step before it, on the thread that makes the run.
    pub fn telling(self, tell: fn(Progress<'_>)) -> Telling {
        let request = self;
        Telling { request, tell }
    }

    /// The requested ceilings; they are measured before the run begins.
    fn ceilings(self, tell: fn(Progress<'_>)) -> Result<CpuCeilings, CacheError> {
        let machine = Machine::here();
        let cache = CeilingCache::for_user(&machine);
        let anew = || measure(&Effort::default(), tell);
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

impl CeilingSource for CeilingRequest {
    fn recorded(&self) -> RecordedCeilings {
        self.telling(|_| {}).recorded()
    }
}

impl CeilingSource for Telling {
    fn recorded(&self) -> RecordedCeilings {
        match self.request.ceilings(self.tell) {
            Ok(found) => found.recorded(),
            Err(problem) => RecordedCeilings {
                ceilings: Vec::new(),
                values: vec![("peaks".to_owned(), format!("not available: {problem}"))],
            },
        }
    }
}
