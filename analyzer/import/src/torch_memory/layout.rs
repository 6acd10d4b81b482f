//! Segments and blocks of a device at earlier moments: the snapshot states them at its end, and its events are undone from
//! there.

use std::collections::BTreeMap;

use super::snapshot::{Action, Event, Segment, Snapshot, Totals};

/// Free memory of a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Free {
    /// Bytes of segments without a block.
    pub in_free_segments: i64,
    /// The largest free piece beside blocks. A piece ends where its segment ends.
    pub largest_piece: i64,
}

/// Sizes of segments and of blocks in use, by address.
#[derive(Clone, Debug, Default)]
pub struct Layout {
    segments: BTreeMap<u64, u64>,
    blocks: BTreeMap<u64, u64>,
}

/// Blocks are multiples of it; events have the size that the program requested.
const BLOCK_BYTES: u64 = 512;

impl Layout {
    /// `None` if the device has expandable segments: the allocator can return any of their free pages, so no piece is lost.
    pub fn at_end(segments: &[Segment], device: u32) -> Option<Self> {
        let mut out = Self::default();
        for segment in segments.iter().filter(|segment| segment.device == device) {
            if segment.is_expandable {
                return None;
            }
            out.segments.insert(segment.address, segment.bytes);
            let blocks = segment.blocks.iter().filter(|block| !block.is_free);
            out.blocks
                .extend(blocks.map(|block| (block.address, block.bytes)));
        }
        (!out.segments.is_empty()).then_some(out)
    }

    /// Goes back to before the event; `None` if the state contradicts it.
    pub fn undo(&mut self, event: &Event) -> Option<()> {
        let (address, bytes) = (event.address, event.bytes);
        match event.action {
            Action::Allocate => self.blocks.remove(&address).map(|_| ()),
            Action::Free => {
                let bytes = bytes.checked_next_multiple_of(BLOCK_BYTES)?;
                self.blocks.insert(address, bytes).is_none().then_some(())
            }
            Action::Reserve => self.segments.remove(&address).map(|_| ()),
            Action::Release => self.segments.insert(address, bytes).is_none().then_some(()),
            Action::OutOfMemory => Some(()),
        }
    }

    pub fn free(&self) -> Free {
        let mut out = Free::default();
        for (start, bytes) in &self.segments {
            let end = start.saturating_add(*bytes);
            let mut blocks = self.blocks.range(start..&end).peekable();
            if blocks.peek().is_none() {
                out.in_free_segments = out.in_free_segments.saturating_add(signed(*bytes));
                continue;
            }
            let mut free_from = *start;
            for (address, bytes) in blocks {
                out.widen(address.saturating_sub(free_from));
                free_from = free_from.max(address.saturating_add(*bytes));
            }
            out.widen(end.saturating_sub(free_from));
        }
        out
    }
}

impl Free {
    fn widen(&mut self, piece: u64) {
        self.largest_piece = self.largest_piece.max(signed(piece));
    }
}

fn signed(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

/// The free memory of a device after an event, by the event's index; `None`: before the first.
pub type AfterEvents = BTreeMap<(u32, Option<usize>), Free>;

/// Free memory where it matters: when most is allocated, and when the device ran out of memory. Without the moments that the
/// events do not lead back to.
pub fn at_moments(snapshot: &Snapshot, before: &BTreeMap<u32, Totals>) -> AfterEvents {
    let mut out = AfterEvents::new();
    for (device, before) in before {
        let Some(mut layout) = Layout::at_end(&snapshot.segments, *device) else {
            continue;
        };
        let events = snapshot.events.iter().enumerate();
        let events: Vec<(usize, &Event)> = events.filter(|(_, of)| of.device == *device).collect();
        let peak = peak(&events, before.allocated);
        let mut later = events.iter().rev();
        let is_whole = later.all(|(at, event)| {
            if peak == Some(*at) || event.action == Action::OutOfMemory {
                out.insert((*device, Some(*at)), layout.free());
            }
            layout.undo(event).is_some()
        });
        if is_whole && peak.is_none() {
            out.insert((*device, None), layout.free());
        }
    }
    out
}

/// The first event after which most is allocated; `None`: most is before them all.
fn peak(events: &[(usize, &Event)], mut allocated: i64) -> Option<usize> {
    let (mut most, mut peak) = (allocated, None);
    for (at, event) in events {
        let bytes = signed(event.bytes);
        allocated = match event.action {
            Action::Allocate => allocated.saturating_add(bytes),
            Action::Free => allocated.saturating_sub(bytes),
            _ => continue,
        };
        if allocated > most {
            (most, peak) = (allocated, Some(*at));
        }
    }
    peak
}
