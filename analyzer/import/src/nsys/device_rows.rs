//! Rows of device work, a table each.

use trueno_format::schema::{AllocationRow, DeviceEventRow, KernelRow, SyncRow, TransferRow};

use super::context::Context;
use super::device::{Device, Place, Timed};
use super::host::left_out;
use super::row::Row;
use crate::Error;
use crate::cuda::cupti_enums::{self, memory_sign_from_nsight, memory_sign_from_words};
use crate::cuda::cupti_enums::{Direction, MemoryKind, SyncKind};
use crate::cuda::event_waits::CudaEvent;
use crate::doubtful::lasts_over;

/// Pages that `cudaMemPrefetchAsync` moves (`CUpti_ActivityUnifiedMemoryMigrationCause`).
const CAUSED_BY_USER: i64 = 1;

/// Whether a kind of copies is one of Nsight Systems' own, for pages of unified memory.
fn is_migration(kind: i64) -> bool {
    (11..=13).contains(&kind)
}

impl Device {
    pub fn kernel(&mut self, work: &Timed<'_>, context: &mut Context<'_>) -> Result<(), Error> {
        let name = work.record.int(7, context.notes);
        let mut number = |column| work.record.u32(column, context.notes);
        let shape = [8, 9, 10, 11, 12, 13, 14, 15, 16].map(&mut number);
        let [
            grid_x,
            grid_y,
            grid_z,
            block_x,
            block_y,
            block_z,
            registers,
            smem_static,
            smem_dynamic,
        ] = shape;
        let graph_node = work
            .record
            .unsigned(17, context.notes)
            .filter(|node| *node != 0);
        let overlong = self.lasts_over();
        let valid = work.interval.dur_ns >= 0 && overlong.is_none();
        let reason = match overlong {
            Some(over) => Some(context.text(&lasts_over(over))),
            None => (!valid).then(|| context.text("end before start")),
        };
        let id = context.id();
        let row = KernelRow {
            id,
            brick: work.place.brick(),
            name: context.name(name, "kernel"),
            backend: Some(context.text("cuda")),
            thread: work.place.thread(),
            device: work.place.device,
            stream: work.place.stream,
            correlation: work.place.correlation,
            start_ns: work.interval.start_ns,
            dur_ns: work.interval.dur_ns,
            timing: context.text("device"),
            grid_x,
            grid_y,
            grid_z,
            block_x,
            block_y,
            block_z,
            registers,
            smem_static,
            smem_dynamic,
            graph_node,
            valid,
            reason,
            ..KernelRow::default()
        };
        context.add(&row)?;
        if overlong.is_some() {
            return Ok(());
        }
        if !valid {
            context
                .notes
                .warn("some kernels end before they start: kept as not valid");
            return Ok(());
        }
        self.launched(id, work, context)
    }

    pub fn memcpy(&mut self, work: &Timed<'_>, context: &mut Context<'_>) -> Result<(), Error> {
        let kind = work.record.int(8, context.notes);
        let direction = self
            .directions
            .value(kind, Direction::from_words, Direction::from_cupti);
        if direction.is_none() {
            context
                .notes
                .warn("copies of an unknown kind have the direction unknown");
        }
        let mut kinds =
            [9, 10].map(|column| self.memory_kind(work.record.int(column, context.notes)));
        if kind.is_some_and(is_migration) {
            kinds = [Some(MemoryKind::Managed); 2];
        }
        let is_prefetch = work.record.int(11, context.notes) == Some(CAUSED_BY_USER);
        self.transfer(
            work,
            direction.unwrap_or(Direction::Unknown),
            kinds,
            is_prefetch.then_some(true),
            context,
        )
    }

    pub fn memset(&mut self, work: &Timed<'_>, context: &mut Context<'_>) -> Result<(), Error> {
        let kind = work.record.int(8, context.notes);
        let kinds = [None, self.memory_kind(kind)];
        self.transfer(work, Direction::Fill, kinds, None, context)
    }

    fn memory_kind(&self, number: Option<i64>) -> Option<MemoryKind> {
        self.memory_kinds
            .value(number, MemoryKind::from_words, MemoryKind::from_nsight)
    }

    fn transfer(
        &mut self,
        work: &Timed<'_>,
        direction: Direction,
        kinds: [Option<MemoryKind>; 2],
        is_async: Option<bool>,
        context: &mut Context<'_>,
    ) -> Result<(), Error> {
        let bytes = work.record.unsigned(7, context.notes);
        if work.interval.dur_ns < 0 {
            return left_out(work.record, "end before start", context);
        }
        let [src_kind, dst_kind] = kinds.map(|kind| kind.map(|kind| context.text(kind.name())));
        let id = context.id();
        let row = TransferRow {
            id,
            brick: work.place.brick(),
            direction: context.text(direction.name()),
            bytes,
            src_kind,
            dst_kind,
            is_async: work.place.is_async().or(is_async),
            thread: work.place.thread(),
            device: work.place.device,
            stream: work.place.stream,
            start_ns: work.interval.start_ns,
            dur_ns: work.interval.dur_ns,
            timing: context.text("device"),
            correlation: work.place.correlation,
        };
        context.add(&row)?;
        if work.place.launch.is_none() && kinds == [Some(MemoryKind::Managed); 2] {
            // The driver moves pages of managed memory when they are touched: no call launches that.
            context.reach(work.interval.start_ns, work.interval.dur_ns);
            return Ok(());
        }
        self.launched(id, work, context)
    }

    pub fn sync(&mut self, work: &Timed<'_>, context: &mut Context<'_>) -> Result<(), Error> {
        if work.interval.dur_ns < 0 {
            return left_out(work.record, "end before start", context);
        }
        let number = work.record.int(7, context.notes);
        let stated = self
            .sync_kinds
            .value(number, SyncKind::from_words, SyncKind::from_cupti);
        let kind = work.place.launch.and_then(|launch| launch.kind.wait());
        let kind = kind.or(stated);
        if kind.is_some() && stated.is_some() && kind != stated {
            context.notes.warn(
                "some waits have a syncType other than the call that waited: the call's is kept",
            );
        }
        if kind.is_none() {
            context
                .notes
                .warn("waits of an unknown kind have the kind unknown");
        }
        let event = work
            .record
            .unsigned(8, context.notes)
            .filter(|_| kind.is_some_and(SyncKind::is_for_event));
        // A stream that waits for an event does not hold up the host.
        let holds_up_host = kind.is_none_or(SyncKind::holds_up_host);
        let id = context.id();
        let row = SyncRow {
            id,
            kind: context.text(kind.map_or("unknown", SyncKind::name)),
            thread: work.place.thread().filter(|_| holds_up_host),
            device: work.place.device,
            stream: work.place.stream,
            event,
            start_ns: work.interval.start_ns,
            dur_ns: work.interval.dur_ns,
            correlation: work.place.correlation,
            ..SyncRow::default()
        };
        context.reach(work.interval.start_ns, work.interval.dur_ns);
        context.add(&row)?;
        if let Some(event) = event {
            let sync_id = work.record.unsigned(9, context.notes);
            let event = cuda_event(&work.place, event, sync_id);
            event.waited(id, &mut self.event_waits)?;
        }
        if let Some(kind @ (SyncKind::Stream | SyncKind::Device)) = kind {
            self.waited(id, work, kind == SyncKind::Device);
        }
        Ok(())
    }

    pub fn event(
        &mut self,
        record: Row<'_>,
        place: &Place,
        context: &mut Context<'_>,
    ) -> Result<(), Error> {
        let Some(event) = record.unsigned(7, context.notes) else {
            return left_out(record, "no number of the event", context);
        };
        // 0: the device was not asked for the time.
        let time = record.int(0, context.notes).filter(|time| *time != 0);
        let time_ns = time.and_then(|time| time.checked_sub(context.origin_ns));
        let id = context.id();
        let sync_id = record.unsigned(8, context.notes);
        cuda_event(place, event, sync_id).recorded(id, &mut self.event_waits)?;
        context.add(&DeviceEventRow {
            id,
            event,
            device: place.device,
            stream: place.stream,
            time_ns,
            correlation: place.correlation,
        })
    }

    pub fn memory(
        &mut self,
        record: Row<'_>,
        place: &Place,
        context: &mut Context<'_>,
    ) -> Result<(), Error> {
        let Some(time) = record.int(0, context.notes) else {
            return left_out(record, "no start", context);
        };
        let Some(time_ns) = time.checked_sub(context.origin_ns) else {
            return left_out(record, "start beyond 64 bits", context);
        };
        let bytes = record.unsigned(7, context.notes);
        let Some(bytes) = bytes.and_then(|bytes| i64::try_from(bytes).ok()) else {
            return left_out(record, "no byte count", context);
        };
        let change = record.int(9, context.notes);
        let sign =
            (self.memory_signs).value(change, memory_sign_from_words, memory_sign_from_nsight);
        let Some(sign) = sign else {
            return left_out(record, "neither an allocation nor a release", context);
        };
        let kind = self.memory_kind(record.int(8, context.notes));
        let is_of_host = kind.is_some_and(MemoryKind::is_of_host);
        let device = place.device.filter(|_| !is_of_host);
        if !context.memory.holds(device, sign * bytes, context.notes) {
            return Ok(());
        }
        let tag = match record.text(11) {
            Some(name) if !name.is_empty() => Some(context.text(name)),
            _ => kind.map(|kind| context.text(kind.name())),
        };
        let row = AllocationRow {
            time_ns,
            thread: place.thread(),
            span: place.brick(),
            device,
            bytes: sign * bytes,
            tag,
            address: record.unsigned(10, context.notes),
            ..AllocationRow::default()
        };
        context.reach(time_ns, 0);
        context.add(&row)
    }
}

fn cuda_event(place: &Place, event: u64, sync_id: Option<u64>) -> CudaEvent {
    CudaEvent {
        process: place.process,
        context: place.context,
        event,
        sync_id: sync_id.and_then(cupti_enums::number),
        correlation: place.correlation,
    }
}
