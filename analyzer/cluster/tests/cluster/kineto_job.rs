//! A job of ranks, as PyTorch traces that are imported.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

const STEP_US: i64 = 1_000;
const STEPS: i64 = 6;

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

    fn launch(
        &mut self,
        operator: &str,
        kernel: &str,
        host_us: i64,
        device: (i64, i64),
        of: Value,
    ) {
        self.id += 1;
        let id = self.id;
        self.row(
            "cpu_op",
            operator,
            (host_us, 10),
            json!({"External id": id}),
        );
        let launch = json!({"correlation": id, "External id": id});
        self.row("cuda_runtime", "cudaLaunchKernel", (host_us + 2, 6), launch);
        let mut args = json!({
            "device": 0, "context": 1, "stream": 7, "correlation": id, "External id": id,
            "grid": [64, 1, 1], "block": [256, 1, 1]
        });
        if let (Some(args), Value::Object(of)) = (args.as_object_mut(), of) {
            args.extend(of);
        }
        self.row("kernel", kernel, device, args);
    }
}

/// Writes the trace of a rank. Rank 2 is late in each step.
pub fn write(file: &Path, rank: u32, ranks: u32) {
    let mut trace = Trace {
        events: Vec::new(),
        id: 0,
    };
    let late_us = if rank == 2 {
        150
    } else {
        i64::from(rank % 4) * 5
    };
    let all: Vec<u32> = (0..ranks).collect();
    for step in 0..STEPS {
        let from_us = 10_000 + step * STEP_US;
        let name = format!("ProfilerStep#{}", step + 5);
        trace.row("user_annotation", &name, (from_us, STEP_US - 10), json!({}));
        for at in 0..8 {
            let host_us = from_us + 20 + at * 30;
            let device = (from_us + 50 + at * 60, 50);
            trace.launch(
                "aten::mm",
                "ampere_sgemm_128x64_nn",
                host_us,
                device,
                json!({}),
            );
        }
        let arrival_us = from_us + 540 + late_us;
        let collective = json!({
            "Collective name": "allreduce", "dtype": "Float", "In msg nelems": 1024, "Out msg nelems": 1024,
            "Group size": ranks, "Process Group Name": "0", "Process Group Ranks": format!("{all:?}"), "Seq": step
        });
        let device = (arrival_us, from_us + 750 - arrival_us);
        let kernel = "ncclDevKernel_AllReduce_Sum_f32_RING_LL";
        trace.launch("nccl:all_reduce", kernel, from_us + 300, device, collective);
    }
    let trace = json!({
        "schemaVersion": 1,
        "baseTimeNanoseconds": 1_700_000_000_000_000_000_i64,
        "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": ranks},
        "deviceProperties": [{"id": 0, "name": "NVIDIA A100-SXM4-40GB"}],
        "traceEvents": trace.events,
    });
    fs::write(file, trace.to_string()).expect("a trace");
}
