//! The interface of a device.

/// A device that executes streams (queues) asynchronously to the host.
///
/// The recorder calls it from the threads that record, when its [`SyncMode`](crate::SyncMode)
/// requires it. A panic in here is caught and reported like a failed synchronisation.
///
/// A *mark* is a time stamp that a stream writes when it has done all the work submitted to it
/// before: with CUDA, an event. Without marks or a clock a device still works; its rows are then
/// `bound` (see [`SyncMode`](crate::SyncMode)).
pub trait Device: Send + Sync {
    /// Column `device`.
    fn number(&self) -> u32;

    /// A human-readable name such as `NVIDIA H100`. Stored among the values of `run.json` as `device.<number>`.
    fn name(&self) -> String;

    /// Waits until all work submitted by any thread has ended.
    ///
    /// # Errors
    /// A message. Work that waited for this then has no measured times.
    fn synchronize(&self) -> Result<(), String>;

    /// The current time of the clock that stamps marks, in nanoseconds from any origin; `None` if it cannot be
    /// read. Read together with the host's clock, it places device work on the run's timeline.
    fn clock_ns(&self) -> Option<u64>;

    /// Puts a mark behind the work submitted to `stream` so far. Returns a number that identifies the mark.
    fn mark(&self, stream: u32) -> Option<u64>;

    /// When the stream reached a mark, on the clock of [`Device::clock_ns`]; `None` if it has not yet.
    fn time_ns(&self, mark: u64) -> Option<u64>;

    /// The recorder no longer needs this mark. Called once for each mark.
    fn release(&self, mark: u64) {
        let _ = mark;
    }

    /// Returns further values for `run.json`, stored as `device.<number>.<key>`: for example, where its times
    /// come from and how exact they are. Called once, at the end of the run.
    fn facts(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }
}

impl std::fmt::Debug for dyn Device {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "device {}", self.number())
    }
}
