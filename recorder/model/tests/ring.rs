//! The protocol between a recording thread and the writer, as it is.

#[allow(dead_code, reason = "weakened forms are for the other test")]
mod protocol;

use protocol::Word;

#[test]
fn nothing_is_lost_or_torn_when_the_producer_waits() {
    protocol::blocking::<Word>();
}

#[test]
fn only_what_was_refused_is_missing_when_the_producer_does_not_wait() {
    protocol::dropping::<Word>();
}

#[test]
fn nothing_is_lost_when_rings_follow_one_another() {
    protocol::growing::<Word>();
}

#[test]
fn a_ring_serves_one_thread_after_another() {
    protocol::recycling::<Word>();
}

#[test]
fn a_finish_beside_the_last_records_leaves_none_uncounted() {
    protocol::endings::finishing::<Word>(protocol::endings::Late::CountedWhenAsked);
}

#[test]
fn a_forked_child_writes_nothing() {
    protocol::endings::forking::<Word>(protocol::endings::Fork::TurnsOff);
}

#[test]
fn a_kill_between_any_two_steps_leaves_each_record_in_one_place() {
    protocol::kill::killing::<Word>(protocol::kill::Order::Right);
}
