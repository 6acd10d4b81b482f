//! Rows of device work, a table each.

use trueno_recorder::run_writer::Cell;

use super::context::Context;
use super::device::{Device, Interval, Place};
use super::enums;
use super::host::left_out;
use super::record::Record;
use crate::Error;

impl Device {
    pub fn kernel(
        &mut self,
        record: Record<'_>,
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
        record: Record<'_>,
        interval: &Interval,
        place: &Place,
        context: &mut Context<'_>,
    ) -> Result<(), Error> {
        let kind = record.int(8, context.notes);
        let direction = self.copies.word(kind).and_then(enums::direction);
        if direction.is_none() {
            context
                .notes
                .warn("copies of a kind that is not known have the direction unknown");
        }
        let mut memory = |column| {
            let kind = record.int(column, context.notes);
            self.memories.word(kind).and_then(enums::memory)
        };
        let kinds = [memory(9), memory(10)];
        self.transfer(
            record,
            interval,
            place,
            direction.unwrap_or("unknown"),
            kinds,
            context,
        )
    }

    pub fn memset(
        &mut self,
        record: Record<'_>,
        interval: &Interval,
        place: &Place,
        context: &mut Context<'_>,
    ) -> Result<(), Error> {
        let kind = record.int(8, context.notes);
        let kinds = [None, self.memories.word(kind).and_then(enums::memory)];
        self.transfer(record, interval, place, "memset", kinds, context)
    }

    fn transfer(
        &mut self,
        record: Record<'_>,
        interval: &Interval,
        place: &Place,
        direction: &str,
        kinds: [Option<&str>; 2],
        context: &mut Context<'_>,
    ) -> Result<(), Error> {
        let Some(bytes) = record.unsigned(7, context.notes) else {
            return left_out(record, "no number of bytes", context);
        };
        if interval.dur_ns < 0 {
            return left_out(record, "end before start", context);
        }
        let [src_kind, dst_kind] =
            kinds.map(|kind| kind.map_or(Cell::Null, |kind| context.text(kind)));
        let id = context.id();
        let cells = [
            Cell::U64(id),
            place.brick(),
            context.text(direction),
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
        record: Record<'_>,
        interval: &Interval,
        place: &Place,
        context: &mut Context<'_>,
    ) -> Result<(), Error> {
        if interval.dur_ns < 0 {
            return left_out(record, "end before start", context);
        }
        let number = record.int(7, context.notes);
        let stated = self.waits.word(number).and_then(enums::wait);
        let kind = place
            .launch
            .and_then(|launch| launch.manner.wait())
            .or(stated);
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
            .filter(|_| matches!(kind, Some("event" | "stream_wait")));
        // A stream that waits for an event does not hold up the host.
        let thread = if kind == Some("stream_wait") {
            Cell::Null
        } else {
            place.thread()
        };
        let id = context.id();
        let cells = [
            Cell::U64(id),
            context.text(kind.unwrap_or("unknown")),
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
            self.records.waits(id, place, event, sync_id)?;
        }
        if matches!(kind, Some("stream" | "device")) {
            self.waited(id, interval, place, kind == Some("device"));
        }
        Ok(())
    }

    pub fn event(
        &mut self,
        record: Record<'_>,
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
        self.records.recorded(id, place, event, sync_id)?;
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
        record: Record<'_>,
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
        let Some(sign) = self.changes.word(change).and_then(enums::memory_change) else {
            return left_out(record, "neither taken nor given back", context);
        };
        let kind = record.int(8, context.notes);
        let kind = self.memories.word(kind).and_then(enums::memory);
        // Pinned memory is the host's, whichever device it was taken for.
        let device = place
            .device
            .filter(|_| !matches!(kind, Some("pinned" | "pageable")));
        let tag = match record.text(11) {
            Some(name) if !name.is_empty() => context.text(name),
            _ => kind.map_or(Cell::Null, |kind| context.text(kind)),
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
