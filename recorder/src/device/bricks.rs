//! Device work of bricks and layers. All of it is out of line: a recorder without a
//! device only tests a bit.

use std::sync::atomic::Ordering;

use super::pending::{Marks, Piece, What};
use super::work::DeviceWork;
use crate::names::Name;
use crate::recorder::Recorder;
use crate::row_details::Labels;
use crate::span_id::SpanId;
use crate::sync_mode::SyncMode;
use trueno_format::record::kind;
use trueno_format::schema::TableId;

/// What the rows of a brick's device work need from the brick.
#[derive(Clone, Copy)]
pub(crate) struct Launched {
    start: u64,
    name: Name,
    backend: u16,
}

impl Launched {
    pub fn new(start: u64, name: Name, labels: Labels) -> Self {
        Self {
            start,
            name,
            backend: labels.short_backend(),
        }
    }
}

impl DeviceWork {
    fn open_stream(&self, brick: SpanId, stream: u32) {
        let named = |streams: &Vec<(u32, Option<u64>)>| streams.iter().any(|(of, _)| *of == stream);
        if brick.is_none() || self.pending().open.get(&brick.get()).is_some_and(named) {
            return;
        }
        let before = self.mark(TableId::Kernels, stream);
        let mut pending = self.pending();
        let streams = pending.open.entry(brick.get()).or_default();
        streams.push((stream, before));
        drop(pending);
        if self.records(TableId::Kernels) {
            self.shared
                .counts
                .open_on_device
                .fetch_add(1, Ordering::Relaxed);
        }
    }

    fn close_streams(&self, brick: SpanId, launched: Launched) {
        let Some(streams) = self.pending().open.remove(&brick.get()) else {
            return;
        };
        if self.records(TableId::Kernels) {
            let rows = streams.len() as u64;
            self.shared
                .counts
                .open_on_device
                .fetch_sub(rows, Ordering::Relaxed);
        }
        for (stream, before) in streams {
            let behind = self.mark(TableId::Kernels, stream);
            self.push(Piece {
                what: What::Brick,
                id: 0,
                brick: brick.get(),
                name: launched.name,
                backend: launched.backend,
                thread: brick.thread(),
                stream,
                start: launched.start,
                launched: self.ticks(),
                marks: Marks { before, behind },
            });
        }
    }
}

impl Recorder {
    /// A failure is reported in the run, and the program continues.
    fn device_wait(&self, device: &DeviceWork) {
        let _ = device.synchronize();
    }

    #[cold]
    #[inline(never)]
    pub(crate) fn device_before_brick(&self) {
        if let Some(device) = self.device()
            && device.mode() == SyncMode::Immediate
        {
            self.device_wait(device);
        }
    }

    #[cold]
    #[inline(never)]
    pub(crate) fn device_stream(&self, brick: SpanId, stream: u32) {
        if let Some(device) = self.device() {
            device.open_stream(brick, stream);
        }
    }

    #[cold]
    #[inline(never)]
    pub(crate) fn device_before_end(&self, brick: SpanId, of: u8, launched: Launched) {
        let Some(device) = self.device() else { return };
        device.close_streams(brick, launched);
        if of == kind::BRICK && device.mode() == SyncMode::Immediate {
            self.device_wait(device);
        }
    }

    #[cold]
    #[inline(never)]
    pub(crate) fn device_after_layer(&self) {
        if let Some(device) = self.device()
            && device.mode() == SyncMode::PerLayer
        {
            self.device_wait(device);
        }
    }
}
