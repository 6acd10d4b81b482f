//! Device work and waits, linked to the calls that led to them.
//!
//! Work whose call is not in the file is put aside, and looked for its operator when all
//! operators are known: see [`orphans`](super::orphans).

use trueno_analysis::wording::{agreeing, counted};
use trueno_format::run_writer::Text;
use trueno_format::schema::{
    AnnotationRow, CollectiveRow, DeviceEventRow, EdgeRow, KernelRow, SyncRow, TransferRow,
};

use super::collector::Collector;
use super::collector::believable;
use super::orphans::Orphans;
use super::record::{
    KernelFacts, LINK_WORDS, Link, LinkEvent, NO_ID, NONE, OF_ANNOTATION, OF_CORRELATION, OF_PLACE,
    Operator, known, pair,
};
use super::row_texts::RowTexts;
use crate::Error;
use crate::cuda::call_kind::CallKind;
use crate::cuda::cupti_enums::{MemoryKind, SyncKind};
use crate::cuda::event_waits::{EventWaits, Pairing};
use crate::cuda::launches::{CallSpan, is_part_of};
use crate::sorter::{Sorted, Sorter};

#[derive(Clone, Copy)]
pub(super) struct Call {
    id: u64,
    brick: Option<u64>,
    thread: u32,
    wait: Option<SyncKind>,
    bytes: Option<u64>,
    pub link: Link,
    /// Several calls that do not enclose each other have this correlation.
    is_ambiguous: bool,
}

impl Call {
    pub fn of(link: Link) -> Option<Self> {
        let LinkEvent::Call {
            id,
            brick,
            thread,
            wait,
            bytes,
        } = link.event
        else {
            return None;
        };
        Some(Self {
            id,
            brick,
            thread,
            wait,
            bytes,
            link,
            is_ambiguous: false,
        })
    }

    pub fn in_brick(self, brick: Option<u64>) -> Self {
        Self { brick, ..self }
    }

    fn span(&self) -> CallSpan {
        let Link {
            start_ns, dur_ns, ..
        } = self.link;
        (self.thread, start_ns, start_ns + dur_ns)
    }
}

#[derive(Clone, Copy)]
pub(super) enum Begun {
    By(Call),
    In(Operator),
    Unknown,
}

impl Begun {
    fn brick(&self) -> Option<u64> {
        match self {
            Self::By(call) => call.brick,
            Self::In(operator) => Some(operator.id),
            Self::Unknown => None,
        }
    }

    fn thread(&self) -> Option<u32> {
        match self {
            Self::By(call) => Some(call.thread),
            Self::In(operator) => Some(operator.thread),
            Self::Unknown => None,
        }
    }
}

pub(super) struct Linker<'g, 'a> {
    pub collector: &'g mut Collector<'a>,
    texts: &'g RowTexts,
    origin_ns: i64,
    /// Rows without a thread; the upper half of their ids is 0.
    rows: u64,
    pub correlation: u64,
    /// What work states that is linked by its place: no call has it.
    stated: Option<u64>,
    call: Option<Call>,
    /// The first call of the group that is a wait, until a record of the wait itself is found.
    waiting: Option<Call>,
    recorded: Option<Link>,
    pub orphans: Orphans,
    /// Work whose correlation no call has, and everything that arrows lead to: linked once more, by place.
    by_place: Sorter<LINK_WORDS>,
    has_by_place: bool,
    event_waits: EventWaits,
    pub unlinked: u64,
    ambiguous: u64,
}

pub(super) fn link(
    collector: &mut Collector<'_>,
    texts: &RowTexts,
    mut links: Sorted<LINK_WORDS>,
    origin_ns: i64,
) -> Result<u64, Error> {
    let scratch = |name: &str| collector.into.path().join(name);
    let (orphans, event_waits) = (scratch("import.orphans"), scratch("import.events"));
    let by_place = scratch("import.by_place");
    let mut linker = Linker {
        collector,
        texts,
        origin_ns,
        rows: 0,
        correlation: NO_ID,
        stated: None,
        call: None,
        waiting: None,
        recorded: None,
        orphans: Orphans(Sorter::small(orphans)),
        by_place: Sorter::small(by_place),
        has_by_place: false,
        event_waits: EventWaits::new(event_waits),
        unlinked: 0,
        ambiguous: 0,
    };
    while let Some(words) = links.next()? {
        let link = Link::from_words(words);
        let collector = &mut linker.collector;
        if !collector.doubts.is_near(link.start_ns) {
            collector.notes.leave_out(believable::FAR);
        } else if collector.doubts.is_link_again(&link) {
            collector.notes.repeat(believable::TWICE);
        } else if linker.has_by_place && link.correlation & OF_PLACE != 0 {
            // Made-up correlations sort behind all that the file states.
            linker.put_by_place(link)?;
        } else {
            linker.link(link)?;
        }
    }
    linker.end_group()?;
    let mut by_place = linker.by_place.take()?;
    while let Some(words) = by_place.next()? {
        linker.link(Link::from_words(words))?;
    }
    linker.end_group()?;
    linker.find_operators()?;
    let mut pairs = linker.event_waits.pairs()?;
    while let Some((record, wait)) = pairs.next()? {
        let (from, to, kind) = (record, wait, linker.texts.joins);
        linker.collector.add(&EdgeRow { from, to, kind })?;
    }
    let work = |count| counted(count, "kernel, copy or wait", "kernels, copies and waits");
    if linker.unlinked > 0 {
        linker.collector.notes.warn(format!(
            "{}: no row of the file launched {}, so thread and operator are not known",
            work(linker.unlinked),
            agreeing(linker.unlinked, "it", "them")
        ));
    }
    if linker.ambiguous > 0 {
        linker.collector.notes.warn(format!(
            "{}: several calls state the correlation, as in files of several processes, so it is not known which launched {}",
            work(linker.ambiguous),
            agreeing(linker.ambiguous, "it", "them")
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
        match link.event {
            LinkEvent::Call { .. } => Call::of(link).map_or(Ok(()), |call| self.call(call)),
            LinkEvent::Wait { .. } => self.wait(link),
            LinkEvent::Recorded { event } => self.recorded(link, event),
            LinkEvent::Annotation if link.external == NO_ID => self.annotation(link, None),
            LinkEvent::Annotation => self.orphans.put(link),
            LinkEvent::Kernel(_) | LinkEvent::Copy { .. } => self.device_work(link),
        }
    }

    fn device_work(&mut self, link: Link) -> Result<(), Error> {
        let is_again = link.external != NO_ID && link.external & OF_CORRELATION != 0;
        let (correlation, external) = if is_again {
            (link.external & !OF_CORRELATION, link.correlation)
        } else {
            (link.correlation, link.external)
        };
        let is_by_place = is_place(external);
        let link = Link {
            correlation,
            external,
            ..link
        };
        match self.call {
            None if is_by_place && !is_again && correlation < OF_PLACE => {
                self.has_by_place = true;
                self.put_by_place(Link {
                    correlation: external,
                    external: correlation | OF_CORRELATION,
                    ..link
                })
            }
            None if external != NO_ID => self.orphans.put(link),
            // The arrow of its operator may lead there as well.
            Some(call) if is_by_place && call.brick.is_none() && !call.is_ambiguous => {
                self.orphans.put(Link {
                    external,
                    ..call.link
                })?;
                self.orphans.put(link)
            }
            _ => {
                let begun = self.launched_by().map_or(Begun::Unknown, Begun::By);
                self.stated = is_again.then_some(correlation);
                let done = self.work(link, begun);
                self.stated = None;
                done
            }
        }
    }

    fn put_by_place(&mut self, link: Link) -> Result<(), Error> {
        self.by_place.push(link.words())
    }

    pub fn work(&mut self, link: Link, begun: Begun) -> Result<(), Error> {
        if self.collector.process.is_some() && matches!(begun, Begun::Unknown) {
            self.collector
                .notes
                .skip("device work that no call of this process led to");
            return Ok(());
        }
        match link.event {
            LinkEvent::Kernel(facts) => self.kernel(link, facts, begun),
            _ => self.copy(link, begun),
        }
    }

    fn end_group(&mut self) -> Result<(), Error> {
        if let Some(call) = self.waiting.take() {
            self.wait_of_call(call)?;
        }
        (self.call, self.recorded) = (None, None);
        Ok(())
    }

    fn call(&mut self, call: Call) -> Result<(), Error> {
        if call.link.correlation == NO_ID {
            // A wait without a correlation is linked by itself.
            return self.wait_of_call(call);
        }
        match &mut self.call {
            Some(first) => first.is_ambiguous |= !is_part_of(first.span(), call.span()),
            None => self.call = Some(call),
        }
        if call.wait.is_some() {
            // Calls inside one another are one wait; others that share a correlation are waits of their own.
            match self.waiting {
                Some(first) if is_part_of(first.span(), call.span()) => {}
                first => {
                    self.waiting = Some(call);
                    return first.map_or(Ok(()), |first| self.wait_of_call(first));
                }
            }
        }
        Ok(())
    }

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
        let of_group = Some(self.correlation).filter(|id| *id != NO_ID && !is_place(*id));
        self.stated.or(of_group)
    }

    fn wait_of_call(&mut self, call: Call) -> Result<(), Error> {
        let kind = call.wait.unwrap_or(SyncKind::Device);
        self.sync(kind, Some(call), call.link)
    }

    fn wait(&mut self, link: Link) -> Result<(), Error> {
        self.waiting = None;
        let call = self.launched_by();
        let LinkEvent::Wait { kind, .. } = link.event else {
            return Ok(());
        };
        self.sync(kind, call, link)
    }

    fn sync(&mut self, sync_kind: SyncKind, call: Option<Call>, link: Link) -> Result<(), Error> {
        let (is_record, event, record) = match link.event {
            LinkEvent::Wait {
                event,
                record,
                record_stream,
                ..
            } => (true, event, record.zip(Some(record_stream))),
            _ => (false, None, None),
        };
        let kind = self.collector.into.text(sync_kind.name());
        // A stream that waits for an event does not hold up the host.
        let thread = call
            .filter(|_| sync_kind.holds_up_host())
            .map(|call| call.thread);
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
        match event.zip(record) {
            Some((event, (record, stream))) => {
                let pairing = pairing(record, event, link.device, stream.unwrap_or(NONE));
                self.event_waits.waited(pairing, 0, id)
            }
            None => Ok(()),
        }
    }

    fn recorded(&mut self, link: Link, event: u64) -> Result<(), Error> {
        let is_same = |other: Link| {
            (other.device, other.stream, other.event) == (link.device, link.stream, link.event)
        };
        if self.recorded.is_some_and(is_same) {
            return Ok(());
        }
        self.recorded = Some(link);
        let id = self.id();
        let pairing = pairing(link.correlation, event, link.device, link.stream);
        self.event_waits.recorded(pairing, 0, id)?;
        let row = DeviceEventRow {
            id,
            event,
            device: known(link.device),
            stream: known(link.stream),
            time_ns: None,
            correlation: self.correlation(),
        };
        self.collector.add(&row)
    }

    fn kernel(&mut self, link: Link, facts: KernelFacts, begun: Begun) -> Result<(), Error> {
        let id = self.id();
        let [grid, block] =
            [facts.grid, facts.block].map(|size| size.map_or([None; 3], |size| size.map(Some)));
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
            grid_x: grid[0],
            grid_y: grid[1],
            grid_z: grid[2],
            block_x: block[0],
            block_y: block[1],
            block_z: block[2],
            registers: facts.registers,
            smem: facts.shared_memory_bytes,
            blocks_per_sm: facts.blocks_per_sm,
            occupancy_percent: facts.occupancy_percent.map(f64::from),
            graph_node: facts.graph_node,
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
        let LinkEvent::Copy {
            bytes,
            direction,
            from,
            to,
        } = link.event
        else {
            return Ok(());
        };
        let id = self.id();
        let direction = self.collector.into.text(direction.name());
        let [from, to] = [from, to].map(|kind| self.memory(kind));
        let is_async = match begun {
            Begun::By(call) => {
                let name = self.collector.texts[call.link.name as usize];
                CallKind::from_name(self.collector.into.str(name)).is_async()
            }
            _ => None,
        };
        let of_call = match begun {
            Begun::By(call) => call.bytes,
            _ => None,
        };
        let row = TransferRow {
            id,
            brick: begun.brick(),
            direction,
            bytes: bytes.or(of_call),
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

    /// Writes an annotation of device work and its link to the host annotation that it repeats.
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

    fn memory(&mut self, kind: Option<MemoryKind>) -> Option<Text> {
        kind.map(|kind| self.collector.into.text(kind.name()))
    }

    fn launch(&mut self, begun: Begun, to: u64) -> Result<(), Error> {
        let (from, kind) = match begun {
            Begun::By(call) => (call.id, self.texts.launches),
            Begun::In(operator) => (operator.id, self.texts.spawns),
            Begun::Unknown => return Ok(()),
        };
        self.collector.add(&EdgeRow { from, to, kind })
    }
}

fn is_place(id: u64) -> bool {
    id != NO_ID && id & OF_ANNOTATION == 0 && id & OF_PLACE != 0
}

/// Pairs a wait with the call that recorded its event, by correlation. Event and stream are those of the record.
fn pairing(record: u64, event: u64, device: u32, stream: u32) -> Pairing {
    [record, event, pair(device, stream)]
}
