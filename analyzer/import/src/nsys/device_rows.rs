//! Rows of device work, a table each.

use trueno_recorder::run_writer::Cell;

use super::context::Context;
use super::device::{Device, Interval, Place};
use super::host::left_out;
use super::row::Row;
use crate::Error;
use crate::cuda::cupti_enums::{Direction, MemoryKind, SyncKind};
use crate::cuda::cupti_enums::{self, memory_sign_from_nsight, memory_sign_from_words};
use crate::cuda::event_waits::CudaEvent;

impl Device {
    pub fn kernel(
        &mut self,
        record: Row<'_>,
        interval: &Interval,
        place: &Place,
        context: &mut Context<'_>,
    ) -> Result<(), Error> {
        let name = record.int(7, context.notes);
        let mut number = |column| Cell::from(record.u32(column, context.notes).map(u64::from));
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
        let graph_node = record.unsigned(17, context.notes).filter(|node| *node != 0);
        let valid = interval.dur_ns >= 0;
        let reason = if valid {
            Cell::Null
        } else {
            context.text("end before start")
        };
        let id = context.id();
        let cells = [
            Cell::U64(id),
            place.brick(),
            Cell::Text(context.name(name, "kernel")),
            context.text("cuda"),
            place.thread(),
            place.device.map(u64::from).into(),
            place.stream.map(u64::from).into(),
            place.correlation.into(),
            Cell::I64(interval.start_ns),
            Cell::I64(interval.dur_ns),
            context.text("device"),
            Cell::Null, // queued_ns
            Cell::Null, // submitted_ns
            grid_x,
            grid_y,
            grid_z,
            block_x,
            block_y,
            block_z,
            registers,
            smem_static,
            smem_dynamic,
            Cell::Null, // ptx_hash
            graph_node.into(),
            Cell::Null, // elements
            Cell::Null, // flops
            Cell::Null, // bytes
            Cell::Null, // work_source
            Cell::Bool(valid),
            reason,
        ];
        context.row(context.tables.kernels, &cells)?;
        if !valid {
            context
                .notes
                .warn("some kernels end before they start: kept as not valid");
            return Ok(());
        }
        self.launched(id, interval, place, context)
    }

    pub fn memcpy(
        &mut self,
        record: Row<'_>,
        interval: &Interval,
        place: &Place,
        context: &mut Context<'_>,
    ) -> Result<(), Error> {
        let kind = record.int(8, context.notes);
        let direction = self
            .directions
            .value(kind, Direction::from_words, Direction::from_cupti);
        if direction.is_none() {
            context
                .notes
                .warn("copies of a kind that is not known have the direction unknown");
        }
        let kinds = [9, 10].map(|column| self.memory_kind(record.int(column, context.notes)));
        self.transfer(
            record,
            interval,
            place,
            direction.unwrap_or(Direction::Unknown),
            kinds,
            context,
        )
    }

    pub fn memset(
        &mut self,
        record: Row<'_>,
        interval: &Interval,
        place: &Place,
        context: &mut Context<'_>,
    ) -> Result<(), Error> {
        let kind = record.int(8, context.notes);
        let kinds = [None, self.memory_kind(kind)];
        self.transfer(record, interval, place, Direction::Fill, kinds, context)
    }

    fn memory_kind(&self, number: Option<i64>) -> Option<MemoryKind> {
        self.memory_kinds
            .value(number, MemoryKind::from_words, MemoryKind::from_nsight)
    }

    fn transfer(
        &mut self,
        record: Row<'_>,
        interval: &Interval,
        place: &Place,
        direction: Direction,
        kinds: [Option<MemoryKind>; 2],
        context: &mut Context<'_>,
    ) -> Result<(), Error> {
        let Some(bytes) = record.unsigned(7, context.notes) else {
            return left_out(record, "no number of bytes", context);
        };
        if interval.dur_ns < 0 {
            return left_out(record, "end before start", context);
        }
        let [src_kind, dst_kind] =
            kinds.map(|kind| kind.map_or(Cell::Null, |kind| context.text(kind.name())));
        let id = context.id();
        let cells = [
            Cell::U64(id),
            place.brick(),
            context.text(direction.name()),
            Cell::U64(bytes),
            src_kind,
            dst_kind,
            place.is_async(),
            place.thread(),
            place.device.map(u64::from).into(),
            place.stream.map(u64::from).into(),
            Cell::I64(interval.start_ns),
            Cell::I64(interval.dur_ns),
            context.text("device"),
            place.correlation.into(),
        ];
        context.row(context.tables.transfers, &cells)?;
        self.launched(id, interval, place, context)
    }

    pub fn sync(
        &mut self,
        record: Row<'_>,
        interval: &Interval,
        place: &Place,
        context: &mut Context<'_>,
    ) -> Result<(), Error> {
        if interval.dur_ns < 0 {
            return left_out(record, "end before start", context);
        }
        let number = record.int(7, context.notes);
        let stated = self
            .sync_kinds
            .value(number, SyncKind::from_words, SyncKind::from_cupti);
        let kind = place.launch.and_then(|launch| launch.kind.wait());
        let kind = kind.or(stated);
        if kind.is_some() && stated.is_some() && kind != stated {
            context.notes.warn(
                "some waits have a syncType other than the call that waited: the call's is kept",
            );
        }
        if kind.is_none() {
            context
                .notes
                .warn("waits of a kind that is not known have the kind unknown");
        }
        let event = record
            .unsigned(8, context.notes)
            .filter(|_| kind.is_some_and(SyncKind::is_for_event));
        // A stream that waits for an event does not hold up the host.
        let thread = match kind {
            Some(SyncKind::StreamWait) => Cell::Null,
            _ => place.thread(),
        };
        let id = context.id();
        let cells = [
            Cell::U64(id),
            context.text(kind.map_or("unknown", SyncKind::name)),
            Cell::Null, // name
            thread,
            place.device.map(u64::from).into(),
            place.stream.map(u64::from).into(),
            event.into(),
            Cell::I64(interval.start_ns),
            Cell::I64(interval.dur_ns),
            place.correlation.into(),
        ];
        context.reach(interval.start_ns, interval.dur_ns);
        context.row(context.tables.syncs, &cells)?;
        if let Some(event) = event {
            let sync_id = record.unsigned(9, context.notes);
            let event = cuda_event(place, event, sync_id);
            event.waited(id, &mut self.event_waits)?;
        }
        if let Some(kind @ (SyncKind::Stream | SyncKind::Device)) = kind {
            self.waited(id, interval, place, kind == SyncKind::Device);
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
        let cells = [
            Cell::U64(id),
            Cell::U64(event),
            place.device.map(u64::from).into(),
            place.stream.map(u64::from).into(),
            time_ns.into(),
            place.correlation.into(),
        ];
        context.row(context.tables.device_events, &cells)
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
            return left_out(record, "no number of bytes", context);
        };
        let change = record.int(9, context.notes);
        let sign = (self.memory_signs).value(change, memory_sign_from_words, memory_sign_from_nsight);
        let Some(sign) = sign else {
            return left_out(record, "neither taken nor given back", context);
        };
        let kind = self.memory_kind(record.int(8, context.notes));
        let is_of_host = kind.is_some_and(MemoryKind::is_of_host);
        let device = place.device.filter(|_| !is_of_host);
        let tag = match record.text(11) {
            Some(name) if !name.is_empty() => context.text(name),
            _ => kind.map_or(Cell::Null, |kind| context.text(kind.name())),
        };
        let cells = [
            Cell::I64(time_ns),
            place.thread(),
            place.brick(),
            device.map(u64::from).into(),
            Cell::I64(sign * bytes),
            tag,
            record.unsigned(10, context.notes).into(),
            // Weight and distance of samples: of allocators that record by themselves.
            Cell::Null,
            Cell::Null,
        ];
        context.reach(time_ns, 0);
        context.row(context.tables.allocations, &cells)
    }
}

/// The event of a record or of a wait.
fn cuda_event(place: &Place, event: u64, sync_id: Option<u64>) -> CudaEvent {
    CudaEvent {
        process: place.process,
        context: place.context,
        event,
        sync_id: sync_id.and_then(cupti_enums::number),
        correlation: place.correlation,
    }
}
