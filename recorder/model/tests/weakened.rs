//! The same with memory orders, or orders of steps, that are too weak: the model must find out, else it proves nothing.

#[allow(dead_code, reason = "one model is enough to see it")]
mod protocol;

use std::sync::atomic::Ordering;

use protocol::Word;
use protocol::endings::{self, Fork, Late};
use protocol::kill::{Order, killing};
use trueno_format::ring::AtomicWord;

/// A word of loom whose operations all use the weakest order.
#[derive(Default)]
struct Relaxed(loom::sync::atomic::AtomicU64);

impl AtomicWord for Relaxed {
    fn load(&self, _: Ordering) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    fn store(&self, value: u64, _: Ordering) {
        self.0.store(value, Ordering::Relaxed);
    }
}

#[test]
#[should_panic(expected = "Causality violation")]
fn relaxed_orders_are_a_race() {
    protocol::blocking::<Relaxed>();
}

#[test]
#[should_panic(expected = "an event is neither read nor counted")]
fn late_events_counted_at_the_end_are_too_few() {
    endings::finishing::<Word>(Late::CountedAtTheEnd);
}

#[test]
#[should_panic(expected = "Causality violation")]
fn a_forked_child_that_goes_on_is_a_race() {
    endings::forking::<Word>(Fork::LeavesOn);
}

#[test]
#[should_panic(expected = "killed after")]
fn a_tail_that_passes_before_the_row_waits_loses_it() {
    killing::<Word>(Order::TailBeforeRow);
}

#[test]
#[should_panic(expected = "killed after")]
fn rows_forgotten_before_their_batch_is_on_disk_are_lost() {
    killing::<Word>(Order::CountBeforeBatch);
}

#[test]
#[should_panic(expected = "killed after")]
fn rows_forgotten_after_their_batch_is_counted_are_there_twice() {
    killing::<Word>(Order::CountBeforeForgetting);
}
