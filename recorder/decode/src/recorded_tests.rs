//! A recorded run read back: what it must hold whatever the times were.

use crate::backend::{Backend, Simd};
use crate::generate::{Plan, generate};
use crate::probe::{Level, Probe};
use crate::weights::Shape;
use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type, UInt64Type};
use arrow_array::{Array, RecordBatch};
use arrow_ipc::reader::FileReader;
use std::collections::HashMap;
use std::fs::File;
use std::path::Path;
use trueno_recorder::{Overflow, Recorder};

const LAYERS: usize = 2;
const HEADS: usize = 3;
const TOKENS: usize = 4;

#[derive(Clone, Debug, Default)]
struct Row {
    id: u64,
    parent: Option<u64>,
    kind: String,
    name: String,
    backend: Option<String>,
    start: i64,
    end: i64,
    iteration: Option<u64>,
    flops: Option<u64>,
}

fn number(batch: &RecordBatch, name: &str, row: usize) -> Option<u64> {
    let column = batch.column_by_name(name)?;
    column
        .is_valid(row)
        .then(|| column.as_primitive::<UInt64Type>().value(row))
}

fn time(batch: &RecordBatch, name: &str, row: usize) -> i64 {
    batch
        .column_by_name(name)
        .unwrap()
        .as_primitive::<Int64Type>()
        .value(row)
}

fn text(batch: &RecordBatch, name: &str, row: usize) -> Option<String> {
    let column = batch.column_by_name(name)?.as_dictionary::<Int32Type>();
    let key = column.key(row)?;
    Some(column.values().as_string::<i32>().value(key).to_owned())
}

/// All rows of one table. `parent` is the column with the enclosing row.
fn rows(run: &Path, table: &str, parent: &str) -> Vec<Row> {
    let mut rows = Vec::new();
    let reader = FileReader::try_new(
        File::open(run.join(table).join("000000.arrow")).unwrap(),
        None,
    )
    .unwrap();
    for batch in reader {
        let batch = batch.unwrap();
        for row in 0..batch.num_rows() {
            let start = time(&batch, "start_ns", row);
            rows.push(Row {
                id: number(&batch, "id", row).unwrap(),
                parent: number(&batch, parent, row),
                kind: text(&batch, "kind", row).unwrap_or_default(),
                name: text(&batch, "name", row).unwrap_or_default(),
                backend: text(&batch, "backend", row),
                start,
                end: start + time(&batch, "dur_ns", row),
                iteration: number(&batch, "iteration", row),
                flops: number(&batch, "flops", row),
            });
        }
    }
    rows
}

fn record(folder: &Path, level: Level, threads: usize) {
    // Rows are counted, however seldom the writer's turn comes.
    let builder = Recorder::builder(folder).overflow(Overflow::Block);
    let rec = builder.create().unwrap();
    let mut probe = Probe::new(rec, Simd::new(Backend::widest()).unwrap());
    probe.level = level;
    let positions = 9 + TOKENS;
    let shape = Shape {
        layers: LAYERS,
        dim: 36,
        heads: HEADS,
        ffn: 50,
        vocab: 61,
        positions,
    };
    let plan = Plan {
        shape,
        seed: 7,
        prompt: 9,
        tokens: TOKENS,
        threads,
        blocked: true,
    };
    generate(&plan, &probe).unwrap();
    let summary = probe.rec.finish().unwrap();
    assert_eq!(summary.dropped, 0);
}

#[test]
fn shapes_of_products_give_the_flops_that_are_declared() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("decode.run");
    record(&run, Level::Brick, 1);
    let columns = |table: &str, names: [&str; 2]| {
        let file = File::open(run.join(table).join("000000.arrow")).unwrap();
        let batches = FileReader::try_new(file, None).unwrap().map(Result::unwrap);
        let cells = batches.flat_map(|batch| {
            let rows = 0..batch.num_rows();
            let row = |at| (number(&batch, names[0], at), text(&batch, names[1], at));
            rows.map(row).collect::<Vec<_>>()
        });
        cells.collect::<Vec<_>>()
    };
    let dims: HashMap<_, _> = columns("signatures", ["id", "input_dims"])
        .into_iter()
        .collect();
    let signatures = columns("bricks", ["signature", "name"]);
    let flops = columns("bricks", ["flops", "name"]);
    let mut products = 0;
    for ((signature, name), (flops, _)) in signatures.into_iter().zip(flops) {
        if !name.is_some_and(|name| name.ends_with("Projection") || name == "LmHead") {
            continue;
        }
        let dims = dims[&signature].as_deref().unwrap();
        let numbers: Vec<u64> = dims
            .split(|symbol: char| !symbol.is_ascii_digit())
            .filter_map(|number| number.parse().ok())
            .collect();
        let [m, k, n, inner] = numbers[..] else {
            panic!("{dims}")
        };
        assert_eq!((k, flops), (inner, Some(2 * m * n * k)));
        products += 1;
    }
    assert_eq!(products, TOKENS * (1 + LAYERS * 5));
}

#[test]
fn rows_nest_and_bricks_declare_what_their_kernels_do() {
    for threads in [1, 2] {
        let folder = tempfile::tempdir().unwrap();
        let run = folder.path().join("decode.run");
        record(&run, Level::Tile, threads);
        let bricks = rows(&run, "bricks", "parent");
        let kernels = rows(&run, "kernels", "brick");
        let tiles = rows(&run, "tiles", "parent");

        let count = |kind: &str| bricks.iter().filter(|row| row.kind == kind).count();
        assert_eq!(count("iteration"), TOKENS);
        assert_eq!(count("layer"), TOKENS * LAYERS);
        assert_eq!(count("task"), TOKENS * LAYERS * HEADS);
        // 12 bricks a layer, 3 a head; embedding, last norm, head and sampling a token.
        assert_eq!(count("brick"), TOKENS * (4 + LAYERS * (12 + 3 * HEADS)));

        let all: HashMap<u64, &Row> = bricks
            .iter()
            .chain(&kernels)
            .chain(&tiles)
            .map(|row| (row.id, row))
            .collect();
        assert_eq!(
            all.len(),
            bricks.len() + kernels.len() + tiles.len(),
            "ids are unique"
        );
        for row in bricks.iter().chain(&kernels).chain(&tiles) {
            let Some(parent) = row.parent else { continue };
            let parent = all[&parent];
            assert!(
                parent.start <= row.start && row.end <= parent.end,
                "{row:?} leaves {parent:?}"
            );
            if row.kind == "brick" || row.kind == "task" {
                assert_eq!(
                    row.iteration.is_some(),
                    parent.iteration.is_some() || parent.kind == "iteration"
                );
            }
        }

        let mut kernel_flops: HashMap<u64, u64> = HashMap::new();
        for kernel in &kernels {
            *kernel_flops.entry(kernel.parent.unwrap()).or_default() += kernel.flops.unwrap();
        }
        for brick in bricks.iter().filter(|row| row.kind == "brick") {
            assert_eq!(
                brick.flops,
                Some(kernel_flops.get(&brick.id).copied().unwrap_or(0)),
                "{brick:?}"
            );
            let mixed =
                ["AttentionSoftmax", "Activation", "Sampling"].contains(&brick.name.as_str());
            let copies = ["Embedding", "KvCacheWrite"].contains(&brick.name.as_str());
            let expected = match Backend::widest() {
                _ if copies => None,
                Backend::Scalar => Some("scalar".to_owned()),
                wide if mixed => Some(format!("{}+scalar", wide.name())),
                wide => Some(wide.name().to_owned()),
            };
            assert_eq!(brick.backend, expected, "{brick:?}");
        }
        let macro_flops: u64 = tiles
            .iter()
            .filter(|tile| all[&tile.parent.unwrap()].name == "matmul_blocked")
            .filter_map(|t| t.flops)
            .sum();
        let products: u64 = kernels
            .iter()
            .filter(|k| k.name == "matmul_blocked")
            .filter_map(|k| k.flops)
            .sum();
        assert_eq!(macro_flops, products, "macro tiles make up their products");
    }
}

#[test]
fn workers_are_joined_by_waits_that_end_after_the_tasks() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("decode.run");
    record(&run, Level::Brick, 2);
    let ends: HashMap<u64, i64> = rows(&run, "bricks", "parent")
        .iter()
        .map(|row| (row.id, row.end))
        .collect();
    let waits: HashMap<u64, i64> = syncs(&run);
    let mut joins = 0;
    for batch in
        FileReader::try_new(File::open(run.join("edges/000000.arrow")).unwrap(), None).unwrap()
    {
        let batch = batch.unwrap();
        for row in 0..batch.num_rows() {
            assert_eq!(text(&batch, "kind", row).as_deref(), Some("joins"));
            let (from, to) = (
                number(&batch, "from", row).unwrap(),
                number(&batch, "to", row).unwrap(),
            );
            assert!(ends[&from] <= waits[&to], "a wait ended before its task");
            joins += 1;
        }
    }
    assert_eq!(joins, TOKENS * LAYERS * HEADS);
    assert!(!run.join("kernels").exists() && !run.join("tiles").exists());
}

fn syncs(run: &Path) -> HashMap<u64, i64> {
    let reader =
        FileReader::try_new(File::open(run.join("syncs/000000.arrow")).unwrap(), None).unwrap();
    let end = |batch: &RecordBatch, row| time(batch, "start_ns", row) + time(batch, "dur_ns", row);
    reader
        .map(Result::unwrap)
        .flat_map(|batch| {
            let rows = 0..batch.num_rows();
            rows.map(|row| (number(&batch, "id", row).unwrap(), end(&batch, row)))
                .collect::<Vec<_>>()
        })
        .collect()
}
