//! The device's part: work finds the call that began it, waits find what they waited for.

use trueno_cupti::kind;
use trueno_cupti::record::Kernel;
use trueno_format::schema::{
    AllocationRow, DeviceEventRow, EdgeRow, KernelRow, StreamRow, SyncRow, TransferRow,
};

use super::build::{Build, Interval};
use super::host_rows::correlation;
use super::spool_reader::Transfer;
use crate::Error;
use crate::cuda::cupti_enums::{self, MemoryKind, SyncKind, memory_sign, stream_kind};
use crate::cuda::device_waits::{DeviceWaits, Wait, Work};
use crate::cuda::event_waits::{CudaEvent, EventWaits};
use crate::cuda::launches::Launch;

impl Build {
    pub fn device_rows(&mut self) -> Result<(), Error> {
        let mut work = Vec::new();
        let mut kernels = std::mem::take(&mut self.from.kernels);
        kernels.sort_by_key(|kernel| (kernel.start, kernel.correlation, kernel.graph_node));
        for kernel in kernels {
            self.kernel(&kernel, &mut work)?;
        }
        self.graphs(&mut work)?;
        let mut transfers = std::mem::take(&mut self.from.transfers);
        transfers.sort_by_key(|transfer| (transfer.start, transfer.correlation));
        for transfer in transfers {
            self.transfer(&transfer, &mut work)?;
        }
        self.graph_edges()?;
        let mut events = EventWaits::new(self.into.path().join("import.events"));
        let waits = self.syncs(&mut events)?;
        self.events(&mut events)?;
        for (from, to) in device_joins(work, waits) {
            self.edge(from, to, "joins")?;
        }
        for (from, to) in event_joins(events)? {
            self.edge(from, to, "joins")?;
        }
        self.pools()?;
        self.memories()?;
        self.environments()?;
        self.stream_rows()
    }

    pub(super) fn edge(&mut self, from: u64, to: u64, kind: &str) -> Result<(), Error> {
        let kind = self.text(kind);
        self.add(&EdgeRow { from, to, kind })
    }

    /// Links work to its call and matches it with waits.
    pub(super) fn launched(
        &mut self,
        work: &mut Vec<(i64, Work)>,
        launch: Option<Launch>,
        start_ns: i64,
        done: Work,
    ) -> Result<(), Error> {
        let Some(launch) = launch else {
            *self
                .invalid
                .entry("device work without a call that launched it".to_owned())
                .or_default() += 1;
            return Ok(());
        };
        let done = Work {
            launched_ns: launch.start_ns,
            ..done
        };
        work.push((start_ns, done));
        self.edge(launch.call, done.id, "launches")
    }

    fn kernel(&mut self, kernel: &Kernel, work: &mut Vec<(i64, Work)>) -> Result<(), Error> {
        let id = self.id();
        let launch = self.launch(kernel.correlation);
        let stated = self.interval(kernel.start, kernel.end);
        let too_early = |interval: &Interval| launch.is_some_and(|l| interval.start < l.start_ns);
        let (interval, reason) = match stated {
            Ok(interval) if too_early(&interval) => {
                (interval, Some("starts before its launch call"))
            }
            Ok(interval) => (interval, None),
            // The record is the only sign of the launch: kept as it is.
            Err(reason) => (self.as_stated(kernel.start, kernel.end), Some(reason)),
        };
        if let Some(reason) = reason {
            self.not_sound("kernel", reason);
        }
        let stream = self.stream(Some(kernel.device), kernel.context, kernel.stream);
        let name = match self.from.name(kernel.name) {
            Some(name) => name.to_owned(),
            None => "kernel without a name".to_owned(),
        };
        let stated = launch.and_then(|launch| launch.brick());
        let row = KernelRow {
            id,
            brick: self.brick_of(stated, kernel.correlation, id)?,
            name: self.text(&name),
            backend: Some(self.text("cuda")),
            thread: launch.map(|launch| launch.thread),
            device: Some(kernel.device),
            stream,
            correlation: correlation(kernel.correlation),
            start_ns: interval.start,
            dur_ns: interval.dur,
            timing: self.text("device"),
            queued_ns: self.time(kernel.queued),
            submitted_ns: self.time(kernel.submitted),
            grid_x: Some(kernel.grid_x),
            grid_y: Some(kernel.grid_y),
            grid_z: Some(kernel.grid_z),
            block_x: Some(kernel.block_x),
            block_y: Some(kernel.block_y),
            block_z: Some(kernel.block_z),
            registers: Some(kernel.registers.into()),
            smem_static: Some(kernel.smem_static),
            smem_dynamic: Some(kernel.smem_dynamic),
            graph_node: (kernel.graph_node != 0).then_some(kernel.graph_node),
            valid: reason.is_none(),
            reason: self.maybe(reason),
            ..KernelRow::default()
        };
        self.add(&row)?;
        if reason.is_some() {
            return Ok(());
        }
        self.reach(interval);
        self.node(kernel.correlation, kernel.graph_node, id, interval);
        let done = Work {
            id,
            process: 0,
            device: Some(kernel.device),
            stream,
            launched_ns: 0,
            end_ns: interval.start + interval.dur,
        };
        self.launched(work, launch, interval.start, done)
    }

    /// Invalid times, as the row states them.
    fn as_stated(&self, start: u64, end: u64) -> Interval {
        match (self.time(start), self.time(end)) {
            (Some(start), Some(end)) => Interval {
                start,
                dur: end.saturating_sub(start),
            },
            (Some(start), None) => Interval { start, dur: 0 },
            (None, _) => Interval { start: 0, dur: 0 },
        }
    }

    fn transfer(&mut self, transfer: &Transfer, work: &mut Vec<(i64, Work)>) -> Result<(), Error> {
        let Some(interval) = self.sound(&kind::name(transfer.kind), transfer.start, transfer.end)
        else {
            return Ok(());
        };
        let id = self.id();
        let launch = self.launch(transfer.correlation);
        let stream = self.stream(Some(transfer.device), transfer.context, transfer.stream);
        let stated = launch.and_then(|launch| launch.brick());
        let row = TransferRow {
            id,
            brick: self.brick_of(stated, transfer.correlation, id)?,
            direction: self.text(transfer.direction.name()),
            bytes: Some(transfer.bytes),
            src_kind: self.maybe(transfer.src_kind.map(MemoryKind::name)),
            dst_kind: self.maybe(transfer.dst_kind.map(MemoryKind::name)),
            is_async: Some(transfer.is_async),
            thread: launch.map(|launch| launch.thread),
            device: Some(transfer.device),
            stream,
            start_ns: interval.start,
            dur_ns: interval.dur,
            timing: self.text("device"),
            correlation: correlation(transfer.correlation),
        };
        self.add(&row)?;
        self.reach(interval);
        self.node(transfer.correlation, transfer.graph_node, id, interval);
        let done = Work {
            id,
            process: 0,
            device: Some(transfer.device),
            stream,
            launched_ns: 0,
            end_ns: interval.start + interval.dur,
        };
        self.launched(work, launch, interval.start, done)
    }

    fn syncs(&mut self, events: &mut EventWaits) -> Result<Vec<Wait>, Error> {
        let mut waits = Vec::new();
        let mut syncs = std::mem::take(&mut self.from.syncs);
        syncs.sort_by_key(|sync| (sync.start, sync.correlation));
        for sync in syncs {
            let Some(interval) = self.sound("synchronization", sync.start, sync.end) else {
                continue;
            };
            let id = self.id();
            let kind = SyncKind::from_cupti(sync.what.into());
            let device = self.device_of(sync.context);
            let stream = self.stream(device, sync.context, sync.stream);
            let for_event = kind.is_some_and(SyncKind::is_for_event) && sync.event != u32::MAX;
            // A stream that waits for an event does not hold up the host.
            let launch = self.launch(sync.correlation);
            let launch = launch.filter(|_| kind.is_none_or(SyncKind::holds_up_host));
            let row = SyncRow {
                id,
                kind: self.text(kind.map_or("unknown", SyncKind::name)),
                thread: launch.map(|launch| launch.thread),
                device,
                stream,
                event: for_event.then_some(u64::from(sync.event)),
                start_ns: interval.start,
                dur_ns: interval.dur,
                correlation: correlation(sync.correlation),
                ..SyncRow::default()
            };
            self.add(&row)?;
            self.reach(interval);
            if for_event {
                let event = cuda_event(sync.context, sync.event, sync.event_sync, sync.correlation);
                event.waited(id, events)?;
            } else if kind == Some(SyncKind::Device)
                || (kind == Some(SyncKind::Stream) && stream.is_some())
            {
                waits.push(Wait {
                    id,
                    process: 0,
                    device,
                    stream: stream.filter(|_| kind == Some(SyncKind::Stream)),
                    start_ns: interval.start,
                    end_ns: interval.start + interval.dur,
                });
            }
        }
        Ok(waits)
    }

    fn events(&mut self, waits: &mut EventWaits) -> Result<(), Error> {
        let mut events = std::mem::take(&mut self.from.events);
        events.sort_by_key(|event| event.correlation);
        for event in events {
            let id = self.id();
            // Shorter records do not say the device; its context does.
            let device = self.device_of(event.context).or(event.device);
            let stream = self.stream(device, event.context, event.stream);
            let time = event.time.and_then(|time| self.time(time));
            self.add(&DeviceEventRow {
                id,
                event: event.event.into(),
                device,
                stream,
                time_ns: time,
                correlation: correlation(event.correlation),
            })?;
            let event = cuda_event(
                event.context,
                event.event,
                event.event_sync,
                event.correlation,
            );
            event.recorded(id, waits)?;
        }
        Ok(())
    }

    fn memories(&mut self) -> Result<(), Error> {
        for memory in std::mem::take(&mut self.from.memories) {
            let Some(sign) = memory_sign(memory.operation.into()) else {
                self.not_sound("memory", "neither an allocation nor a release");
                continue;
            };
            let (Some(time), Ok(bytes)) = (self.time(memory.time), i64::try_from(memory.bytes))
            else {
                self.not_sound("memory", "no time, or no byte count");
                continue;
            };
            let launch = self.launch(memory.correlation);
            let kind = MemoryKind::from_cupti(memory.memory_kind.into());
            let on_device = !kind.is_some_and(MemoryKind::is_of_host);
            let name = self.from.name(memory.name).map(str::to_owned);
            let row = AllocationRow {
                time_ns: time,
                thread: launch.map(|launch| launch.thread),
                span: launch.and_then(|launch| launch.brick()),
                device: on_device.then_some(memory.device),
                bytes: sign * bytes,
                tag: self.maybe(name.as_deref().or(kind.map(MemoryKind::name))),
                address: Some(memory.address),
                ..AllocationRow::default()
            };
            self.add(&row)?;
        }
        Ok(())
    }

    /// Says which contexts have a part of their device only.
    fn green_contexts(&mut self) {
        let contexts: Vec<_> = self.from.contexts.values().copied().collect();
        for context in contexts {
            if context.is_green.unwrap_or(0) == 0 {
                continue;
            }
            let own = context.multiprocessors.unwrap_or(0);
            let device = self.from.devices.get(&context.device);
            let all = device.map_or(String::new(), |of| format!(" of {}", of.multiprocessors));
            let parent = context.parent.unwrap_or(0);
            let said = format!("green: {own}{all} multiprocessors, part of context {parent}");
            let key = format!("gpu{}.context.{}", context.device, context.context);
            self.into.run().values.insert(key, said);
        }
    }

    fn stream_rows(&mut self) -> Result<(), Error> {
        self.green_contexts();
        let streams: Vec<_> = self.from.streams.values().copied().collect();
        for stream in streams {
            let device = self.device_of(stream.context);
            let number = self.stream(device, stream.context, stream.stream);
            let context = self.from.contexts.get(&stream.context);
            let is_null = context.is_some_and(|c| u32::from(c.null_stream) == stream.stream);
            let kind = if is_null {
                Some("null")
            } else {
                stream_kind(stream.flag.into())
            };
            let Some(number) = number else { continue };
            let row = StreamRow {
                device,
                stream: number,
                kind: self.maybe(kind),
                priority: Some(stream.priority.into()),
            };
            self.add(&row)?;
        }
        Ok(())
    }
}

fn cuda_event(context: u32, event: u32, sync_id: Option<u64>, correlation: u32) -> CudaEvent {
    CudaEvent {
        process: Some(0),
        context: Some(context.into()),
        event: event.into(),
        sync_id: sync_id.and_then(cupti_enums::number),
        correlation: Some(correlation.into()),
    }
}

/// Pairs of work and wait, in order of the waits.
fn device_joins(mut work: Vec<(i64, Work)>, mut waits: Vec<Wait>) -> Vec<(u64, u64)> {
    work.sort_by_key(|(start_ns, _)| *start_ns);
    waits.sort_by_key(|wait| wait.start_ns);
    let mut joins = DeviceWaits::default();
    let mut pairs = Vec::new();
    let mut work = work.into_iter().peekable();
    for wait in waits {
        while let Some((start_ns, work)) = work.next_if(|(start_ns, _)| *start_ns <= wait.start_ns)
        {
            pairs.extend(joins.until(start_ns));
            joins.work(work, start_ns);
        }
        pairs.extend(joins.until(wait.start_ns));
        joins.wait(wait);
    }
    for (start_ns, work) in work {
        pairs.extend(joins.until(start_ns));
        joins.work(work, start_ns);
    }
    pairs.extend(joins.until(i64::MAX));
    pairs.sort_by_key(|(_, wait)| *wait);
    pairs
}

/// Pairs of record and wait, in order of the waits.
fn event_joins(events: EventWaits) -> Result<Vec<(u64, u64)>, Error> {
    let mut all = events.pairs()?;
    let mut pairs = Vec::new();
    while let Some(pair) = all.next()? {
        pairs.push(pair);
    }
    pairs.sort_by_key(|(_, wait)| *wait);
    Ok(pairs)
}
