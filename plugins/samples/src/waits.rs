//! Stretches in which threads did not run: measured, where the recorder saw each switch of a processor.

pub mod calls;
pub mod findings;
pub mod load;
pub mod parts;
pub mod states;
pub mod tables;
pub mod wakers;

use std::collections::BTreeMap;

use trueno_plugin::rank;

use crate::function::Function;

/// A place where a thread waited.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct WaitKey {
    pub thread: i64,
    /// System call; `None` if the wait was in none, or if it is unknown.
    pub call: Option<String>,
    /// Innermost function that belongs to the program.
    pub function: Function,
}

/// A place, and a thread that ended waits there.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct WakerKey {
    pub wait: WaitKey,
    pub waker: i64,
    /// True if the wait was for that thread to end.
    pub by_end: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WaitSum {
    pub waits: u64,
    /// Sum of their time, saturating.
    pub time_ns: u64,
    pub longest_ns: u64,
}

impl WaitSum {
    pub fn one(dur_ns: i64) -> Self {
        let ns = u64::try_from(dur_ns).unwrap_or(0);
        Self {
            waits: 1,
            time_ns: ns,
            longest_ns: ns,
        }
    }

    /// Saturating, so the result does not depend on the order.
    pub fn add(&mut self, other: Self) {
        self.waits = self.waits.saturating_add(other.waits);
        self.time_ns = self.time_ns.saturating_add(other.time_ns);
        self.longest_ns = self.longest_ns.max(other.longest_ns);
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ThreadTimes {
    pub name: Option<String>,
    /// From the thread's first moment to its last; `None` if unknown, or if some of its switches were lost.
    pub life_ns: Option<u64>,
    /// Ready to run, but no processor was free.
    pub runnable: WaitSum,
    pub off_cpu: WaitSum,
}

impl ThreadTimes {
    /// Time the thread ran: its lifetime minus the other states. `None` if unknown.
    pub fn on_cpu_ns(&self) -> Option<u64> {
        let waited_ns = self.runnable.time_ns.saturating_add(self.off_cpu.time_ns);
        self.life_ns?.checked_sub(waited_ns)
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Waits {
    /// By place. Time in which a thread was ready to run is not included.
    pub places: BTreeMap<WaitKey, WaitSum>,
    pub threads: BTreeMap<i64, ThreadTimes>,
    /// By place and thread that ended the waits, where that is known.
    pub wakers: BTreeMap<WakerKey, WaitSum>,
    pub waker_names: BTreeMap<i64, String>,
    /// Number of intervals in which threads ran. They are recorded only if the kernel reports who ends waits.
    pub stretches: u64,
}

impl Waits {
    pub fn is_empty(&self) -> bool {
        self.threads.is_empty()
    }

    /// True if the recording says which thread ended a wait.
    pub fn tells_wakers(&self) -> bool {
        self.stretches > 0
    }

    pub fn wakers_of<'a>(
        &'a self,
        wait: &WaitKey,
    ) -> impl Iterator<Item = (&'a WakerKey, &'a WaitSum)> {
        let first = WakerKey {
            wait: wait.clone(),
            waker: i64::MIN,
            by_end: false,
        };
        let last = WakerKey {
            waker: i64::MAX,
            by_end: true,
            ..first.clone()
        };
        self.wakers.range(first..=last)
    }

    /// Name of a thread that waited or ended a wait.
    pub fn name(&self, thread: i64) -> Option<&str> {
        let own = self.threads.get(&thread);
        let own = own.and_then(|times| times.name.as_deref());
        own.or_else(|| self.waker_names.get(&thread).map(String::as_str))
    }

    /// Name and number of a thread: `reader (3)`.
    pub fn label(&self, thread: i64) -> String {
        let (rank, number) = rank::of_place(thread);
        let of_rank = match rank {
            0 => String::new(),
            rank => format!(" of rank {rank}"),
        };
        match self.name(thread) {
            Some(name) => format!("{name} ({number}{of_rank})"),
            None => format!("thread {number}{of_rank}"),
        }
    }
}
