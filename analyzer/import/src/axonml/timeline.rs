//! Timelines: starts and ends as bricks, all else as instants.

use std::collections::HashMap;
use std::fmt;
use std::io::{BufReader, Read};
use std::path::Path;

use serde::Deserialize;
use serde::de::{Deserializer, Error as _, SeqAccess, Visitor};
use trueno_format::BrickId;
use trueno_format::run_writer::{RunWriter, Text};
use trueno_format::schema::{AttributeRow, BrickRow, ThreadRow};

use super::damaged;
use crate::strace::instants::{Instants, MAX_TEXT_BYTES, cut};
use crate::{Error, Notes};

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
enum EventType {
    Start,
    End,
    Instant,
    Alloc,
    Free,
    Custom,
}

#[derive(Debug, Deserialize)]
struct Event {
    name: String,
    event_type: EventType,
    timestamp_ns: u64,
    thread_id: Option<u64>,
    metadata: Option<String>,
}

/// A start event whose end has not been read yet.
#[derive(Debug)]
struct Open {
    id: u64,
    name: String,
    start_ns: i64,
}

#[derive(Clone, Copy, Debug)]
struct Texts {
    brick: Text,
    host: Text,
    start: Text,
    end: Text,
}

struct Events<'i> {
    into: &'i mut RunWriter,
    notes: &'i mut Notes,
    texts: Texts,
    /// Thread numbers, in the order of the threads' first events.
    threads: HashMap<Option<u64>, u32>,
    /// Open intervals by thread, innermost last.
    open: Vec<Vec<Open>>,
    instants: Instants,
    bricks: u64,
    end_ns: i64,
    failed: Option<Error>,
}

pub fn read(
    path: &Path,
    source: impl Read,
    partial: bool,
    into: &mut RunWriter,
    notes: &mut Notes,
) -> Result<i64, Error> {
    let texts = Texts {
        brick: into.text("brick"),
        host: into.text("host"),
        start: into.text("metadata"),
        end: into.text("end_metadata"),
    };
    let mut events = Events {
        into,
        notes,
        texts,
        threads: HashMap::new(),
        open: Vec::new(),
        instants: Instants::default(),
        bricks: 0,
        end_ns: 0,
        failed: None,
    };
    let mut json = serde_json::Deserializer::from_reader(BufReader::new(source));
    let read = json.deserialize_seq(&mut events);
    if let Some(error) = events.failed {
        return Err(error);
    }
    let open = events.open.iter().map(|open| open.len() as u64).sum();
    if open > 0 {
        let reason = "Start without an End on its thread".to_owned();
        events.notes.left_out.insert(reason, open);
    }
    if let Err(error) = read.and_then(|()| json.end()) {
        let found: u64 = events.notes.read.values().sum();
        if found == 0 || !partial {
            return Err(damaged(path, &error));
        }
        let text = format!("cut or damaged ({error}): its first {found} events were read");
        events.notes.warn(text.clone());
        events.into.run().problems.push(text);
    }
    Ok(events.end_ns)
}

impl<'de> Visitor<'de> for &mut Events<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of events")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut events: A) -> Result<(), A::Error> {
        while let Some(event) = events.next_element::<Event>()? {
            if let Err(error) = self.add(&event) {
                self.failed = Some(error);
                return Err(A::Error::custom("stopped"));
            }
        }
        Ok(())
    }
}

impl Events<'_> {
    fn add(&mut self, event: &Event) -> Result<(), Error> {
        self.notes.read(match event.event_type {
            EventType::Start => "Start",
            EventType::End => "End",
            EventType::Instant => "Instant",
            EventType::Alloc => "Alloc",
            EventType::Free => "Free",
            EventType::Custom => "Custom",
        });
        let Ok(time_ns) = i64::try_from(event.timestamp_ns) else {
            self.notes.leave_out("event with a time out of range");
            return Ok(());
        };
        self.end_ns = self.end_ns.max(time_ns);
        let thread = self.thread(event.thread_id, time_ns)?;
        match event.event_type {
            EventType::Start => self.start(thread, time_ns, event),
            EventType::End => self.end(thread, time_ns, event),
            _ => self.instant(thread, time_ns, event),
        }
    }

    fn thread(&mut self, id: Option<u64>, time_ns: i64) -> Result<u32, Error> {
        if let Some(thread) = self.threads.get(&id) {
            return Ok(*thread);
        }
        let thread = self.threads.len() as u32;
        self.threads.insert(id, thread);
        self.open.push(Vec::new());
        // The numbers of the file are hashes, none of the operating system's.
        let row = ThreadRow {
            thread,
            start_ns: Some(time_ns),
            ..ThreadRow::default()
        };
        self.notes.add(self.into, &row)?;
        Ok(thread)
    }

    fn start(&mut self, thread: u32, start_ns: i64, event: &Event) -> Result<(), Error> {
        self.bricks += 1;
        self.open[thread as usize].push(Open {
            id: self.bricks,
            name: event.name.clone(),
            start_ns,
        });
        self.attribute(self.bricks, self.texts.start, event.metadata.as_deref())
    }

    fn end(&mut self, thread: u32, end_ns: i64, event: &Event) -> Result<(), Error> {
        let open = &mut self.open[thread as usize];
        let Some(at) = open.iter().rposition(|open| open.name == event.name) else {
            self.notes.leave_out("End without a Start on its thread");
            return Ok(());
        };
        let Open { id, name, start_ns } = open.remove(at);
        let parent = at.checked_sub(1).map(|at| open[at].id);
        let Some(dur_ns) = end_ns.checked_sub(start_ns).filter(|ns| *ns >= 0) else {
            self.notes.leave_out("End before its Start");
            return Ok(());
        };
        let known = BrickId::from_name(&name);
        let row = BrickRow {
            id,
            parent,
            kind: self.texts.brick,
            name: self.into.text(&name),
            brick_id: known.map(|brick| brick as u32),
            category: known.map(|brick| self.into.text(brick.category().name())),
            thread,
            start_ns,
            dur_ns,
            timing: self.texts.host,
            ..BrickRow::default()
        };
        self.notes.add(self.into, &row)?;
        self.attribute(id, self.texts.end, event.metadata.as_deref())
    }

    fn attribute(&mut self, span: u64, name: Text, metadata: Option<&str>) -> Result<(), Error> {
        let Some(text) = metadata else {
            return Ok(());
        };
        if text.len() > MAX_TEXT_BYTES {
            self.notes.warn("metadata longer than 64 KiB are cut");
        }
        let row = AttributeRow {
            span,
            name,
            text: Some(self.into.text(cut(text))),
            ..AttributeRow::default()
        };
        self.notes.add(self.into, &row)
    }

    fn instant(&mut self, thread: u32, time_ns: i64, event: &Event) -> Result<(), Error> {
        let mut arguments = serde_json::Map::new();
        if event.event_type != EventType::Instant {
            let kind = format!("{:?}", event.event_type);
            arguments.insert("event_type".to_owned(), kind.into());
        }
        if let Some(text) = &event.metadata {
            if text.len() > MAX_TEXT_BYTES {
                self.notes.warn("metadata longer than 64 KiB are cut");
            }
            arguments.insert("metadata".to_owned(), cut(text).into());
        }
        let json = serde_json::Value::from(arguments).to_string();
        let place = (Some(thread), time_ns);
        self.instants
            .add_json(place, &event.name, &json, self.into, self.notes)
    }
}
