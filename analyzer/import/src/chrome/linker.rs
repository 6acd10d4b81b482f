//! Device work and waits, linked to the calls that led to them.
//!
//! Work whose call is not in the file is put aside, and looked for its operator when all
//! operators are known: see [`orphans`](super::orphans).

use trueno_format::run_writer::Text;
use trueno_format::schema::{
    AnnotationRow, CollectiveRow, DeviceEventRow, EdgeRow, KernelRow, SyncRow, TransferRow,
};

use super::collector::Collector;
use super::collector::believable;
use super::orphans::Orphans;
use super::record::{LINK_WORDS, Link, NO_ID, NONE, OF_PLACE, Operator, Part, high, low, pair};
use super::row_texts::RowTexts;
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

    fn thread(&self) -> u32 {
        high(self.link.more[2])
    }

    fn span(&self) -> CallSpan {
        let Link {
            start_ns, dur_ns, ..
        } = self.link;
        (self.thread(), start_ns, start_ns + dur_ns)
    }

    fn wait(&self) -> Option<u64> {
        Some(self.link.more[3]).filter(|kind| *kind != NO_ID)
    }
}

/// The beginning of device work, as far as it is known.
#[derive(Clone, Copy)]
pub(super) enum Begun {
    By(Call),
    In(Operator),
    Unknown,
}

impl Begun {
    fn brick(&self) -> Option<u64> {
        match self {
            Self::By(call) => call.brick(),
            Self::In(operator) => Some(operator.id),
            Self::Unknown => None,
        }
    }

    fn thread(&self) -> Option<u32> {
        match self {
            Self::By(call) => Some(call.thread()),
            Self::In(operator) => Some(operator.thread),
            Self::Unknown => None,
        }
    }
}

pub(super) struct Linker<'g, 'a> {
    pub collector: &'g mut Collector<'a>,
    texts: &'g RowTexts,
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

/// Writes kernels, transfers, syncs, device events and the edges of launches; gives the last id that was taken.
pub(super) fn link(
    collector: &mut Collector<'_>,
    texts: &RowTexts,
    mut links: Sorted<LINK_WORDS>,
    origin_ns: i64,
) -> Result<u64, Error> {
    let path = collector.links.path().to_owned();
    let scratch = |name: &str| collector.into.path().join(name);
    let (orphans, event_waits) = (scratch("import.orphans"), scratch("import.events"));
    let mut linker = Linker {
        collector,
        texts,
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
        let link = Link::from_words(words);
        let collector = &mut linker.collector;
        if !collector.doubts.is_near(link.start_ns) {
            collector.notes.leave_out(believable::FAR);
        } else if collector.doubts.is_link_again(&link) {
            collector.notes.repeat(believable::TWICE);
        } else {
            linker.link(link)?;
        }
    }
    linker.end_group()?;
    linker.find_operators()?;
    let mut pairs = linker.event_waits.pairs()?;
    while let Some((record, wait)) = pairs.next()? {
        let (from, to, kind) = (record, wait, linker.texts.joins);
        linker.collector.add(&EdgeRow { from, to, kind })?;
    }
    if linker.unlinked > 0 {
        let count = linker.unlinked;
        linker.collector.notes.warn(format!(
            "{count} kernels, transfers and waits have no call with their correlation in the file, and no operator that certainly launched them: they have no thread and no brick"
        ));
    }
    if linker.ambiguous > 0 {
        let count = linker.ambiguous;
        linker.collector.notes.warn(format!(
            "{count} kernels, transfers and waits have a correlation that several processes use, so they are not linked"
        ));
    }
    Ok(linker.rows)
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
            Part::Annotation if link.external == NO_ID => self.annotation(link, None),
            Part::Annotation => self.orphans.put(link),
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
        if self.collector.process.is_some() && matches!(begun, Begun::Unknown) {
            self.collector
                .notes
                .skip("device work that no call of this process led to");
            return Ok(());
        }
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
            // A wait without a correlation is linked by itself.
            return self.wait_of_call(link);
        }
        match &mut self.call {
            Some(first) => first.is_ambiguous |= !is_part_of(first.span(), call.span()),
            None => self.call = Some(call),
        }
        if call.wait().is_some() {
            // Calls inside one another are one wait; others that share a correlation are waits of their own.
            let is_part = |first: Link| {
                is_part_of(
                    Call {
                        link: first,
                        ..call
                    }
                    .span(),
                    call.span(),
                )
            };
            match self.waiting {
                Some(first) if is_part(first) => {}
                first => {
                    self.waiting = Some(link);
                    return first.map_or(Ok(()), |first| self.wait_of_call(first));
                }
            }
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

    fn correlation(&self) -> Option<u64> {
        Some(self.correlation).filter(|id| *id != NO_ID && id & OF_PLACE == 0)
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
        let row = SyncRow {
            id,
            kind,
            name: Some(self.collector.texts[link.name as usize]),
            thread,
            device: known(link.device),
            stream: known(link.stream),
            event,
            start_ns: link.start_ns - self.origin_ns,
            dur_ns: link.dur_ns,
            correlation: self.correlation(),
            stack: None,
        };
        self.collector.add(&row)?;
        if is_record {
            self.collector.became(link.order, id)?;
        }
        // One that does not name its record is part of no edge.
        let [_, _, record, stream, ..] = link.more;
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
        let row = DeviceEventRow {
            id,
            event: link.more[0],
            device: known(link.device),
            stream: known(link.stream),
            time_ns: None,
            correlation: self.correlation(),
        };
        self.collector.add(&row)
    }

    fn kernel(&mut self, link: Link, begun: Begun) -> Result<(), Error> {
        let id = self.id();
        let [
            grid_xy,
            grid_z_block_x,
            block_yz,
            node,
            registers,
            memory,
            blocks,
        ] = link.more;
        let overlong = self.collector.doubts.overlong.get(&link.order).copied();
        let is_valid = link.dur_ns >= 0 && overlong.is_none();
        let reason = match overlong {
            Some(over) => Some(self.collector.into.text(&crate::doubtful::lasts_over(over))),
            None => (!is_valid).then_some(self.texts.negative),
        };
        let row = KernelRow {
            id,
            brick: begun.brick(),
            name: self.collector.texts[link.name as usize],
            thread: begun.thread(),
            device: known(link.device),
            stream: known(link.stream),
            correlation: self.correlation(),
            start_ns: link.start_ns - self.origin_ns,
            dur_ns: link.dur_ns,
            timing: self.texts.device,
            grid_x: known(high(grid_xy)),
            grid_y: known(low(grid_xy)),
            grid_z: known(high(grid_z_block_x)),
            block_x: known(low(grid_z_block_x)),
            block_y: known(high(block_yz)),
            block_z: known(low(block_yz)),
            registers: known(low(registers)),
            smem: known(high(memory)),
            blocks_per_sm: Some(f64::from_bits(blocks)).filter(|blocks| !blocks.is_nan()),
            occupancy_percent: Some(f64::from(f32::from_bits(low(memory))))
                .filter(|share| !share.is_nan()),
            graph_node: Some(node).filter(|node| *node != NO_ID),
            valid: is_valid,
            reason,
            ..KernelRow::default()
        };
        self.collector.add(&row)?;
        self.collector.became(link.order, id)?;
        self.collector
            .add_collective(link.name, |of| CollectiveRow {
                kernel: Some(id),
                thread: row.thread,
                time_ns: row.start_ns,
                dur_ns: row.dur_ns,
                ..of
            })?;
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
        let row = TransferRow {
            id,
            brick: begun.brick(),
            direction,
            bytes: Some(bytes).filter(|bytes| *bytes != NO_ID),
            src_kind: from,
            dst_kind: to,
            is_async,
            thread: begun.thread(),
            device: known(link.device),
            stream: known(link.stream),
            start_ns: link.start_ns - self.origin_ns,
            dur_ns: link.dur_ns,
            timing: self.texts.device,
            correlation: self.correlation(),
        };
        self.collector.add(&row)?;
        self.collector.became(link.order, id)?;
        self.launch(begun, id)
    }

    /// An annotation over device work, and the one of the host that it is drawn for.
    pub fn annotation(&mut self, link: Link, of: Option<Operator>) -> Result<(), Error> {
        let row = AnnotationRow {
            kind: self.texts.device,
            name: self.collector.texts[link.name as usize],
            device: known(link.device),
            stream: known(link.stream),
            brick: of.map(|of| of.id),
            time_ns: link.start_ns - self.origin_ns,
            dur_ns: Some(link.dur_ns),
            ..AnnotationRow::default()
        };
        self.collector.add(&row)
    }

    fn memory(&mut self, kind: u32) -> Option<Text> {
        let kind = MemoryKind::ALL.get(kind as usize);
        kind.map(|kind| self.collector.into.text(kind.name()))
    }

    /// The edge to work from what began it.
    fn launch(&mut self, begun: Begun, to: u64) -> Result<(), Error> {
        let (from, kind) = match begun {
            Begun::By(call) => (call.id(), self.texts.launches),
            Begun::In(operator) => (operator.id, self.texts.spawns),
            Begun::Unknown => return Ok(()),
        };
        self.collector.add(&EdgeRow { from, to, kind })
    }
}

fn known(value: u32) -> Option<u32> {
    Some(value).filter(|value| *value != NONE)
}

/// A wait names the call that recorded its event, by correlation; event and stream are those of the record.
fn pairing(record: u64, event: u64, device: u32, stream: u32) -> Pairing {
    [record, event, pair(device, stream)]
}
