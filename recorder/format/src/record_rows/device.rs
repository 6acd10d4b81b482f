//! Rows about devices: their work, waits for them, their clocks.

use super::Writer;
use super::columns::Columns;
use super::facts;
use super::rows::{Origin, Rows, find, given};
use crate::clock::pairs::Pair;
use crate::names::{Name, Texts};
use crate::record::{Record, TableNumber, device_timing, extension, row_id, unpair};

/// The number that device work got when it was launched, or that of the thread that published it.
fn own_id(origin: &Origin, record: &Record) -> u64 {
    match record.m[3] {
        0 => row_id(origin.thread, record.seq),
        id => id,
    }
}

impl Rows {
    /// A row of `kernels`.
    pub(super) fn device_work(
        &mut self,
        origin: &Origin,
        group: &[Record],
        to: &mut Columns,
        texts: &mut Texts,
    ) {
        let record = &group[0];
        let (device, stream) = unpair(record.m[1]);
        let known = record.flags & device_timing::ON_DEVICE != 0;
        let on_device = |number: u32| known.then_some(u64::from(number));
        let launch = find(group, extension::LAUNCH).copied().unwrap_or_default();
        let [grid, block, ptx, memory] = [1, 2, 4, 8].map(|bit| launch.flags & bit != 0);
        let ((grid_x, grid_y), (grid_z, block_x)) = (unpair(launch.start), unpair(launch.end));
        let (block_y, block_z) = unpair(launch.m[0]);
        let source = ptx.then(|| self.source_name(launch.m[1], texts));
        let work = find(group, extension::WORK).copied().unwrap_or_default();
        let (registers, static_memory) = unpair(work.m[3]);
        let stated = |bit: u8, value: u64| (work.flags & bit != 0).then_some(value);
        let declared = (work.flags & 6 != 0).then_some(self.words.declared);
        let (timing, valid) = match record.flags & device_timing::MASK {
            device_timing::STAMPED => (self.words.device, true),
            device_timing::BOUND => (self.words.bound, true),
            _ => (self.words.host, false),
        };
        let (start, dur) = self.interval(record);
        to.row(|row| {
            row.put(own_id(origin, record))
                .put_if((record.m[0] != 0).then_some(record.m[0]))
                .text(Name::from_number(record.name))
                .text_if(given(u64::from(record.backend)))
                .put_if(Some(u64::from(record.parent)))
                .put_if(on_device(device))
                .put_if(on_device(stream))
                .nulls(1) // correlation
                .signed(start)
                .signed(dur)
                .text(timing)
                .nulls(2); // queued, submitted
            for size in [grid_x, grid_y, grid_z] {
                row.put_if(grid.then_some(u64::from(size)));
            }
            for size in [block_x, block_y, block_z] {
                row.put_if(block.then_some(u64::from(size)));
            }
            row.put_if(stated(8, u64::from(registers)))
                .put_if(stated(16, u64::from(static_memory)))
                .put_if(memory.then_some(launch.m[2]))
                .text_if(source)
                .nulls(1) // graph node
                .put_if(stated(1, work.m[0]))
                .put_if(stated(2, work.m[1]))
                .put_if(stated(4, work.m[2]))
                .text_if(declared)
                .put(u64::from(valid))
                .text_if(given(record.m[2]));
        });
    }

    /// A row of `transfers`.
    pub(super) fn transfer(&mut self, origin: &Origin, group: &[Record], to: &mut Columns) {
        let record = &group[0];
        let (device, stream) = unpair(record.m[1]);
        let (source, target) = find(group, extension::MEMORY).map_or((0, 0), |of| unpair(of.m[0]));
        let timing = match record.flags & device_timing::MASK {
            device_timing::STAMPED => self.words.device,
            device_timing::BOUND => self.words.bound,
            _ => self.words.host,
        };
        let (start, dur) = self.interval(record);
        to.row(|row| {
            row.put(own_id(origin, record))
                .put_if((record.m[0] != 0).then_some(record.m[0]))
                .text(Name::from_number(record.name))
                .put(record.m[2])
                .text_if(given(u64::from(source)))
                .text_if(given(u64::from(target)))
                .nulls(1) // is_async: whether a call waited depends on the memory
                .put_if(Some(u64::from(record.parent)))
                .put_if(Some(u64::from(device)))
                .put_if(Some(u64::from(stream)))
                .signed(start)
                .signed(dur)
                .text(timing)
                .nulls(1); // correlation
        });
    }

    /// A row of `syncs`.
    pub(super) fn device_wait(&mut self, origin: &Origin, record: &Record, to: &mut Columns) {
        let (start, dur) = self.interval(record);
        to.row(|row| {
            row.put(row_id(origin.thread, record.seq))
                .text(self.words.device)
                .nulls(1) // name
                .put_if(Some(u64::from(origin.thread)))
                .put_if(Some(record.m[0]))
                .nulls(2) // stream, event
                .signed(start)
                .signed(dur)
                .nulls(1); // correlation
        });
    }
}

impl Writer {
    /// A row of `clock_pairs`.
    pub(super) fn keep_device_pair(&mut self, pair: Pair, device: u32, device_ns: u64) {
        if self.is_off(TableNumber::ClockPairs) {
            return;
        }
        let host_ns = self.rows.timeline.host_ns(pair);
        let of_device = Some((device, device_ns));
        self.add(TableNumber::ClockPairs, |to, _| {
            facts::clock_pair(to, pair, host_ns, of_device);
        });
    }
}
