//! Rows about devices: their work and waits for them.

use super::{Rows, find, has_place, launch, site};
use crate::columns::Columns;
use crate::record::{Record, device_timing, extension, row_id, unpair};
use crate::ring::Origin;
use crate::schema::{KernelRow, SyncRow, TransferRow};
use crate::text::{Text, Texts};

/// The id assigned when the device work was launched, or else the id of the record that published it.
fn own_id(origin: &Origin, record: &Record) -> u64 {
    match record.m[3] {
        0 => row_id(origin.thread, record.seq),
        id => id,
    }
}

impl Rows {
    pub(super) fn device_work(
        &mut self,
        origin: &Origin,
        group: &[Record],
        to: &mut Columns,
        texts: &mut dyn Texts,
    ) {
        let record = &group[0];
        let (device, stream) = unpair(record.m[1]);
        let known = record.flags & device_timing::ON_DEVICE != 0;
        let on_device = |number: u32| known.then_some(number);
        let launch = launch(group);
        let source = launch.ptx().map(|hash| self.source_name(hash, texts));
        let work = find(group, extension::WORK).copied().unwrap_or_default();
        let (registers, smem_static) = unpair(work.m[3]);
        let stated = |bit: u8| work.flags & bit != 0;
        let declared = (work.flags & 6 != 0).then_some(self.texts.declared);
        let (timing, valid) = match record.flags & device_timing::MASK {
            device_timing::STAMPED => (self.texts.device, true),
            device_timing::BOUND => (self.texts.bound, true),
            device_timing::HOST => (self.texts.host, true),
            _ => (self.texts.host, false),
        };
        let site = site(record.name, texts);
        let (start_ns, dur_ns) = self.interval(record);
        to.push(&KernelRow {
            id: own_id(origin, record),
            brick: (record.m[0] != 0).then_some(record.m[0]),
            name: site.name,
            backend: Text::given(u64::from(record.backend)),
            thread: Some(record.parent),
            device: on_device(device),
            stream: on_device(stream),
            start_ns,
            dur_ns,
            timing,
            registers: stated(8).then_some(registers),
            smem_static: stated(16).then_some(smem_static),
            ptx_hash: source,
            elements: stated(1).then_some(work.m[0]),
            flops: stated(2).then_some(work.m[1]),
            bytes: stated(4).then_some(work.m[2]),
            work_source: declared,
            valid,
            reason: Text::given(record.m[2]),
            file: has_place(record).then_some(site.file),
            line: has_place(record).then_some(site.line),
            ..launch.row()
        });
    }

    pub(super) fn transfer(&mut self, origin: &Origin, group: &[Record], to: &mut Columns) {
        let record = &group[0];
        let (device, stream) = unpair(record.m[1]);
        let on_device =
            |number: u32| (record.flags & device_timing::ON_DEVICE != 0).then_some(number);
        let (source, target) = find(group, extension::MEMORY).map_or((0, 0), |of| unpair(of.m[0]));
        let timing = match record.flags & device_timing::MASK {
            device_timing::STAMPED => self.texts.device,
            device_timing::BOUND => self.texts.bound,
            _ => self.texts.host,
        };
        let (start_ns, dur_ns) = self.interval(record);
        to.push(&TransferRow {
            id: own_id(origin, record),
            brick: (record.m[0] != 0).then_some(record.m[0]),
            direction: Text::from_number(record.name),
            bytes: Some(record.m[2]),
            src_kind: Text::given(u64::from(source)),
            dst_kind: Text::given(u64::from(target)),
            // Whether a call waited depends on the memory.
            is_async: None,
            thread: Some(record.parent),
            device: on_device(device),
            stream: on_device(stream),
            start_ns,
            dur_ns,
            timing,
            correlation: None,
        });
    }

    pub(super) fn device_wait(&mut self, origin: &Origin, record: &Record, to: &mut Columns) {
        let (start_ns, dur_ns) = self.interval(record);
        to.push(&SyncRow {
            id: row_id(origin.thread, record.seq),
            kind: self.texts.device,
            thread: Some(origin.thread),
            device: Some(record.m[0] as u32),
            start_ns,
            dur_ns,
            ..SyncRow::default()
        });
    }
}
