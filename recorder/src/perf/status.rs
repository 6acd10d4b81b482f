//! State of the counters, over all threads.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};

use super::PerfEvent;
use crate::lock::lock;
use trueno_format::run_json;

#[cfg(not(feature = "perf"))]
const NOT_BUILT_IN: &str = "not built in (hint: trueno-recorder's feature `perf`)";

pub(crate) struct EventStatus {
    pub event: PerfEvent,
    /// Reason why nothing of it is counted.
    pub refused: Option<String>,
    /// Reason why not on some threads.
    pub refused_on_threads: Mutex<Option<String>>,
    pub exact: AtomicU64,
    pub scaled: AtomicU64,
    pub not_counted: AtomicU64,
}

pub(crate) struct PerfShared {
    pub events: Vec<EventStatus>,
    pub cost_ns_per_brick: OnceLock<f64>,
}

impl PerfShared {
    /// Asks the machine, on the calling thread.
    pub fn new(events: &[PerfEvent]) -> Self {
        #[cfg(feature = "perf")]
        {
            super::counting::probe(events)
        }
        #[cfg(not(feature = "perf"))]
        Self::with(events, |_| Some(NOT_BUILT_IN.to_owned()))
    }

    pub fn with(
        events: &[PerfEvent],
        mut refused: impl FnMut(PerfEvent) -> Option<String>,
    ) -> Self {
        let status = |event: &PerfEvent| EventStatus {
            event: *event,
            refused: refused(*event),
            refused_on_threads: Mutex::default(),
            exact: AtomicU64::new(0),
            scaled: AtomicU64::new(0),
            not_counted: AtomicU64::new(0),
        };
        Self {
            events: events.iter().map(status).collect(),
            cost_ns_per_brick: OnceLock::new(),
        }
    }

    /// Returns whether any is counted.
    pub fn counts(&self) -> bool {
        self.events.iter().any(|event| event.refused.is_none())
    }

    pub fn describe(&self) -> run_json::Perf {
        let event = |of: &EventStatus| {
            let on_threads = lock(&of.refused_on_threads).clone();
            run_json::PerfEvent {
                name: of.event.name().to_owned(),
                state: match (&of.refused, &on_threads) {
                    (Some(_), _) => "not available",
                    (None, Some(_)) => "not on all threads",
                    (None, None) => "counted",
                }
                .to_owned(),
                reason: of.refused.clone().or(on_threads),
                measured: of.exact.load(Ordering::Relaxed),
                scaled: of.scaled.load(Ordering::Relaxed),
                not_counted: of.not_counted.load(Ordering::Relaxed),
            }
        };
        run_json::Perf {
            events: self.events.iter().map(event).collect(),
            cost_ns_per_brick: self.cost_ns_per_brick.get().copied(),
        }
    }
}
