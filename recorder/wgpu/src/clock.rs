//! The device's clock, read through its one queue.
//!
//! A time stamp waits for what was submitted before: the clock is read when the queue is empty, and else not at all. An
//! empty pass carries the stamp, which any device with time stamps can do.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::queries::Queries;

pub(crate) struct Clock {
    device: wgpu::Device,
    queue: wgpu::Queue,
    queries: Arc<Queries>,
    /// True after the first reading. Without one there would be no device times at all.
    was_read: AtomicBool,
}

impl Clock {
    pub fn new(device: &wgpu::Device, queue: &wgpu::Queue, queries: &Arc<Queries>) -> Self {
        Self {
            device: device.clone(),
            queue: queue.clone(),
            queries: queries.clone(),
            was_read: AtomicBool::new(false),
        }
    }

    /// A mark behind all that was submitted, by a submission of its own.
    pub fn mark(&self) -> (u64, wgpu::SubmissionIndex) {
        let mut batch = self.queries.take(false);
        let mark = batch.mark();
        let mut encoder = self.device.create_command_encoder(&Default::default());
        drop(encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
            label: Some("time stamp"),
            timestamp_writes: Some(wgpu::ComputePassTimestampWrites {
                query_set: batch.set(),
                beginning_of_pass_write_index: Some(batch.slot()),
                end_of_pass_write_index: None,
            }),
        }));
        batch.advance();
        batch.resolve(&mut encoder);
        let submission = self.queue.submit([encoder.finish()]);
        self.queries.read(batch);
        (mark, submission)
    }

    /// The time now; `None`: the queue is busy, or the stamp cannot be read.
    pub fn now_ns(&self) -> Option<u64> {
        let status = if self.was_read.swap(true, Ordering::Relaxed) {
            self.device.poll(wgpu::PollType::Poll)
        } else {
            self.device.poll(wgpu::PollType::wait_indefinitely())
        };
        if !status.ok()?.is_queue_empty() {
            return None;
        }
        let (mark, submission) = self.mark();
        let waited = self.device.poll(wgpu::PollType::Wait {
            submission_index: Some(submission),
            timeout: None,
        });
        let time = waited.ok().and_then(|_| self.queries.time_ns(mark));
        self.queries.release(mark);
        time
    }
}
