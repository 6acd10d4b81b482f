//! Rows of the ranks of a job, by chance.

use proptest::prelude::*;
use trueno_plugin::{Table, TableBuilder};

const NAMES: [&str; 9] = [
    "aten::matmul",
    "aten::mm",
    "aten::add",
    "aten::cat",
    "aten::cudnn_convolution",
    "aten::cudnn_convolution_backward",
    "record_param_comms",
    "CheckpointFunctionBackward",
    "step",
];
type Signature = (&'static str, &'static str, Option<&'static str>);

const SIGNATURES: [Signature; 7] = [
    ("[[8,4],[4,2]]", r#"["float","float"]"#, Some(r#"["",""]"#)),
    ("[[16,4],[4,2]]", r#"["c10::Half","c10::Half"]"#, None),
    ("[[]]", r#"["TensorList",""]"#, Some(r#"["","0"]"#)),
    (
        "[[[8,4],[8,4]],[]]",
        r#"["TensorList",""]"#,
        Some(r#"["","0"]"#),
    ),
    ("[[1,3,8,8],[4,3,3,3],[]]", r#"["float","float",""]"#, None),
    (
        "[[1,3,8,8],[1,4,6,6],[4,3,3,3]]",
        r#"["float","float","float"]"#,
        None,
    ),
    (
        "[[100],[800]]",
        r#"["Float","Float"]"#,
        Some(r#"["_allgather_base"]"#),
    ),
];
const KERNELS: [&str; 5] = [
    "void gemm<float>(float*)",
    "void cat<c10::Half>(c10::Half*)",
    "relu",
    "nccl",
    "bias",
];

/// Indexes of a name and of its optional signature.
const CALLS: [(usize, Option<usize>); 12] = [
    (0, Some(0)),
    (1, Some(0)),
    (1, Some(1)),
    (2, Some(0)),
    (2, None),
    (3, Some(2)),
    (3, Some(3)),
    (4, Some(4)),
    (5, Some(5)),
    (6, Some(6)),
    (7, None),
    (8, Some(0)),
];

#[derive(Clone, Debug)]
pub struct Brick {
    pub name: usize,
    pub parent: Option<usize>,
    pub thread: i64,
    pub start_ns: i64,
    pub dur_ns: Option<i64>,
    pub signature: Option<usize>,
}

#[derive(Clone, Debug)]
pub struct Kernel {
    pub brick: Option<usize>,
    pub device: i64,
    pub name: usize,
    pub start_ns: i64,
    pub dur_ns: Option<i64>,
    pub is_bound: bool,
}

/// Indexes of a device's name and bandwidth.
pub type Device = (Option<usize>, Option<u8>);

#[derive(Clone, Debug)]
pub struct Rank {
    pub bricks: Vec<Brick>,
    pub signatures: Vec<usize>,
    pub kernels: Vec<Kernel>,
    pub copies: Vec<Kernel>,
    /// The recording also begins with kernels of a step whose launches it misses.
    pub is_cut: bool,
    pub devices: [Device; 2],
}

#[derive(Clone, Debug)]
pub struct Job {
    pub ranks: Vec<Rank>,
    pub window: Option<(i64, i64)>,
    pub options: &'static str,
    pub baseline: Vec<Rank>,
    pub has_no_ranks: bool,
}

fn brick() -> impl Strategy<Value = Brick> {
    let parent = prop::option::weighted(0.5, 0..9_usize);
    let dur_ns = prop::option::weighted(0.95, 0..60_i64);
    (0..CALLS.len(), parent, 0..2_i64, 0..100_i64, dur_ns).prop_map(
        |(call, parent, thread, start_ns, dur_ns)| Brick {
            name: CALLS[call].0,
            parent,
            thread,
            start_ns,
            dur_ns,
            signature: CALLS[call].1,
        },
    )
}

fn kernel() -> impl Strategy<Value = Kernel> {
    let brick = prop::option::weighted(0.85, 0..10_usize);
    let dur_ns = prop::option::weighted(0.95, 0..50_i64);
    let is_bound = prop::bool::weighted(0.1);
    (
        brick,
        0..2_i64,
        0..KERNELS.len(),
        0..100_i64,
        dur_ns,
        is_bound,
    )
        .prop_map(|(brick, device, name, start_ns, dur_ns, is_bound)| Kernel {
            brick,
            device,
            name,
            start_ns,
            dur_ns,
            is_bound,
        })
}

/// No signatures, or all in some order with some of them twice.
fn signatures() -> impl Strategy<Value = Vec<usize>> {
    let all: Vec<usize> = (0..SIGNATURES.len()).chain(0..3).collect();
    prop_oneof![1 => Just(Vec::new()), 5 => Just(all).prop_shuffle()]
}

fn rank() -> impl Strategy<Value = Rank> {
    let device = (
        prop::option::weighted(0.7, 0..2_usize),
        prop::option::weighted(0.5, 1..3_u8),
    );
    let has_kernels = prop::bool::weighted(0.7);
    (
        prop::collection::vec(brick(), 0..9),
        signatures(),
        prop::collection::vec(kernel(), 0..9),
        prop::collection::vec(kernel(), 0..3),
        (has_kernels, prop::bool::weighted(0.2)),
        [device.clone(), device],
    )
        .prop_map(|(bricks, signatures, kernels, copies, has, devices)| Rank {
            bricks,
            signatures,
            kernels: if has.0 { kernels } else { Vec::new() },
            copies: if has.0 { copies } else { Vec::new() },
            is_cut: has.0 && has.1,
            devices,
        })
}

pub fn job() -> impl Strategy<Value = Job> {
    let options = prop::sample::select(vec![
        "{}",
        "{}",
        r#"{"nominal": false}"#,
        r#"{"achievable_share": 0.5}"#,
    ]);
    let window = prop::option::weighted(0.3, (0..50_i64, 50..120_i64));
    (
        prop::collection::vec(rank(), 1..5),
        window,
        options,
        prop::collection::vec(rank(), 0..3),
        prop::bool::weighted(0.1),
    )
        .prop_map(|(mut ranks, window, options, baseline, has_no_ranks)| {
            if has_no_ranks {
                ranks.truncate(1);
            }
            Job {
                ranks,
                window,
                options,
                baseline,
                has_no_ranks,
            }
        })
}

/// Kernels of a rank. If it is cut, repeating kernels follow, of which the first have no launch.
fn kernels_of(rank: &Rank) -> Vec<Kernel> {
    let mut all = rank.kernels.clone();
    if rank.is_cut {
        all.extend((0..60).map(|at| Kernel {
            brick: (at >= 18).then_some(at % 5),
            device: 0,
            name: at % 5,
            start_ns: 1_000 + 10 * at as i64,
            dur_ns: Some(5),
            is_bound: false,
        }));
    }
    all
}

fn key(rank: usize, number: usize) -> u64 {
    ((rank as u64) << 48) + 1 + number as u64
}

pub fn place(rank: usize, number: i64) -> i64 {
    ((rank as i64) << 16) + number
}

/// Input tables for these ranks. Names are numbered in order of appearance, so differently in each reading.
pub fn inputs(ranks: &[(usize, &Rank)], prefix: &str) -> Vec<TableBuilder> {
    let input = |name: &str| Table::build(format!("{prefix}{name}"));
    let bricks: Vec<(usize, usize, &Brick)> = ranks
        .iter()
        .flat_map(|(rank, of)| (0..).zip(&of.bricks).map(|(at, brick)| (*rank, at, brick)))
        .collect();
    let signatures: Vec<(usize, usize, usize)> = ranks
        .iter()
        .flat_map(|(rank, of)| (0..).zip(&of.signatures).map(|(at, of)| (*rank, at, *of)))
        .collect();
    let signature = |of: fn(&Signature) -> Option<&'static str>| {
        signatures.iter().map(move |row| of(&SIGNATURES[row.2]))
    };
    let kernels: Vec<(usize, Kernel)> = ranks
        .iter()
        .flat_map(|(rank, of)| kernels_of(of).into_iter().map(|kernel| (*rank, kernel)))
        .collect();
    let copies: Vec<(usize, Kernel)> = ranks
        .iter()
        .flat_map(|(rank, of)| of.copies.iter().map(|copy| (*rank, copy.clone())))
        .collect();
    let offset = 40 + ranks.first().map_or(0, |rank| rank.0 as i64) * 3;
    let number = |names: &[usize], name: usize| {
        let first = names.iter().position(|other| *other == name);
        offset + first.unwrap_or_default() as i64
    };
    let brick_names: Vec<usize> = bricks.iter().map(|row| row.2.name).collect();
    let kernel_names: Vec<usize> = kernels.iter().map(|row| row.1.name).collect();
    let distinct = |table: TableBuilder, names: &[usize], texts: &[&str]| {
        let mut rows: Vec<(i64, usize)> = names.iter().map(|n| (number(names, *n), *n)).collect();
        rows.sort_unstable();
        rows.dedup();
        table
            .i64("id", rows.iter().map(|row| row.0))
            .text("text", rows.iter().map(|row| texts[row.1]))
    };
    let operations = |table: TableBuilder, rows: &[(usize, Kernel)]| {
        table
            .u64(
                "brick",
                rows.iter().map(|row| row.1.brick.map(|at| key(row.0, at))),
            )
            .i64("device", rows.iter().map(|row| place(row.0, row.1.device)))
            .i64("stream", rows.iter().map(|row| row.1.device + 7))
            .i64("start_ns", rows.iter().map(|row| row.1.start_ns))
            .i64("dur_ns", rows.iter().map(|row| row.1.dur_ns))
            .bool("is_bound", rows.iter().map(|row| row.1.is_bound))
    };
    let mut all = vec![
        input("signatures")
            .u64("id", signatures.iter().map(|row| key(row.0, row.1)))
            .text("input_dims", signature(|of| Some(of.0)))
            .text("input_types", signature(|of| Some(of.1)))
            .text("input_strides", signature(|_| None))
            .text("concrete_inputs", signature(|of| of.2)),
        input("bricks")
            .u64("id", bricks.iter().map(|row| key(row.0, row.1)))
            .u64(
                "parent",
                bricks.iter().map(|row| {
                    let parent = row.2.parent.filter(|parent| *parent < row.1);
                    parent.map(|parent| key(row.0, parent))
                }),
            )
            .i64(
                "thread",
                bricks.iter().map(|row| place(row.0, row.2.thread)),
            )
            .i64("start_ns", bricks.iter().map(|row| row.2.start_ns))
            .i64(
                "name_id",
                bricks.iter().map(|row| number(&brick_names, row.2.name)),
            )
            .i64("dur_ns", bricks.iter().map(|row| row.2.dur_ns))
            .u64(
                "signature",
                bricks.iter().map(|(rank, at, brick)| {
                    let of_rank = signatures.iter().filter(|row| row.0 == *rank);
                    let equal: Vec<usize> = of_rank
                        .filter(|row| Some(row.2) == brick.signature)
                        .map(|row| row.1)
                        .collect();
                    // One of those that are equal.
                    let place = equal.get(at % equal.len().max(1));
                    place.map(|place| key(*rank, *place))
                }),
            ),
        distinct(input("brick_names"), &brick_names, &NAMES),
        operations(input("kernels"), &kernels)
            .i64(
                "name_id",
                kernels.iter().map(|row| number(&kernel_names, row.1.name)),
            )
            .bool("valid", kernels.iter().map(|_| None)),
        distinct(input("kernel_names"), &kernel_names, &KERNELS),
        operations(input("transfers"), &copies),
    ];
    all.extend(roofs(ranks, prefix));
    all
}

pub fn roofs(ranks: &[(usize, &Rank)], prefix: &str) -> Vec<TableBuilder> {
    let input = |name: &str| Table::build(format!("{prefix}{name}"));
    let devices: Vec<(String, Device)> = ranks
        .iter()
        .flat_map(|(rank, of)| {
            let devices = (0_i64..).zip(of.devices);
            devices.map(|(at, facts)| (format!("gpu:{}", place(*rank, at)), facts))
        })
        .collect();
    let named: Vec<(&str, usize)> = devices
        .iter()
        .filter_map(|(device, facts)| Some((device.as_str(), facts.0?)))
        .collect();
    let mut ceilings: Vec<(&str, &str, &str, Option<&str>, f64)> = Vec::new();
    for (device, facts) in &devices {
        if let Some(value) = facts.1.map(f64::from) {
            ceilings.push((device, "bandwidth", "dram", None, 2e9 * value));
            ceilings.push((device, "compute", "cuda_cores", Some("f32"), 1e9 * value));
        }
    }
    ceilings.push(("cpu", "bandwidth", "dram", None, 9e9));
    ceilings.push(("cpu", "compute", "avx2", Some("f32"), 9e9));
    let names = ["NVIDIA H100 80GB HBM3", "unheard of"];
    let none = || ceilings.iter().map(|_| None::<f64>);
    vec![
        input("ceilings")
            .text("device", ceilings.iter().map(|row| row.0))
            .text("kind", ceilings.iter().map(|row| row.1))
            .text("level", ceilings.iter().map(|row| row.2))
            .text("precision", ceilings.iter().map(|row| row.3))
            .i64("threads", ceilings.iter().map(|_| None))
            .f64("value", ceilings.iter().map(|row| row.4))
            .text("unit", ceilings.iter().map(|_| "any"))
            .text("source", ceilings.iter().map(|_| "measured"))
            .text("operation", ceilings.iter().map(|_| None::<&str>))
            .f64("spread", none())
            .bool("settled", ceilings.iter().map(|_| None))
            .f64("earlier", none()),
        input("devices")
            .text("device", named.iter().map(|row| row.0))
            .text("name", named.iter().map(|row| names[row.1])),
    ]
}
