use std::fs;

use super::*;
use crate::read_back::{Imported, imported};

const KERNELS: [(u64, &str, u32, i64); 4] = [
    (11, "void lib::add<float>(float *)", 4, 100),
    (12, "saxpy(double *, int)", 4, 200),
    (13, "void lib::add<float>(float *)", 4, 300),
    (14, "other", 1, 400),
];

fn joined(csv: &str) -> Result<(u64, Imported), Error> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ncu.csv");
    fs::write(&path, csv).unwrap();
    let kernels = KERNELS
        .iter()
        .map(|&(id, name, grid, start_ns)| TracedKernel {
            id,
            name,
            grid: Some([grid, 1, 1]),
            block: Some([32, 1, 1]),
            start_ns,
        });
    let mut count = 0;
    let imported = imported(|run, notes| {
        count = join(&path, kernels, run, notes)?;
        Ok(None)
    })?;
    Ok((count, imported))
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
    let rows = run.rows(
        "counters",
        &["span", "time_ns", "name", "value", "unit", "source"],
    );
    for row in [
        "11 100 dram_bytes_read 1024000 byte computed",
        "11 100 flops_f32 2030 flop computed",
        "11 100 gpu__time_duration.sum 2500 ns measured",
        "13 300 dram_bytes_read 2048000 byte computed",
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
        run.notes.left_out["profiled kernel that is not in the trace"],
        1
    );
    assert_eq!(run.notes.left_out["traced kernel that was not profiled"], 1);
}

#[test]
fn the_long_form_says_the_same() {
    let csv = "\"ID\",\"Kernel Name\",\"Block Size\",\"Grid Size\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"\n\
               \"0\",\"saxpy\",\"(32, 1, 1)\",\"(4, 1, 1)\",\"dram__bytes_write.sum\",\"Mbyte\",\"1.5\"\n";
    let (count, run) = joined(csv).unwrap();
    assert_eq!(count, 1);
    let rows = run.rows("counters", &["span", "name", "value"]);
    assert_eq!(
        rows,
        [
            "12 dram__bytes_write.sum 1500000",
            "12 dram_bytes_written 1500000"
        ]
    );
}

#[test]
fn what_could_be_several_is_joined_to_none() {
    let csv = "\"ID\",\"Kernel Name\",\"Block Size\",\"Grid Size\",\"m\"\n\"0\",\"add\",\"(32, 1, 1)\",\"(4, 1, 1)\",\"1\"\n";
    let (count, run) = joined(csv).unwrap();
    assert_eq!(count, 0);
    assert!(
        run.warns("add of one launch shape stands 1 times in the profile and 2 times in the trace")
    );
    assert_eq!(
        run.notes.left_out["profiled kernel that could be several of the trace"],
        1
    );
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
    assert!(recognises(WIDE.as_bytes()));
    assert!(!recognises(b"{\"traceEvents\": []}"));
}

proptest::proptest! {
    #[test]
    fn no_cells_make_it_panic(cells in "[\"(),.0-9a-z \\n=<]{0,200}") {
        let _ = joined(&format!("\"ID\",\"Kernel Name\",\"Block Size\",\"Grid Size\",\"m\"\n{cells}"));
    }
}
