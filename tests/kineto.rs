//! PyTorch traces of one step after another, made so that what is true of them is known.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

#[derive(Clone, Copy, PartialEq)]
pub enum Work {
    /// Kernels of a microsecond, each launched when the one before has finished.
    Inference,
    /// Kernels that the host launches far ahead, and an all-reduce at the end of the step that nothing
    /// overlaps.
    Training,
}

const STEP_US: i64 = 1_000;
const STEPS: i64 = 4;

struct Trace {
    events: Vec<Value>,
    id: i64,
}

impl Trace {
    fn row(&mut self, category: &str, name: &str, (ts, dur): (i64, i64), args: Value) {
        let (pid, tid) = if category == "kernel" { (0, 7) } else { (1, 1) };
        self.events.push(json!({
            "ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur, "args": args
        }));
    }

    /// An operator at `host_us` that launches a kernel, which runs at `device_us` (start, duration).
    fn launch(&mut self, operator: &str, kernel: &str, host_us: i64, device: (i64, i64)) {
        self.id += 1;
        let id = self.id;
        let shapes = match operator {
            "aten::mm" => {
                json!({"External id": id, "Input Dims": [[512, 512], [512, 512]], "Input type": ["float", "float"]})
            }
            _ => json!({"External id": id}),
        };
        self.row("cpu_op", operator, (host_us, 10), shapes);
        let launch = json!({"correlation": id, "External id": id});
        self.row("cuda_runtime", "cudaLaunchKernel", (host_us + 2, 6), launch);
        let of_device = json!({
            "device": 0, "context": 1, "stream": 7, "correlation": id, "External id": id,
            "grid": [864, 1, 1], "block": [256, 1, 1]
        });
        self.row("kernel", kernel, device, of_device);
    }
}

/// Writes the trace of one rank out of `ranks`.
pub fn write(dir: &Path, work: Work, rank: u32, ranks: u32) -> PathBuf {
    let mut trace = Trace {
        events: Vec::new(),
        id: 0,
    };
    for step in 0..STEPS {
        let from_us = 10_000 + step * STEP_US;
        let name = format!("ProfilerStep#{}", step + 5);
        trace.row("user_annotation", &name, (from_us, STEP_US - 10), json!({}));
        match work {
            Work::Inference => {
                for at in 0..30 {
                    let host_us = from_us + 20 + at * 30;
                    trace.launch(
                        "aten::mm",
                        "ampere_sgemm_128x64_nn",
                        host_us,
                        (host_us + 12, 1),
                    );
                }
            }
            Work::Training => {
                for at in 0..10 {
                    let device = (from_us + 50 + at * 60, 58);
                    let host_us = from_us + 10 + at * 12;
                    trace.launch("aten::mm", "ampere_sgemm_128x64_nn", host_us, device);
                }
                // The second rank computes for longer; all wait for it.
                let late_us = i64::from(rank) * 60;
                let device = (from_us + 650 + late_us, 300 - late_us);
                let all_reduce =
                    "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)";
                trace.launch("nccl:all_reduce", all_reduce, from_us + 200, device);
                // As a loss that is read does.
                let wait = (from_us + 220, 735);
                trace.row(
                    "cuda_runtime",
                    "cudaDeviceSynchronize",
                    wait,
                    json!({"correlation": 1_000 + step}),
                );
            }
        }
    }
    let file = dir.join(format!("rank{rank}.pt.trace.json"));
    let trace = json!({
        "schemaVersion": 1,
        "deviceProperties": [{
            "id": 0, "name": "NVIDIA A100-SXM4-80GB", "totalGlobalMem": 85_000_000_000_u64, "computeMajor": 8,
            "computeMinor": 0, "maxThreadsPerBlock": 1024, "warpSize": 32, "numSms": 108
        }],
        "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": ranks},
        "traceEvents": trace.events,
    });
    fs::write(&file, trace.to_string()).expect("a writable folder");
    file
}
