//! Runs with chosen rows, for tests.

use std::path::Path;

use trueno_recorder::run_json::RunJson;
use trueno_recorder::run_writer::{Cell, RunWriter};
use trueno_recorder::schema::ColumnType;

/// One value of a row.
#[derive(Clone, Copy, Debug)]
pub enum Value<'a> {
    Number(i64),
    Real(f64),
    Text(&'a str),
    Truth(bool),
}

impl From<i64> for Value<'_> {
    fn from(value: i64) -> Self {
        Value::Number(value)
    }
}

impl From<f64> for Value<'_> {
    fn from(value: f64) -> Self {
        Value::Real(value)
    }
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(value: &'a str) -> Self {
        Value::Text(value)
    }
}

impl From<bool> for Value<'_> {
    fn from(value: bool) -> Self {
        Value::Truth(value)
    }
}

/// A run being made.
pub struct Made {
    writer: RunWriter,
}

impl Made {
    pub fn new(path: &Path) -> Made {
        Made::of(path, RunJson::default())
    }

    /// Of a run of which more is known than its rows.
    pub fn of(path: &Path, run: RunJson) -> Made {
        Made {
            writer: RunWriter::create(path, run).expect("a run directory"),
        }
    }

    /// Adds a row; a column that is not named is null, or else zero, empty, a valid row, or of the host.
    pub fn row(&mut self, table: &str, values: &[(&str, Value<'_>)]) {
        let table = self.writer.table(table).expect("a table");
        let cells: Vec<Cell> = table
            .schema()
            .columns
            .iter()
            .map(|column| {
                let value = values.iter().find(|(name, _)| *name == column.name);
                match value.map(|(_, value)| *value) {
                    Some(Value::Text(text)) => Cell::Text(self.writer.text(text)),
                    Some(Value::Truth(truth)) => Cell::Bool(truth),
                    Some(Value::Real(number)) => Cell::F64(number),
                    Some(Value::Number(number)) if column.ty == ColumnType::I64 => {
                        Cell::I64(number)
                    }
                    Some(Value::Number(number)) => Cell::U64(number.cast_unsigned()),
                    None if column.nullable => Cell::Null,
                    None => match column.ty {
                        ColumnType::Text => Cell::Text(self.writer.text("host")),
                        ColumnType::Bool => Cell::Bool(true),
                        ColumnType::I64 => Cell::I64(0),
                        ColumnType::F64 => Cell::F64(0.0),
                        ColumnType::U32 | ColumnType::U64 => Cell::U64(0),
                    },
                }
            })
            .collect();
        let names: Vec<&str> = table.schema().columns.iter().map(|c| c.name).collect();
        let unknown = values.iter().find(|(name, _)| !names.contains(name));
        assert!(unknown.is_none(), "no such column: {unknown:?}");
        self.writer.row(table, &cells).expect("a row");
    }

    /// Keeps a kernel's source; its hash.
    pub fn source(&mut self, name: &str, source: &str) -> String {
        let hash = self.writer.source(source).expect("a source");
        let hash = self.writer.str(hash).to_owned();
        let bytes = source.len() as i64;
        self.row(
            "ptx",
            &[
                ("hash", hash.as_str().into()),
                ("name", name.into()),
                ("source_bytes", bytes.into()),
            ],
        );
        hash
    }

    pub fn finish(self, wall_ns: i64) {
        self.writer.finish(Some(wall_ns)).expect("the run ends");
    }
}

/// Two threads, a device, and one of each thing that can be recorded of them; 1 µs long.
pub fn sample(path: &Path) {
    let mut made = Made::new(path);
    for (thread, name) in [(0, "main"), (1, "worker")] {
        made.row(
            "threads",
            &[("thread", thread.into()), ("name", name.into())],
        );
    }
    type Brick<'a> = (i64, Option<i64>, &'a str, &'a str, i64, i64, i64);
    let bricks: [Brick<'_>; 5] = [
        (1, None, "iteration", "iteration", 0, 0, 1000),
        (2, Some(1), "layer", "layer", 0, 10, 900),
        (3, Some(2), "brick", "QkvProjection", 0, 20, 400),
        (4, Some(3), "task", "head 0", 1, 30, 200),
        (5, Some(2), "brick", "FfnGateUp", 0, 450, 800),
    ];
    for (id, parent, kind, name, thread, start, end) in bricks {
        let mut row = vec![
            ("id", id.into()),
            ("kind", kind.into()),
            ("name", name.into()),
            ("thread", thread.into()),
            ("start_ns", start.into()),
            ("dur_ns", (end - start).into()),
            ("iteration", 4.into()),
        ];
        row.extend(parent.map(|parent| ("parent", parent.into())));
        if kind == "layer" {
            row.push(("layer", 2.into()));
        }
        if kind == "brick" {
            row.push(("elements", 4096.into()));
        }
        made.row("bricks", &row);
    }
    for (id, brick, start, end, correlation) in [(10, Some(3), 40, 60, 7), (11, None, 460, 480, 8)]
    {
        let mut row = vec![
            ("id", id.into()),
            ("name", "cudaLaunchKernel".into()),
            ("thread", 0.into()),
            ("start_ns", start.into()),
            ("dur_ns", (end - start).into()),
            ("correlation", correlation.into()),
        ];
        row.extend(brick.map(|brick: i64| ("brick", brick.into())));
        made.row("calls", &row);
    }
    let hash = made.source("gemm.ptx", ".version 8.0\n.entry gemm()\n{\n\tret;\n}\n");
    let on_device = |id: i64, name, start: i64, end: i64| {
        vec![
            ("id", Value::from(id)),
            ("name", Value::Text(name)),
            ("device", 0.into()),
            ("stream", 7.into()),
            ("start_ns", start.into()),
            ("dur_ns", (end - start).into()),
            ("timing", "device".into()),
        ]
    };
    let launch = [
        ("grid_x", 32.into()),
        ("grid_y", 2.into()),
        ("grid_z", 1.into()),
        ("block_x", 256.into()),
        ("block_y", 1.into()),
        ("block_z", 1.into()),
        ("registers", 40.into()),
        ("smem_static", 1024.into()),
        ("smem_dynamic", 49152.into()),
        ("ptx_hash", hash.as_str().into()),
    ];
    let mut gemm = on_device(20, "gemm", 100, 300);
    gemm.extend([("brick", 3.into()), ("correlation", 7.into())]);
    gemm.extend(launch);
    made.row("kernels", &gemm);
    let mut second = on_device(21, "gemm", 500, 700);
    second.push(("correlation", 8.into()));
    second.extend(launch);
    made.row("kernels", &second);
    let dot = [
        ("id", 22.into()),
        ("name", "dot".into()),
        ("brick", 5.into()),
        ("thread", 0.into()),
        ("start_ns", 700.into()),
        ("dur_ns", 50.into()),
    ];
    made.row("kernels", &dot);
    let mut bound = on_device(23, "softmax", 480, 790);
    bound.retain(|(name, _)| *name != "timing");
    bound.extend([("brick", 5.into()), ("timing", "bound".into())]);
    made.row("kernels", &bound);
    let mut invalid = on_device(24, "softmax", 0, 0);
    invalid.extend([
        ("brick", 5.into()),
        ("valid", false.into()),
        ("reason", "wait failed".into()),
    ]);
    made.row("kernels", &invalid);
    made.row("kernels", &on_device(25, "orphan", 850, 880));
    let transfer = [
        ("id", 30.into()),
        ("brick", 3.into()),
        ("direction", "h2d".into()),
        ("bytes", 4096.into()),
        ("device", 0.into()),
        ("stream", 7.into()),
        ("start_ns", 60.into()),
        ("dur_ns", 40.into()),
        ("timing", "device".into()),
    ];
    made.row("transfers", &transfer);
    let wait = [
        ("id", 40.into()),
        ("kind", "device".into()),
        ("thread", 0.into()),
        ("start_ns", 750.into()),
        ("dur_ns", 40.into()),
    ];
    made.row("syncs", &wait);
    let tile = [
        ("id", 50.into()),
        ("parent", 22.into()),
        ("level", "macro".into()),
        ("row", 1.into()),
        ("col", 3.into()),
        ("thread", 0.into()),
        ("start_ns", 705.into()),
        ("dur_ns", 10.into()),
    ];
    made.row("tiles", &tile);
    for (from, to, kind) in [
        (10, 20, "launches"),
        (11, 21, "launches"),
        (3, 5, "depends_on"),
        (21, 40, "joins"),
        (3, 999, "depends_on"),
    ] {
        made.row(
            "edges",
            &[
                ("from", from.into()),
                ("to", to.into()),
                ("kind", kind.into()),
            ],
        );
    }
    made.finish(1000);
}
