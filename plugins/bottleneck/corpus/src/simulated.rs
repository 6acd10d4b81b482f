//! A host thread and a device with streams, stepped event by event and written as a Kineto trace.
//!
//! Times are nanoseconds. If nothing else is said ([`Speed`]), a launch takes the host 5 µs and reaches the device 4 µs
//! after it began; a stream works in order; copies take 5 µs and 12 GB/s from pinned, 4 GB/s from pageable memory.

use std::collections::BTreeMap;
use std::fmt::Write;

#[derive(Clone, Copy)]
pub struct Speed {
    pub launch_ns: i64,
    /// From the start of a call to the earliest start of its work.
    pub latency_ns: i64,
    /// Bytes per nanosecond to and from pinned memory.
    pub pinned: i64,
    /// Bytes per nanosecond to and from pageable memory.
    pub pageable: i64,
    /// From the end of the awaited work to the return of the wait.
    pub return_ns: i64,
    /// Seed of the jitter, which is ±3 %.
    pub seed: u64,
}

impl Default for Speed {
    fn default() -> Self {
        Self {
            launch_ns: 5_000,
            latency_ns: 4_000,
            pinned: 12,
            pageable: 4,
            return_ns: 3_000,
            seed: 1,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Way {
    Up,
    Down,
}

pub struct Machine {
    pub now_ns: i64,
    pub device: i64,
    speed: Speed,
    free_at_ns: BTreeMap<(i64, i64), i64>,
    correlation: u64,
    events: String,
    jitter: u64,
}

impl Default for Machine {
    fn default() -> Self {
        Self::new(Speed::default())
    }
}

impl Machine {
    pub fn new(speed: Speed) -> Self {
        Self {
            now_ns: 1_000_000,
            device: 0,
            speed,
            free_at_ns: BTreeMap::new(),
            correlation: 0,
            events: String::new(),
            jitter: speed.seed,
        }
    }

    /// `ns` ± 3 %, as real times vary.
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

    pub fn host(&mut self, name: &str, ns: i64) {
        let from_ns = self.now_ns;
        self.now_ns += self.about(ns);
        self.event("cpu_op", name, 1, (from_ns, self.now_ns), "");
    }

    /// An API call that uses no stream.
    pub fn call(&mut self, name: &str, ns: i64) {
        let from_ns = self.now_ns;
        self.now_ns += self.about(ns);
        self.correlation += 1;
        let args = format!(r#""correlation":{}"#, self.correlation);
        self.event("cuda_runtime", name, 1, (from_ns, self.now_ns), &args);
    }

    /// Queues work on a stream; returns its start and end.
    fn queue(&mut self, stream: i64, ns: i64) -> (i64, i64) {
        let ns = self.about(ns);
        let free = self.free_at_ns.entry((self.device, stream)).or_default();
        let start_ns = (self.now_ns + self.speed.latency_ns).max(*free);
        *free = start_ns + ns;
        (start_ns, start_ns + ns)
    }

    pub fn launch(&mut self, name: &str, stream: i64, ns: i64, blocks: u32) -> i64 {
        let (start_ns, end_ns) = self.queue(stream, ns);
        self.call("cudaLaunchKernel", self.speed.launch_ns);
        let args = format!(
            r#""correlation":{},"device":{},"stream":{stream},"grid":[{blocks},1,1],"block":[256,1,1]"#,
            self.correlation, self.device
        );
        self.event("kernel", name, stream, (start_ns, end_ns), &args);
        end_ns
    }

    /// Copies; returns the end of the copy. With pageable memory the host blocks until then.
    pub fn copy(&mut self, way: Way, stream: i64, bytes: i64, pinned: bool) -> i64 {
        let per_ns = if pinned {
            self.speed.pinned
        } else {
            self.speed.pageable
        };
        let (start_ns, end_ns) = self.queue(stream, 5_000 + bytes / per_ns);
        let from_ns = self.now_ns;
        self.now_ns = if pinned {
            from_ns + self.speed.launch_ns
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
            r#""correlation":{},"device":{},"stream":{stream},"bytes":{bytes}"#,
            self.correlation, self.device
        );
        self.event("gpu_memcpy", &name, stream, (start_ns, end_ns), &args);
        end_ns
    }

    pub fn wait(&mut self) {
        let done_ns = self.free_at_ns.values().copied().max().unwrap_or(0);
        self.wait_until("cudaDeviceSynchronize", done_ns);
    }

    /// The host blocks in `call` until `done_ns`.
    pub fn wait_until(&mut self, call: &str, done_ns: i64) {
        let from_ns = self.now_ns;
        self.now_ns = (from_ns + 1_000).max(done_ns + self.speed.return_ns);
        self.correlation += 1;
        let args = format!(r#""correlation":{}"#, self.correlation);
        self.event("cuda_runtime", call, 1, (from_ns, self.now_ns), &args);
    }

    pub fn trace(self) -> String {
        format!(
            "{{\"schemaVersion\":1,\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n{}\n]}}\n",
            self.events
        )
    }
}
