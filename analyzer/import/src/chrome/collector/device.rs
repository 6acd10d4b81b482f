//! Work of devices, and waits for it.

use super::super::category::Class;
use super::super::device::{FILL, direction, memory_kinds, wait_kind};
use super::super::event::{Arguments, Event};
use super::super::number::identity;
use super::super::record::{Link, NO_ID, NONE, Part, pair};
use super::Gather;
use crate::Error;

impl Gather<'_> {
    pub(super) fn device_work(
        &mut self,
        event: &Event,
        class: Class,
        start_ns: i64,
        dur_ns: i64,
    ) -> Result<(), Error> {
        let arguments = &event.arguments;
        let text = String::from_utf8_lossy(&event.name);
        // Kineto writes -1, at times as 32 bits without a sign, for no stream.
        let small = |value: i64| u32::try_from(value).unwrap_or(NONE);
        let number = |given: Option<i64>, lane: &[u8]| {
            given.map_or_else(
                || identity(lane).map_or(NONE, |id| u32::try_from(id).unwrap_or(NONE)),
                small,
            )
        };
        let mut link = Link {
            correlation: arguments.correlation.unwrap_or(NO_ID),
            part: Part::Kernel,
            start_ns,
            dur_ns,
            order: self.order,
            name: 0,
            device: number(arguments.device, &event.process),
            stream: number(arguments.stream, &event.thread),
            more: [0; 5],
            external: external(arguments),
        };
        match class {
            Class::Copy | Class::Fill => {
                let to = if class == Class::Fill {
                    Some(FILL)
                } else {
                    direction(&text)
                };
                let bytes = arguments.bytes.and_then(|bytes| u64::try_from(bytes).ok());
                let (Some(to), Some(bytes)) = (to, bytes) else {
                    self.notes
                        .leave_out("copy or fill without a known direction or size");
                    return Ok(());
                };
                if dur_ns < 0 {
                    self.notes.leave_out("negative duration");
                    return Ok(());
                }
                link.part = Part::Copy;
                link.more = [bytes, to, memory_kinds(&text), 0, 0];
            }
            Class::Wait => {
                let Some(kind) = wait_kind(&text).filter(|_| dur_ns >= 0) else {
                    self.notes
                        .leave_out("cuda_sync of an unknown kind, or with a negative duration");
                    return Ok(());
                };
                let event_id = arguments.wait_event.and_then(|id| u64::try_from(id).ok());
                self.recorded(event, event_id, &link)?;
                link.part = Part::Wait;
                let word = |id: Option<i64>| id.and_then(|id| u64::try_from(id).ok());
                let record = [arguments.wait_correlation, arguments.wait_stream]
                    .map(|id| word(id).unwrap_or(NO_ID));
                link.more = [kind, event_id.unwrap_or(NO_ID), record[0], record[1], 0];
            }
            _ => {
                let (grid, block) = (
                    arguments.grid.unwrap_or([NONE; 3]),
                    arguments.block.unwrap_or([NONE; 3]),
                );
                let registers = arguments
                    .registers
                    .and_then(|count| u32::try_from(count).ok());
                link.more = [
                    pair(grid[0], grid[1]),
                    pair(grid[2], block[0]),
                    pair(block[1], block[2]),
                    arguments
                        .graph_node
                        .filter(|node| *node != 0)
                        .unwrap_or(NO_ID),
                    u64::from(registers.unwrap_or(NONE)),
                ];
                if arguments.shared_memory {
                    self.notes.warn(
                        "shared memory of kernels is left out: static and dynamic stand in one sum",
                    );
                }
                if arguments.queued.is_some_and(|queued| queued != 0) {
                    self.notes
                        .warn("queued of kernels is left out: its clock is not stated");
                }
            }
        }
        link.name = self.name(&event.name);
        self.push_link(link)
    }

    /// A wait for an event names the call that recorded it, which names no event itself.
    fn recorded(&mut self, event: &Event, event_id: Option<u64>, wait: &Link) -> Result<(), Error> {
        let call = event
            .arguments
            .wait_correlation
            .and_then(|id| u64::try_from(id).ok());
        let (Some(correlation), Some(event_id)) = (call, event_id) else {
            return Ok(());
        };
        let stream = event
            .arguments
            .wait_stream
            .and_then(|id| u32::try_from(id).ok());
        // Without a time of its own; equal records come together and are one row.
        self.push_link(Link {
            correlation,
            part: Part::Recorded,
            dur_ns: 0,
            order: 0,
            name: 0,
            stream: stream.unwrap_or(NONE),
            more: [event_id, 0, 0, 0, 0],
            ..*wait
        })
    }
}

/// The operator that device work was begun in. Where Kineto knew of none it writes the
/// correlation in its place, or 0.
fn external(arguments: &Arguments) -> u64 {
    let is_operator = |id: &u64| *id != 0 && Some(*id) != arguments.correlation;
    arguments.external.filter(is_operator).unwrap_or(NO_ID)
}
