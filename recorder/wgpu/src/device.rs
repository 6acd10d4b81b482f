//! A GPU as the device of a recorder.

use std::sync::Arc;

use trueno_recorder::Device;
use wgpu::Features;

use crate::clock::Clock;
use crate::offered;
use crate::queries::Queries;

/// Number of a device's only queue in rows (column `stream`).
pub(crate) const QUEUE: u32 = 1;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamps {
    /// Begin and end of compute passes, and the clock.
    pub passes: bool,
    /// Single dispatches.
    pub dispatches: bool,
    /// Copies and fills.
    pub copies: bool,
}

impl Stamps {
    fn new(features: Features) -> Self {
        let passes = features.contains(Features::TIMESTAMP_QUERY);
        let with = |feature| passes && features.contains(feature);
        Self {
            passes,
            dispatches: with(Features::TIMESTAMP_QUERY_INSIDE_PASSES),
            copies: with(Features::TIMESTAMP_QUERY_INSIDE_ENCODERS),
        }
    }
}

/// A GPU: give it to [`Builder::device`](trueno_recorder::Builder::device).
///
/// Marks are timestamp queries. The device is waited for as a whole, where the recorder's
/// [`SyncMode`](trueno_recorder::SyncMode) asks for it and nowhere else. Its clock is read when its queue is empty.
pub struct WgpuDevice {
    number: u32,
    info: wgpu::AdapterInfo,
    adapter_features: Features,
    device: wgpu::Device,
    queue: wgpu::Queue,
    stamps: Stamps,
    /// `None` without time stamps.
    clock: Option<Clock>,
    queries: Arc<Queries>,
}

impl WgpuDevice {
    /// Features to ask an adapter for, when a device is requested, so that its work has times: those of
    /// `TIMESTAMP_QUERY`, `TIMESTAMP_QUERY_INSIDE_ENCODERS` and `TIMESTAMP_QUERY_INSIDE_PASSES` that it has.
    pub fn features(adapter: &wgpu::Adapter) -> Features {
        let wanted = Features::TIMESTAMP_QUERY
            | Features::TIMESTAMP_QUERY_INSIDE_ENCODERS
            | Features::TIMESTAMP_QUERY_INSIDE_PASSES;
        adapter.features() & wanted
    }

    /// Makes a device of one that the program has already; `number` is column `device` of its rows. Without
    /// [`WgpuDevice::features`] it works, and its work has no times: the run says so.
    pub fn from_device(
        number: u32,
        adapter: &wgpu::Adapter,
        device: &wgpu::Device,
        queue: &wgpu::Queue,
    ) -> Arc<Self> {
        let stamps = Stamps::new(device.features());
        let queries = Queries::new(device, queue);
        Arc::new(Self {
            number,
            info: adapter.get_info(),
            adapter_features: adapter.features(),
            device: device.clone(),
            queue: queue.clone(),
            stamps,
            clock: stamps.passes.then(|| Clock::new(device, queue, &queries)),
            queries,
        })
    }

    /// The device, as wgpu has it.
    pub fn device(&self) -> &wgpu::Device {
        &self.device
    }

    /// The queue, as wgpu has it.
    pub fn queue(&self) -> &wgpu::Queue {
        &self.queue
    }

    /// The adapter: its name, driver and backend.
    pub fn info(&self) -> &wgpu::AdapterInfo {
        &self.info
    }

    pub(crate) fn stamps(&self) -> Stamps {
        self.stamps
    }

    pub(crate) fn queries(&self) -> &Arc<Queries> {
        &self.queries
    }

    pub(crate) fn wait(&self) -> Result<(), String> {
        let waited = self.device.poll(wgpu::PollType::wait_indefinitely());
        waited.map(drop).map_err(|error| error.to_string())
    }

    pub(crate) fn limits(&self) -> Vec<String> {
        let Stamps {
            passes,
            dispatches,
            copies,
        } = self.stamps;
        let all = [
            (
                !passes,
                Features::TIMESTAMP_QUERY,
                "its work has no times: rows are `bound`, from when it was encoded to the end of a wait for it",
            ),
            (
                passes && !dispatches,
                Features::TIMESTAMP_QUERY_INSIDE_PASSES,
                "rows of kernels are compute passes, not dispatches",
            ),
            (
                passes && !copies,
                Features::TIMESTAMP_QUERY_INSIDE_ENCODERS,
                "copies have no times: their rows are `bound`",
            ),
        ];
        let missing = all.into_iter().filter(|(is_missing, ..)| *is_missing);
        missing
            .map(|(_, feature, what_follows)| self.limit(feature, what_follows))
            .collect()
    }

    fn limit(&self, feature: Features, what_follows: &str) -> String {
        let name: String = feature.iter_names().map(|(name, _)| name).collect();
        let number = self.number;
        if self.adapter_features.contains(feature) {
            return format!(
                "device {number}: it was made without {name}: {what_follows} (hint: request `WgpuDevice::features`)"
            );
        }
        format!("device {number}: its adapter has no {name}: {what_follows}")
    }
}

impl Device for WgpuDevice {
    fn number(&self) -> u32 {
        self.number
    }

    fn name(&self) -> String {
        self.info.name.clone()
    }

    fn synchronize(&self) -> Result<(), String> {
        self.wait()
    }

    fn clock_ns(&self) -> Option<u64> {
        self.clock.as_ref()?.now_ns()
    }

    fn mark(&self, stream: u32) -> Option<u64> {
        if stream != QUEUE {
            return None;
        }
        offered::take(self).or_else(|| Some(self.clock.as_ref()?.mark().0))
    }

    fn time_ns(&self, mark: u64) -> Option<u64> {
        self.queries.time_ns(mark)
    }

    fn release(&self, mark: u64) {
        self.queries.release(mark);
    }

    fn facts(&self) -> Vec<(&'static str, String)> {
        let mut facts = vec![
            ("adapter", format!("{:?}", self.info.device_type)),
            ("backend", self.info.backend.to_string()),
            (
                "driver",
                format!("{} {}", self.info.driver, self.info.driver_info)
                    .trim()
                    .to_owned(),
            ),
        ];
        if self.stamps.passes {
            let resolution = self.queries.resolution_ns().to_string();
            facts.push(("time_source", "wgpu_timestamp_query".to_owned()));
            facts.push(("resolution_ns", resolution));
        } else {
            facts.push(("time_source", "none: no TIMESTAMP_QUERY".to_owned()));
        }
        facts
    }
}
