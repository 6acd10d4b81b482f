//! Kernels of a `cuda_profiler_range`: what CUPTI's range profiler counted, a range a kernel.
//!
//! Kineto states no times of such kernels: it divides the time that the profiler was on evenly among them. So the rows
//! are not valid, and only their counters tell of the work. They name no call either. Where the file has as many
//! launches as ranges, and ranges of one device only, they belong together in the order of their times.

/// Ranges that are kept in memory; Kineto makes 1,500 unless told otherwise.
const MAX_RANGES: usize = 1 << 16;

/// A kernel with its counters.
pub(super) struct Range {
    pub start_ns: i64,
    pub dur_ns: i64,
    /// Number of its text.
    pub name: u32,
    /// Or [`NONE`](super::record::NONE).
    pub device: u32,
    /// Metrics by the numbers of their names.
    pub metrics: Vec<(u32, f64)>,
}

/// A call that launched a kernel.
#[derive(Clone, Copy)]
pub(super) struct Launch {
    pub start_ns: i64,
    pub id: u64,
    pub brick: Option<u64>,
    pub thread: u32,
    pub correlation: Option<u64>,
}

/// Ranges, and launches where there are ranges.
#[derive(Default)]
pub(super) struct ProfilerRanges {
    pub ranges: Vec<Range>,
    pub launches: Vec<Launch>,
}

impl ProfilerRanges {
    /// Keeps a range; false where there are too many.
    pub fn put(&mut self, range: Range) -> bool {
        let has_room = self.ranges.len() < MAX_RANGES;
        if has_room {
            self.ranges.push(range);
        }
        has_room
    }

    /// Keeps a call if it launches a kernel, and there are ranges.
    pub fn call(&mut self, name: &str, launch: Launch) {
        if !self.ranges.is_empty() && launches_a_kernel(name) {
            self.launches.push(launch);
        }
    }
}

fn launches_a_kernel(name: &str) -> bool {
    let function = ["cuda", "cu"].iter().find_map(|api| name.strip_prefix(api));
    function.is_some_and(|function| {
        ["LaunchKernel", "LaunchCooperativeKernel"]
            .iter()
            .any(|launch| function.starts_with(launch))
    })
}
