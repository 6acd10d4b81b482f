//! Runs that were made after the rules had been mended on the [held-out](super::held_out) ones, to see how often the plugin is right
//! about what it was not mended on. Parameters, names and shapes are others once more.

use std::path::Path;

use trueno_recorder::Recorder;

use super::held_out::devices::{NEW, OLD};
use super::held_out::rooflines::{chased, horner_at, parity_at, summed_at};
use super::held_out::{ANY, Chance};
use super::host::{recorder, work};
use super::simulated::{Machine, Speed, Way};
use super::threads::{rounds, sleep};
use super::{Case, Make::Recorded, Make::Simulated, is, near};

const US: i64 = 1_000;
const MS: i64 = 1_000_000;
const KB: i64 = 1_000;
const MB: i64 = 1_000_000;

/// All of them.
pub const CASES: &[Case] = &[
    is("transfer_bound", "u_results_down", Simulated(results_down)),
    is("transfer_bound", "u_two_fed", Simulated(two_fed)),
    near("transfer_bound", "u_down_beside", Simulated(down_beside)),
    near(
        "transfer_bound",
        "u_tiny_kernels",
        Simulated(tiny_with_copies),
    ),
    is("launch_bound", "u_one_in_five", Simulated(one_in_five)),
    is(
        "launch_bound",
        "u_tiny_kernels",
        Simulated(tiny_with_copies),
    ),
    near("launch_bound", "u_bursts", Simulated(bursts)),
    near(
        "launch_bound",
        "u_waits_now_and_then",
        Simulated(waits_now_and_then),
    ),
    is("sync_bound", "u_three_and_wait", Simulated(three_and_wait)),
    is("sync_bound", "u_norm_read_back", Simulated(norm_read_back)),
    near(
        "sync_bound",
        "u_waits_now_and_then",
        Simulated(waits_now_and_then),
    ),
    near("sync_bound", "u_eight_uneven", Recorded(eight_uneven)),
    is("serialisation", "u_bursts", Simulated(bursts)),
    is("serialisation", "u_decides_next", Simulated(decides_next)),
    is("serialisation", "u_collect_alone", Recorded(collect_alone)),
    near(
        "serialisation",
        "u_little_preparing",
        Simulated(little_preparing),
    ),
    near("serialisation", "u_two_kinds", Recorded(two_kinds)),
    is("data_load_bound", "u_dataset_next", Recorded(dataset_next)),
    is(
        "data_load_bound",
        "u_load_and_upload",
        Simulated(load_and_upload),
    ),
    near(
        "data_load_bound",
        "u_input_layernorm",
        Recorded(input_layernorm),
    ),
    near(
        "data_load_bound",
        "u_load_model_once",
        Recorded(model_and_warm_up),
    ),
    is("load_imbalance", "u_eight_uneven", Recorded(eight_uneven)),
    is("load_imbalance", "u_four_streams", Simulated(four_streams)),
    near(
        "load_imbalance",
        "u_nearly_even_devices",
        Simulated(nearly_even_devices),
    ),
    near("load_imbalance", "u_two_kinds", Recorded(two_kinds)),
    is("small_batches", "u_requests", Recorded(requests)),
    is(
        "small_batches",
        "u_sixteen_blocks",
        Simulated(sixteen_blocks),
    ),
    near("small_batches", "u_squares", Recorded(squares)),
    near("small_batches", "u_steps", Recorded(input_layernorm)),
    is("tight_loop", "u_inner_function", Recorded(inner_function)),
    is("tight_loop", "u_emit_token", Recorded(emit_token)),
    near("tight_loop", "u_medium_calls", Recorded(medium_calls)),
    near("tight_loop", "u_plain", Recorded(two_parts)),
    is("memory_bound", "u_sum_19_20", Recorded(sum_19_20)),
    is("memory_bound", "u_sum_3_4", Recorded(sum_3_4)),
    near("memory_bound", "u_sum_45", Recorded(sum_45)),
    near("memory_bound", "u_horner_95", Recorded(horner_95)),
    is("compute_bound", "u_horner_95", Recorded(horner_95)),
    is("compute_bound", "u_horner_70", Recorded(horner_70)),
    near("compute_bound", "u_parity", Recorded(parity_6)),
    near("compute_bound", "u_sum_3_4", Recorded(sum_3_4)),
    is("unoptimised", "u_parity", Recorded(parity_6)),
    is("unoptimised", "u_horner_22", Recorded(horner_22)),
    near("unoptimised", "u_horner_70", Recorded(horner_70)),
    near("unoptimised", "u_sum_3_4", Recorded(sum_3_4)),
    is("latency_bound", "u_walk_32", Recorded(walk_32)),
    is("latency_bound", "u_walk_20", Recorded(walk_20)),
    near("latency_bound", "u_sum_45", Recorded(sum_45)),
    near("latency_bound", "u_parity", Recorded(parity_6)),
    is("recomputation", "u_five_in_turn", Recorded(five_in_turn)),
    is("recomputation", "u_per_head", Recorded(per_head)),
    near("recomputation", "u_half_the_same", Recorded(half_the_same)),
    near("recomputation", "u_cleared", Recorded(cleared)),
    is("redundant_transfers", "u_sixty_idle", Simulated(sixty_idle)),
    is("redundant_transfers", "u_page_swap", Simulated(page_swap)),
    near(
        "redundant_transfers",
        "u_results_down",
        Simulated(results_down),
    ),
    near(
        "redundant_transfers",
        "u_other_sizes",
        Simulated(other_sizes),
    ),
    is("memory_growth", "u_every_third", Recorded(every_third)),
    is("memory_growth", "u_five_per_cent", Recorded(five_per_cent)),
    near("memory_growth", "u_shrinks", Recorded(shrinks)),
    near("memory_growth", "u_even", Recorded(even_memory)),
    is("fragmented_memory", "u_pairs", Recorded(pairs)),
    is(
        "fragmented_memory",
        "u_two_of_three",
        Recorded(two_of_three),
    ),
    near("fragmented_memory", "u_head_freed", Recorded(head_freed)),
    near("fragmented_memory", "u_one_in_ten", Recorded(one_in_ten)),
    is("set_up", "u_four_modules", Simulated(four_modules)),
    is("set_up", "u_model_and_warm_up", Recorded(model_and_warm_up)),
    near("set_up", "u_one_module", Simulated(one_module)),
    near("set_up", "u_dataset_next", Recorded(dataset_next)),
    is(
        "launch_bound+set_up",
        "u_cold_and_tiny",
        Simulated(cold_and_tiny),
    ),
    is(
        "data_load_bound+recomputation",
        "u_read_and_mask",
        Recorded(read_and_mask),
    ),
    is(
        "small_batches+memory_growth",
        "u_small_and_leaky",
        Recorded(small_and_leaky),
    ),
    is(
        "load_imbalance+serialisation",
        "u_uneven_and_alone",
        Recorded(uneven_and_alone),
    ),
    near(ANY, "u_served_well", Simulated(served_well)),
    near(ANY, "u_two_parts", Recorded(two_parts)),
    near(ANY, "u_two_kinds_sound", Recorded(two_kinds)),
];

/// Neither old nor new.
const MIDDLE: Speed = Speed {
    launch_ns: 6_500,
    latency_ns: 5_000,
    pinned: 16,
    pageable: 5,
    return_ns: 4_500,
    seed: 31_337,
};

fn of(speed: Speed, steps: usize, step: impl Fn(&mut Machine, usize)) -> String {
    let mut machine = Machine::new(speed);
    for number in 0..steps {
        step(&mut machine, number);
    }
    machine.wait();
    machine.trace()
}

fn results_down() -> String {
    of(MIDDLE, 33, |m, _| {
        m.launch("synthesise", 11, 3 * MS, 1_800);
        m.copy(Way::Down, 11, 20 * MB, false);
    })
}

fn two_fed() -> String {
    of(OLD, 60, |m, n| {
        m.device = (n % 2) as i64;
        m.copy(Way::Up, 4, 10 * MB, true);
        m.launch("filter", 4, 1_100 * US, 900);
    })
}

fn down_beside() -> String {
    of(MIDDLE, 70, |m, _| {
        m.launch("simulate", 11, 2 * MS, 1_800);
        m.copy(Way::Down, 12, 14 * MB, true);
    })
}

fn tiny_with_copies() -> String {
    of(MIDDLE, 800, |m, n| {
        m.host("aten::where", 9 * US);
        m.launch("select", 11, 4 * US, 1_000);
        if n % 200 == 50 {
            m.copy(Way::Up, 12, 600 * KB, true);
        }
    })
}

fn one_in_five() -> String {
    of(OLD, 500, |m, n| {
        m.host("aten::softmax", 25 * US);
        m.launch("softmax", 4, if n % 5 == 0 { 60 * US } else { 3 * US }, 700);
    })
}

fn bursts() -> String {
    of(MIDDLE, 22, |m, _| {
        m.host("build tree", 3 * MS);
        for _ in 0..30 {
            m.launch("traverse", 11, 120 * US, 1_600);
        }
        m.wait();
    })
}

fn waits_now_and_then() -> String {
    of(MIDDLE, 16, |m, _| {
        let mut end_ns = 0;
        for _ in 0..50 {
            end_ns = m.launch("relax", 11, 200 * US, 1_600);
        }
        m.wait_until("cudaStreamSynchronize", end_ns);
    })
}

fn three_and_wait() -> String {
    of(MIDDLE, 400, |m, _| {
        m.launch("reduce 1", 11, 8 * US, 500);
        m.launch("reduce 2", 11, 8 * US, 500);
        let end_ns = m.launch("reduce 3", 11, 8 * US, 500);
        m.wait_until("cudaEventSynchronize", end_ns);
    })
}

fn norm_read_back() -> String {
    of(OLD, 260, |m, _| {
        m.launch("residual norm", 4, 60 * US, 640);
        m.copy(Way::Down, 4, 4 * KB, false);
    })
}

fn decides_next() -> String {
    of(NEW, 200, |m, _| {
        m.host("choose move", 400 * US);
        m.launch("evaluate", 6, 600 * US, 1_300);
        m.copy(Way::Down, 6, KB, false);
    })
}

fn little_preparing() -> String {
    of(MIDDLE, 25, |m, _| {
        m.host("sort keys", 210 * US);
        m.launch("join", 11, 20 * MS, 1_600);
        m.wait();
    })
}

fn load_and_upload() -> String {
    of(MIDDLE, 40, |m, _| {
        m.host("load_batch", 2_500 * US);
        m.copy(Way::Up, 11, 2 * MB, false);
        for _ in 0..20 {
            m.launch("conv", 11, 60 * US, 1_600);
        }
        m.wait();
    })
}

fn four_streams() -> String {
    of(NEW, 100, |m, n| {
        let stream = [1, 1, 1, 1, 1, 2, 2, 3, 3, 4][n % 10];
        m.launch("scan", stream, 700 * US, 1_300);
    })
}

fn nearly_even_devices() -> String {
    of(NEW, 100, |m, n| {
        m.device = i64::from((n * 7) % 100 < 48);
        m.launch("block", 5, 800 * US, 1_300);
    })
}

fn sixteen_blocks() -> String {
    of(NEW, 220, |m, _| _ = m.launch("topk", 5, 200 * US, 16))
}

fn sixty_idle() -> String {
    of(OLD, 60, |m, _| {
        m.copy(Way::Up, 4, 800 * KB, false);
        m.copy(Way::Down, 4, 800 * KB, false);
    })
}

fn page_swap() -> String {
    of(MIDDLE, 45, |m, _| {
        m.launch("attend", 11, 400 * US, 1_600);
        m.copy(Way::Down, 11, 12 * MB, true);
        m.wait();
        m.copy(Way::Up, 11, 12 * MB, true);
    })
}

fn other_sizes() -> String {
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

fn four_modules() -> String {
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

fn one_module() -> String {
    let mut m = Machine::new(MIDDLE);
    m.call("cuModuleLoadData", 30 * MS);
    for _ in 0..400 {
        m.launch("integrate", 11, 1_500 * US, 1_600);
    }
    m.wait();
    m.trace()
}

fn cold_and_tiny() -> String {
    let mut m = Machine::new(OLD);
    m.call("cudaFree", 60 * MS);
    for _ in 0..1_500 {
        m.host("aten::add_", 20 * US);
        m.launch("add", 4, 5 * US, 800);
    }
    m.wait();
    m.trace()
}

fn served_well() -> String {
    of(NEW, 60, |m, _| {
        m.host("schedule", 150 * US);
        m.copy(Way::Up, 8, 300 * KB, true);
        for _ in 0..8 {
            m.launch("layer", 5, 300 * US, 1_300);
        }
    })
}

fn steps(path: &Path, number: u64, mut step: impl FnMut(&Recorder, u64)) {
    let rec = recorder(path);
    for iteration in 0..number {
        let _iteration = rec.iteration(iteration);
        step(&rec, iteration);
    }
    rec.finish().expect("the recording ends");
}

fn brick(rec: &Recorder, name: &'static str, micros: u64) {
    let _b = rec.brick(name);
    work(micros);
}

fn dataset_next(path: &Path) {
    steps(path, 12, |rec, _| {
        brick(rec, "dataset.next", 5_000);
        brick(rec, "train", 3_000);
    });
}

fn input_layernorm(path: &Path) {
    steps(path, 25, |rec, _| {
        brick(rec, "input_layernorm", 800);
        brick(rec, "mlp", 1_400);
        brick(rec, "load_balancing_loss", 400);
    });
}

fn model_and_warm_up(path: &Path) {
    let rec = recorder(path);
    brick(&rec, "load model", 120_000);
    brick(&rec, "warm up", 60_000);
    for n in 0..25 {
        let _iteration = rec.iteration(n);
        brick(&rec, "generate", 4_000);
    }
    rec.finish().expect("the recording ends");
}

fn requests(path: &Path) {
    let mut chance = Chance(8);
    steps(path, 70, |rec, _| {
        let rows = 1 + chance.below(8);
        let mut b = rec.brick("rank documents");
        b.elements(rows);
        work(500 + 10 * rows);
    });
}

fn squares(path: &Path) {
    let mut chance = Chance(9);
    steps(path, 60, |rec, _| {
        let rows = 10 + chance.below(30);
        let mut b = rec.brick("pairwise");
        b.elements(rows);
        work(2 * rows * rows);
    });
}

fn spin(mut state: u64, rounds: u64) -> u64 {
    for _ in 0..rounds {
        state = std::hint::black_box(state.rotate_left(7) ^ 0x9E37_79B9).wrapping_mul(31);
    }
    state
}

fn inner_function(path: &Path) {
    let rec = recorder(path);
    let mut state = 3;
    for _ in 0..30 {
        let _outer = rec.brick("parse file");
        for _ in 0..40 {
            let _line = rec.function("parse line");
            for _ in 0..40 {
                let _field = rec.function("parse field");
                state = spin(state, 90);
            }
        }
    }
    std::hint::black_box(state);
    rec.finish().expect("the recording ends");
}

fn emit_token(path: &Path) {
    let rec = recorder(path);
    let mut state = 3;
    for _ in 0..25_000 {
        let _b = rec.brick("emit token");
        state = spin(state, 200);
    }
    std::hint::black_box(state);
    rec.finish().expect("the recording ends");
}

fn medium_calls(path: &Path) {
    let rec = recorder(path);
    for _ in 0..11_000 {
        brick(&rec, "hash block", 18);
    }
    rec.finish().expect("the recording ends");
}

fn two_parts(path: &Path) {
    let rec = recorder(path);
    for _ in 0..35 {
        brick(&rec, "parse", 1_100);
        brick(&rec, "index", 1_900);
    }
    rec.finish().expect("the recording ends");
}

fn five_in_turn(path: &Path) {
    steps(path, 40, |rec, n| {
        {
            let _b = rec.brick("expand template");
            work(600);
            rec.checksum("expanded", None, &[(n % 5) as f32 + 0.5; 80], &[80]);
        }
        let _b = rec.brick("fill in");
        work(700);
        rec.checksum("filled", None, &[n as f32 + 0.25; 80], &[80]);
    });
}

fn per_head(path: &Path) {
    steps(path, 8, |rec, n| {
        for _ in 0..6 {
            let _b = rec.brick("repeat keys");
            work(300);
            rec.checksum("keys", None, &[n as f32 + 0.75; 48], &[48]);
        }
        let _b = rec.brick("heads");
        work(1_500);
        rec.checksum("heads.out", None, &[n as f32 * 2.0 + 0.1; 48], &[48]);
    });
}

fn half_the_same(path: &Path) {
    steps(path, 25, |rec, n| {
        let _b = rec.brick("split");
        work(800);
        rec.checksum("shape", None, &[4.0_f32; 8], &[8]);
        rec.checksum("parts", None, &[n as f32 + 3.5; 64], &[64]);
    });
}

fn cleared(path: &Path) {
    steps(path, 25, |rec, n| {
        {
            let _b = rec.brick("zero gradients");
            work(500);
            rec.checksum("gradients", None, &[0.0_f32; 64], &[64]);
        }
        let _b = rec.brick("backward");
        work(900);
        rec.checksum("loss", None, &[n as f32 + 9.5; 1], &[1]);
    });
}

fn sum_19_20(path: &Path) {
    summed_at(path, "mean", 1.05);
}

fn sum_3_4(path: &Path) {
    summed_at(path, "dot rows", 1.34);
}

fn sum_45(path: &Path) {
    summed_at(path, "norms", 2.2);
}

fn horner_95(path: &Path) {
    horner_at(path, 1.05);
}

fn horner_70(path: &Path) {
    horner_at(path, 1.43);
}

fn horner_22(path: &Path) {
    horner_at(path, 4.5);
}

fn parity_6(path: &Path) {
    parity_at(path, 6.0);
}

fn walk_32(path: &Path) {
    chased(path, "follow links", 8 << 20, 18.0);
}

fn walk_20(path: &Path) {
    chased(path, "probe table", 5 << 20, 9.0);
}

fn collect_alone(path: &Path) {
    let rec = recorder(path);
    for _ in 0..8 {
        rounds(&rec, 1, &["map 0", "map 1", "map 2", "map 3"], |_, _| 2_000);
        let _b = rec.brick("collect");
        sleep(5_000);
    }
    rec.finish().expect("the recording ends");
}

fn eight_uneven(path: &Path) {
    let rec = recorder(path);
    let names = ["p 0", "p 1", "p 2", "p 3", "p 4", "p 5", "p 6", "p 7"];
    rounds(&rec, 11, &names, |_, index| 1_500 * (index + 1));
    rec.finish().expect("the recording ends");
}

fn two_kinds(path: &Path) {
    let rec = recorder(path);
    rounds(&rec, 14, &["encoder", "decoder"], |_, index| {
        9_000 + 300 * index
    });
    rec.finish().expect("the recording ends");
}

fn uneven_and_alone(path: &Path) {
    let rec = recorder(path);
    for _ in 0..9 {
        rounds(&rec, 1, &["part 0", "part 1", "part 2"], |_, index| {
            if index == 0 { 9_000 } else { 3_000 }
        });
        let _b = rec.brick("merge parts");
        sleep(10_000);
    }
    rec.finish().expect("the recording ends");
}

fn read_and_mask(path: &Path) {
    steps(path, 20, |rec, n| {
        brick(rec, "read_records", 1_500);
        {
            let _b = rec.brick("causal mask");
            work(1_000);
            rec.checksum("causal", None, &[1.0_f32; 90], &[90]);
        }
        let _b = rec.brick("attend");
        work(1_200);
        rec.checksum("attended", None, &[n as f32 + 0.5; 90], &[90]);
    });
}

fn small_and_leaky(path: &Path) {
    let mut chance = Chance(12);
    steps(path, 60, |rec, n| {
        let rows = 1 + chance.below(10);
        let mut b = rec.brick("answer");
        b.elements(rows);
        work(600 + 5 * rows);
        rec.allocation("history", 700 * 1024, 0x7000_0000 + n * 0x10_0000);
    });
}

const MIB: i64 = 1 << 20;

fn every_third(path: &Path) {
    let mut chance = Chance(14);
    steps(path, 45, |rec, n| {
        let bytes = MIB + chance.below(3 << 20) as i64;
        rec.allocation("scratch", bytes, 0x1000_0000);
        work(100);
        rec.allocation("scratch", -bytes, 0x1000_0000);
        if n % 3 == 0 {
            rec.allocation("log", MIB, 0x7000_0000 + n * 0x20_0000);
        }
    });
}

fn five_per_cent(path: &Path) {
    let mut live = 20.0 * MIB as f64;
    steps(path, 40, |rec, n| {
        if n == 0 {
            rec.allocation("graph", live as i64, 0x1_0000_0000);
        }
        let more = live * 0.05;
        live += more;
        rec.allocation("nodes", more as i64, 0x2_0000_0000 + n * 0x1000_0000);
        work(100);
    });
}

fn shrinks(path: &Path) {
    steps(path, 40, |rec, n| {
        if n == 0 {
            for k in 0..40 {
                rec.allocation("queue", 3 * MIB, 0x2000_0000 + k * 0x40_0000);
            }
        }
        work(100);
        rec.allocation("queue", -3 * MIB, 0x2000_0000 + n * 0x40_0000);
    });
}

fn even_memory(path: &Path) {
    steps(path, 50, |rec, n| {
        let bytes = MIB * if n % 2 == 0 { 20 } else { 35 };
        rec.allocation("batch", bytes, 0x2000_0000);
        work(100);
        rec.allocation("batch", -bytes, 0x2000_0000);
        if n == 0 {
            rec.allocation("weights", 150 * MIB, 0x6000_0000);
        }
    });
}

fn blocks(path: &Path, number: u64, bytes: i64, freed: impl Fn(u64) -> bool) {
    let rec = recorder(path);
    let place = |n: u64| 0x5000_0000 + n * bytes as u64;
    {
        let _b = rec.brick("grow");
        (0..number).for_each(|n| rec.allocation("cell", bytes, place(n)));
        work(400);
    }
    {
        let _b = rec.brick("cut");
        let gone = (0..number).filter(|n| freed(*n));
        gone.for_each(|n| rec.allocation("cell", -bytes, place(n)));
        work(400);
    }
    rec.finish().expect("the recording ends");
}

fn pairs(path: &Path) {
    blocks(path, 5_000, 24 << 10, |n| n % 2 == 0);
}

fn two_of_three(path: &Path) {
    blocks(path, 600, 512 << 10, |n| n % 3 != 1);
}

fn head_freed(path: &Path) {
    blocks(path, 900, 128 << 10, |n| n < 500);
}

fn one_in_ten(path: &Path) {
    blocks(path, 4_000, 32 << 10, |n| n % 10 == 6);
}
