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

/// Pageable copies, each before a kernel that is shorter.
pub fn copies_block() -> String {
    repeated(
        |m, _| {
            m.copy(Way::Up, 7, 12 * MB, false);
            m.launch("gemm", 7, 2 * MS, MANY);
        },
        30,
    )
}

/// Pinned copies, but on the stream of the kernels.
pub fn copies_on_one_stream() -> String {
    repeated(
        |m, _| {
            m.copy(Way::Up, 7, 24 * MB, true);
            m.launch("gemm", 7, 2 * MS, MANY);
        },
        30,
    )
}

/// Copies on a stream of their own while kernels run.
pub fn copies_hidden() -> String {
    repeated(
        |m, _| {
            m.copy(Way::Up, 9, 12 * MB, true);
            m.launch("gemm", 7, 2 * MS, MANY);
        },
        30,
    )
}

/// Copies that take little beside the kernels.
pub fn copies_small() -> String {
    repeated(
        |m, _| {
            m.copy(Way::Up, 7, MB / 10, true);
            m.launch("gemm", 7, 2 * MS, MANY);
        },
        30,
    )
}

/// Kernels that end before the next one is launched.
pub fn tiny_launches() -> String {
    repeated(|m, _| _ = m.launch("axpy", 7, 2 * US, MANY), 4_000)
}

/// A framework's operators: some host time, then a short kernel.
pub fn eager_operators() -> String {
    repeated(
        |m, n| {
            m.host(["aten::add", "aten::mul", "aten::mm"][n % 3], 30 * US);
            m.launch("elementwise", 7, 8 * US, MANY);
        },
        600,
    )
}

/// Kernels that take longer than their launches: the queue is never empty.
pub fn launched_ahead() -> String {
    repeated(|m, _| _ = m.launch("gemm", 7, 40 * US, MANY), 500)
}

/// Few launches, with host time between them that the device does not notice.
pub fn few_large_kernels() -> String {
    repeated(
        |m, _| {
            m.host("aten::mm", 50 * US);
            m.launch("gemm", 7, 3 * MS, MANY);
        },
        20,
    )
}

/// A wait after each short kernel.
pub fn wait_after_each() -> String {
    repeated(
        |m, _| {
            m.launch("step", 7, 30 * US, MANY);
            m.wait();
        },
        500,
    )
}

/// A loop that reads a number back to decide on the next step.
pub fn scalar_read_back() -> String {
    repeated(
        |m, _| {
            m.launch("step", 7, 25 * US, MANY);
            m.copy(Way::Down, 7, 4, false);
        },
        500,
    )
}

/// `item()` of a framework after each step: an asynchronous copy to pinned memory, and a wait for it at once.
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

/// One read-back, behind all of a long queue.
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

/// A number to log, read back after fifty launches.
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

/// Results go to pinned memory, and nobody waits for them.
pub fn copied_back_beside() -> String {
    repeated(
        |m, _| {
            m.launch("step", 7, 40 * US, MANY);
            m.copy(Way::Down, 9, 4_096, true);
        },
        300,
    )
}

/// One wait where the result is needed.
pub fn wait_at_the_end() -> String {
    repeated(|m, _| _ = m.launch("step", 7, 30 * US, MANY), 500)
}

/// Waits after work that takes a thousand times as long.
pub fn waits_for_long_work() -> String {
    repeated(
        |m, _| {
            m.launch("step", 7, 5 * MS, MANY);
            m.wait();
        },
        40,
    )
}

/// The host makes the next input only when the device is done with this one.
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

/// The host works on each result before it launches the next step.
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

/// The same preparation, one step ahead.
pub fn host_prepares_ahead() -> String {
    repeated(
        |m, _| {
            m.launch("gnn layer", 7, 3 * MS, MANY);
            m.host("sample graph", 2 * MS);
        },
        30,
    )
}

/// A loader in front of every step.
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

/// The same on both.
pub fn even_streams() -> String {
    repeated(
        |m, n| _ = m.launch("expert", 7 + (n % 2) as i64, MS, MANY),
        80,
    )
}

/// Kernels of a few blocks, launched ahead.
pub fn small_grids() -> String {
    repeated(|m, _| _ = m.launch("gemv", 7, 100 * US, 4), 300)
}

/// Up, down, up, down: nothing is computed on the way.
pub fn hundred_round_trips() -> String {
    repeated(
        |m, _| {
            m.copy(Way::Up, 7, 4 * MB, true);
            m.copy(Way::Down, 7, 4 * MB, true);
        },
        100,
    )
}

/// Each operator sends its input up and takes its result down, which is the next one's input.
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

/// Other data each time, of one size, which the host prepares.
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

/// Large inputs up, small results down.
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

/// A context that takes longer to come up than all that follows.
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

/// Modules that are loaded at the first launch.
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

/// A start that is small beside the work.
pub fn short_start() -> String {
    let mut machine = Machine::default();
    machine.call("cudaFree", 10 * MS);
    for _ in 0..100 {
        machine.launch("gemm", 7, MS, MANY);
    }
    machine.wait();
    machine.trace()
}
