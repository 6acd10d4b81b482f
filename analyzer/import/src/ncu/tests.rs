use std::fs;

use super::*;
use crate::read_back::{Imported, read_back, recognises};
use crate::{Error, Options};

const KERNELS: [(u64, &str, u32, i64); 4] = [
    (11, "void lib::add<float>(float *)", 4, 100),
    (12, "saxpy(double *, int)", 4, 200),
    (13, "void lib::add<float>(float *)", 4, 300),
    (14, "other", 1, 400),
];

fn joined(csv: &str) -> Result<(u64, Imported), Error> {
    let (joined, imported) = joined_to(csv, None, kernels())?;
    Ok((joined.kernels, imported))
}

fn kernels() -> Vec<TracedKernel<'static>> {
    let kernel = |&(id, name, grid, start_ns): &(u64, &'static str, u32, i64)| TracedKernel {
        id,
        name,
        grid: Some([grid, 1, 1]),
        block: Some([32, 1, 1]),
        start_ns,
        correlation: None,
        device: Some(0),
        stream: Some(7),
    };
    KERNELS.iter().map(kernel).collect()
}

fn joined_to(
    csv: &str,
    process: Option<u64>,
    kernels: Vec<TracedKernel<'_>>,
) -> Result<(Joined, Imported), Error> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ncu.csv");
    fs::write(&path, csv).unwrap();
    let mut joined = Joined::default();
    let imported = read_back(&path, &Options::default(), |import| {
        joined = join(
            &path,
            process,
            kernels.into_iter(),
            import.into,
            import.notes,
        )?;
        Ok(None)
    })?;
    Ok((joined, imported))
}

const WIDE: &str = "hello from the program\n==PROF== Connected\n\
\"ID\",\"Process ID\",\"Kernel Name\",\"Block Size\",\"Grid Size\",\"dram__bytes_read.sum\",\"smsp__sass_thread_inst_executed_op_fadd_pred_on.sum\",\"smsp__sass_thread_inst_executed_op_fmul_pred_on.sum\",\"smsp__sass_thread_inst_executed_op_ffma_pred_on.sum\",\"gpu__time_duration.sum\"\n\
\"\",\"\",\"\",\"\",\"\",\"Kbyte\",\"inst\",\"inst\",\"inst\",\"usecond\"\n\
\"0\",\"9\",\"add\",\"(32, 1, 1)\",\"(4, 1, 1)\",\"1,024\",\"10\",\"20\",\"1,000\",\"2.5\"\n\
\"1\",\"9\",\"saxpy\",\"(32, 1, 1)\",\"(4, 1, 1)\",\"n/a\",\"1\",\"n/a\",\"3\",\"7\"\n\
\"2\",\"9\",\"add\",\"(32, 1, 1)\",\"(4, 1, 1)\",\"2,048\",\"1\",\"2\",\"3\",\"2\"\n\
\"3\",\"9\",\"gone\",\"(32, 1, 1)\",\"(4, 1, 1)\",\"1\",\"1\",\"2\",\"3\",\"2\"\n\
==PROF== Disconnected\n";

#[test]
fn counters_meet_kernels_by_name_shape_and_ordinal() {
    let (count, run) = joined(WIDE).unwrap();
    assert_eq!(count, 3);
    let rows = run.rows("counters", "span time_ns name value unit source");
    for row in [
        "11 100 dram_bytes_read 1024000 byte ncu",
        "11 100 flops_f32 2030 flop ncu",
        "11 100 gpu__time_duration.sum 2500 ns ncu",
        "13 300 dram_bytes_read 2048000 byte ncu",
    ] {
        assert!(rows.iter().any(|found| found == row), "{row} in {rows:#?}");
    }
    // Not a number is not zero: a sum that lacks a part is none.
    assert!(
        !rows
            .iter()
            .any(|row| row.starts_with("12") && row.contains("flops"))
    );
    assert_eq!(
        run.notes.left_out["profiled kernel: no kernel of this name is in the run"],
        1
    );
    assert_eq!(run.notes.left_out["kernel of the run: not profiled"], 1);
}

/// CUPTI gives symbols; ncu writes what they stand for. Both as an H200 gave them.
#[test]
fn symbols_of_a_run_meet_the_names_behind_them() {
    let mut kernels = kernels();
    kernels[0].name = "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIfEESt5arrayIPcLm1EEEEviT0_T1_";
    let name = "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, std::array<char *, 1>>(int, T2, T3)";
    let (joined, run) = joined_to(&csv(&[(5, 9, name, 4, 0)]), None, kernels).unwrap();
    assert_eq!(joined.kernels, 1);
    assert_eq!(run.rows("counters", "span name value"), ["11 m 5"]);
}

#[test]
fn the_long_form_says_the_same() {
    let csv = "\"ID\",\"Kernel Name\",\"Block Size\",\"Grid Size\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"\n\
               \"0\",\"saxpy\",\"(32, 1, 1)\",\"(4, 1, 1)\",\"dram__bytes_write.sum\",\"Mbyte\",\"1.5\"\n";
    let (count, run) = joined(csv).unwrap();
    assert_eq!(count, 1);
    let rows = run.rows("counters", "span name value");
    assert_eq!(
        rows,
        [
            "12 dram__bytes_write.sum 1500000",
            "12 dram_bytes_written 1500000",
        ]
    );
}

const HEAD: &str =
    "\"ID\",\"Process ID\",\"Kernel Name\",\"Block Size\",\"Grid Size\",\"Device\",\"m\"\n";

/// A CSV of launches: id, process, name, grid, device. The metric `m` equals the id.
fn csv(launches: &[(u64, u64, &str, u32, u32)]) -> String {
    let line = |(id, process, name, grid, device): &(u64, u64, &str, u32, u32)| {
        format!(
            "\"{id}\",\"{process}\",\"{name}\",\"(32, 1, 1)\",\"({grid}, 1, 1)\",\"{device}\",\"{id}\"\n"
        )
    };
    HEAD.to_owned() + &launches.iter().map(line).collect::<String>()
}

#[test]
fn what_could_be_several_is_joined_to_none() {
    let (found, run) = joined_to(&csv(&[(0, 9, "add", 4, 0)]), None, kernels()).unwrap();
    assert_eq!(found.kernels, 0);
    assert!(run.rows("counters", "span").is_empty());
    let [unmatched] = &found.unmatched[..] else {
        panic!("{found:?}")
    };
    assert_eq!(
        (&*unmatched.name, unmatched.profiled, unmatched.in_run),
        ("add", 1, 2)
    );
    assert!(unmatched.reason.contains("different numbers of"));
    let other_shape = csv(&[(0, 9, "other", 4, 0)]);
    let (found, run) = joined_to(&other_shape, None, kernels()).unwrap();
    assert!(found.unmatched[0].reason.contains("other launch shapes"));
    let left_out = &run.notes.left_out;
    assert_eq!(
        left_out["kernel of the run: profiled in other launch shapes only"],
        1
    );
}

/// Kernels of one shape and stream, in this order.
fn named(names: &[&'static str]) -> Vec<TracedKernel<'static>> {
    let kernel = |(number, name): (usize, &&'static str)| TracedKernel {
        id: 1 + number as u64,
        name,
        start_ns: number as i64,
        ..kernels()[0].clone()
    };
    names.iter().enumerate().map(kernel).collect()
}

#[test]
fn template_arguments_tell_kernels_of_one_name_apart() {
    let join = |profiled: &[&str], traced: &[&'static str]| {
        let launches: Vec<_> = (0..)
            .zip(profiled)
            .map(|(id, name)| (id, 9, *name, 4, 0))
            .collect();
        let (found, run) = joined_to(&csv(&launches), None, named(traced)).unwrap();
        let reasons: Vec<String> = found
            .unmatched
            .iter()
            .map(|one| {
                format!(
                    "{} {} {}: {}",
                    one.name, one.profiled, one.in_run, one.reason
                )
            })
            .collect();
        (
            run.rows("counters", "span value").join(", "),
            reasons.join("\n"),
        )
    };
    // Not in the same order, spelled differently; one more of a third.
    let traced = [
        "k<4, float>(int)",
        "k<double>",
        "k<4, float>(int)",
        "k<half>",
    ];
    let (rows, reasons) = join(
        &["k<double>", "k<(int)4,float>(T1)", "k<(int)4,float>(T1)"],
        &traced,
    );
    assert_eq!((&*rows, &*reasons), ("1 1, 3 2, 2 0", ""));
    // One spelling stands in one of them more often: it alone is not joined.
    let (rows, reasons) = join(
        &["k<double>", "k<double>", "k<4,float>", "k<4,float>"],
        &traced,
    );
    assert_eq!(rows, "1 2, 3 3");
    assert!(
        reasons.starts_with("k<double> 2 1: profile and run have different"),
        "{reasons}"
    );
    // The profile has bare names: all in order.
    let (rows, reasons) = join(&["k", "k", "k", "k"], &traced);
    assert_eq!((&*rows, &*reasons), ("1 0, 2 1, 3 2, 4 3", ""));
    // Other spellings, one to one, in order; and not one to one.
    let (rows, _) = join(&["k<A>", "k<B>", "k<A>", "k<C>"], &traced);
    assert_eq!(rows, "1 0, 2 1, 3 2, 4 3");
    let (rows, reasons) = join(&["k<A>", "k<A>", "k<B>", "k<C>"], &traced);
    assert_eq!(rows, "");
    assert!(
        reasons.contains("different template arguments"),
        "{reasons}"
    );
}

#[test]
fn launches_count_in_their_own_order_where_streams_overtake_each_other() {
    let both = csv(&[(0, 9, "add", 4, 0), (1, 9, "add", 4, 0)]);
    let mut kernels = kernels();
    kernels.retain(|kernel| kernel.name.contains("add"));
    kernels[1].stream = Some(8);
    let (found, _) = joined_to(&both, None, kernels.clone()).unwrap();
    assert_eq!(found.kernels, 0);
    assert!(found.unmatched[0].reason.contains("streams"));
    // One launch of a graph.
    (kernels[0].correlation, kernels[1].correlation) = (Some(20), Some(20));
    let (found, _) = joined_to(&both, None, kernels.clone()).unwrap();
    assert_eq!(found.kernels, 0);
    // The second to start was the first to be launched.
    (kernels[0].correlation, kernels[1].correlation) = (Some(21), Some(20));
    let (found, run) = joined_to(&both, None, kernels).unwrap();
    assert_eq!(found.kernels, 2);
    assert_eq!(run.rows("counters", "span value"), ["13 0", "11 1"]);
}

#[test]
fn devices_are_told_apart_where_both_sides_have_several() {
    let mut kernels = kernels();
    kernels.retain(|kernel| kernel.name.contains("add"));
    kernels[1].device = Some(1);
    // Profiled on the second device first.
    let on_two = csv(&[(0, 9, "add", 4, 1), (1, 9, "add", 4, 0)]);
    let (_, run) = joined_to(&on_two, None, kernels.clone()).unwrap();
    assert_eq!(run.rows("counters", "span value"), ["11 1", "13 0"]);
    // The same devices under other numbers: one is one.
    kernels[0].device = Some(1);
    let (found, _) = joined_to(
        &csv(&[(0, 9, "add", 4, 0), (1, 9, "add", 4, 0)]),
        None,
        kernels,
    )
    .unwrap();
    assert_eq!(found.kernels, 2);
}

#[test]
fn of_several_processes_one_must_be_named() {
    let two = csv(&[(0, 8, "saxpy", 4, 0), (0, 9, "saxpy", 4, 0)]);
    let error = |process| match joined_to(&two, process, kernels()) {
        Err(error) => error.to_string(),
        Ok(_) => String::new(),
    };
    assert!(error(None).contains("8, 9"), "{}", error(None));
    assert!(error(Some(7)).contains("process 7"), "{}", error(Some(7)));
    let (found, run) = joined_to(&two, Some(9), kernels()).unwrap();
    assert_eq!(found.kernels, 1);
    assert_eq!(run.notes.left_out["profiled kernel: of another process"], 1);
}

#[test]
fn operations_follow_the_formulas() {
    let f16 =
        |operation: &str| format!("smsp__sass_thread_inst_executed_op_h{operation}_pred_on.sum");
    let names = [
        f16("add"),
        f16("mul"),
        f16("fma"),
        "sm__ops_path_tensor_src_bf16_dst_fp32.sum".into(),
        "sm__ops_path_tensor_src_fp8_sparsity_on.sum".into(),
        "sm__ops_path_tensor_src_int8.sum".into(),
        "dram__bytes.sum".into(),
    ];
    let names: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
    let csv = format!(
        "\"ID\",\"Kernel Name\",\"Block Size\",\"Grid Size\",{}\n\"\",\"\",\"\",\"\",\"inst\",\"inst\",\"inst\",\"\",\"\",\"\",\"byte\"\n\
         \"0\",\"saxpy\",\"(32, 1, 1)\",\"(4, 1, 1)\",\"1\",\"10\",\"100\",\"2,147,483,648\",\"5\",\"6\",\"7\"\n",
        names.join(",")
    );
    let (_, run) = joined(&csv).unwrap();
    let rows = run.rows("counters", "name value unit");
    let sums: Vec<&String> = rows.iter().filter(|row| !row.contains("__")).collect();
    assert_eq!(
        sums,
        [
            "flops_f16 422 flop",
            "flops_tensor_bf16_dst_fp32 2147483648 flop",
            "ops_tensor_int8 6 op",
            "dram_bytes 7 byte",
        ]
    );
}

#[test]
fn one_name_for_two_metrics_is_said() {
    let csv = "\"ID\",\"Kernel Name\",\"Block Size\",\"Grid Size\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"\n\
               \"0\",\"saxpy\",\"(32, 1, 1)\",\"(4, 1, 1)\",\"Memory Throughput\",\"%\",\"80.5\"\n\
               \"0\",\"saxpy\",\"(32, 1, 1)\",\"(4, 1, 1)\",\"Memory Throughput\",\"Gbyte/s\",\"1,200.00\"\n";
    let (_, run) = joined(csv).unwrap();
    assert_eq!(run.rows("counters", "value unit"), ["80.5 %"]);
    assert_eq!(run.notes.left_out["second metric of the same name"], 1);
}

#[test]
fn bad_files_are_refused_with_the_reason() {
    let head = "\"ID\",\"Kernel Name\",\"Block Size\",\"Grid Size\",\"m\"\n";
    let comma = format!("{head}\"0\",\"add\",\"(32, 1, 1)\",\"(4, 1, 1)\",\"12,5\"\n");
    for (csv, word) in [
        ("", "Kernel Name"),
        ("a,b\n1,2\n", "Kernel Name"),
        ("\"ID\",\"Kernel Name\",\"m\"\n", "Block Size"),
        (&comma, "LC_ALL=C"),
    ] {
        let error = joined(csv).err().map(|e| e.to_string()).unwrap_or_default();
        assert!(
            error.contains(word) && error.contains("ncu.csv"),
            "{csv}: {error}"
        );
    }
    // A row that lost cells, and one that lost its shape.
    let (count, run) = joined(&format!(
        "{head}\"0\",\"add\"\n\"1\",\"add\",\"\",\"\",\"1\"\n"
    ))
    .unwrap();
    assert_eq!(
        (count, run.notes.left_out["row with too few cells"]),
        (0, 1)
    );
    assert_eq!(
        run.notes.left_out["profiled kernel without a name or launch shape"],
        1
    );
}

#[test]
fn heads_are_recognised() {
    let recognises = |bytes| recognises(&IMPORTER, bytes);
    assert!(recognises(WIDE.as_bytes()));
    assert!(!recognises(b"{\"traceEvents\": []}"));
}

proptest::proptest! {
    #[test]
    fn no_cells_make_it_panic(cells in "[\"(),.0-9a-z \\n=<]{0,200}") {
        let _ = joined(&format!("\"ID\",\"Kernel Name\",\"Block Size\",\"Grid Size\",\"m\"\n{cells}"));
    }
}
