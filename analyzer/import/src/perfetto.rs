//! Traces of Perfetto: track events of its SDKs, of Chrome, and of our own export.
//!
//! | Perfetto | row |
//! | --- | --- |
//! | slice on a track | bricks, kind function; its first category is the category |
//! | debug annotations | attributes; of instants their `arguments`; of our own export the columns of its rows |
//! | instant | annotations |
//! | counter, extra counters of a slice | counters |
//! | slices of rocprofv3's categories (`kernel_dispatch`, `memory_copy`, `hip_api`, …) | kernels, transfers, calls |
//! | slices, instants and counters of our own export | rows of their tables |
//! | flow from one slice to the next of its number | edges: `depends_on` from what had ended, else `spawns`; at the end of a slice `joins` |
//! | track of a thread, other track | threads: one for each; more where slices overlap without nesting, which is inferred, and said |
//!
//! Times of all clocks are brought to one by the clock snapshots of the trace. A slice that never ends is left out and
//! counted, as are packets of other sources (ftrace, heap profiles, logs).
//!
//! Packets are read one by one. Of each event about 120 bytes are held until the end, and its attributes, as events of
//! one track may come in any order.

mod clocks;
mod events;
mod messages;
mod own_export;
mod packets;
mod rocprof;
mod rows;
mod sequence;
mod tracks;

use std::path::Path;

use prost::Message;
use trueno_format::run_writer::RunWriter;

use crate::importer::{Head, Importer};
use crate::source::Source;
use crate::{Error, Notes, Options};
use events::Events;
use messages::TracePacket;
use packets::Packets;

pub struct Perfetto;

impl Importer for Perfetto {
    fn name(&self) -> &'static str {
        "perfetto"
    }

    fn description(&self) -> &'static str {
        "Perfetto traces (protocol buffers with track events)"
    }

    fn recognises(&self, head: &Head<'_>) -> bool {
        let Some((first, rest)) = packets::split(head.bytes()) else {
            return false;
        };
        let is_packet = |bytes: &[u8]| match TracePacket::decode(bytes) {
            Ok(packet) => packet != TracePacket::default(),
            Err(_) => false,
        };
        is_packet(first) && rest.first().is_none_or(|byte| *byte == packets::PACKET)
    }

    fn import(
        &self,
        path: &Path,
        options: &Options,
        into: &mut RunWriter,
        notes: &mut Notes,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Option<i64>, Error> {
        let mut source = Source::open(path, options, progress)?;
        let mut packets = Packets::new(path, &mut source);
        let mut events = Events::default();
        loop {
            match packets.next() {
                Ok(Some(packet)) => events.take(packet, into, notes),
                Ok(None) => break,
                Err(error) if events.packets > 0 && options.partial => {
                    let text = format!("{error}: the {} packets before were read", events.packets);
                    notes.cut_short(into, text);
                    break;
                }
                Err(error) => return Err(error),
            }
        }
        source.end(notes);
        let hash = source.hash();
        let hash = hash.map_err(|e| Error::io(path, "read it to its end", e))?;
        rows::write(events, path, hash, options, into, notes)
    }
}

#[cfg(test)]
mod tests;
