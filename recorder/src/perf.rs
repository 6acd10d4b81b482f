//! Counters of the CPU, read around bricks: Linux perf events.
//!
//! ```
//! use trueno_recorder::{PerfEvent, Recorder};
//!
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("my.run");
//! let rec = Recorder::builder(path).perf(PerfEvent::ALL).create()?;
//! drop(rec.brick("gemv")); // rows of `counters` whose `span` is this brick
//! for event in rec.perf_status().unwrap_or_default().events {
//!     println!("{}: {}", event.name, event.reason.as_deref().unwrap_or("counted"));
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Counted are rows made by [`Recorder::brick`], [`Recorder::function`] and [`Recorder::task`], on the thread they run on,
//! in user mode: what other threads do for a brick is in their own tasks, and one that ends elsewhere
//! ([`BrickGuard::detach`](crate::BrickGuard::detach)) is not counted. Counts are *inclusive*: a brick's hold those of the
//! bricks inside it, and what the recorder itself does for these.
//!
//! A value is `measured` where its counter ran during the whole brick. Where events share counters it is scaled by time
//! enabled / time running, and its `source` is `computed`; where the counter did not run at all there is no row, and
//! `recorder.perf` in `run.json` counts that. What the machine refuses stands there as well, with the reason.
//!
//! Each brick costs two system calls for each group of events (`recorder.perf.cost_ns_per_brick`, measured when the
//! recorder is made): for bricks of microseconds and more. Without the crate's feature `perf`, or outside Linux, all of
//! this is there, and every event is not available.

#[cfg(feature = "perf")]
mod counting;
#[cfg(feature = "perf")]
mod cpu;
mod event;
#[cfg(feature = "perf")]
mod group;
#[cfg(feature = "perf")]
mod open;
mod status;

#[cfg(feature = "perf")]
pub(crate) use counting::Counting;
pub use event::PerfEvent;
#[cfg(feature = "perf")]
pub(crate) use open::forked;
pub(crate) use status::PerfShared;

use crate::builder::Builder;
use crate::error::Error;
use crate::recorder::Recorder;
use trueno_format::run_json;

impl Builder {
    /// Reads these counters of the CPU around each brick, function and task, as far as the machine allows
    /// ([`Recorder::perf_status`]). Default: none.
    ///
    /// It needs the crate's feature `perf`; without it nothing is counted, and the status says so.
    pub fn perf(mut self, events: impl IntoIterator<Item = PerfEvent>) -> Self {
        for event in events {
            if !self.perf.contains(&event) {
                self.perf.push(event);
            }
        }
        self
    }

    pub(crate) fn check_perf(&self) -> Result<(), Error> {
        let needed = ["bricks", "counters"];
        match needed.iter().find(|name| self.tables_off.contains(name)) {
            Some(table) if !self.perf.is_empty() => Err(Error::Option {
                option: "perf",
                problem: format!("the table `{table}` is left out (hint: one of the two)"),
            }),
            _ => Ok(()),
        }
    }
}

impl Recorder {
    /// Gives the counters around bricks, and the reasons against; as in `run.json` (`recorder.perf`). `None`: nothing was
    /// asked for, or the recorder is disabled.
    pub fn perf_status(&self) -> Option<run_json::Perf> {
        self.shared().perf.get().map(PerfShared::describe)
    }
}
