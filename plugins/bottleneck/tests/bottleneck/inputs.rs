//! Tables as queries would give them, from rows with given times.

use trueno_plugin::testing::Output;
use trueno_plugin::{Table, TableBuilder};

pub const US: i64 = 1_000;

/// A kernel, or a transfer of a megabyte; times in microseconds.
#[derive(Clone)]
pub struct Work {
    pub name: &'static str,
    pub device: Option<i64>,
    pub stream: Option<i64>,
    pub start_us: i64,
    pub dur_us: i64,
    pub called_us: Option<i64>,
    pub brick: Option<&'static str>,
}

impl Work {
    /// On device 0 and stream 7, launched long before it starts.
    pub fn at(name: &'static str, start_us: i64, dur_us: i64) -> Self {
        Self {
            name,
            device: Some(0),
            stream: Some(7),
            start_us,
            dur_us,
            called_us: Some(start_us - 1_000),
            brick: None,
        }
    }
}

/// The brick in which work was launched whose call was not recorded: 1 ms before it starts, for 5 µs.
fn around(row: &Work) -> Option<(i64, i64)> {
    let is_alone = row.brick.is_some() && row.called_us.is_none();
    is_alone.then(|| (row.start_us - 1_000, row.start_us - 995))
}

fn table(
    name: &str,
    what: &str,
    rows: &[Work],
    returned_us: impl Fn(&Work) -> Option<i64>,
) -> TableBuilder {
    let of = || rows.iter();
    let called = || of().map(|row| row.called_us.map(|us| us * US));
    let rank = |row: &Work| (row.device.unwrap_or(0) >> 16) as u64;
    let ids = of().zip(1_u64..);
    Table::build(name)
        .u64("id", ids.map(|(row, id)| rank(row) << 48 | id))
        .text(what, of().map(|row| row.name))
        .i64("device", of().map(|row| row.device))
        .i64("stream", of().map(|row| row.stream))
        .i64("start_ns", of().map(|row| row.start_us * US))
        .i64("dur_ns", of().map(|row| row.dur_us * US))
        .bool("is_bound", of().map(|_| false))
        .i64("called_ns", called())
        .i64(
            "returned_ns",
            of().map(|row| returned_us(row).map(|us| us * US)),
        )
        .i64("brick_ns", of().map(|row| around(row).map(|us| us.0 * US)))
        .i64(
            "brick_end_ns",
            of().map(|row| around(row).map(|us| us.1 * US)),
        )
        .text("brick_name", of().map(|row| row.brick))
}

fn soon(row: &Work) -> Option<i64> {
    row.called_us.map(|us| us + 5)
}

pub fn kernels(rows: &[Work]) -> TableBuilder {
    kernels_of_blocks(rows, 4096)
}

pub fn kernels_of_blocks(rows: &[Work], blocks: i64) -> TableBuilder {
    table("kernels", "name", rows, soon)
        .bool("valid", rows.iter().map(|_| true))
        .i64("blocks", rows.iter().map(|_| blocks))
        .i64("threads", rows.iter().map(|_| 256))
}

/// Kernels with grids that fill the device and start when their launch calls return.
pub fn launched_at_once(rows: &[Work]) -> TableBuilder {
    table("kernels", "name", rows, |row| {
        row.called_us.map(|_| row.start_us)
    })
    .bool("valid", rows.iter().map(|_| true))
    .i64("blocks", rows.iter().map(|_| 4096))
    .i64("threads", rows.iter().map(|_| 256))
}

pub fn transfers(rows: &[Work]) -> TableBuilder {
    copies(
        table("transfers", "direction", rows, soon),
        rows,
        "pinned",
        |_| Some(true),
    )
}

/// Pages of unified memory, a megabyte each. The first `prefetched` are moved by the program, the others by the driver.
pub fn migrations(rows: &[Work], prefetched: usize) -> TableBuilder {
    let is_async = |row: usize| (row < prefetched).then_some(true);
    copies(
        table("transfers", "direction", rows, soon),
        rows,
        "managed",
        is_async,
    )
}

/// Copies of a megabyte whose calls return when the copy has ended.
pub fn blocking(rows: &[Work]) -> TableBuilder {
    blocking_of(rows, 1_000_000)
}

pub fn blocking_of(rows: &[Work], bytes: u64) -> TableBuilder {
    blocking_each(rows, |_| Some(bytes))
}

/// Each copy of as many bytes as `bytes` gives.
pub fn blocking_each(rows: &[Work], bytes: impl Fn(usize) -> Option<u64>) -> TableBuilder {
    let end = |row: &Work| row.called_us.map(|_| row.start_us + row.dur_us);
    let table = table("transfers", "direction", rows, end);
    sized(table, rows, bytes, "pageable", |_| Some(false), |_| None)
}

/// Copies of a megabyte, each in the brick that `brick` gives.
pub fn in_bricks(rows: &[Work], brick: impl Fn(usize) -> Option<u64>) -> TableBuilder {
    let table = table("transfers", "direction", rows, soon);
    sized(
        table,
        rows,
        |_| Some(1_000_000),
        "pinned",
        |_| Some(true),
        brick,
    )
}

fn copies(
    table: TableBuilder,
    rows: &[Work],
    kind: &'static str,
    is_async: impl Fn(usize) -> Option<bool>,
) -> TableBuilder {
    sized(table, rows, |_| Some(1_000_000), kind, is_async, |_| None)
}

fn sized(
    table: TableBuilder,
    rows: &[Work],
    bytes: impl Fn(usize) -> Option<u64>,
    kind: &'static str,
    is_async: impl Fn(usize) -> Option<bool>,
    brick: impl Fn(usize) -> Option<u64>,
) -> TableBuilder {
    let kind = || rows.iter().map(move |_| kind);
    table
        .u64("bytes", (0..rows.len()).map(bytes))
        .bool("is_async", (0..rows.len()).map(is_async))
        .text("src_kind", kind())
        .text("dst_kind", kind())
        .u64("brick", (0..rows.len()).map(brick))
}

pub fn facts(wall_us: i64) -> TableBuilder {
    Table::build("run")
        .i64("wall_ns", [wall_us * US])
        .u64("dropped", [0_u64])
        .f64("cost_ns_per_span", [20.0])
}

pub fn categories(names: &[(&str, &str)]) -> TableBuilder {
    let of = || names.iter();
    Table::build("by_brick")
        .text("lane_kind", of().map(|_| "host"))
        .text("kind", of().map(|_| "brick"))
        .text("name", of().map(|row| row.0))
        .text("category", of().map(|row| row.1))
        .u64("calls", of().map(|_| 1_u64))
        .i64("inclusive_ns", of().map(|_| 1_i64))
        .i64("min_ns", of().map(|_| 1_i64))
        .i64("median_ns", of().map(|_| 1_i64))
        .i64("max_ns", of().map(|_| 1_i64))
}

/// Consecutive iterations: microseconds, phase, the name that made it slow.
pub fn iterations(rows: &[(i64, &str, Option<&'static str>)]) -> TableBuilder {
    let of = || rows.iter();
    let starts = of().scan(0, |next, row| {
        let start_us = *next;
        *next += row.0;
        Some(start_us * US)
    });
    Table::build("iterations")
        .text("series", of().map(|_| "step"))
        .i64("wall_ns", of().map(|row| row.0 * US))
        .text("phase", of().map(|row| row.1))
        .text("outlier", of().map(|row| row.2.map(|_| "slow")))
        .text("slow_name", of().map(|row| row.2))
        .f64("slow_excess_ns", of().map(|row| row.2.map(|_| 5_000.0)))
        .i64("start_ns", starts.collect::<Vec<_>>())
}

/// The critical path by kind, in microseconds.
pub fn path(kinds: &[(&str, i64)]) -> TableBuilder {
    Table::build("path_kinds")
        .text("kind", kinds.iter().map(|row| row.0))
        .i64("dur_ns", kinds.iter().map(|row| row.1 * US))
}

/// Kind, name, lane, rank, start and length in microseconds; a piece without a name is a gap.
pub type Piece = (
    &'static str,
    Option<&'static str>,
    &'static str,
    u64,
    i64,
    i64,
);

pub fn pieces(rows: &[Piece]) -> TableBuilder {
    let of = || rows.iter();
    Table::build("path_pieces")
        .text("kind", of().map(|row| row.0))
        .text("name", of().map(|row| row.1))
        .text("lane", of().map(|row| row.2))
        .i64("start_ns", of().map(|row| row.4 * US))
        .i64("dur_ns", of().map(|row| row.5 * US))
        .u64("id", of().map(|row| row.1.map(|_| (row.3 << 48) + 9)))
}

pub fn texts(output: &Output, table: &str, column: &str) -> Vec<String> {
    let table = output.table(table);
    let cells = table.text(column).expect("a column of text");
    cells
        .iter()
        .map(|cell| cell.unwrap_or("–").to_owned())
        .collect()
}

pub fn gains(output: &Output) -> Vec<Option<i64>> {
    let table = output.table("bottlenecks");
    table.i64("gain_ns").expect("gains").iter().collect()
}

/// A host loop of 900 µs below the memory roof, and its predicted gains.
pub fn slow_loop(name: &str, bytes_per_s: Option<f64>, efficiency: f64) -> [TableBuilder; 2] {
    let points = Table::build("points")
        .text("source", ["brick"])
        .text("name", [name])
        .text("device", ["cpu"])
        .text("provenance", ["measured"])
        .text("assumed", [None::<&str>])
        .text("memory", ["DRAM"])
        .i64("threads", [1_i64])
        .u64("calls", [10_u64])
        .i64("dur_ns", [900 * US])
        .f64("flops_per_byte", [0.1])
        .f64("flops_per_s", [1e6])
        .f64("bytes_per_s", [bytes_per_s])
        .text("bound_by", ["memory"])
        .f64("efficiency_share", [efficiency])
        .bool("is_valid", [true])
        .u64("calls_above", [0_u64])
        .text("doubt", [None::<&str>]);
    let opportunity = Table::build("opportunity")
        .text("name", [name])
        .i64("path_ns", [900 * US])
        .i64("gain_50pct_ns", [450 * US])
        .i64("gain_100pct_ns", [900 * US]);
    [points, opportunity]
}
