//! Programs with a device.

use super::simulated::{Machine, Way};

const US: i64 = 1_000;
const MS: i64 = 1_000_000;
const MB: i64 = 1_000_000;
const MANY: u32 = 4_096;

fn repeated(step: impl Fn(&mut Machine, usize), steps: usize) -> String {
    let mut machine = Machine::default();
    for number in 0..steps {
        step(&mut machine, number);
    }
    machine.wait();
    machine.trace()
}

/// A pageable copy before each kernel, longer than the kernel.
pub fn copies_block() -> String {
    repeated(
        |m, _| {
            m.copy(Way::Up, 7, 12 * MB, false);
            m.launch("gemm", 7, 2 * MS, MANY);
        },
        30,
    )
}

pub fn copies_on_one_stream() -> String {
    repeated(
        |m, _| {
            m.copy(Way::Up, 7, 24 * MB, true);
            m.launch("gemm", 7, 2 * MS, MANY);
        },
        30,
    )
}

pub fn copies_hidden() -> String {
    repeated(
        |m, _| {
            m.copy(Way::Up, 9, 12 * MB, true);
            m.launch("gemm", 7, 2 * MS, MANY);
        },
        30,
    )
}

pub fn copies_small() -> String {
    repeated(
        |m, _| {
            m.copy(Way::Up, 7, MB / 10, true);
            m.launch("gemm", 7, 2 * MS, MANY);
        },
        30,
    )
}

pub fn tiny_launches() -> String {
    repeated(|m, _| _ = m.launch("axpy", 7, 2 * US, MANY), 4_000)
}

/// Like a framework's operators: some host time, then a short kernel.
pub fn eager_operators() -> String {
    repeated(
        |m, n| {
            m.host(["aten::add", "aten::mul", "aten::mm"][n % 3], 30 * US);
            m.launch("elementwise", 7, 8 * US, MANY);
        },
        600,
    )
}

/// Kernels take longer than their launches, so the queue is never empty.
pub fn launched_ahead() -> String {
    repeated(|m, _| _ = m.launch("gemm", 7, 40 * US, MANY), 500)
}

/// Few launches; the host time between them is hidden behind long kernels.
pub fn few_large_kernels() -> String {
    repeated(
        |m, _| {
            m.host("aten::mm", 50 * US);
            m.launch("gemm", 7, 3 * MS, MANY);
        },
        20,
    )
}

pub fn wait_after_each() -> String {
    repeated(
        |m, _| {
            m.launch("step", 7, 30 * US, MANY);
            m.wait();
        },
        500,
    )
}

/// Reads a number back to decide on the next step.
pub fn scalar_read_back() -> String {
    repeated(
        |m, _| {
            m.launch("step", 7, 25 * US, MANY);
            m.copy(Way::Down, 7, 4, false);
        },
        500,
    )
}

/// Like PyTorch's `item()` after each step: an asynchronous copy to pinned memory, then a wait for it.
pub fn item_each_step() -> String {
    repeated(
        |m, _| {
            m.launch("step", 7, 25 * US, MANY);
            m.launch("loss", 7, 6 * US, MANY);
            let end_ns = m.copy(Way::Down, 7, 4, true);
            m.host("aten::item", 4 * US);
            m.wait_until("cudaStreamSynchronize", end_ns);
        },
        300,
    )
}

/// One read-back at the end of a long queue.
pub fn one_long_read_back() -> String {
    repeated(
        |m, number| {
            for _ in 0..200 {
                m.launch("step", 7, 40 * US, MANY);
            }
            if number == 0 {
                m.copy(Way::Down, 7, 4, false);
            }
        },
        2,
    )
}

/// Reads a number back for a log once in fifty launches.
pub fn logged_now_and_then() -> String {
    repeated(
        |m, _| {
            for _ in 0..50 {
                m.launch("step", 7, 100 * US, MANY);
            }
            m.copy(Way::Down, 7, 4, false);
        },
        20,
    )
}

pub fn copied_back_beside() -> String {
    repeated(
        |m, _| {
            m.launch("step", 7, 40 * US, MANY);
            m.copy(Way::Down, 9, 4_096, true);
        },
        300,
    )
}

pub fn wait_at_the_end() -> String {
    repeated(|m, _| _ = m.launch("step", 7, 30 * US, MANY), 500)
}

pub fn waits_for_long_work() -> String {
    repeated(
        |m, _| {
            m.launch("step", 7, 5 * MS, MANY);
            m.wait();
        },
        40,
    )
}

/// The host prepares the next input only after the device has finished this one.
pub fn host_prepares() -> String {
    repeated(
        |m, _| {
            m.host("sample graph", 2 * MS);
            m.launch("gnn layer", 7, 2 * MS, MANY);
            m.wait();
        },
        30,
    )
}

/// The host processes each result before it launches the next step.
pub fn host_post_processes() -> String {
    repeated(
        |m, _| {
            m.launch("detect", 7, 3 * MS, MANY);
            m.copy(Way::Down, 7, MB / 100, false);
            m.host("suppress boxes", 2 * MS);
        },
        30,
    )
}

pub fn host_prepares_ahead() -> String {
    repeated(
        |m, _| {
            m.launch("gnn layer", 7, 3 * MS, MANY);
            m.host("sample graph", 2 * MS);
        },
        30,
    )
}

pub fn loader_before_device() -> String {
    repeated(
        |m, _| {
            m.host(
                "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
                3 * MS,
            );
            for _ in 0..20 {
                m.launch("gemm", 7, 100 * US, MANY);
            }
            m.wait();
        },
        20,
    )
}

/// Three quarters of the work on one of two streams.
pub fn uneven_streams() -> String {
    repeated(
        |m, n| _ = m.launch("expert", if n % 4 == 0 { 8 } else { 7 }, MS, MANY),
        80,
    )
}

pub fn even_streams() -> String {
    repeated(
        |m, n| _ = m.launch("expert", 7 + (n % 2) as i64, MS, MANY),
        80,
    )
}

pub fn small_grids() -> String {
    repeated(|m, _| _ = m.launch("gemv", 7, 100 * US, 4), 300)
}

/// Copies up and down again without computing in between.
pub fn hundred_round_trips() -> String {
    repeated(
        |m, _| {
            m.copy(Way::Up, 7, 4 * MB, true);
            m.copy(Way::Down, 7, 4 * MB, true);
        },
        100,
    )
}

/// Each operator uploads its input and downloads its result, which is the input of the next one.
pub fn operator_by_operator() -> String {
    repeated(
        |m, _| {
            m.copy(Way::Up, 7, 16 * MB, false);
            m.launch("layer", 7, 200 * US, MANY);
            m.copy(Way::Down, 7, 16 * MB, false);
        },
        60,
    )
}

/// New data of one size each time, prepared by the host.
pub fn batches_in_and_out() -> String {
    repeated(
        |m, _| {
            m.host("resize images", 3 * MS);
            m.copy(Way::Up, 7, 4 * MB, false);
            m.launch("blur", 7, MS, MANY);
            m.copy(Way::Down, 7, 4 * MB, false);
        },
        40,
    )
}

pub fn results_are_smaller() -> String {
    repeated(
        |m, _| {
            m.copy(Way::Up, 7, 4 * MB, false);
            m.launch("classify", 7, MS, MANY);
            m.copy(Way::Down, 7, MB / 100, false);
        },
        40,
    )
}

/// Creating the context takes longer than everything after it.
pub fn cold_start() -> String {
    let mut machine = Machine::default();
    machine.call("cudaFree", 300 * MS);
    machine.call("cudaMalloc", 3 * MS);
    for _ in 0..40 {
        machine.launch("gemm", 7, MS, MANY);
    }
    machine.wait();
    machine.trace()
}

/// Modules are loaded at the first launch.
pub fn first_launch() -> String {
    let mut machine = Machine::default();
    machine.call("cudaMalloc", 80 * MS);
    machine.call("cuModuleLoadData", 120 * MS);
    for _ in 0..50 {
        machine.launch("gemm", 7, MS, MANY);
    }
    machine.wait();
    machine.trace()
}

pub fn short_start() -> String {
    let mut machine = Machine::default();
    machine.call("cudaFree", 10 * MS);
    for _ in 0..100 {
        machine.launch("gemm", 7, MS, MANY);
    }
    machine.wait();
    machine.trace()
}
