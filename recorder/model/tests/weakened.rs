//! The same with memory orders that are too weak: the model must find out, else it proves nothing.

#[allow(dead_code, reason = "one model is enough to see it")]
mod protocol;

use std::sync::atomic::Ordering;

use trueno_format::ring::AtomicWord;

/// A word of loom whose every order is the weakest.
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
