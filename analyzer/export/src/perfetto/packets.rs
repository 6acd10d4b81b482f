//! Packets of a trace, in one sequence with interned names.
//!
//! Field numbers are those of Perfetto's `trace_packet.proto`, `track_event.proto`,
//! `track_descriptor.proto` and `interned_data.proto`.

use std::collections::HashMap;
use std::io::{self, Write};

use super::wire::Message;

const SEQUENCE: u64 = 1;
/// `SEQ_INCREMENTAL_STATE_CLEARED` and `SEQ_NEEDS_INCREMENTAL_STATE`.
const FIRST: u64 = 1;
const LATER: u64 = 2;

/// Interned texts. Values are field numbers in `InternedData`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Interned {
    Category = 1,
    Name = 2,
    Annotation = 3,
}

pub(super) fn begin_event(event: &mut Message, kind: Kind, track: u64) {
    event.clear();
    event.number(9, kind as u64).number(11, track);
}

/// `TrackEvent.Type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Begin = 1,
    End = 2,
    Instant = 3,
    Counter = 4,
}

pub(super) struct Packets<'a> {
    to: &'a mut dyn Write,
    /// The packet being written, and the fields before its content.
    packet: Message,
    head: Message,
    numbers: HashMap<(Interned, String), u64>,
    /// Interned ids by text id in the run; 0 if not interned yet.
    names: Vec<u64>,
    new: Message,
    is_first: bool,
}

impl<'a> Packets<'a> {
    pub(super) fn new(to: &'a mut dyn Write) -> Self {
        Self {
            to,
            packet: Message::default(),
            head: Message::default(),
            numbers: HashMap::new(),
            names: Vec::new(),
            new: Message::default(),
            is_first: true,
        }
    }

    pub(super) fn intern(&mut self, list: Interned, text: &str) -> u64 {
        let key = (list, text.to_owned());
        if let Some(number) = self.numbers.get(&key) {
            return *number;
        }
        let number = self.numbers.len() as u64 + 1;
        self.numbers.insert(key, number);
        let mut entry = Message::default();
        entry.number(1, number).text(2, text);
        self.new.message(list as u32, &entry);
        number
    }

    pub(super) fn intern_name(&mut self, number: u64, text: &str) -> u64 {
        let at = number as usize;
        if let Some(known) = self.names.get(at).filter(|known| **known > 0) {
            return *known;
        }
        let interned = self.intern(Interned::Name, text);
        if self.names.len() <= at {
            self.names.resize(at + 1, 0);
        }
        self.names[at] = interned;
        interned
    }

    pub(super) fn put_event(&mut self, time_ns: u64, event: &Message) -> io::Result<()> {
        self.put(Some(time_ns), 11, event)
    }

    pub(super) fn put_track(&mut self, track: &Message) -> io::Result<()> {
        self.put(None, 60, track)
    }

    fn put(&mut self, time_ns: Option<u64>, field: u32, content: &Message) -> io::Result<()> {
        let head = &mut self.head;
        head.clear();
        if let Some(time_ns) = time_ns {
            head.number(8, time_ns);
        }
        let flags = if self.is_first { FIRST | LATER } else { LATER };
        head.number(10, SEQUENCE).number(13, flags);
        self.is_first = false;
        if !self.new.bytes().is_empty() {
            head.message(12, &self.new);
            self.new.clear();
        }
        head.message_of(field, content.bytes().len());
        let bytes = head.bytes().len() + content.bytes().len();
        self.packet.clear();
        self.packet.message_of(1, bytes);
        self.packet.fields(head).fields(content);
        // One packet at a time: compressed files depend on where writes end.
        self.to.write_all(self.packet.bytes())
    }
}
