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

/// Lists of interned texts, by their fields in `InternedData`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Interned {
    Category = 1,
    Name = 2,
    Annotation = 3,
}

/// Type of a `TrackEvent`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Begin = 1,
    End = 2,
    Instant = 3,
    Counter = 4,
}

pub(super) struct Packets<'a> {
    to: &'a mut dyn Write,
    numbers: HashMap<(Interned, String), u64>,
    /// Texts that the next packet introduces.
    new: Message,
    is_first: bool,
}

impl<'a> Packets<'a> {
    pub(super) fn new(to: &'a mut dyn Write) -> Self {
        Self {
            to,
            numbers: HashMap::new(),
            new: Message::default(),
            is_first: true,
        }
    }

    /// The number of a text in its list.
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

    /// A `TrackEvent`, to be added to.
    pub(super) fn track_event(&mut self, kind: Kind, track: u64) -> Message {
        let mut event = Message::default();
        event.number(9, kind as u64).number(11, track);
        event
    }

    pub(super) fn title(&mut self, event: &mut Message, category: &str, name: &str) {
        let category = self.intern(Interned::Category, category);
        let name = self.intern(Interned::Name, name);
        event.number(3, category).number(10, name);
    }

    pub(super) fn put_event(&mut self, time_ns: u64, event: &Message) -> io::Result<()> {
        self.put(Some(time_ns), 11, event)
    }

    pub(super) fn put_track(&mut self, track: &Message) -> io::Result<()> {
        self.put(None, 60, track)
    }

    fn put(&mut self, time_ns: Option<u64>, field: u32, content: &Message) -> io::Result<()> {
        let mut packet = Message::default();
        if let Some(time_ns) = time_ns {
            packet.number(8, time_ns);
        }
        let flags = if self.is_first { FIRST | LATER } else { LATER };
        packet.number(10, SEQUENCE).number(13, flags);
        self.is_first = false;
        let new = std::mem::take(&mut self.new);
        if !new.bytes().is_empty() {
            packet.message(12, &new);
        }
        packet.message(field, content);
        let mut trace = Message::default();
        trace.message(1, &packet);
        self.to.write_all(trace.bytes())
    }
}
