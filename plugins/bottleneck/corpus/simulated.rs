//! A host thread and a device with streams, stepped event by event and written as a Kineto trace.
//!
//! Times are nanoseconds. A launch takes the host 5 µs and reaches the device 4 µs after it began; a stream works in
//! order; copies take 5 µs and 12 GB/s from pinned, 4 GB/s from pageable memory.

use std::collections::BTreeMap;
use std::fmt::Write;

/// What a launch costs the host.
pub const LAUNCH_NS: i64 = 5_000;
const LATENCY_NS: i64 = 4_000;

/// Which way a copy goes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// To the device.
    Up,
    /// To the host.
    Down,
}

/// The machine and what it has done.
pub struct Machine {
    /// The host's time.
    pub now_ns: i64,
    free_at_ns: BTreeMap<i64, i64>,
    correlation: u64,
    events: String,
    jitter: u64,
}

impl Default for Machine {
    fn default() -> Self {
        Self {
            now_ns: 1_000_000,
            free_at_ns: BTreeMap::new(),
            correlation: 0,
            events: String::new(),
            jitter: 1,
        }
    }
}

impl Machine {
    /// A few per cent more or less, as real times have.
    fn about(&mut self, ns: i64) -> i64 {
        self.jitter = self
            .jitter
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let share = (self.jitter >> 40) as f64 / (1_u64 << 24) as f64;
        (ns as f64 * (0.97 + 0.06 * share)) as i64
    }

    fn event(
        &mut self,
        category: &str,
        name: &str,
        tid: i64,
        (start_ns, end_ns): (i64, i64),
        args: &str,
    ) {
        let comma = if self.events.is_empty() { "" } else { ",\n" };
        let micros = |ns: i64| format!("{}.{:03}", ns / 1000, ns % 1000);
        let _ = write!(
            self.events,
            r#"{comma}{{"ph":"X","cat":"{category}","name":"{name}","pid":1,"tid":{tid},"ts":{},"dur":{},"args":{{{args}}}}}"#,
            micros(start_ns),
            micros(end_ns - start_ns)
        );
    }

    /// The host works.
    pub fn host(&mut self, name: &str, ns: i64) {
        let from_ns = self.now_ns;
        self.now_ns += self.about(ns);
        self.event("cpu_op", name, 1, (from_ns, self.now_ns), "");
    }

    /// The host calls something that has to do with no stream.
    pub fn call(&mut self, name: &str, ns: i64) {
        let from_ns = self.now_ns;
        self.now_ns += self.about(ns);
        self.correlation += 1;
        let args = format!(r#""correlation":{}"#, self.correlation);
        self.event("cuda_runtime", name, 1, (from_ns, self.now_ns), &args);
    }

    /// Queues work of a stream: when it begins and ends.
    fn queue(&mut self, stream: i64, ns: i64) -> (i64, i64) {
        let ns = self.about(ns);
        let free = self.free_at_ns.entry(stream).or_default();
        let start_ns = (self.now_ns + LATENCY_NS).max(*free);
        *free = start_ns + ns;
        (start_ns, start_ns + ns)
    }

    /// Launches a kernel.
    pub fn launch(&mut self, name: &str, stream: i64, ns: i64, blocks: u32) {
        let (start_ns, end_ns) = self.queue(stream, ns);
        self.call("cudaLaunchKernel", LAUNCH_NS);
        let args = format!(
            r#""correlation":{},"device":0,"stream":{stream},"grid":[{blocks},1,1],"block":[256,1,1]"#,
            self.correlation
        );
        self.event("kernel", name, stream, (start_ns, end_ns), &args);
    }

    /// Copies; from or to pageable memory the host waits for the end.
    pub fn copy(&mut self, way: Way, stream: i64, bytes: i64, pinned: bool) {
        let per_ns = if pinned { 12 } else { 4 };
        let (start_ns, end_ns) = self.queue(stream, 5_000 + bytes / per_ns);
        let from_ns = self.now_ns;
        self.now_ns = if pinned {
            from_ns + LAUNCH_NS
        } else {
            end_ns + 2_000
        };
        self.correlation += 1;
        let args = format!(r#""correlation":{}"#, self.correlation);
        self.event(
            "cuda_runtime",
            "cudaMemcpyAsync",
            1,
            (from_ns, self.now_ns),
            &args,
        );
        let host = if pinned { "Pinned" } else { "Pageable" };
        let name = match way {
            Way::Up => format!("Memcpy HtoD ({host} -> Device)"),
            Way::Down => format!("Memcpy DtoH (Device -> {host})"),
        };
        let args = format!(
            r#""correlation":{},"device":0,"stream":{stream},"bytes":{bytes}"#,
            self.correlation
        );
        self.event("gpu_memcpy", &name, stream, (start_ns, end_ns), &args);
    }

    /// The host waits for all streams.
    pub fn wait(&mut self) {
        let done = self.free_at_ns.values().copied().max().unwrap_or(0);
        let from_ns = self.now_ns;
        self.now_ns = (from_ns + 1_000).max(done + 3_000);
        self.correlation += 1;
        let args = format!(r#""correlation":{}"#, self.correlation);
        self.event(
            "cuda_runtime",
            "cudaDeviceSynchronize",
            1,
            (from_ns, self.now_ns),
            &args,
        );
    }

    /// The trace.
    pub fn trace(self) -> String {
        format!(
            "{{\"schemaVersion\":1,\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n{}\n]}}\n",
            self.events
        )
    }
}
