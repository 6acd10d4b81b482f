//! Dependencies that no row states, inferred from times; clocks corrected for them.

pub(crate) mod blocking_calls;
pub(crate) mod clock_skew;
pub(crate) mod cut_off_waits;
pub(crate) mod drained_device;
pub(crate) mod full_queues;
pub(crate) mod held_hosts;
pub(crate) mod host_waits;
pub(crate) mod idle_intervals;
pub(crate) mod ranks;
pub(crate) mod stream_follows;
pub(crate) mod thread_waits;
