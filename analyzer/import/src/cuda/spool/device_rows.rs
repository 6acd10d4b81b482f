//! The device's part: work finds the call that began it, waits find what they waited for.

use trueno_cupti::kind;
use trueno_cupti::record::Kernel;

use super::build::{Build, Interval};
use super::gather::Transfer;
use super::host_rows::correlation;
use super::joins::{self, OfEvent, Wait, Work};
use super::launches::Launch;
use super::words;
use trueno_format::Error;
use trueno_format::run_writer::Cell;

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
        let (waits, event_waits) = self.syncs()?;
        let records = self.events()?;
        let mut pairs = joins::of_work(work, &waits);
        pairs.extend(joins::of_events(&records, &event_waits));
        for (from, to) in pairs {
            self.edge(from, to, "joins")?;
        }
        self.pools()?;
        self.memories()?;
        self.environments()?;
        self.stream_rows()
    }

    pub(super) fn edge(&mut self, from: u64, to: u64, kind: &str) -> Result<(), Error> {
        let table = self.table("edges")?;
        let kind = self.text(kind);
        self.into
            .row(table, &[Cell::U64(from), Cell::U64(to), kind])
    }

    /// Links work to its call, and offers it to the waits.
    pub(super) fn launched(
        &mut self,
        work: &mut Vec<Work>,
        launch: Option<Launch>,
        done: Work,
    ) -> Result<(), Error> {
        let Some(launch) = launch else {
            *self
                .invalid
                .entry("work of devices: no call that began it".to_owned())
                .or_default() += 1;
            return Ok(());
        };
        work.push(Work {
            launched: launch.start,
            ..done
        });
        self.edge(launch.call, done.id, "launches")
    }

    fn kernel(&mut self, kernel: &Kernel, work: &mut Vec<Work>) -> Result<(), Error> {
        let table = self.table("kernels")?;
        let id = self.id();
        let launch = self.launch(kernel.correlation);
        let stated = self.interval(kernel.start, kernel.end);
        let too_early = |interval: &Interval| launch.is_some_and(|l| interval.start < l.start);
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
        let stream = self.stream(kernel.device, kernel.context, kernel.stream);
        let number = |value: u32| Cell::U64(value.into());
        let name = match self.from.name(kernel.name) {
            Some(name) => name.to_owned(),
            None => "kernel without a name".to_owned(),
        };
        let cells = [
            Cell::U64(id),
            launch.and_then(|launch| launch.brick).into(),
            self.text(&name),
            self.text("cuda"),
            launch.map(|launch| u64::from(launch.thread)).into(),
            number(kernel.device),
            stream.map(u64::from).into(),
            correlation(kernel.correlation),
            Cell::I64(interval.start),
            Cell::I64(interval.dur),
            self.text("device"),
            self.time(kernel.queued).into(),
            self.time(kernel.submitted).into(),
            number(kernel.grid_x),
            number(kernel.grid_y),
            number(kernel.grid_z),
            number(kernel.block_x),
            number(kernel.block_y),
            number(kernel.block_z),
            Cell::U64(kernel.registers.into()),
            number(kernel.smem_static),
            number(kernel.smem_dynamic),
            Cell::Null, // ptx_hash
            (kernel.graph_node != 0).then_some(kernel.graph_node).into(),
            Cell::Null, // elements
            Cell::Null, // flops
            Cell::Null, // bytes
            Cell::Null, // work_source
            Cell::Bool(reason.is_none()),
            self.maybe(reason),
        ];
        self.into.row(table, &cells)?;
        if reason.is_some() {
            return Ok(());
        }
        self.reach(interval);
        self.node(kernel.correlation, kernel.graph_node, id, interval);
        let done = Work {
            id,
            device: kernel.device,
            stream: stream.unwrap_or(u32::MAX),
            launched: 0,
            end: interval.start + interval.dur,
        };
        self.launched(work, launch, done)
    }

    /// Times that make no sound interval, for a row that says so.
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

    fn transfer(&mut self, transfer: &Transfer, work: &mut Vec<Work>) -> Result<(), Error> {
        let interval = match self.interval(transfer.start, transfer.end) {
            Ok(interval) => interval,
            Err(reason) => {
                self.not_sound(&kind::name(transfer.kind), reason);
                return Ok(());
            }
        };
        let table = self.table("transfers")?;
        let id = self.id();
        let launch = self.launch(transfer.correlation);
        let stream = self.stream(transfer.device, transfer.context, transfer.stream);
        let cells = [
            Cell::U64(id),
            launch.and_then(|launch| launch.brick).into(),
            self.text(transfer.direction),
            Cell::U64(transfer.bytes),
            self.maybe(transfer.src_kind),
            self.maybe(transfer.dst_kind),
            Cell::Bool(transfer.is_async),
            launch.map(|launch| u64::from(launch.thread)).into(),
            Cell::U64(transfer.device.into()),
            stream.map(u64::from).into(),
            Cell::I64(interval.start),
            Cell::I64(interval.dur),
            self.text("device"),
            correlation(transfer.correlation),
        ];
        self.into.row(table, &cells)?;
        self.reach(interval);
        self.node(transfer.correlation, transfer.graph_node, id, interval);
        let done = Work {
            id,
            device: transfer.device,
            stream: stream.unwrap_or(u32::MAX),
            launched: 0,
            end: interval.start + interval.dur,
        };
        self.launched(work, launch, done)
    }

    /// Waits; those for streams and devices, and those for events.
    fn syncs(&mut self) -> Result<(Vec<Wait>, Vec<OfEvent>), Error> {
        let (mut waits, mut of_events) = (Vec::new(), Vec::new());
        let mut syncs = std::mem::take(&mut self.from.syncs);
        syncs.sort_by_key(|sync| (sync.start, sync.correlation));
        let table = self.table("syncs")?;
        for sync in syncs {
            let interval = match self.interval(sync.start, sync.end) {
                Ok(interval) => interval,
                Err(reason) => {
                    self.not_sound("synchronization", reason);
                    continue;
                }
            };
            let id = self.id();
            let what = words::wait(sync.what);
            let device = self.device_of(sync.context);
            let stream = self.stream(device.unwrap_or(u32::MAX), sync.context, sync.stream);
            let for_event = matches!(what, "event" | "stream_wait") && sync.event != u32::MAX;
            // A stream that waits for an event does not hold up the host.
            let launch = self.launch(sync.correlation);
            let thread = launch
                .filter(|_| what != "stream_wait")
                .map(|l| u64::from(l.thread));
            let cells = [
                Cell::U64(id),
                self.text(what),
                Cell::Null, // name
                thread.into(),
                device.map(u64::from).into(),
                stream.map(u64::from).into(),
                for_event.then_some(u64::from(sync.event)).into(),
                Cell::I64(interval.start),
                Cell::I64(interval.dur),
                correlation(sync.correlation),
            ];
            self.into.row(table, &cells)?;
            self.reach(interval);
            if for_event {
                of_events.push(OfEvent {
                    id,
                    context: sync.context,
                    event: sync.event,
                    event_sync: sync.event_sync.filter(is_number),
                    correlation: sync.correlation,
                });
            } else if what == "device" || (what == "stream" && stream.is_some()) {
                waits.push(Wait {
                    id,
                    device,
                    stream: stream.filter(|_| what == "stream"),
                    start: interval.start,
                    end: interval.start + interval.dur,
                });
            }
        }
        Ok((waits, of_events))
    }

    fn events(&mut self) -> Result<Vec<OfEvent>, Error> {
        let mut records = Vec::new();
        let mut events = std::mem::take(&mut self.from.events);
        events.sort_by_key(|event| event.correlation);
        let table = self.table("device_events")?;
        for event in events {
            let id = self.id();
            // Shorter records do not say the device; its context does.
            let device = self.device_of(event.context).or(event.device);
            let stream = self.stream(device.unwrap_or(u32::MAX), event.context, event.stream);
            let time = event.time.and_then(|time| self.time(time));
            let cells = [
                Cell::U64(id),
                Cell::U64(event.event.into()),
                device.map(u64::from).into(),
                stream.map(u64::from).into(),
                time.into(),
                correlation(event.correlation),
            ];
            self.into.row(table, &cells)?;
            records.push(OfEvent {
                id,
                context: event.context,
                event: event.event,
                event_sync: event.event_sync.filter(is_number),
                correlation: event.correlation,
            });
        }
        Ok(records)
    }

    fn memories(&mut self) -> Result<(), Error> {
        let table = self.table("allocations")?;
        for memory in std::mem::take(&mut self.from.memories) {
            let sign = match memory.operation {
                1 => 1,
                2 => -1,
                _ => {
                    self.not_sound("memory", "neither taken nor given back");
                    continue;
                }
            };
            let (Some(time), Ok(bytes)) = (self.time(memory.time), i64::try_from(memory.bytes))
            else {
                self.not_sound("memory", "no time, or no number of bytes");
                continue;
            };
            let launch = self.launch(memory.correlation);
            let kind = words::memory(memory.memory_kind);
            // Pinned memory is the host's, whichever device it was taken for.
            let on_device = !matches!(kind, Some("pinned" | "pageable"));
            let name = self.from.name(memory.name).map(str::to_owned);
            let cells = [
                Cell::I64(time),
                launch.map(|launch| u64::from(launch.thread)).into(),
                launch.and_then(|launch| launch.brick).into(),
                on_device.then_some(u64::from(memory.device)).into(),
                Cell::I64(sign * bytes),
                self.maybe(name.as_deref().or(kind)),
                Cell::U64(memory.address),
                Cell::Null, // weight
                Cell::Null, // sample_bytes
            ];
            self.into.row(table, &cells)?;
        }
        Ok(())
    }

    fn stream_rows(&mut self) -> Result<(), Error> {
        let table = self.table("streams")?;
        let streams: Vec<_> = self.from.streams.values().copied().collect();
        for stream in streams {
            let device = self.device_of(stream.context);
            let number = self.stream(device.unwrap_or(u32::MAX), stream.context, stream.stream);
            let context = self.from.contexts.get(&stream.context);
            let is_null = context.is_some_and(|c| u32::from(c.null_stream) == stream.stream);
            let kind = if is_null {
                Some("null")
            } else {
                words::stream(stream.flag)
            };
            let Some(number) = number else { continue };
            let cells = [
                device.map(u64::from).into(),
                Cell::U64(number.into()),
                self.maybe(kind),
                Cell::I64(stream.priority.into()),
            ];
            self.into.row(table, &cells)?;
        }
        Ok(())
    }
}

/// CUPTI says this where a pair of record and wait has no number.
fn is_number(number: &u64) -> bool {
    *number != 0 && *number != u64::from(u32::MAX) && *number != u64::MAX
}
