//! Calls of a driver that are on a line of their own, beside the lines of the threads that made them.
//!
//! ROCm's tracer numbers threads otherwise than the host's tracer does, and XProf puts its calls among the threads of the
//! host as `Host Threads/7`. They belong to the one line whose events they all nest in.

use std::cmp::Reverse;

use super::plane::{Event, Kind};
use super::rows::Threads;
use crate::Notes;

/// Moves calls to the line in which they nest, if there is only one.
pub fn place(threads: &mut Threads<'_>, notes: &mut Notes) {
    for (_, events) in threads.iter_mut() {
        events.sort_by_key(|event| (event.start_ns, Reverse(event.end_ns)));
    }
    let has_calls_alone =
        |events: &[Event<'_>]| events.iter().all(|event| event.kind == Kind::Calls);
    let own_lines: Vec<_> = threads
        .iter()
        .filter(|(_, events)| !events.is_empty() && has_calls_alone(events))
        .map(|(key, _)| *key)
        .collect();
    for key in own_lines {
        let calls = &threads[&key];
        let mut around = threads
            .iter()
            .filter(|((_, is_python), events)| !is_python && nests(calls, events))
            .map(|(key, _)| *key);
        let (Some(thread), None) = (around.next(), around.next()) else {
            continue;
        };
        drop(around);
        let calls = threads.remove(&key).unwrap_or_default();
        threads.entry(thread).or_default().extend(calls);
        notes.warn(
            "the file does not state which threads made the calls of the driver: each is on the one thread whose \
             events it nests in, which is inferred",
        );
    }
}

/// True if every call is inside an event and none crosses an event's end. Both are sorted.
fn nests(calls: &[Event<'_>], events: &[Event<'_>]) -> bool {
    let events = events.iter();
    let events = events.filter(|event| event.kind == Kind::Host && event.end_ns > event.start_ns);
    let mut events = events.peekable();
    let mut open: Vec<i64> = Vec::new();
    calls.iter().all(|call| {
        while let Some(event) = events.next_if(|event| event.start_ns <= call.start_ns) {
            open.retain(|end_ns| *end_ns > event.start_ns);
            open.push(event.end_ns);
        }
        open.retain(|end_ns| *end_ns > call.start_ns);
        let is_inside = open.last().is_some_and(|end_ns| *end_ns >= call.end_ns);
        // What begins in a call ends in it.
        let next = events.peek();
        let crosses =
            next.is_some_and(|next| next.start_ns < call.end_ns && next.end_ns > call.end_ns);
        is_inside && !crosses
    })
}
