//! Programs with one device or two, on machines of several speeds.

use crate::simulated::{Machine, Speed, Way};
use crate::steps::{Chance, device_steps};

const US: i64 = 1_000;
const MS: i64 = 1_000_000;
const KB: i64 = 1_000;
const MB: i64 = 1_000_000;

/// A slow host with an old bus.
pub const OLD: Speed = Speed {
    launch_ns: 9_000,
    latency_ns: 7_000,
    pinned: 6,
    pageable: 3,
    return_ns: 12_000,
    seed: 77,
};

/// A quick host with a new bus.
pub const NEW: Speed = Speed {
    launch_ns: 3_000,
    latency_ns: 3_000,
    pinned: 24,
    pageable: 7,
    return_ns: 6_000,
    seed: 4_242,
};

pub fn upload_dominates() -> String {
    device_steps(OLD, 200, |m, _| {
        m.copy(Way::Up, 20, 3 * MB, false);
        m.launch("conv2d_fprop", 20, 150 * US, 640);
    })
}

/// Copies the results of each step down on the compute stream.
pub fn gradients_down() -> String {
    device_steps(NEW, 12, |m, _| {
        m.launch("backward", 3, 4 * MS, 2_000);
        m.copy(Way::Down, 3, 72 * MB, true);
    })
}

pub fn copy_engine_busy() -> String {
    device_steps(NEW, 45, |m, _| {
        m.copy(Way::Up, 14, 24 * MB, true);
        m.launch("attention_fwd", 13, 1_200 * US, 1_056);
    })
}

pub fn one_big_upload() -> String {
    let mut m = Machine::new(NEW);
    m.copy(Way::Up, 13, 160 * MB, true);
    for _ in 0..160 {
        m.launch("decode_step", 13, 2_500 * US, 1_056);
    }
    m.wait();
    m.trace()
}

/// A slow host launches short kernels of three kinds.
pub fn norm_chain() -> String {
    device_steps(OLD, 1_500, |m, n| {
        m.launch(
            ["rms_norm", "scale", "add_residual"][n % 3],
            20,
            6 * US,
            320,
        );
    })
}

/// A framework whose launches are slower than the work of two streams.
pub fn two_tiny_streams() -> String {
    device_steps(NEW, 900, |m, n| {
        m.host("aten::linear", 12 * US);
        m.launch("split_k", 30 + (n % 2) as i64, 3 * US, 400);
    })
}

/// Slow launches of tiny work, but few of them.
pub fn short_and_tiny() -> String {
    device_steps(OLD, 64, |m, _| {
        m.host("aten::mul_", 18 * US);
        m.launch("vectorized_elementwise", 20, 4 * US, 900);
    })
}

pub fn just_longer_than_launches() -> String {
    device_steps(OLD, 1_200, |m, _| _ = m.launch("rope", 20, 14 * US, 700))
}

pub fn batches_of_launches() -> String {
    device_steps(NEW, 14, |m, _| {
        for _ in 0..200 {
            m.launch("tile_gemm", 8, 50 * US, 1_320);
        }
        m.wait();
        m.host("log loss", 60 * US);
    })
}

pub fn sync_each_pair() -> String {
    device_steps(OLD, 350, |m, _| {
        m.launch("predict", 20, 20 * US, 800);
        let end_ns = m.launch("correct", 20, 20 * US, 800);
        m.wait_until("cudaStreamSynchronize", end_ns);
    })
}

/// Tests for convergence after every third kernel.
pub fn flag_polled() -> String {
    device_steps(NEW, 300, |m, _| {
        for _ in 0..3 {
            m.launch("jacobi", 5, 15 * US, 1_024);
        }
        m.copy(Way::Down, 5, 8, false);
    })
}

/// The host chooses each token: a few numbers down and a few up before each pass.
pub fn token_by_token() -> String {
    device_steps(NEW, 250, |m, _| {
        m.copy(Way::Up, 5, 2 * KB, false);
        for _ in 0..4 {
            m.launch("decode layer", 5, 18 * US, 1_024);
        }
        m.copy(Way::Down, 5, 64, false);
        m.host("sample", 20 * US);
    })
}

/// Uploads labels from pageable memory, short compared with the work.
pub fn labels_uploaded() -> String {
    device_steps(OLD, 60, |m, _| {
        m.copy(Way::Up, 20, 40 * KB, false);
        for _ in 0..8 {
            m.launch("resnet block", 20, 400 * US, 2_048);
        }
    })
}

pub fn sync_each_epoch() -> String {
    device_steps(OLD, 5, |m, _| {
        for _ in 0..100 {
            m.launch("update", 20, 100 * US, 2_048);
        }
        m.wait();
    })
}

pub fn event_of_the_step_before() -> String {
    let mut m = Machine::new(OLD);
    let mut before_ns = m.now_ns;
    for _ in 0..250 {
        let end_ns = m.launch("render", 20, 400 * US, 3_000);
        m.wait_until("cudaEventSynchronize", before_ns);
        before_ns = end_ns;
    }
    m.wait();
    m.trace()
}

/// The host examines the results before the device may continue.
pub fn beam_between() -> String {
    device_steps(NEW, 80, |m, _| {
        let end_ns = m.launch("decode_step", 2, 1_400 * US, 1_056);
        m.wait_until("cudaStreamSynchronize", end_ns);
        m.host("beam bookkeeping", 900 * US);
    })
}

pub fn plan_then_run() -> String {
    device_steps(OLD, 12, |m, _| {
        m.host("plan", 5 * MS);
        for _ in 0..10 {
            m.launch("sweep", 20, 400 * US, 1_500);
        }
        m.wait();
    })
}

/// The host works, but the device's queue is always full.
pub fn books_kept_beside() -> String {
    device_steps(NEW, 70, |m, _| {
        m.launch("decode_step", 2, 1_500 * US, 1_056);
        m.host("beam bookkeeping", MS);
    })
}

pub fn workers_too_slow() -> String {
    device_steps(OLD, 15, |m, _| {
        m.host(
            "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__",
            6 * MS,
        );
        for _ in 0..30 {
            m.launch("gemm", 20, 100 * US, 1_100);
        }
    })
}

pub fn loader_beside_device() -> String {
    device_steps(NEW, 40, |m, _| {
        m.host(
            "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__",
            2_400 * US,
        );
        m.launch("train_step", 7, 4 * MS, 2_112);
    })
}

/// One of three streams has four times the work.
pub fn heavy_stream_of_three() -> String {
    device_steps(OLD, 60, |m, n| {
        let stream = (n % 3) as i64;
        let ns = if stream == 1 { 2_400 * US } else { 600 * US };
        m.launch("shard", 20 + stream, ns, 1_200);
    })
}

pub fn heavy_device() -> String {
    device_steps(NEW, 80, |m, n| {
        m.device = i64::from(n % 10 < 3);
        m.launch("expert_ffn", 7, 900 * US, 2_112);
    })
}

pub fn three_even_streams() -> String {
    device_steps(OLD, 90, |m, n| {
        _ = m.launch("shard", 20 + (n % 3) as i64, 1_100 * US, 1_200);
    })
}

pub fn eight_blocks() -> String {
    device_steps(OLD, 500, |m, _| _ = m.launch("gemv_t", 20, 60 * US, 8))
}

pub fn small_grids_are_rare() -> String {
    device_steps(OLD, 300, |m, n| {
        if n % 30 == 7 {
            m.launch("finalize", 20, 10 * US, 1);
        } else {
            m.launch("map", 20, 250 * US, 2_700);
        }
    })
}

/// 1.5 MB up and down again, with a little work between.
pub fn thirty_seven_round_trips() -> String {
    device_steps(OLD, 37, |m, _| {
        m.copy(Way::Up, 20, 1_500 * KB, false);
        m.launch("clip", 20, 20 * US, 700);
        m.copy(Way::Down, 20, 1_500 * KB, false);
    })
}

pub fn two_tensors_back_and_forth() -> String {
    device_steps(NEW, 250, |m, n| {
        let bytes = if n % 2 == 0 { 9 * MB } else { 2 * MB };
        m.copy(Way::Up, 7, bytes, true);
        m.launch("stage", 7, 30 * US, 900);
        m.copy(Way::Down, 7, bytes, true);
        m.wait();
    })
}

pub fn frames_in_and_out() -> String {
    let mut chance = Chance(905);
    let mut m = Machine::new(NEW);
    for _ in 0..55 {
        let bytes = MB + chance.below(4_000_000) as i64;
        m.host("decode frame", 2 * MS);
        m.copy(Way::Up, 7, bytes, false);
        m.launch("denoise", 7, 1_800 * US, 2_000);
        m.copy(Way::Down, 7, bytes, false);
        m.host("encode frame", MS);
    }
    m.trace()
}

pub fn context_and_modules() -> String {
    let mut m = Machine::new(OLD);
    m.call("cuCtxCreate_v2", 900 * MS);
    m.call("cuModuleLoadDataEx", 200 * MS);
    for _ in 0..300 {
        m.launch("simulate", 20, 2 * MS, 1_500);
    }
    m.wait();
    m.trace()
}

pub fn quick_context() -> String {
    let mut m = Machine::new(NEW);
    m.call("cudaFree", 25 * MS);
    for _ in 0..400 {
        m.launch("simulate", 7, 3 * MS, 2_112);
    }
    m.wait();
    m.trace()
}

/// Copies overlap kernels in both directions, launches run ahead and grids are large.
pub fn double_buffered() -> String {
    device_steps(NEW, 120, |m, _| {
        m.copy(Way::Up, 14, 5 * MB, true);
        m.launch("train_step", 13, 900 * US, 2_112);
        m.copy(Way::Down, 15, 200 * KB, true);
    })
}
