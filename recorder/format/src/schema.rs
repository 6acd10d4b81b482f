//! The one list of tables and columns of a run directory.
//!
//! The writer makes segments from it, the analyzer's catalog publishes it, and
//! the documentation is printed from it. All times are `i64` nanoseconds on
//! the run's own timeline (0 = the recorder was ready); ids are `u64`, unique
//! within the run over all tables; a null means *not recorded*, never zero.

use ColumnType::{Bool, F64, I64, Text, U32, U64};
use Provenance::{Declared, Identity, Measured};

/// Name of the format, first thing in `run.json`.
pub const FORMAT_NAME: &str = "trueno-run";
/// Raised by a change that an old reader would misread.
pub const FORMAT_MAJOR: u32 = 1;
/// Raised by added tables or columns.
pub const FORMAT_MINOR: u32 = 3;

/// How a column is stored in a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ColumnType {
    /// Unsigned 32-bit integer.
    U32,
    /// Unsigned 64-bit integer.
    U64,
    /// Signed 64-bit integer.
    I64,
    /// IEEE 754 double.
    F64,
    /// One bit.
    Bool,
    /// UTF-8 text behind a dictionary with signed 32-bit keys.
    Text,
}

/// Where a column's values come from (invariant 2 of ARCHITECTURE.md).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Provenance {
    /// A clock, a counter or a pass over the data read it.
    Measured,
    /// The program stated it.
    Declared,
    /// It names or places the row: ids, names, kinds.
    Identity,
}

/// What a value refers to, and so what becomes of it where runs are put together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// Names or links rows of one run: ids, what refers to them, correlations, events.
    Key,
    /// Numbers a thread or a device of one run.
    Place,
    /// Names a device in words: `cpu`, `gpu:<number>`.
    PlaceName,
    /// A time on the run's own timeline.
    Time,
    /// Means the same in every run.
    Value,
}

/// One column of a table.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// Name, with its unit as suffix where it has one.
    pub name: &'static str,
    /// Storage type.
    pub ty: ColumnType,
    /// Whether a row may lack it.
    pub nullable: bool,
    /// Where its values come from.
    pub provenance: Provenance,
    /// One line for people.
    pub doc: &'static str,
}

impl Column {
    /// What its values refer to.
    pub fn scope(&self) -> Scope {
        match (self.ty, self.name) {
            (
                U64,
                "id" | "parent" | "brick" | "span" | "from" | "to" | "correlation" | "event"
                | "graph_node",
            ) => Scope::Key,
            (U32, "thread" | "device") => Scope::Place,
            (Text, "device") => Scope::PlaceName,
            (I64, "start_ns" | "time_ns" | "queued_ns" | "submitted_ns" | "host_ns") => Scope::Time,
            _ => Scope::Value,
        }
    }
}

/// One table: a folder of numbered segments.
#[derive(Clone, Copy, Debug)]
pub struct Table {
    /// Name and folder.
    pub name: &'static str,
    /// One line for people.
    pub doc: &'static str,
    /// The columns in file order.
    pub columns: &'static [Column],
}

impl Table {
    /// The column of that name.
    pub fn column(&self, name: &str) -> Option<&'static Column> {
        self.columns.iter().find(|c| c.name == name)
    }
}

/// The table of that name.
pub fn table(name: &str) -> Option<&'static Table> {
    TABLES.iter().find(|t| t.name == name)
}

const fn has(
    name: &'static str,
    ty: ColumnType,
    provenance: Provenance,
    doc: &'static str,
) -> Column {
    Column {
        name,
        ty,
        nullable: false,
        provenance,
        doc,
    }
}

const fn may(
    name: &'static str,
    ty: ColumnType,
    provenance: Provenance,
    doc: &'static str,
) -> Column {
    Column {
        name,
        ty,
        nullable: true,
        provenance,
        doc,
    }
}

const fn sample(name: &'static str) -> Column {
    let doc = "element at a place that the number of elements decides";
    may(name, F64, Measured, doc)
}

/// Every table, in the order reports list them.
pub const TABLES: &[Table] = &[
    Table {
        name: "bricks",
        doc: "host intervals that nest: run, iterations, layers, bricks, functions, tasks",
        columns: &[
            has("id", U64, Identity, "unique in the run"),
            may(
                "parent",
                U64,
                Identity,
                "the enclosing row of bricks; on another thread for a task",
            ),
            has(
                "kind",
                Text,
                Identity,
                "run, iteration, layer, brick, function or task",
            ),
            has("name", Text, Identity, "as the program gave it"),
            may(
                "brick_id",
                U32,
                Identity,
                "number of a known brick, 0 to 22",
            ),
            may(
                "category",
                Text,
                Identity,
                "of a known brick, or given by the program; null: uncategorised",
            ),
            may(
                "backend",
                Text,
                Declared,
                "what computed it: scalar, avx2, avx512, cuda, ...",
            ),
            has("thread", U32, Identity, "row of threads"),
            has("start_ns", I64, Measured, "when it began"),
            has("dur_ns", I64, Measured, "how long it lasted"),
            has(
                "timing",
                Text,
                Identity,
                "host, device, or bound: only known to contain the work",
            ),
            may("iteration", U64, Identity, "of the enclosing iteration"),
            may("layer", U32, Identity, "of the enclosing layer"),
            may("elements", U64, Declared, "elements processed"),
            may("flops", U64, Declared, "floating-point operations"),
            may("bytes_read", U64, Declared, "bytes read"),
            may("bytes_written", U64, Declared, "bytes written"),
        ],
    },
    Table {
        name: "kernels",
        doc: "one row a kernel launch, on a host thread (SIMD) or a device stream",
        columns: &[
            has("id", U64, Identity, "unique in the run"),
            may("brick", U64, Identity, "the enclosing row of bricks"),
            has("name", Text, Identity, "kernel name"),
            may("backend", Text, Declared, "scalar, avx2, avx512, cuda, ..."),
            may(
                "thread",
                U32,
                Identity,
                "host thread that ran or launched it",
            ),
            may(
                "device",
                U32,
                Identity,
                "device number; null: the host ran it",
            ),
            may("stream", U32, Identity, "stream of the device"),
            may(
                "correlation",
                U64,
                Identity,
                "links a launch call to its work",
            ),
            has("start_ns", I64, Measured, "when it began"),
            has("dur_ns", I64, Measured, "how long it lasted"),
            has("timing", Text, Identity, "host, device, or bound"),
            may("queued_ns", I64, Measured, "when it entered the queue"),
            may(
                "submitted_ns",
                I64,
                Measured,
                "when it was handed to the device",
            ),
            may("grid_x", U32, Declared, "launch grid"),
            may("grid_y", U32, Declared, "launch grid"),
            may("grid_z", U32, Declared, "launch grid"),
            may("block_x", U32, Declared, "threads of a block"),
            may("block_y", U32, Declared, "threads of a block"),
            may("block_z", U32, Declared, "threads of a block"),
            may("registers", U32, Measured, "registers of a thread"),
            may(
                "smem_static",
                U32,
                Declared,
                "bytes of static shared memory",
            ),
            may(
                "smem_dynamic",
                U32,
                Declared,
                "bytes of dynamic shared memory",
            ),
            may("ptx_hash", Text, Identity, "names ptx/<hash>.ptx"),
            may("graph_node", U64, Identity, "node of a replayed graph"),
            may("elements", U64, Declared, "elements processed"),
            may(
                "flops",
                U64,
                Declared,
                "floating-point operations; see work_source",
            ),
            may("bytes", U64, Declared, "bytes moved; see work_source"),
            may("work_source", Text, Identity, "declared or counter"),
            has(
                "valid",
                Bool,
                Identity,
                "false: the times cannot be trusted, see reason",
            ),
            may("reason", Text, Identity, "why the row is not valid"),
        ],
    },
    Table {
        name: "tiles",
        doc: "one row a tile of a blocked algorithm",
        columns: &[
            has("id", U64, Identity, "unique in the run"),
            may(
                "parent",
                U64,
                Identity,
                "the enclosing tile, kernel or brick",
            ),
            has("level", Text, Identity, "macro, midi, micro or pack"),
            has("row", U32, Identity, "tile row"),
            has("col", U32, Identity, "tile column"),
            may("depth", U32, Identity, "tile index along the reduction"),
            has("thread", U32, Identity, "row of threads"),
            has("start_ns", I64, Measured, "when it began"),
            has("dur_ns", I64, Measured, "how long it lasted"),
            may("elements", U64, Declared, "elements processed"),
            may("flops", U64, Declared, "floating-point operations"),
            may("bytes", U64, Declared, "bytes moved"),
            may(
                "sampled_every",
                U32,
                Identity,
                "how many tiles of its level and thread this row was drawn from; null: all were recorded",
            ),
        ],
    },
    Table {
        name: "transfers",
        doc: "copies and fills between host and device memory",
        columns: &[
            has("id", U64, Identity, "unique in the run"),
            may("brick", U64, Identity, "the enclosing row of bricks"),
            has(
                "direction",
                Text,
                Identity,
                "h2d, d2h, d2d, p2p, h2h or memset",
            ),
            has("bytes", U64, Measured, "bytes moved"),
            may(
                "src_kind",
                Text,
                Identity,
                "pageable, pinned, device, managed or array",
            ),
            may(
                "dst_kind",
                Text,
                Identity,
                "pageable, pinned, device, managed or array",
            ),
            may(
                "is_async",
                Bool,
                Identity,
                "whether the call could return before the end",
            ),
            may("thread", U32, Identity, "host thread that asked for it"),
            may("device", U32, Identity, "device number"),
            may("stream", U32, Identity, "stream of the device"),
            has("start_ns", I64, Measured, "when it began"),
            has("dur_ns", I64, Measured, "how long it lasted"),
            has("timing", Text, Identity, "host, device, or bound"),
            may("correlation", U64, Identity, "links a call to its work"),
        ],
    },
    Table {
        name: "calls",
        doc: "host API calls: launches, copies, synchronisation, system calls",
        columns: &[
            has("id", U64, Identity, "unique in the run"),
            may("brick", U64, Identity, "the enclosing row of bricks"),
            has("name", Text, Identity, "function called"),
            has("thread", U32, Identity, "row of threads"),
            has("start_ns", I64, Measured, "when it began"),
            has("dur_ns", I64, Measured, "how long it lasted"),
            may("correlation", U64, Identity, "links a call to its work"),
            may("status", I64, Measured, "what it returned"),
        ],
    },
    Table {
        name: "syncs",
        doc: "waits of the host for other threads, a device, a stream or an event",
        columns: &[
            has("id", U64, Identity, "unique in the run"),
            has(
                "kind",
                Text,
                Identity,
                "join, device, stream, event or stream_wait",
            ),
            may("name", Text, Identity, "as the program gave it"),
            may("thread", U32, Identity, "host thread that waited"),
            may("device", U32, Identity, "device number"),
            may("stream", U32, Identity, "stream of the device"),
            may("event", U64, Identity, "event waited for"),
            has("start_ns", I64, Measured, "when it began"),
            has("dur_ns", I64, Measured, "how long it lasted"),
            may("correlation", U64, Identity, "links a call to its work"),
        ],
    },
    Table {
        name: "device_events",
        doc: "event records on device streams",
        columns: &[
            has("id", U64, Identity, "unique in the run"),
            has("event", U64, Identity, "the event recorded"),
            may("device", U32, Identity, "device number"),
            may("stream", U32, Identity, "stream of the device"),
            may("time_ns", I64, Measured, "when the device reached it"),
            may("correlation", U64, Identity, "links a call to its work"),
        ],
    },
    Table {
        name: "edges",
        doc: "explicit dependencies between rows",
        columns: &[
            has("from", U64, Identity, "id that had to end first"),
            has("to", U64, Identity, "id that could begin then"),
            has(
                "kind",
                Text,
                Identity,
                "depends_on, launches, transfer, ...",
            ),
        ],
    },
    Table {
        name: "checksums",
        doc: "fingerprint and statistics of a tensor at one point of the run",
        columns: &[
            has("name", Text, Identity, "tensor, such as qkv.out"),
            may("span", U64, Identity, "the row of bricks that was open"),
            may(
                "layer",
                U32,
                Identity,
                "as given, else of the enclosing layer",
            ),
            may("iteration", U64, Identity, "of the enclosing iteration"),
            may("position", U64, Identity, "sequence position"),
            may("backend", Text, Declared, "what computed it"),
            has("thread", U32, Identity, "row of threads"),
            has("time_ns", I64, Measured, "when it was taken"),
            has("dtype", Text, Identity, "f32, f64, i32, ..."),
            has("shape", Text, Identity, "dimensions, such as 4x64"),
            has("elements", U64, Measured, "elements read"),
            has(
                "hash",
                U64,
                Measured,
                "64-bit hash over the bits of all elements",
            ),
            has(
                "hash_fnv64",
                U64,
                Measured,
                "FNV-1a over the first 64 elements",
            ),
            may("nan_count", U64, Measured, "elements that are NaN"),
            may("inf_count", U64, Measured, "elements that are infinite"),
            may("zero_count", U64, Measured, "elements equal to zero"),
            may("min", F64, Measured, "smallest finite element"),
            may("max", F64, Measured, "largest finite element"),
            may("absmax", F64, Measured, "largest finite magnitude"),
            may("mean", F64, Measured, "mean of the finite elements"),
            may("l2", F64, Measured, "Euclidean norm of the finite elements"),
            sample("sample_0"),
            sample("sample_1"),
            sample("sample_2"),
            sample("sample_3"),
            sample("sample_4"),
            sample("sample_5"),
            sample("sample_6"),
            sample("sample_7"),
            sample("sample_8"),
            sample("sample_9"),
            sample("sample_10"),
            sample("sample_11"),
            sample("sample_12"),
            sample("sample_13"),
            sample("sample_14"),
            sample("sample_15"),
        ],
    },
    Table {
        name: "allocations",
        doc: "memory taken and given back",
        columns: &[
            has("time_ns", I64, Measured, "when"),
            may("thread", U32, Identity, "row of threads"),
            may("span", U64, Identity, "the row of bricks that was open"),
            may("device", U32, Identity, "device number; null: host memory"),
            has(
                "bytes",
                I64,
                Measured,
                "taken (positive) or given back (negative)",
            ),
            may("tag", Text, Identity, "what for"),
            may("address", U64, Identity, "where"),
            may(
                "weight",
                F64,
                Measured,
                "how many allocations the row stands for, 1 / probability; null: stated by the program, not by its allocator",
            ),
            may(
                "sample_bytes",
                U64,
                Declared,
                "bytes from one sample to the next on average; null: no sample",
            ),
        ],
    },
    Table {
        name: "counters",
        doc: "values over time: hardware counters, gauges, whatever the program reads",
        columns: &[
            has("time_ns", I64, Measured, "when it was read"),
            may("span", U64, Identity, "the row it belongs to"),
            may("thread", U32, Identity, "row of threads"),
            has("name", Text, Identity, "counter"),
            has("value", F64, Measured, "value; see source"),
            may("unit", Text, Identity, "unit of the value"),
            has(
                "source",
                Text,
                Identity,
                "measured, declared, computed or nominal; ncu: by Nsight Compute, on a run of its own",
            ),
        ],
    },
    Table {
        name: "ceilings",
        doc: "what the machine can do at most, for rooflines",
        columns: &[
            has("device", Text, Identity, "cpu or gpu:<number>"),
            has("kind", Text, Identity, "compute or bandwidth"),
            may(
                "level",
                Text,
                Identity,
                "L1, L2, L3, DRAM, or an instruction set: scalar, sse2, avx2, avx512, neon; of a GPU L2, DRAM, shared, cuda_cores, tensor_mma_sync",
            ),
            may("precision", Text, Identity, "f32, f64, i8, ..."),
            may("threads", U32, Identity, "threads it was measured with"),
            has(
                "value",
                F64,
                Measured,
                "the ceiling: of a measured one what several moments reached; see source",
            ),
            has("unit", Text, Identity, "flop/s, op/s (integers) or bytes/s"),
            has("source", Text, Identity, "measured or nominal"),
            may(
                "operation",
                Text,
                Identity,
                "what ran: read, copy, copy_nt, triad; fma, mul_add, dot, mma",
            ),
            may("median", F64, Measured, "median of the repetitions"),
            may(
                "spread",
                F64,
                Measured,
                "interquartile range of the repetitions over their median",
            ),
            may("repetitions", U32, Measured, "how often it was measured"),
            may(
                "settled",
                Bool,
                Measured,
                "whether no moment was faster by more than 3 %, and there were several",
            ),
            may(
                "earlier",
                F64,
                Measured,
                "what the measurement gave that was kept for this machine before; null: none was",
            ),
        ],
    },
    Table {
        name: "ptx",
        doc: "kernel sources kept beside the tables, in ptx/<hash>.ptx",
        columns: &[
            has("hash", Text, Identity, "16 hex digits over the source"),
            may("name", Text, Identity, "module or kernel name"),
            has("source_bytes", U64, Measured, "length of the source"),
        ],
    },
    Table {
        name: "threads",
        doc: "threads that recorded",
        columns: &[
            has("thread", U32, Identity, "number, in order of first event"),
            may("name", Text, Identity, "name the program gave the thread"),
            may("os_id", U64, Identity, "thread id of the operating system"),
            may("start_ns", I64, Measured, "when it first recorded"),
            may(
                "dropped",
                U64,
                Measured,
                "events of this thread that found its ring full",
            ),
        ],
    },
    Table {
        name: "clock_pairs",
        doc: "readings of the recorder's clock beside the system's, or beside a device's",
        columns: &[
            has("ticks", U64, Measured, "raw counter"),
            has(
                "host_ns",
                I64,
                Measured,
                "monotonic clock on the run's timeline",
            ),
            has("realtime_ns", I64, Measured, "time since the Unix epoch"),
            may(
                "device",
                U32,
                Identity,
                "device whose clock was read; null: none",
            ),
            may(
                "device_ns",
                I64,
                Measured,
                "the device's clock, from its own origin",
            ),
        ],
    },
    Table {
        name: "diagnostics",
        doc: "what the recorder had to say about its own work",
        columns: &[
            may("time_ns", I64, Measured, "when"),
            has("severity", Text, Identity, "info, warning or error"),
            has("code", Text, Identity, "stable name of the case"),
            has("text", Text, Identity, "for people"),
            has("count", U64, Measured, "how often"),
        ],
    },
    Table {
        name: "streams",
        doc: "streams of devices, and what they are ordered with",
        columns: &[
            may("device", U32, Identity, "device number"),
            has("stream", U32, Identity, "stream of the device"),
            may(
                "kind",
                Text,
                Identity,
                "null (legacy default), blocking (ordered with null) or non_blocking",
            ),
            may("priority", I64, Identity, "lower numbers run first"),
        ],
    },
];

#[cfg(test)]
mod tests;
