//! Table `kernels`: kernels by launch, and how much of the device they can fill.

mod launches;

use launches::{Launch, NOT_RECORDED};
use trueno_plugin::testing::{self, Output};
use trueno_plugin::{Column, Table};
use trueno_plugin_device::Device;

/// Name, device, start, duration, launch.
type Kernel = (&'static str, i64, i64, i64, Launch);

const DEVICES: [(&str, Option<i64>, Option<&str>); 3] = [
    ("gpu:0", Some(132), Some("9.0")),
    ("gpu:1", Some(304), None),
    ("cpu", None, None),
];

fn launch(blocks: i64, threads: i64, registers: i64, smem: i64) -> Launch {
    let mut launch = NOT_RECORDED;
    let known = [blocks, 1, 1, threads, 1, 1, registers];
    for (cell, value) in launch.iter_mut().zip(known) {
        *cell = Some(value);
    }
    launch[9] = Some(smem);
    launch
}

fn output(kernels: &[Kernel]) -> Output {
    let launches: Vec<Launch> = kernels.iter().map(|kernel| kernel.4).collect();
    let table = Table::build("kernels")
        .u64("id", 0..kernels.len() as u64)
        .text("name", kernels.iter().map(|kernel| kernel.0))
        .i64("device", kernels.iter().map(|kernel| kernel.1))
        .i64("stream", kernels.iter().map(|_| 7))
        .i64("start_ns", kernels.iter().map(|kernel| kernel.2))
        .i64("dur_ns", kernels.iter().map(|kernel| kernel.3))
        .u64("correlation", kernels.iter().map(|_| None))
        .bool("is_bound", kernels.iter().map(|_| false))
        .bool("valid", kernels.iter().map(|_| true));
    let devices = Table::build("devices")
        .text("device", DEVICES.map(|device| device.0))
        .i64("multiprocessors", DEVICES.map(|device| device.1))
        .text("compute_capability", DEVICES.map(|device| device.2));
    testing::run::<Device>(vec![launches::add(table, &launches), devices], "{}").unwrap()
}

/// The cells of a row, in words.
fn row(output: &Output, row: usize, columns: &[&str]) -> Vec<String> {
    let table = output.table("kernels");
    let unknown = || "–".to_owned();
    let cell = |name: &&str| match table.column(name).unwrap() {
        Column::F64(of) => of
            .get(row)
            .map_or_else(unknown, |value| format!("{value:.4}")),
        Column::I64(of) => of.get(row).map_or_else(unknown, |value| value.to_string()),
        Column::U64(of) => of.get(row).map_or_else(unknown, |value| value.to_string()),
        Column::Text(of) => of.get(row).map_or_else(unknown, str::to_owned),
        Column::Bool(_) => panic!("{name} is not shown"),
    };
    columns.iter().map(cell).collect()
}

#[test]
fn a_row_is_a_kernel_with_one_launch() {
    let gemm = launch(132, 384, 168, 231_424);
    let output = output(&[
        ("gemm", 0, 0, 10, gemm),
        ("gemm", 0, 20, 30, gemm),
        ("gemm", 0, 60, 5, launch(64, 384, 168, 231_424)),
        ("add", 0, 70, 55, launch(17_888, 128, 18, 0)),
    ]);
    assert_eq!(output.table("kernels").rows(), 3);
    let what = [
        "name", "launches", "dur_ns", "min_ns", "max_ns", "mean_ns", "share",
    ];
    assert_eq!(
        row(&output, 0, &what),
        ["add", "1", "55", "55", "55", "55.0000", "0.5500"]
    );
    assert_eq!(
        row(&output, 1, &what),
        ["gemm", "2", "40", "10", "30", "20.0000", "0.4000"]
    );
    assert_eq!(
        row(&output, 2, &what),
        ["gemm", "1", "5", "5", "5", "5.0000", "0.0500"]
    );
    let fill = [
        "occupancy",
        "limited_by",
        "waves",
        "blocks",
        "shared_memory_bytes",
    ];
    assert_eq!(
        row(&output, 0, &fill),
        ["1.0000", "–", "8.4697", "17888", "0"]
    );
    let full = [
        "0.1875",
        "registers, shared memory",
        "1.0000",
        "132",
        "231424",
    ];
    assert_eq!(row(&output, 1, &fill), full);
    let half = ["0.0909", "grid", "0.4848", "64", "231424"];
    assert_eq!(row(&output, 2, &fill), half);
}

#[test]
fn what_is_not_recorded_of_a_launch_or_a_device_stays_unknown() {
    let mut no_registers = launch(1, 32, 1, 0);
    no_registers[6] = None;
    // A product of sizes that no integer holds.
    let mut huge = launch(i64::from(u32::MAX), 32, 1, 0);
    huge[1] = huge[0];
    huge[2] = huge[0];
    let output = output(&[
        ("a", 0, 0, 40, no_registers),
        ("b", 0, 50, 30, huge),
        ("c", 1, 0, 20, launch(1, 32, 1, 0)),
        ("d", 2, 0, 10, launch(1, 32, 1, 0)),
        ("e", 0, 90, 5, NOT_RECORDED),
        ("f", 0, 95, 4, launch(1, 4_096, 1, 0)),
    ]);
    let fill = ["name", "occupancy", "limited_by", "waves", "blocks"];
    let rows: Vec<_> = (0..6).map(|at| row(&output, at, &fill)).collect();
    assert_eq!(rows[0], ["a", "–", "–", "–", "1"]);
    assert_eq!(rows[1], ["b", "–", "–", "–", "–"]);
    assert_eq!(rows[2], ["c", "–", "–", "–", "1"]);
    assert_eq!(rows[3], ["d", "–", "–", "–", "1"]);
    assert_eq!(rows[4], ["e", "–", "–", "–", "–"]);
    assert_eq!(
        rows[5],
        ["f", "–", "–", "–", "1"],
        "a block of more threads than there are"
    );
}

/// Nsight Systems tells static and dynamic shared memory apart.
#[test]
fn shared_memory_is_the_sum_of_its_parts() {
    let mut parts = launch(132, 128, 32, 0);
    parts[7..].copy_from_slice(&[Some(1_000), Some(24), None]);
    let mut half = parts;
    half[8] = None;
    let output = output(&[("a", 0, 0, 20, parts), ("b", 0, 30, 10, half)]);
    assert_eq!(row(&output, 0, &["shared_memory_bytes"]), ["1024"]);
    assert_eq!(row(&output, 1, &["shared_memory_bytes"]), ["–"]);
}
