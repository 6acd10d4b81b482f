//! Producers and consumers: which event another one waited for or was begun by.

use std::collections::HashMap;

use trueno_format::schema::EdgeRow;

use super::plane::Event;
use crate::{Error, Import};

#[derive(Clone, Copy, Debug)]
pub struct Placed {
    pub row: u64,
    pub thread: u32,
    pub start_ns: i64,
    pub end_ns: i64,
}

/// Type and id of a flow.
pub type Key = (u64, u64);

#[derive(Debug, Default)]
pub struct Flows {
    producers: HashMap<Key, Vec<Placed>>,
    consumers: Vec<(Key, Placed)>,
}

impl Flows {
    pub fn take(&mut self, event: &Event<'_>, placed: Placed) {
        self.produced(event, placed);
        if let Some(key) = consumed(event) {
            self.consumers.push((key, placed));
        }
    }

    /// Adds the flow that begins at an event; `placed` is the row that contains it.
    pub fn produced(&mut self, event: &Event<'_>, placed: Placed) {
        if let Some(key) = key(event, "_pt", "_p") {
            self.producers.entry(key).or_default().push(placed);
        }
    }

    pub fn take_marks(&mut self, marks: &mut Vec<Key>, placed: Placed) {
        let marks = marks.drain(..);
        self.consumers.extend(marks.map(|key| (key, placed)));
    }

    /// Writes an edge from the last producer that began before each consumer.
    pub fn write(mut self, import: &mut Import<'_>) -> Result<(), Error> {
        let [depends_on, spawns] = ["depends_on", "spawns"].map(|text| import.text(text));
        for producers in self.producers.values_mut() {
            producers.sort_by_key(|placed| (placed.start_ns, placed.row));
        }
        for (key, to) in self.consumers {
            let producers = self.producers.get(&key).map_or(&[][..], Vec::as_slice);
            let count = producers.partition_point(|from| from.start_ns <= to.start_ns);
            let Some(from) = count.checked_sub(1).map(|last| producers[last]) else {
                import.notes.skip("flow whose producer is not in the file");
                continue;
            };
            if from.thread == to.thread {
                import
                    .notes
                    .repeat("flow within a thread, already known from its order");
                continue;
            }
            let row = EdgeRow {
                from: from.row,
                to: to.row,
                kind: if from.end_ns <= to.start_ns {
                    depends_on
                } else {
                    spawns
                },
            };
            import.add(&row)?;
        }
        Ok(())
    }
}

pub fn consumed(event: &Event<'_>) -> Option<Key> {
    key(event, "_ct", "_c")
}

fn key(event: &Event<'_>, kind: &str, number: &str) -> Option<Key> {
    // Numbers are hashes and may be written as negative ones.
    let bits = |value: super::stats::Value<'_>| match value {
        super::stats::Value::Integer(value) => Some(value.cast_unsigned()),
        other => other.unsigned(),
    };
    let kind = event.stat(kind).and_then(bits).unwrap_or(0);
    Some((kind, event.stat(number).and_then(bits)?))
}
