//! Device work and waits, linked to the calls that led to them.
//!
//! Work whose call is not in the file is put aside, and looked for its operator when all
//! operators are known: see [`orphans`](super::orphans).

use trueno_recorder::run_writer::Cell;

use super::collector::Collector;
use super::orphans::Orphans;
use super::record::{LINK_WORDS, Link, NO_ID, NONE, Operator, Part, high, low, pair};
use super::tables::Tables;
use crate::Error;
use crate::cuda::call_kind::CallKind;
use crate::cuda::cupti_enums::{Direction, MemoryKind, SyncKind};
use crate::cuda::event_waits::{EventWaits, Pairing};
use crate::cuda::launches::{CallSpan, is_part_of};
use crate::sorter::{Sorted, Sorter};

/// The call of a correlation.
#[derive(Clone, Copy)]
pub(super) struct Call {
    link: Link,
    /// Calls that do not enclose each other have the correlation: which is meant cannot be known.
    is_ambiguous: bool,
}

impl Call {
    fn id(&self) -> u64 {
        self.link.more[0]
    }

    fn brick(&self) -> Option<u64> {
        Some(self.link.more[1]).filter(|brick| *brick != NO_ID)
    }

    fn thread(&self) -> u64 {
        u64::from(high(self.link.more[2]))
    }

    fn span(&self) -> CallSpan {
        let Link { start_ns, dur_ns, .. } = self.link;
        (high(self.link.more[2]), start_ns, start_ns + dur_ns)
    }

    fn wait(&self) -> Option<u64> {
        Some(self.link.more[3]).filter(|kind| *kind != NO_ID)
    }
}

/// What is known of how device work was begun.
#[derive(Clone, Copy)]
pub(super) enum Begun {
    By(Call),
    In(Operator),
    Unknown,
}

impl Begun {
    fn brick(&self) -> Cell {
        match self {
            Self::By(call) => call.brick().into(),
            Self::In(operator) => Cell::U64(operator.id),
            Self::Unknown => Cell::Null,
        }
    }

    fn thread(&self) -> Cell {
        match self {
            Self::By(call) => Cell::U64(call.thread()),
            Self::In(operator) => Cell::U64(u64::from(operator.thread)),
            Self::Unknown => Cell::Null,
        }
    }
}

pub(super) struct Linker<'g, 'a> {
    pub collector: &'g mut Collector<'a>,
    tables: &'g Tables,
    origin_ns: i64,
    /// Rows without a thread; their ids have nothing in the upper half.
    rows: u64,
    pub correlation: u64,
    call: Option<Call>,
    /// The first call of the group that is a wait, until a record of the wait itself is seen.
    waiting: Option<Link>,
    recorded: Option<Link>,
    pub orphans: Orphans,
    event_waits: EventWaits,
    pub unlinked: u64,
    ambiguous: u64,
}

/// Writes kernels, transfers, syncs, device events and the edges of launches.
pub(super) fn link(
    collector: &mut Collector<'_>,
    tables: &Tables,
    mut links: Sorted<LINK_WORDS>,
    origin_ns: i64,
) -> Result<(), Error> {
    let path = collector.links.path().to_owned();
    let scratch = |name: &str| collector.into.path().join(name);
    let (orphans, event_waits) = (scratch("import.orphans"), scratch("import.events"));
    let mut linker = Linker {
        collector,
        tables,
        origin_ns,
        rows: 0,
        correlation: NO_ID,
        call: None,
        waiting: None,
        recorded: None,
        orphans: Orphans(Sorter::small(orphans)),
        event_waits: EventWaits::new(event_waits),
        unlinked: 0,
        ambiguous: 0,
    };
    while let Some(words) = links.next().map_err(|e| Error::io(&path, "read it", e))? {
        linker.link(Link::of(words))?;
    }
    linker.end_group()?;
    linker.find_operators()?;
    let mut pairs = linker.event_waits.pairs()?;
    while let Some((record, wait)) = pairs.next()? {
        let kind = Cell::Text(linker.tables.joins);
        let cells = [Cell::U64(record), Cell::U64(wait), kind];
        linker.tables.put(linker.collector, "edges", &cells)?;
    }
    if linker.unlinked > 0 {
        let count = linker.unlinked;
        linker.collector.notes.warn(format!(
            "{count} kernels, transfers and waits have no call with their correlation in the file, nor an operator that is surely theirs: they have no thread and no brick"
        ));
    }
    if linker.ambiguous > 0 {
        let count = linker.ambiguous;
        linker.collector.notes.warn(format!(
            "{count} kernels, transfers and waits have a correlation that several processes use: they are linked to none"
        ));
    }
    Ok(())
}

impl Linker<'_, '_> {
    fn link(&mut self, link: Link) -> Result<(), Error> {
        if link.correlation != self.correlation {
            self.end_group()?;
            self.correlation = link.correlation;
        }
        match link.part {
            Part::Call => self.call(link),
            Part::Wait => self.wait(link),
            Part::Recorded => self.recorded(link),
            Part::Kernel | Part::Copy if self.call.is_none() && link.external != NO_ID => {
                self.orphans.put(link)
            }
            Part::Kernel | Part::Copy => {
                let begun = self.launched_by().map_or(Begun::Unknown, Begun::By);
                self.work(link, begun)
            }
        }
    }

    pub fn work(&mut self, link: Link, begun: Begun) -> Result<(), Error> {
        match link.part {
            Part::Copy => self.copy(link, begun),
            _ => self.kernel(link, begun),
        }
    }

    fn end_group(&mut self) -> Result<(), Error> {
        if let Some(call) = self.waiting.take() {
            self.wait_of_call(call)?;
        }
        (self.call, self.recorded) = (None, None);
        Ok(())
    }

    fn call(&mut self, link: Link) -> Result<(), Error> {
        let call = Call {
            link,
            is_ambiguous: false,
        };
        if link.correlation == NO_ID {
            // A wait without a correlation stands for itself.
            return self.wait_of_call(link);
        }
        match &mut self.call {
            Some(first) => first.is_ambiguous |= !is_part_of(first.span(), call.span()),
            None => self.call = Some(call),
        }
        if call.wait().is_some() {
            self.waiting.get_or_insert(link);
        }
        Ok(())
    }

    /// The call that device work belongs to.
    fn launched_by(&mut self) -> Option<Call> {
        match self.call {
            None => self.unlinked += 1,
            Some(call) if call.is_ambiguous => self.ambiguous += 1,
            Some(_) => {}
        }
        self.call.filter(|call| !call.is_ambiguous)
    }

    fn id(&mut self) -> u64 {
        self.rows += 1;
        self.rows
    }

    fn correlation(&self) -> Cell {
        Some(self.correlation).filter(|id| *id != NO_ID).into()
    }

    fn wait_of_call(&mut self, link: Link) -> Result<(), Error> {
        let call = Call {
            link,
            is_ambiguous: false,
        };
        let kind = call.wait().unwrap_or(0);
        self.sync(kind, Some(call), link)
    }

    fn wait(&mut self, link: Link) -> Result<(), Error> {
        self.waiting = None;
        let call = self.launched_by();
        self.sync(link.more[0], call, link)
    }

    fn sync(&mut self, kind: u64, call: Option<Call>, link: Link) -> Result<(), Error> {
        let is_record = link.part == Part::Wait;
        let event = Some(link.more[1]).filter(|event| is_record && *event != NO_ID);
        let sync_kind = SyncKind::ALL[kind as usize % SyncKind::ALL.len()];
        let kind = self.collector.into.text(sync_kind.name());
        // A stream that waits for an event does not hold up the host.
        let thread = call
            .filter(|_| sync_kind.holds_up_host())
            .map(|call| call.thread());
        let id = self.id();
        let cells = [
            Cell::U64(id),
            Cell::Text(kind),
            Cell::Text(self.collector.texts[link.name as usize]),
            thread.into(),
            number(link.device),
            number(link.stream),
            event.into(),
            Cell::I64(link.start_ns - self.origin_ns),
            Cell::I64(link.dur_ns),
            self.correlation(),
        ];
        self.tables.put(self.collector, "syncs", &cells)?;
        // One that does not name its record is part of no edge.
        let [_, _, record, stream, _] = link.more;
        match event.filter(|_| record != NO_ID) {
            Some(event) => {
                let stream = u32::try_from(stream).unwrap_or(NONE);
                let pairing = pairing(record, event, link.device, stream);
                self.event_waits.waited(pairing, 0, id)
            }
            None => Ok(()),
        }
    }

    fn recorded(&mut self, link: Link) -> Result<(), Error> {
        let is_same = |other: Link| {
            (other.device, other.stream, other.more) == (link.device, link.stream, link.more)
        };
        if self.recorded.is_some_and(is_same) {
            return Ok(());
        }
        self.recorded = Some(link);
        let id = self.id();
        let pairing = pairing(link.correlation, link.more[0], link.device, link.stream);
        self.event_waits.recorded(pairing, 0, id)?;
        let cells = [
            Cell::U64(id),
            Cell::U64(link.more[0]),
            number(link.device),
            number(link.stream),
            Cell::Null,
            self.correlation(),
        ];
        self.tables.put(self.collector, "device_events", &cells)
    }

    fn kernel(&mut self, link: Link, begun: Begun) -> Result<(), Error> {
        let id = self.id();
        let [grid_xy, grid_z_block_x, block_yz, node, registers] = link.more;
        let mut cells = [Cell::Null; 30];
        cells[0] = Cell::U64(id);
        cells[1] = begun.brick();
        cells[2] = Cell::Text(self.collector.texts[link.name as usize]);
        cells[4] = begun.thread();
        cells[5] = number(link.device);
        cells[6] = number(link.stream);
        cells[7] = self.correlation();
        cells[8] = Cell::I64(link.start_ns - self.origin_ns);
        cells[9] = Cell::I64(link.dur_ns);
        cells[10] = Cell::Text(self.tables.device);
        let sizes = [
            high(grid_xy),
            low(grid_xy),
            high(grid_z_block_x),
            low(grid_z_block_x),
            high(block_yz),
            low(block_yz),
        ];
        for (cell, size) in cells[13..19].iter_mut().zip(sizes) {
            *cell = number(size);
        }
        cells[19] = number(low(registers));
        cells[23] = Some(node).filter(|node| *node != NO_ID).into();
        cells[28] = Cell::Bool(link.dur_ns >= 0);
        if link.dur_ns < 0 {
            cells[29] = Cell::Text(self.tables.negative);
        }
        self.tables.put(self.collector, "kernels", &cells)?;
        self.launch(begun, id)
    }

    fn copy(&mut self, link: Link, begun: Begun) -> Result<(), Error> {
        let id = self.id();
        let [bytes, to, memory, ..] = link.more;
        let direction = Direction::ALL[to as usize % Direction::ALL.len()];
        let direction = self.collector.into.text(direction.name());
        let (from, to) = (self.memory(high(memory)), self.memory(low(memory)));
        let is_async = match begun {
            Begun::By(call) => {
                let name = self.collector.texts[call.link.name as usize];
                CallKind::from_name(self.collector.into.str(name)).is_async()
            }
            _ => None,
        };
        let cells = [
            Cell::U64(id),
            begun.brick(),
            Cell::Text(direction),
            Cell::U64(bytes),
            from,
            to,
            is_async.map_or(Cell::Null, Cell::Bool),
            begun.thread(),
            number(link.device),
            number(link.stream),
            Cell::I64(link.start_ns - self.origin_ns),
            Cell::I64(link.dur_ns),
            Cell::Text(self.tables.device),
            self.correlation(),
        ];
        self.tables.put(self.collector, "transfers", &cells)?;
        self.launch(begun, id)
    }

    fn memory(&mut self, kind: u32) -> Cell {
        let kind = MemoryKind::ALL.get(kind as usize);
        kind.map(|kind| self.collector.into.text(kind.name())).into()
    }

    /// The edge to work from what began it.
    fn launch(&mut self, begun: Begun, to: u64) -> Result<(), Error> {
        let (from, kind) = match begun {
            Begun::By(call) => (call.id(), self.tables.launches),
            Begun::In(operator) => (operator.id, self.tables.spawns),
            Begun::Unknown => return Ok(()),
        };
        let cells = [Cell::U64(from), Cell::U64(to), Cell::Text(kind)];
        self.tables.put(self.collector, "edges", &cells)
    }
}

fn number(value: u32) -> Cell {
    Some(value)
        .filter(|value| *value != NONE)
        .map(u64::from)
        .into()
}

/// A wait names the call that recorded its event, by correlation; event and stream are those of the record.
fn pairing(record: u64, event: u64, device: u32, stream: u32) -> Pairing {
    [record, event, pair(device, stream)]
}
