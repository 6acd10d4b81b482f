//! Made runs, and what came out.

use trueno_plugin::testing::{self, Output};
use trueno_plugin::{Table, TableBuilder};
use trueno_plugin_divergence::Divergence;

#[derive(Clone, Debug, PartialEq)]
pub struct Sum {
    pub name: &'static str,
    pub layer: Option<i64>,
    pub iteration: Option<u64>,
    pub position: Option<u64>,
    pub thread: i64,
    pub time: i64,
    pub dtype: &'static str,
    pub shape: &'static str,
    pub hash: u64,
    pub nan: u64,
    /// `None`: not counted.
    pub inf: Option<u64>,
    pub l2: f64,
}

pub const NAMES: [&str; 4] = ["norm", "qkv", "attention", "ffn"];
pub const DTYPES: [&str; 4] = ["f32", "f64", "bf16", "i32"];
pub const SHAPES: [&str; 2] = ["1x64", "64"];

/// `iterations` tokens through `layers` layers of four tensors each, and a head without a layer.
pub fn run(iterations: u64, layers: i64) -> Vec<Sum> {
    let mut sums = Vec::new();
    for iteration in 0..iterations {
        for (layer, name) in (0..layers)
            .flat_map(|layer| NAMES.map(|name| (Some(layer), name)))
            .chain([(None, "ffn")])
        {
            sums.push(Sum {
                name,
                layer,
                iteration: Some(iteration),
                position: Some(10 + iteration),
                thread: 0,
                time: sums.len() as i64 * 10,
                dtype: "f32",
                shape: "1x64",
                hash: sums.len() as u64 + 1,
                nan: 0,
                inf: Some(0),
                l2: 8.0,
            });
        }
    }
    sums
}

pub fn number(list: &[&str], text: &str) -> i64 {
    list.iter().position(|known| *known == text).unwrap() as i64
}

pub fn statistics(prefix: &str, sums: &[Sum]) -> TableBuilder {
    Table::build(format!("{prefix}statistics"))
        .i64("thread", sums.iter().map(|s| s.thread))
        .i64("time_ns", sums.iter().map(|s| s.time))
        .u64("hash", sums.iter().map(|s| s.hash))
        .u64("nan_count", sums.iter().map(|s| s.nan))
        .u64("inf_count", sums.iter().map(|s| s.inf))
        .u64("zero_count", sums.iter().map(|_| 0))
        .f64("min", sums.iter().map(|_| -2.0))
        .f64("max", sums.iter().map(|_| 2.0))
        .f64("absmax", sums.iter().map(|_| 2.0))
        .f64("mean", sums.iter().map(|_| 0.0))
        .f64("l2", sums.iter().map(|s| s.l2))
}

pub fn side(prefix: &str, sums: &[Sum]) -> Vec<TableBuilder> {
    side_with(prefix, sums, statistics(prefix, sums))
}

pub fn side_with(prefix: &str, sums: &[Sum], statistics: TableBuilder) -> Vec<TableBuilder> {
    let none = || sums.iter().map(|_| None::<i64>);
    let no_count = || sums.iter().map(|_| None::<u64>);
    let rows = Table::build(format!("{prefix}rows"))
        .i64("name", sums.iter().map(|s| number(&NAMES, s.name)))
        .i64("dtype", sums.iter().map(|s| number(&DTYPES, s.dtype)))
        .i64("shape", sums.iter().map(|s| number(&SHAPES, s.shape)))
        .i64("backend", none())
        .i64("layer", sums.iter().map(|s| s.layer))
        .u64("iteration", sums.iter().map(|s| s.iteration))
        .u64("position", sums.iter().map(|s| s.position))
        .i64("thread", sums.iter().map(|s| s.thread))
        .i64("time_ns", sums.iter().map(|s| s.time))
        .u64("span", no_count())
        .u64("elements", sums.iter().map(|_| 64))
        .u64("hash", sums.iter().map(|s| s.hash));
    let spans = |name: &str| {
        Table::build(format!("{prefix}{name}"))
            .u64("id", [0u64; 0])
            .i64("name", [0i64; 0])
            .i64("backend", [0i64; 0])
            .i64("ptx", [0i64; 0])
            .u64("flops", [0u64; 0])
            .u64("elements", [0u64; 0])
    };
    let texts = |name: &str, list: &[&str]| {
        Table::build(format!("{prefix}{name}"))
            .i64("id", 0..list.len() as i64)
            .text("text", list)
    };
    let mut tables = vec![
        rows,
        statistics,
        spans("of_bricks"),
        spans("of_kernels"),
        texts("names", &NAMES),
        texts("dtypes", &DTYPES),
        texts("shapes", &SHAPES),
    ];
    for empty in [
        "backends",
        "bricks",
        "brick_backends",
        "kernels",
        "kernel_backends",
        "ptx",
    ] {
        tables.push(texts(empty, &[]));
    }
    let nothing: [&str; 0] = [];
    tables.push(
        Table::build(format!("{prefix}ran"))
            .text("brick", nothing)
            .i64("layer", [0i64; 0])
            .text("kernel", nothing)
            .text("backend", nothing)
            .text("ptx_hash", nothing),
    );
    tables
}

pub fn compared(subject: &[Sum], baseline: &[Sum], options: &str) -> Output {
    let tables = side("", subject).into_iter().chain(side("base_", baseline));
    testing::run::<Divergence>(tables, options).unwrap()
}

/// Number of tensors by verdict, without the zeros.
pub fn counts(output: &Output) -> Vec<(String, u64)> {
    let summary = output.table("summary");
    let (verdict, tensors) = (
        summary.text("verdict").unwrap(),
        summary.u64("tensors").unwrap(),
    );
    (0..summary.rows())
        .map(|row| (verdict.value(row).to_owned(), tensors.value(row)))
        .filter(|(_, tensors)| *tensors > 0)
        .collect()
}

pub fn is(output: &Output, expected: &[(&str, u64)]) {
    let expected: Vec<_> = expected
        .iter()
        .map(|(v, n)| ((*v).to_owned(), *n))
        .collect();
    assert_eq!(counts(output), expected);
}

pub fn first(output: &Output, property: &str) -> Option<(String, String)> {
    let table = output.table("first");
    let (what, a, b) = (
        table.text("property").unwrap(),
        table.text("run").unwrap(),
        table.text("baseline").unwrap(),
    );
    let row = (0..table.rows()).find(|row| what.value(*row) == property)?;
    Some((a.get(row)?.to_owned(), b.get(row)?.to_owned()))
}

pub fn column(output: &Output, table: &str, column: &str) -> Vec<Option<String>> {
    let table = output.table(table);
    let cells = table.column(column).unwrap();
    (0..table.rows()).map(|row| cells.cell_text(row)).collect()
}

pub fn sampled(name: &str, rows: &[(&Sum, [f64; 3])]) -> TableBuilder {
    let mut table = Table::build(name)
        .i64("thread", rows.iter().map(|row| row.0.thread))
        .i64("time_ns", rows.iter().map(|row| row.0.time))
        .u64("hash", rows.iter().map(|row| row.0.hash));
    for nth in 0..16 {
        let cells = rows.iter().map(|row| row.1.get(nth).copied());
        table = table.f64(&format!("sample_{nth}"), cells);
    }
    table
}
