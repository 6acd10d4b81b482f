//! Ceilings in a run.

use super::{Effort, Machine, NotKept, Peaks, Store, measure};
use crate::builder::Builder;
use crate::clock::calendar::utc;
use crate::recorder::Recorder;

/// Which ceilings a run gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    /// Those kept for this machine; without them none. Reads one file.
    Kept,
    /// Those kept for this machine, else new ones, which are kept. May take seconds.
    KeptOrMeasured,
    /// New ones, which are kept. Takes seconds.
    Measured,
}

impl Ask {
    /// The ceilings asked for; measured before the run begins.
    fn peaks(self) -> Result<Peaks, NotKept> {
        let machine = Machine::here();
        let store = Store::of_user(&machine);
        let anew = || measure(&Effort::default(), |_| {});
        match (self, store) {
            (Self::Kept, store) => store?.load(&machine),
            (Self::KeptOrMeasured, Ok(store)) => Ok(store.load_or(&machine, anew).0),
            (Self::Measured, Ok(store)) => {
                let mut peaks = anew();
                if let Ok(earlier) = store.load(&machine) {
                    peaks.beside(&earlier);
                }
                // They are in the run; that the next one has to measure again is no harm to it.
                let _ = store.keep(&peaks);
                Ok(peaks)
            }
            (_, Err(_)) => Ok(anew()),
        }
    }
}

impl Peaks {
    /// What `run.json` says of them, under `values`.
    pub(super) fn in_values(&self) -> Vec<(&'static str, String)> {
        let (count, at) = (self.ceilings.len(), utc(self.measured_at_s.cast_signed()));
        let mut values = vec![("peaks", format!("{count} ceilings, measured {at}"))];
        if let Some(hz) = self.clock.hz {
            values.push(("peaks.clock_hz", format!("{hz:.0}")));
        }
        if !self.notes.is_empty() {
            values.push(("peaks.notes", self.notes.join("; ")));
        }
        values
    }
}

impl Builder {
    /// Puts what this machine can do at most into the run's table `ceilings`; default: nothing.
    ///
    /// The value `peaks` in `run.json` says what they are, or why there are none: that never keeps
    /// a run from being recorded.
    pub fn peaks(mut self, ask: Ask) -> Self {
        self.peaks = Some(ask);
        self
    }

    /// To be called before the run begins, since it may take seconds.
    pub(crate) fn asked_peaks(&self) -> Option<Result<Peaks, NotKept>> {
        let is_off = self.tables_off.contains(&"ceilings");
        self.peaks.filter(|_| !is_off).map(Ask::peaks)
    }
}

impl Recorder {
    /// Records ceilings, and in `run.json` under `peaks` what they are.
    pub fn peaks(&self, peaks: &Peaks) {
        self.asked_peaks(Ok(peaks));
    }

    pub(crate) fn asked_peaks(&self, peaks: Result<&Peaks, &NotKept>) {
        match peaks {
            Ok(peaks) => {
                for ceiling in &peaks.ceilings {
                    self.ceiling(ceiling.clone());
                }
                for (key, text) in peaks.in_values() {
                    self.value(key, text);
                }
            }
            Err(problem) => self.value("peaks", format!("not available: {problem}")),
        }
    }
}
