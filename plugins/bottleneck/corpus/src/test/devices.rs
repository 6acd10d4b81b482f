//! Programs with one device or two.

use crate::simulated::{Machine, Speed, Way};
use crate::steps::{Chance, device_steps};
use crate::validation::devices::{NEW, OLD};

const US: i64 = 1_000;
const MS: i64 = 1_000_000;
const KB: i64 = 1_000;
const MB: i64 = 1_000_000;

/// Between `OLD` and `NEW` of the validation corpus.
const MIDDLE: Speed = Speed {
    launch_ns: 6_500,
    latency_ns: 5_000,
    pinned: 16,
    pageable: 5,
    return_ns: 4_500,
    seed: 31_337,
};

pub fn results_down() -> String {
    device_steps(MIDDLE, 33, |m, _| {
        m.launch("synthesise", 11, 3 * MS, 1_800);
        m.copy(Way::Down, 11, 20 * MB, false);
    })
}

pub fn two_fed() -> String {
    device_steps(OLD, 60, |m, n| {
        m.device = (n % 2) as i64;
        m.copy(Way::Up, 4, 10 * MB, true);
        m.launch("filter", 4, 1_100 * US, 900);
    })
}

pub fn down_beside() -> String {
    device_steps(MIDDLE, 70, |m, _| {
        m.launch("simulate", 11, 2 * MS, 1_800);
        m.copy(Way::Down, 12, 14 * MB, true);
    })
}

pub fn tiny_with_copies() -> String {
    device_steps(MIDDLE, 800, |m, n| {
        m.host("aten::where", 9 * US);
        m.launch("select", 11, 4 * US, 1_000);
        if n % 200 == 50 {
            m.copy(Way::Up, 12, 600 * KB, true);
        }
    })
}

pub fn one_in_five() -> String {
    device_steps(OLD, 500, |m, n| {
        m.host("aten::softmax", 25 * US);
        m.launch("softmax", 4, if n % 5 == 0 { 60 * US } else { 3 * US }, 700);
    })
}

pub fn bursts() -> String {
    device_steps(MIDDLE, 22, |m, _| {
        m.host("build tree", 3 * MS);
        for _ in 0..30 {
            m.launch("traverse", 11, 120 * US, 1_600);
        }
        m.wait();
    })
}

pub fn waits_now_and_then() -> String {
    device_steps(MIDDLE, 16, |m, _| {
        let mut end_ns = 0;
        for _ in 0..50 {
            end_ns = m.launch("relax", 11, 200 * US, 1_600);
        }
        m.wait_until("cudaStreamSynchronize", end_ns);
    })
}

pub fn three_and_wait() -> String {
    device_steps(MIDDLE, 400, |m, _| {
        m.launch("reduce 1", 11, 8 * US, 500);
        m.launch("reduce 2", 11, 8 * US, 500);
        let end_ns = m.launch("reduce 3", 11, 8 * US, 500);
        m.wait_until("cudaEventSynchronize", end_ns);
    })
}

pub fn log_each_hundred() -> String {
    device_steps(MIDDLE, 12, |m, _| {
        for _ in 0..100 {
            m.launch("update", 11, 50 * US, 900);
        }
        m.copy(Way::Down, 11, 256, false);
    })
}

pub fn norm_read_back() -> String {
    device_steps(OLD, 260, |m, _| {
        m.launch("residual norm", 4, 60 * US, 640);
        m.copy(Way::Down, 4, 4 * KB, false);
    })
}

pub fn decides_next() -> String {
    device_steps(NEW, 200, |m, _| {
        m.host("choose move", 400 * US);
        m.launch("evaluate", 6, 600 * US, 1_300);
        m.copy(Way::Down, 6, KB, false);
    })
}

pub fn little_preparing() -> String {
    device_steps(MIDDLE, 25, |m, _| {
        m.host("sort keys", 210 * US);
        m.launch("join", 11, 20 * MS, 1_600);
        m.wait();
    })
}

pub fn load_and_upload() -> String {
    device_steps(MIDDLE, 40, |m, _| {
        m.host("load_batch", 2_500 * US);
        m.copy(Way::Up, 11, 2 * MB, false);
        for _ in 0..20 {
            m.launch("conv", 11, 60 * US, 1_600);
        }
        m.wait();
    })
}

pub fn four_streams() -> String {
    device_steps(NEW, 100, |m, n| {
        let stream = [1, 1, 1, 1, 1, 2, 2, 3, 3, 4][n % 10];
        m.launch("scan", stream, 700 * US, 1_300);
    })
}

pub fn nearly_even_devices() -> String {
    device_steps(NEW, 100, |m, n| {
        m.device = i64::from((n * 7) % 100 < 48);
        m.launch("block", 5, 800 * US, 1_300);
    })
}

pub fn sixteen_blocks() -> String {
    device_steps(NEW, 220, |m, _| _ = m.launch("topk", 5, 200 * US, 16))
}

pub fn sixty_idle() -> String {
    device_steps(OLD, 60, |m, _| {
        m.copy(Way::Up, 4, 800 * KB, false);
        m.copy(Way::Down, 4, 800 * KB, false);
    })
}

pub fn page_swap() -> String {
    device_steps(MIDDLE, 45, |m, _| {
        m.launch("attend", 11, 400 * US, 1_600);
        m.copy(Way::Down, 11, 12 * MB, true);
        m.wait();
        m.copy(Way::Up, 11, 12 * MB, true);
    })
}

pub fn other_sizes() -> String {
    let mut chance = Chance(71);
    let mut m = Machine::new(MIDDLE);
    for _ in 0..50 {
        let bytes = MB + chance.below(3_000_000) as i64;
        m.copy(Way::Up, 11, bytes, false);
        m.launch("compress", 11, 900 * US, 1_600);
        m.copy(Way::Down, 11, bytes / 3, false);
    }
    m.trace()
}

pub fn four_modules() -> String {
    let mut m = Machine::new(MIDDLE);
    for _ in 0..4 {
        m.call("cuModuleLoadData", 60 * MS);
    }
    for _ in 0..200 {
        m.launch("integrate", 11, 1_500 * US, 1_600);
    }
    m.wait();
    m.trace()
}

pub fn one_module() -> String {
    let mut m = Machine::new(MIDDLE);
    m.call("cuModuleLoadData", 30 * MS);
    for _ in 0..400 {
        m.launch("integrate", 11, 1_500 * US, 1_600);
    }
    m.wait();
    m.trace()
}

pub fn cold_and_tiny() -> String {
    let mut m = Machine::new(OLD);
    m.call("cudaFree", 60 * MS);
    for _ in 0..1_500 {
        m.host("aten::add_", 20 * US);
        m.launch("add", 4, 5 * US, 800);
    }
    m.wait();
    m.trace()
}

pub fn served_well() -> String {
    device_steps(NEW, 60, |m, _| {
        m.host("schedule", 150 * US);
        m.copy(Way::Up, 8, 300 * KB, true);
        for _ in 0..8 {
            m.launch("layer", 5, 300 * US, 1_300);
        }
    })
}
