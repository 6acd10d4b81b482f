//! Kernels of a `cuda_profiler_range`: what CUPTI's range profiler counted, a range a kernel.
//!
//! Kineto states no times of such kernels: it divides the time that the profiler was on evenly among them. So the rows
//! are not valid, and only their counters tell of the work. They name no call either. Where the file has as many
//! launches as ranges, and ranges of one device only, they belong together in the order of their times.

/// Limit for ranges in memory; Kineto records 1,500 by default.
const MAX_RANGES: usize = 1 << 16;

pub(super) struct Range {
    pub start_ns: i64,
    pub dur_ns: i64,
    pub name: u32,
    /// [`NONE`](super::record::NONE) if not stated.
    pub device: u32,
    /// Metrics by the number of their name's text.
    pub metrics: Vec<(u32, f64)>,
}

#[derive(Clone, Copy)]
pub(super) struct Launch {
    pub start_ns: i64,
    pub id: u64,
    pub brick: Option<u64>,
    pub thread: u32,
    pub correlation: Option<u64>,
}

/// Ranges; launches only if there are ranges.
#[derive(Default)]
pub(super) struct ProfilerRanges {
    pub ranges: Vec<Range>,
    pub launches: Vec<Launch>,
}

impl ProfilerRanges {
    pub fn put(&mut self, range: Range) -> bool {
        let has_room = self.ranges.len() < MAX_RANGES;
        if has_room {
            self.ranges.push(range);
        }
        has_room
    }

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
