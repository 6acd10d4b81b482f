//! Choice of when the host waits for a device.

/// Synchronisation with devices. It determines which times of device work are known.
///
/// A row of `bricks` is always its true host interval. What a device did for it becomes rows of
/// `kernels`, one for each [`Recorder::launch`](crate::Recorder::launch), or for each stream that
/// [`BrickGuard::stream`](crate::BrickGuard::stream) named: with
/// `timing` `device` where the device has a clock. Where it has none, with `timing` `bound` from
/// the brick's start to the end of the wait that proved the work finished: an interval that
/// contains the work and is never a duration. Every mode but [`SyncMode::None`] needs
/// [`Builder::device`](crate::Builder::device).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SyncMode {
    /// Never. The device is not used at all and only host intervals are recorded. Rows of launches have the
    /// times of the call and are not valid.
    #[default]
    None,
    /// At calls of [`Recorder::synchronize`](crate::Recorder::synchronize), and at the end of the run. This
    /// disturbs the device least.
    Deferred,
    /// Also at the end of each layer, before its end time is read.
    PerLayer,
    /// Before the start and the end of each brick are read: its host interval covers its device work, and
    /// nothing overlaps. Only single launches have `bound` rows.
    Immediate,
}

impl SyncMode {
    /// Text in `run.json`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Deferred => "deferred",
            Self::PerLayer => "per_layer",
            Self::Immediate => "immediate",
        }
    }
}
