//! Timelines: starts and ends as bricks, all else as instants.

use std::collections::HashMap;
use std::io::BufReader;

use serde::Deserialize;
use serde::de::DeserializeSeed;
use trueno_format::BrickId;
use trueno_format::run_writer::Text;
use trueno_format::schema::{AttributeRow, BrickRow, ThreadRow};

use super::damaged;
use crate::json::list;
use crate::strace::instants::{Instants, MAX_TEXT_BYTES, cut};
use crate::{Error, Import};

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
    import: Import<'i>,
    texts: Texts,
    /// Thread numbers, in the order of the threads' first events.
    threads: HashMap<Option<u64>, u32>,
    /// Open intervals by thread, innermost last.
    open: Vec<Vec<Open>>,
    instants: Instants,
    bricks: u64,
    end_ns: i64,
}

pub fn read(mut import: Import<'_>) -> Result<i64, Error> {
    let texts = Texts {
        brick: import.text("brick"),
        host: import.text("host"),
        start: import.text("metadata"),
        end: import.text("end_metadata"),
    };
    let mut source = import.open()?;
    let mut events = Events {
        import,
        texts,
        threads: HashMap::new(),
        open: Vec::new(),
        instants: Instants::default(),
        bricks: 0,
        end_ns: 0,
    };
    let mut json = serde_json::Deserializer::from_reader(BufReader::new(&mut source));
    let mut failed = None;
    let all = list("an array of events", |event: Event| {
        failed = events.add(&event).err();
        failed.as_ref().map_or(Ok(()), |_| Err("stopped"))
    });
    let read = all.deserialize(&mut json).and_then(|()| json.end());
    if let Some(error) = failed {
        return Err(error);
    }
    let Events { mut import, .. } = events;
    let open = events.open.iter().map(|open| open.len() as u64).sum();
    if open > 0 {
        let reason = "Start without an End on its thread".to_owned();
        import.notes.left_out.insert(reason, open);
    }
    if let Err(error) = read {
        let found: u64 = import.notes.read.values().sum();
        if found == 0 || !import.options.partial {
            return Err(damaged(&import, &error));
        }
        import.problem(format!(
            "cut or damaged ({error}): its first {found} events were read"
        ));
    }
    source.end(import.notes);
    Ok(events.end_ns)
}

impl Events<'_> {
    fn add(&mut self, event: &Event) -> Result<(), Error> {
        self.import.notes.read(match event.event_type {
            EventType::Start => "Start",
            EventType::End => "End",
            EventType::Instant => "Instant",
            EventType::Alloc => "Alloc",
            EventType::Free => "Free",
            EventType::Custom => "Custom",
        });
        let Ok(time_ns) = i64::try_from(event.timestamp_ns) else {
            self.import
                .notes
                .leave_out("event with a time out of range");
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
        self.import.add(&row)?;
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
            self.import
                .notes
                .leave_out("End without a Start on its thread");
            return Ok(());
        };
        let Open { id, name, start_ns } = open.remove(at);
        let parent = at.checked_sub(1).map(|at| open[at].id);
        let Some(dur_ns) = end_ns.checked_sub(start_ns).filter(|ns| *ns >= 0) else {
            self.import.notes.leave_out("End before its Start");
            return Ok(());
        };
        let known = BrickId::from_name(&name);
        let row = BrickRow {
            id,
            parent,
            kind: self.texts.brick,
            name: self.import.text(&name),
            brick_id: known.map(|brick| brick as u32),
            category: known.map(|brick| self.import.text(brick.category().name())),
            thread,
            start_ns,
            dur_ns,
            timing: self.texts.host,
            ..BrickRow::default()
        };
        self.import.add(&row)?;
        self.attribute(id, self.texts.end, event.metadata.as_deref())
    }

    fn attribute(&mut self, span: u64, name: Text, metadata: Option<&str>) -> Result<(), Error> {
        let Some(text) = metadata else {
            return Ok(());
        };
        if text.len() > MAX_TEXT_BYTES {
            self.import
                .notes
                .warn("metadata longer than 64 KiB are cut");
        }
        let row = AttributeRow {
            span,
            name,
            text: Some(self.import.text(cut(text))),
            ..AttributeRow::default()
        };
        self.import.add(&row)
    }

    fn instant(&mut self, thread: u32, time_ns: i64, event: &Event) -> Result<(), Error> {
        let mut arguments = serde_json::Map::new();
        if event.event_type != EventType::Instant {
            let kind = format!("{:?}", event.event_type);
            arguments.insert("event_type".to_owned(), kind.into());
        }
        if let Some(text) = &event.metadata {
            if text.len() > MAX_TEXT_BYTES {
                self.import
                    .notes
                    .warn("metadata longer than 64 KiB are cut");
            }
            arguments.insert("metadata".to_owned(), cut(text).into());
        }
        let json = serde_json::Value::from(arguments).to_string();
        let place = (Some(thread), time_ns);
        self.instants
            .add_json(place, &event.name, &json, &mut self.import)
    }
}
