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

use prost::Message;

use crate::Error;
use crate::importer::{Head, Import, Importer};
use events::Events;
use messages::TracePacket;
use packets::Packets;

pub const IMPORTER: Importer = Importer {
    name: "perfetto",
    description: "Perfetto traces (protocol buffers with track events)",
    recognises,
    read,
};

fn recognises(head: &Head<'_>) -> bool {
    let Some((first, rest)) = packets::split(head.bytes()) else {
        return false;
    };
    let is_packet = |bytes: &[u8]| match TracePacket::decode(bytes) {
        Ok(packet) => packet != TracePacket::default(),
        Err(_) => false,
    };
    is_packet(first) && rest.first().is_none_or(|byte| *byte == packets::PACKET)
}

fn read(mut import: Import<'_>) -> Result<Option<i64>, Error> {
    let mut source = import.open()?;
    let mut packets = Packets::new(import.path, &mut source);
    let mut events = Events::default();
    loop {
        match packets.next() {
            Ok(Some(packet)) => events.take(packet, &mut import),
            Ok(None) => break,
            Err(error) if events.packets > 0 && import.options.partial => {
                let count = events.packets;
                import.problem(format!("{error}: the {count} packets before were read"));
                break;
            }
            Err(error) => return Err(error),
        }
    }
    source.end(import.notes);
    rows::write(events, source.hash()?, import)
}

#[cfg(test)]
mod tests;
