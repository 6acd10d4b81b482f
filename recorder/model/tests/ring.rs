//! The protocol between a recording thread and the writer, as it is.

mod sync {
    pub use loom::sync::atomic::{AtomicU64, Ordering};
}

#[path = "../../format/src/ring/positions.rs"]
#[allow(dead_code, reason = "the recorder uses all of it")]
mod positions;
mod protocol;

#[test]
fn nothing_is_lost_or_torn_when_the_producer_waits() {
    protocol::blocking();
}

#[test]
fn only_what_was_refused_is_missing_when_the_producer_does_not_wait() {
    protocol::dropping();
}

#[test]
fn nothing_is_lost_when_rings_follow_one_another() {
    protocol::growing();
}

#[test]
fn a_ring_serves_one_thread_after_another() {
    protocol::recycling();
}
