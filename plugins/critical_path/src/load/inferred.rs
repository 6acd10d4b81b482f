//! Dependencies that are inferred from times, and by which rule.
//!
//! No record states them, and no promise of a runtime does: the times fit one explanation. They are counted by rule,
//! and every piece of the path that was reached through one says so.

use trueno_analysis::hash::FastMap;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// A wait ended together with work that it does not name.
    Wait,
    /// A call that may wait for the device returned when work ended.
    BlockingCall,
    /// A thread did nothing while other threads worked, and went on when they had ended.
    Threads,
    /// A thread repeatedly launched right after the device had drained and recorded nothing before that.
    DrainedDevice,
    /// A thread's first row came when work had ended that was launched before the recording.
    CutOffWait,
    /// A stream went on when work of another stream had ended.
    Streams,
    /// A rank went on in a collective when the last rank had arrived.
    Collective,
}

impl Rule {
    pub const ALL: [Self; 7] = [
        Self::Wait,
        Self::BlockingCall,
        Self::Threads,
        Self::DrainedDevice,
        Self::CutOffWait,
        Self::Streams,
        Self::Collective,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Wait => "wait",
            Self::BlockingCall => "blocking_call",
            Self::Threads => "threads",
            Self::DrainedDevice => "drained_device",
            Self::CutOffWait => "cut_off_wait",
            Self::Streams => "streams",
            Self::Collective => "collective",
        }
    }

    pub fn evidence(self) -> &'static str {
        match self {
            Self::Wait => "a wait that names no work ended right after work had ended",
            Self::BlockingCall => "a call that may wait returned right after work had ended",
            Self::Threads => {
                "a thread continued when other threads had finished, and did nothing else meanwhile"
            }
            Self::DrainedDevice => {
                "a thread with nothing recorded launched each time right after the device ran out of work"
            }
            Self::CutOffWait => {
                "a thread's first row came right after the end of work launched before the recording"
            }
            Self::Streams => "a stream continued right after work of another stream had ended",
            Self::Collective => {
                "no rank leaves a collective before the last arrives, on clocks compared through collectives"
            }
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inferred {
    rules: FastMap<(u64, u64), Rule>,
}

impl Inferred {
    /// Adds a dependency; the first rule for it counts.
    pub fn add(&mut self, from: u64, to: u64, rule: Rule) {
        self.rules.entry((from, to)).or_insert(rule);
    }

    pub fn extend(&mut self, other: &Self) {
        for (&(from, to), &rule) in &other.rules {
            self.add(from, to, rule);
        }
    }

    pub fn rule(&self, from: u64, to: u64) -> Option<Rule> {
        self.rules.get(&(from, to)).copied()
    }

    pub fn count(&self, rule: Rule) -> usize {
        self.rules.values().filter(|of| **of == rule).count()
    }

    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }
}
