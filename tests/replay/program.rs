//! Made-up programs, run step by step, as traces of PyTorch's profiler.

use serde_json::{Value, json};

/// Pseudo-random numbers, the same for a seed (SplitMix64).
struct Random(u64);

impl Random {
    fn below(&mut self, count: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % count
    }
}

const START: u64 = 1_000;
const CALL: u64 = 5;
const TO_DEVICE: u64 = 7;
const NEXT: u64 = 1;
const WAKE: u64 = 3;

fn row(category: &str, name: &str, lane: (&str, u64), from: u64, to: u64, args: &Value) -> Value {
    json!({"ph": "X", "cat": category, "name": name, "pid": lane.0, "tid": lane.1, "ts": from, "dur": to - from, "args": args})
}

/// Steps of launches to two streams, blocking copies back, and waits for the device. Returns the trace and its
/// length. If `is_half`, kernels take half their time.
pub fn run(seed: u64, is_half: bool) -> (String, u64) {
    let mut random = Random(seed);
    let (mut now, mut correlation) = (START, 0);
    let mut free = [0, 0];
    let mut rows = Vec::new();
    let host = ("1", 1);
    // Some programs are bound by their host, some by the device.
    let longest = 5 + 20 * (seed % 4);
    for _ in 0..400 {
        let (start, stream) = (now, random.below(2) as usize);
        correlation += 1;
        let on = |stream: usize| ("0", 7 + stream as u64);
        let args = json!({"correlation": correlation, "device": 0, "stream": 7 + stream});
        match random.below(20) {
            0 => {
                now += CALL;
                now = now.max(free[0]).max(free[1]) + WAKE;
                let name = "cudaDeviceSynchronize";
                rows.push(row("cuda_runtime", name, host, start, now, &args));
            }
            1 => {
                let from = (start + TO_DEVICE).max(free[stream] + NEXT);
                free[stream] = from + 4;
                now = free[stream] + WAKE;
                rows.push(row(
                    "cuda_runtime",
                    "cudaMemcpyAsync",
                    host,
                    start,
                    now,
                    &args,
                ));
                let name = "Memcpy DtoH (Device -> Pageable)";
                let work = row("gpu_memcpy", name, on(stream), from, from + 4, &args);
                rows.push(work);
            }
            2 | 3 => {
                now += 5 + random.below(30);
                rows.push(row("cpu_op", "aten::host", host, start, now, &json!({})));
            }
            _ => {
                now += CALL;
                rows.push(row(
                    "cuda_runtime",
                    "cudaLaunchKernel",
                    host,
                    start,
                    now,
                    &args,
                ));
                let from = (start + TO_DEVICE).max(free[stream] + NEXT);
                let length = 2 * (1 + random.below(longest));
                free[stream] = from + if is_half { length / 2 } else { length };
                rows.push(row("kernel", "k", on(stream), from, free[stream], &args));
            }
        }
    }
    let trace = json!({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "gpu"}], "traceEvents": rows});
    let end = now.max(free[0]).max(free[1]);
    (trace.to_string(), end - START)
}
