//! Events of planes with their times, names and stats.

use super::messages::{XEvent, XEventMetadata, XLine, XPlane};
use super::stats::{Value, name_of};
use crate::Notes;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Host,
    Calls,
    Device,
}

pub fn kind_of(plane: &XPlane) -> Kind {
    match plane.name.as_slice() {
        b"/host:CUPTI" | b"/host:ROCTRACER" => Kind::Calls,
        // What programs add of their own, such as transfers between slices.
        name if name.starts_with(b"/device:CUSTOM:") => Kind::Host,
        name if name.starts_with(b"/device:") || name.starts_with(b"#Chip") => Kind::Device,
        _ => Kind::Host,
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Event<'p> {
    pub plane: &'p XPlane,
    pub line: &'p XLine,
    pub event: &'p XEvent,
    pub kind: Kind,
    pub start_ns: i64,
    pub end_ns: i64,
}

impl<'p> Event<'p> {
    fn metadata(&self) -> Option<&'p XEventMetadata> {
        self.plane.event_metadata.get(&self.event.metadata_id)
    }

    /// Its name; for an operation the short name.
    pub fn name(&self) -> String {
        let name = self.metadata().map_or(&b""[..], |metadata| {
            if metadata.display_name.is_empty() || self.kind != Kind::Device {
                &metadata.name
            } else {
                &metadata.display_name
            }
        });
        match name {
            b"" => "event".to_owned(),
            name => String::from_utf8_lossy(name).into_owned(),
        }
    }

    /// A function from the Python tracer: its name begins with a dollar sign.
    pub fn is_python(&self) -> bool {
        let name = self.metadata().map(|metadata| metadata.name.as_slice());
        self.kind == Kind::Host && name.is_some_and(|name| name.starts_with(b"$"))
    }

    /// A driver call on a host thread, where XProf merges them. Older profiles name it after the kernel that it
    /// launches.
    fn is_call(&self) -> bool {
        self.kind == Kind::Host && self.stat("correlation_id").is_some()
    }

    /// A function of JAX or TensorFlow that starts or stops the profiler.
    pub fn is_profiler(&self) -> bool {
        if !self.is_python() {
            return false;
        }
        let name = self.name();
        let function = name.strip_prefix('$').and_then(|name| name.split_once(' '));
        function.is_some_and(|(place, function)| {
            let file = place.split(':').next().unwrap_or_default();
            match file.rsplit('/').next() {
                Some("profiler.py") => matches!(function, "start_trace" | "stop_trace"),
                Some("profiler_v2.py") => matches!(function, "start" | "stop"),
                _ => false,
            }
        })
    }

    pub fn stats(&self) -> impl Iterator<Item = (&'p [u8], Value<'p>)> {
        let plane = self.plane;
        let stats = self.event.stats.iter();
        stats.filter_map(move |stat| Some((name_of(plane, stat), Value::new(plane, stat)?)))
    }

    /// Its own stats and those of the event metadata, which all events of its name share.
    pub fn all_stats(&self) -> impl Iterator<Item = (&'p [u8], Value<'p>)> {
        let plane = self.plane;
        let shared = self.metadata().into_iter();
        let shared = shared.flat_map(|metadata| metadata.stats.iter());
        let shared =
            shared.filter_map(move |stat| Some((name_of(plane, stat), Value::new(plane, stat)?)));
        self.stats().chain(shared)
    }

    pub fn stat(&self, name: &str) -> Option<Value<'p>> {
        let mut stats = self.all_stats();
        stats
            .find(|(other, _)| *other == name.as_bytes())
            .map(|(_, value)| value)
    }
}

/// Events of a line with times; counts the others.
pub fn events<'p>(plane: &'p XPlane, line: &'p XLine, notes: &mut Notes) -> Vec<Event<'p>> {
    let kind = kind_of(plane);
    let read = format!("event of {}", String::from_utf8_lossy(&plane.name));
    let mut found = Vec::with_capacity(line.events.len());
    for event in &line.events {
        notes.read(&read);
        if event.num_occurrences.is_some() {
            notes.leave_out("event that stands for several, without a time");
            continue;
        }
        match times(line, event) {
            Some((start_ns, end_ns)) => {
                let mut event = Event {
                    plane,
                    line,
                    event,
                    kind,
                    start_ns,
                    end_ns,
                };
                if event.is_call() {
                    event.kind = Kind::Calls;
                }
                found.push(event);
            }
            None => notes.leave_out("event with a negative length, or a time out of range"),
        }
    }
    found
}

/// Truncates both ends to nanoseconds, so that nested events stay nested.
fn times(line: &XLine, event: &XEvent) -> Option<(i64, i64)> {
    let start_ps = event.offset_ps.unwrap_or(0);
    let end_ps = start_ps.checked_add(event.duration_ps)?;
    let at = |ps: i64| line.timestamp_ns.checked_add(ps.div_euclid(1000));
    let (start_ns, end_ns) = (at(start_ps)?, at(end_ps)?);
    // Far enough from the ends of all numbers for any difference of two.
    let room = -(i64::MAX / 4)..i64::MAX / 4;
    let fits = room.contains(&start_ns) && room.contains(&end_ns) && event.duration_ps >= 0;
    fits.then_some((start_ns, end_ns))
}
