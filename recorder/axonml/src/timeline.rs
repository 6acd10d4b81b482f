//! Events in the order of time.

use std::panic::Location;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use trueno_recorder::AttributeValue;
use trueno_recorder::finished::Moment;

use crate::session::{Interval, Session, Work, thread_number};

/// The kind of an event.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "the names say it")]
pub enum EventType {
    Start,
    End,
    Instant,
    Alloc,
    Free,
    Custom,
}

/// Something that happened at a moment.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Event {
    /// Its name.
    pub name: String,
    /// Its kind.
    pub event_type: EventType,
    /// Nanoseconds since the profiler was created or reset.
    pub timestamp_ns: u64,
    /// Its thread: 1 for the first that recorded something.
    pub thread_id: Option<u64>,
    /// Text that the program attaches.
    pub metadata: Option<String>,
}

/// Keeps and records events: a start with its end is a row of `bricks`, any other event a row of `annotations`.
#[derive(Debug)]
pub struct TimelineProfiler {
    session: Session,
    origin: Moment,
    events: Vec<Event>,
    capacity: Option<usize>,
    /// True if events were dropped because there are more than `capacity`.
    is_cut: bool,
    /// Starts without an end, the latest last.
    open: Vec<(String, Interval)>,
}

impl Default for TimelineProfiler {
    fn default() -> Self {
        Self::new()
    }
}

impl TimelineProfiler {
    /// Records to the run of the process; see the [crate documentation](crate).
    pub fn new() -> Self {
        Self::in_session(Session::of_process())
    }

    /// Keeps only the latest `max_events`; the run has all of them.
    pub fn with_capacity(max_events: usize) -> Self {
        Self {
            capacity: Some(max_events),
            ..Self::new()
        }
    }

    pub(crate) fn in_session(session: Session) -> Self {
        Self {
            origin: session.now(),
            session,
            events: Vec::new(),
            capacity: None,
            is_cut: false,
            open: Vec::new(),
        }
    }

    /// Records an event.
    #[track_caller]
    pub fn record(&mut self, name: &str, event_type: EventType) {
        self.event(name, event_type, None, Location::caller());
    }

    /// Records an event with text from the program, which becomes an attribute of its row: `metadata`, or
    /// `end_metadata` for an end. For events without a row of `bricks` it is an argument.
    #[track_caller]
    pub fn record_with_metadata(&mut self, name: &str, event_type: EventType, metadata: &str) {
        self.event(name, event_type, Some(metadata), Location::caller());
    }

    /// Begins an operation.
    #[track_caller]
    pub fn start(&mut self, name: &str) {
        self.record(name, EventType::Start);
    }

    /// Ends the operation of that name that began last on this thread, or else on another thread.
    #[track_caller]
    pub fn end(&mut self, name: &str) {
        self.record(name, EventType::End);
    }

    /// Records that something happened now.
    #[track_caller]
    pub fn instant(&mut self, name: &str) {
        self.record(name, EventType::Instant);
    }

    fn event(
        &mut self,
        name: &str,
        event_type: EventType,
        metadata: Option<&str>,
        location: &'static Location<'static>,
    ) {
        let at = match event_type {
            EventType::Start => {
                let interval = self.session.begin(name, location);
                let start = interval.start;
                self.attribute(&interval, "metadata", metadata);
                self.open.push((name.to_owned(), interval));
                start
            }
            EventType::End => match self.take_open(name) {
                Some(interval) => {
                    self.attribute(&interval, "end_metadata", metadata);
                    self.session.end(&interval, Work::default())
                }
                None => {
                    self.session.stop_without_start();
                    self.session.now()
                }
            },
            _ => {
                let now = self.session.now();
                self.moment(name, event_type, metadata);
                now
            }
        };
        self.keep(name, event_type, metadata, at);
    }

    fn attribute(&self, interval: &Interval, key: &str, metadata: Option<&str>) {
        if let (Some(place), Some(text)) = (interval.place, metadata) {
            let rec = self.session.rec();
            rec.attribute(place.span(), key, text);
        }
    }

    fn moment(&self, name: &str, event_type: EventType, metadata: Option<&str>) {
        let kind = format!("{event_type:?}");
        let mut arguments: Vec<(&str, AttributeValue<'_>)> = Vec::new();
        if event_type != EventType::Instant {
            arguments.push(("event_type", (&kind).into()));
        }
        arguments.extend(metadata.map(|text| ("metadata", text.into())));
        self.session
            .record(|rec| rec.instant_with(name, &arguments));
    }

    fn take_open(&mut self, name: &str) -> Option<Interval> {
        let own = thread_number();
        let mine = |(of, interval): &(String, Interval)| of == name && interval.thread == own;
        let at = self.open.iter().rposition(mine);
        let at = at.or_else(|| self.open.iter().rposition(|(of, _)| of == name))?;
        Some(self.open.remove(at).1)
    }

    /// Keeps an event without recording it.
    pub(crate) fn keep(
        &mut self,
        name: &str,
        event_type: EventType,
        metadata: Option<&str>,
        at: Moment,
    ) {
        self.events.push(Event {
            name: name.to_owned(),
            event_type,
            timestamp_ns: at.ns_since(self.origin),
            thread_id: Some(thread_number()),
            metadata: metadata.map(str::to_owned),
        });
        let capacity = self.capacity.unwrap_or(usize::MAX);
        if self.events.len() > capacity {
            self.is_cut = true;
        }
        // Seldom, so that an event does not move all others.
        if self.events.len() > capacity.saturating_mul(2) {
            let excess = self.events.len() - capacity;
            self.events.drain(..excess);
        }
    }

    /// Events that are kept, in the order of recording.
    pub fn events(&self) -> &[Event] {
        let kept = self.capacity.unwrap_or(usize::MAX).min(self.events.len());
        &self.events[self.events.len() - kept..]
    }

    /// Events of a name.
    pub fn events_by_name(&self, name: &str) -> Vec<&Event> {
        self.events()
            .iter()
            .filter(|event| event.name == name)
            .collect()
    }

    /// Events of a kind.
    pub fn events_by_type(&self, event_type: EventType) -> Vec<&Event> {
        let events = self.events().iter();
        events
            .filter(|event| event.event_type == event_type)
            .collect()
    }

    /// Sum of the durations of an operation among the kept events; `None` if none has both a start and an end.
    /// Starts and ends are paired as in [`TimelineProfiler::end`].
    pub fn duration(&self, name: &str) -> Option<Duration> {
        let mut starts: Vec<&Event> = Vec::new();
        let mut sum_ns = None;
        for event in self.events_by_name(name) {
            match event.event_type {
                EventType::Start => starts.push(event),
                EventType::End => {
                    let own = |start: &&Event| start.thread_id == event.thread_id;
                    let at = starts.iter().rposition(own);
                    // Where events were left out, the start of another thread may belong to another end.
                    let at = at.or_else(|| starts.len().checked_sub(1).filter(|_| !self.is_cut));
                    if let Some(at) = at {
                        let start = starts.remove(at);
                        let ns = event.timestamp_ns.saturating_sub(start.timestamp_ns);
                        *sum_ns.get_or_insert(0) += ns;
                    }
                }
                _ => {}
            }
        }
        sum_ns.map(Duration::from_nanos)
    }

    /// Time since the profiler was created or reset.
    pub fn total_duration(&self) -> Duration {
        Duration::from_nanos(self.session.now().ns_since(self.origin))
    }

    /// Number of events that are kept.
    pub fn event_count(&self) -> usize {
        self.events().len()
    }

    /// Events as a Chrome trace, in microseconds with three decimals. Events other than starts and ends become
    /// instants.
    pub fn to_chrome_trace(&self) -> String {
        let event = |event: &Event| {
            let mut row = serde_json::json!({
                "name": event.name,
                "cat": "profile",
                "ph": match event.event_type {
                    EventType::Start => "B",
                    EventType::End => "E",
                    _ => "i",
                },
                "ts": event.timestamp_ns as f64 / 1e3,
                "pid": std::process::id(),
                "tid": event.thread_id.unwrap_or(0),
            });
            if row["ph"] == "i" {
                row["s"] = "t".into();
                row["args"]["event_type"] = serde_json::json!(event.event_type);
            }
            if let Some(metadata) = &event.metadata {
                row["args"]["metadata"] = metadata.as_str().into();
            }
            row
        };
        let events: Vec<_> = self.events().iter().map(event).collect();
        serde_json::json!({ "traceEvents": events, "displayTimeUnit": "ns" }).to_string()
    }

    /// Events as JSON: a list of objects with the fields of [`Event`].
    ///
    /// # Errors
    /// None, as these fields are; the type is the original's.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string_pretty(self.events())
    }

    /// Drops starts without an end, without recording them.
    pub(crate) fn forget_open(&mut self) {
        for (_, interval) in self.open.drain(..) {
            self.session.forget(&interval);
        }
    }

    /// Drops everything; the run keeps its rows.
    pub fn reset(&mut self) {
        self.forget_open();
        self.events.clear();
        self.is_cut = false;
        self.origin = self.session.now();
    }
}
