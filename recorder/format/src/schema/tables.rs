//! The tables: each with its facts and its columns, in file order.

use super::LaneRule::{StreamElseThread, Thread, ThreadElseStream};
use super::{CellSink, Column, Field, Role, Table, TableRow, declare};
use crate::text::Text;

declare::tables! {
    Bricks "bricks" of BrickRow, "host intervals that nest: run, iterations, layers, bricks, functions, tasks",
    (lane: Some(Thread), nests: true, labels: &["name"]) {
        id: u64, Key, "unique in the run";
        parent: Option<u64>, Key, "the enclosing row of bricks; on another thread for a task";
        kind: Text, Identity, "run, iteration, layer, brick, function or task";
        name: Text, Identity, "as the program gave it";
        brick_id: Option<u32>, Identity, "number of a known brick, 0 to 22";
        category: Option<Text>, Identity, "of a known brick, or given by the program; null: uncategorised";
        backend: Option<Text>, Declared, "what computed it: scalar, avx2, avx512, cuda, ...";
        thread: u32, Place, "row of threads";
        start_ns: i64, Time, "when it began";
        dur_ns: i64, Measured, "how long it lasted";
        timing: Text, Identity, "host, device, or bound: only known to contain the work";
        iteration: Option<u64>, Identity, "of the enclosing iteration";
        layer: Option<u32>, Identity, "of the enclosing layer";
        elements: Option<u64>, Declared, "elements processed";
        flops: Option<u64>, Declared, "floating-point operations";
        bytes_read: Option<u64>, Declared, "bytes read";
        bytes_written: Option<u64>, Declared, "bytes written";
        signature: Option<u64>, Key, "row of signatures: the shapes it was called with";
        file: Option<Text>, Identity, "source file where it began; null: not recorded";
        line: Option<u32>, Identity, "line in it";
    }
    Kernels "kernels" of KernelRow, "one row per kernel launch, on a host thread (SIMD) or a device stream",
    (lane: Some(StreamElseThread), labels: &["name"]) {
        id: u64, Key, "unique in the run";
        brick: Option<u64>, Key, "the enclosing row of bricks";
        name: Text, Identity, "kernel name";
        backend: Option<Text>, Declared, "scalar, avx2, avx512, cuda, ...";
        thread: Option<u32>, Place, "host thread that ran or launched it";
        device: Option<u32>, Place, "device number; null: the host ran it";
        stream: Option<u32>, Identity, "stream of the device";
        correlation: Option<u64>, Key, "links a launch call to its work";
        start_ns: i64, Time, "when it began";
        dur_ns: i64, Measured, "how long it lasted";
        timing: Text, Identity, "host, device, or bound";
        queued_ns: Option<i64>, Time, "when it entered the queue";
        submitted_ns: Option<i64>, Time, "when it was handed to the device";
        grid_x: Option<u32>, Declared, "launch grid";
        grid_y: Option<u32>, Declared, "launch grid";
        grid_z: Option<u32>, Declared, "launch grid";
        block_x: Option<u32>, Declared, "threads of a block";
        block_y: Option<u32>, Declared, "threads of a block";
        block_z: Option<u32>, Declared, "threads of a block";
        registers: Option<u32>, Measured, "registers of a thread";
        smem_static: Option<u32>, Declared, "bytes of static shared memory";
        smem_dynamic: Option<u32>, Declared, "bytes of dynamic shared memory";
        ptx_hash: Option<Text>, Identity, "names ptx/<hash>.ptx";
        graph_node: Option<u64>, Key, "node of a replayed graph";
        elements: Option<u64>, Declared, "elements processed";
        flops: Option<u64>, Declared, "floating-point operations; see work_source";
        bytes: Option<u64>, Declared, "bytes moved; see work_source";
        work_source: Option<Text>, Identity, "declared or counter";
        valid: bool = true, Identity, "false: the times cannot be trusted, see reason";
        reason: Option<Text>, Identity, "why the row is not valid";
        smem: Option<u32>, Declared, "bytes of shared memory, where static and dynamic are known as a sum only";
        blocks_per_sm: Option<f64>, Declared, "blocks of the launch for each multiprocessor of the device, as the profiler says";
        occupancy_percent: Option<f64>, Declared, "of the warps that a multiprocessor can hold, as the profiler estimates it";
        file: Option<Text>, Identity, "source file where it was launched; null: not recorded";
        line: Option<u32>, Identity, "line in it";
    }
    Tiles "tiles" of TileRow, "one row per tile of a blocked algorithm",
    (lane: Some(Thread), nests: true, labels: &["level"]) {
        id: u64, Key, "unique in the run";
        parent: Option<u64>, Key, "the enclosing tile, kernel or brick";
        level: Text, Identity, "macro, midi, micro or pack";
        row: u32, Identity, "tile row";
        col: u32, Identity, "tile column";
        depth: Option<u32>, Identity, "tile index along the reduction";
        thread: u32, Place, "row of threads";
        start_ns: i64, Time, "when it began";
        dur_ns: i64, Measured, "how long it lasted";
        elements: Option<u64>, Declared, "elements processed";
        flops: Option<u64>, Declared, "floating-point operations";
        bytes: Option<u64>, Declared, "bytes moved";
        sampled_every: Option<u32>, Identity, "how many tiles of its level and thread this row was drawn from; null: all were recorded";
    }
    Transfers "transfers" of TransferRow, "copies and fills between host and device memory",
    (lane: Some(StreamElseThread), labels: &["direction"]) {
        id: u64, Key, "unique in the run";
        brick: Option<u64>, Key, "the enclosing row of bricks";
        direction: Text, Identity, "h2d, d2h, d2d, p2p, h2h or memset";
        bytes: Option<u64>, Measured, "bytes moved; null: not recorded";
        src_kind: Option<Text>, Identity, "pageable, pinned, device, managed or array";
        dst_kind: Option<Text>, Identity, "pageable, pinned, device, managed or array";
        is_async: Option<bool>, Identity, "whether the call could return before the end";
        thread: Option<u32>, Place, "host thread that requested it";
        device: Option<u32>, Place, "device number";
        stream: Option<u32>, Identity, "stream of the device";
        start_ns: i64, Time, "when it began";
        dur_ns: i64, Measured, "how long it lasted";
        timing: Text, Identity, "host, device, or bound";
        correlation: Option<u64>, Key, "links a call to its work";
    }
    Calls "calls" of CallRow, "host API calls: launches, copies, synchronisation, system calls",
    (lane: Some(Thread), labels: &["name"]) {
        id: u64, Key, "unique in the run";
        brick: Option<u64>, Key, "the enclosing row of bricks";
        name: Text, Identity, "function called";
        thread: u32, Place, "row of threads";
        start_ns: i64, Time, "when it began";
        dur_ns: i64, Measured, "how long it lasted";
        correlation: Option<u64>, Key, "links a call to its work";
        status: Option<i64>, Measured, "what it returned";
        kind: Option<Text>, Identity, "syscall: a call of the operating system; on_cpu: no call, but a stretch in which a thread of a sampled program ran; null: a function of a library";
        target: Option<Text>, Identity, "file that it used: a path as the program gave it, or for a descriptor the path or kind of the open file";
        bytes: Option<u64>, Measured, "bytes moved, or of memory mapped";
        errno: Option<Text>, Measured, "name of the error, such as ENOENT; null: none";
        stack: Option<u64>, Key, "row of stacks: where in the program it was called; null: not known";
    }
    Syncs "syncs" of SyncRow, "waits of the host for other threads, a device, a stream or an event",
    (lane: Some(ThreadElseStream), labels: &["name", "kind"]) {
        id: u64, Key, "unique in the run";
        kind: Text, Identity, "join, device, stream, event, stream_wait, call: in a call of the operating system, off_cpu: not running, or runnable: not running as no processor was free";
        name: Option<Text>, Identity, "as the program gave it";
        thread: Option<u32>, Place, "host thread that waited";
        device: Option<u32>, Place, "device number";
        stream: Option<u32>, Identity, "stream of the device";
        event: Option<u64>, Key, "event waited for";
        start_ns: i64, Time, "when it began";
        dur_ns: i64, Measured, "how long it lasted";
        correlation: Option<u64>, Key, "links a call to its work";
        stack: Option<u64>, Key, "row of stacks: where in the program it waited; null: not known";
    }
    DeviceEvents "device_events" of DeviceEventRow, "event records on device streams",
    (lane: Some(StreamElseThread)) {
        id: u64, Key, "unique in the run";
        event: u64, Key, "the event recorded";
        device: Option<u32>, Place, "device number";
        stream: Option<u32>, Identity, "stream of the device";
        time_ns: Option<i64>, Time, "when the device reached it";
        correlation: Option<u64>, Key, "links a call to its work";
    }
    Edges "edges" of EdgeRow, "explicit dependencies between rows",
    (labels: &["kind"]) {
        from: u64, Key, "id that had to end first";
        to: u64, Key, "id that could begin then";
        kind: Text, Identity, "depends_on, launches, transfer, ...";
    }
    Checksums "checksums" of ChecksumRow, "fingerprint and statistics of a tensor at one point of the run",
    (lane: Some(Thread), labels: &["name"]) {
        name: Text, Identity, "tensor, such as qkv.out";
        span: Option<u64>, Key, "the row of bricks that was open";
        layer: Option<u32>, Identity, "as given, else of the enclosing layer";
        iteration: Option<u64>, Identity, "of the enclosing iteration";
        position: Option<u64>, Identity, "sequence position";
        backend: Option<Text>, Declared, "what computed it";
        thread: u32, Place, "row of threads";
        time_ns: i64, Time, "when it was taken";
        dtype: Text, Identity, "f32, f64, i32, ...";
        shape: Text, Identity, "dimensions, such as 4x64";
        elements: u64, Measured, "elements read";
        hash: u64, Measured, "64-bit hash over the bits of all elements";
        hash_fnv64: u64, Measured, "FNV-1a over the first 64 elements";
        nan_count: Option<u64>, Measured, "elements that are NaN";
        inf_count: Option<u64>, Measured, "elements that are infinite";
        zero_count: Option<u64>, Measured, "elements equal to zero";
        min: Option<f64>, Measured, "smallest finite element";
        max: Option<f64>, Measured, "largest finite element";
        absmax: Option<f64>, Measured, "largest finite magnitude";
        mean: Option<f64>, Measured, "mean of the finite elements";
        l2: Option<f64>, Measured, "Euclidean norm of the finite elements";
        sample_0: Option<f64>, Measured, "one of 16 sample elements, at positions that depend only on the number of elements";
        sample_1: Option<f64>, Measured, "one of 16 sample elements, at positions that depend only on the number of elements";
        sample_2: Option<f64>, Measured, "one of 16 sample elements, at positions that depend only on the number of elements";
        sample_3: Option<f64>, Measured, "one of 16 sample elements, at positions that depend only on the number of elements";
        sample_4: Option<f64>, Measured, "one of 16 sample elements, at positions that depend only on the number of elements";
        sample_5: Option<f64>, Measured, "one of 16 sample elements, at positions that depend only on the number of elements";
        sample_6: Option<f64>, Measured, "one of 16 sample elements, at positions that depend only on the number of elements";
        sample_7: Option<f64>, Measured, "one of 16 sample elements, at positions that depend only on the number of elements";
        sample_8: Option<f64>, Measured, "one of 16 sample elements, at positions that depend only on the number of elements";
        sample_9: Option<f64>, Measured, "one of 16 sample elements, at positions that depend only on the number of elements";
        sample_10: Option<f64>, Measured, "one of 16 sample elements, at positions that depend only on the number of elements";
        sample_11: Option<f64>, Measured, "one of 16 sample elements, at positions that depend only on the number of elements";
        sample_12: Option<f64>, Measured, "one of 16 sample elements, at positions that depend only on the number of elements";
        sample_13: Option<f64>, Measured, "one of 16 sample elements, at positions that depend only on the number of elements";
        sample_14: Option<f64>, Measured, "one of 16 sample elements, at positions that depend only on the number of elements";
        sample_15: Option<f64>, Measured, "one of 16 sample elements, at positions that depend only on the number of elements";
    }
    Allocations "allocations" of AllocationRow, "allocations and releases of memory",
    (lane: Some(StreamElseThread), labels: &["tag"]) {
        time_ns: i64, Time, "when";
        thread: Option<u32>, Place, "row of threads";
        span: Option<u64>, Key, "the row of bricks that was open";
        device: Option<u32>, Place, "device number; null: host memory";
        bytes: i64, Measured, "allocated (positive) or released (negative)";
        tag: Option<Text>, Identity, "what for";
        address: Option<u64>, Identity, "where";
        weight: Option<f64>, Measured, "how many allocations the row stands for, 1 / probability; null: stated by the program, not by its allocator";
        sample_bytes: Option<u64>, Declared, "bytes from one sample to the next on average; null: no sample";
    }
    Counters "counters" of CounterRow, "values over time: hardware counters, gauges, anything the program reads",
    (lane: Some(Thread), labels: &["name"]) {
        time_ns: i64, Time, "when it was read";
        span: Option<u64>, Key, "the row it belongs to";
        thread: Option<u32>, Place, "row of threads";
        name: Text, Identity, "counter";
        value: f64, Measured, "value; see source";
        unit: Option<Text>, Identity, "unit of the value";
        source: Text, Identity, "measured, declared, computed or nominal; ncu: by Nsight Compute, on a run of its own";
    }
    Ceilings "ceilings" of CeilingRow, "what the machine can do at most, for rooflines",
    () {
        device: Text, PlaceName, "cpu or gpu:<number>";
        kind: Text, Identity, "compute or bandwidth";
        level: Option<Text>, Identity, "L1, L2, L3, DRAM, or an instruction set: scalar, sse2, avx2, avx512, neon; of a GPU L2, DRAM, shared, cuda_cores, tensor_mma_sync, tensor_wgmma, tensor_tcgen05, cublas";
        precision: Option<Text>, Identity, "f32, f64, i8, ...";
        threads: Option<u32>, Identity, "threads it was measured with";
        value: f64, Measured, "the ceiling; if measured, the rate that several measurements reached; see source";
        unit: Text, Identity, "flop/s, op/s (integers) or bytes/s";
        source: Text, Identity, "measured or nominal";
        operation: Option<Text>, Identity, "what ran: read, copy, copy_nt, triad; fma, mul_add, dot, mma";
        median: Option<f64>, Measured, "median of the repetitions";
        spread: Option<f64>, Measured, "interquartile range of the repetitions over their median";
        repetitions: Option<u32>, Measured, "how often it was measured";
        settled: Option<bool>, Measured, "whether there were several measurements, and none was faster by more than 3 %";
        earlier: Option<f64>, Measured, "the result of the previous measurement on this machine; null: there was none";
    }
    Ptx "ptx" of PtxRow, "kernel sources kept beside the tables, in ptx/<hash>.ptx",
    (labels: &["name"], is_own: true) {
        hash: Text, Identity, "16 hex digits over the source";
        name: Option<Text>, Identity, "module or kernel name";
        source_bytes: u64, Measured, "length of the source";
    }
    Threads "threads" of ThreadRow, "threads that recorded",
    (labels: &["name"], is_own: true) {
        thread: u32, Place, "number, in order of first event";
        name: Option<Text>, Identity, "name the program gave the thread";
        os_id: Option<u64>, Identity, "thread id of the operating system";
        start_ns: Option<i64>, Time, "when it first recorded";
        dropped: Option<u64>, Measured, "events of this thread that found its ring full";
        process: Option<u64>, Identity, "process id of the operating system; null: not recorded";
    }
    ClockPairs "clock_pairs" of ClockPairRow, "readings of the recorder's clock beside the system's, or beside a device's",
    (is_own: true) {
        ticks: u64, Measured, "raw counter";
        host_ns: i64, Time, "monotonic clock on the run's timeline";
        realtime_ns: i64, Measured, "time since the Unix epoch";
        device: Option<u32>, Place, "device whose clock was read; null: none";
        device_ns: Option<i64>, Measured, "the device's clock, from its own origin";
    }
    Diagnostics "diagnostics" of DiagnosticRow, "messages of the recorder about its own work",
    (labels: &["code"], is_own: true) {
        time_ns: Option<i64>, Time, "when";
        severity: Text, Identity, "info, warning or error";
        code: Text, Identity, "stable name of the case";
        text: Text, Identity, "for people";
        count: u64, Measured, "how often";
    }
    Streams "streams" of StreamRow, "streams of devices, and what they are ordered with",
    () {
        device: Option<u32>, Place, "device number";
        stream: u32, Identity, "stream of the device";
        kind: Option<Text>, Identity, "null (legacy default), blocking (ordered with null) or non_blocking";
        priority: Option<i64>, Identity, "lower numbers run first";
    }
    Signatures "signatures" of SignatureRow, "shapes and arguments that operators were called with, each once",
    () {
        id: u64, Key, "number, unique among signatures";
        input_dims: Option<Text>, Declared, "dimensions of each argument, as JSON: `[[16,128],[128,256],[]]`; a list of tensors is a list of such";
        input_types: Option<Text>, Declared, "element type of each argument, as JSON and as the program names it";
        input_strides: Option<Text>, Declared, "strides of each argument in elements, as JSON";
        concrete_inputs: Option<Text>, Declared, "values of the arguments that are not tensors, as JSON; \"\": none recorded";
    }
    Devices "devices" of DeviceRow, "devices that the program could use",
    () {
        device: Text, PlaceName, "gpu:<number>";
        name: Option<Text>, Identity, "model, as its driver gives it";
        memory_bytes: Option<u64>, Declared, "its memory";
        multiprocessors: Option<u32>, Declared, "its streaming multiprocessors, or compute units";
        compute_capability: Option<Text>, Identity, "NVIDIA: major and minor version, such as 9.0";
    }
    Annotations "annotations" of AnnotationRow, "named points and intervals of time that are not work: instants, and what a profiler draws over a stream",
    (labels: &["name"]) {
        kind: Text, Identity, "instant; device: an annotation of the host, drawn over the work it led to; paused: the recorder was paused, and what happened then is in no table";
        name: Text, Identity, "as the program gave it";
        thread: Option<u32>, Place, "row of threads; null: a device's, or the whole program's";
        device: Option<u32>, Place, "device number";
        stream: Option<u32>, Identity, "stream of the device";
        brick: Option<u64>, Key, "row of bricks that was open, or that led to the work";
        time_ns: i64, Time, "when it was, or began";
        dur_ns: Option<i64>, Measured, "how long it lasted; null: a point";
        arguments: Option<Text>, Declared, "what it says, as JSON and as the program wrote it";
    }
    Collectives "collectives" of CollectiveRow, "collective operations, sends and receives that this process took part in",
    (labels: &["operation"]) {
        span: Option<u64>, Key, "row of bricks in which it was called; its kernels are those begun there";
        kernel: Option<u64>, Key, "row of kernels, where only the kernel states what it did";
        thread: Option<u32>, Place, "row of threads; null: only the kernel is known";
        time_ns: i64, Time, "when the call, or where it is not known the kernel, began";
        dur_ns: i64, Measured, "how long that lasted";
        communicator: Option<Text>, Identity, "process group or communicator, with the same name on all its ranks; null: not recorded";
        sequence: Option<u64>, Identity, "number in its communicator, as the program counts; null: not recorded, the order is used";
        operation: Text, Identity, "all_reduce, all_gather, reduce_scatter, all_to_all, broadcast, reduce, gather, scatter, barrier, send, recv, send_recv or other";
        algorithm: Option<Text>, Declared, "ring, tree, ...";
        element_type: Option<Text>, Declared, "as the program names it: Float, bf16, ...";
        elements_in: Option<u64>, Declared, "elements that this rank sent";
        elements_out: Option<u64>, Declared, "elements that this rank received";
        group_size: Option<u32>, Declared, "ranks of the communicator";
        group_ranks: Option<Text>, Declared, "ranks of the communicator in the job, as JSON: `[0,1]`; null: not stated";
        peer: Option<u32>, Declared, "of a send or receive: the other rank, in the job";
    }
    Samples "samples" of SampleRow, "moments at which a thread was seen running, taken at intervals by a profiler",
    (lane: Some(Thread), labels: &["event"]) {
        time_ns: i64, Time, "when";
        thread: u32, Place, "row of threads";
        stack: Option<u64>, Key, "row of stacks: the function that ran; null: not known";
        event: Text, Identity, "what was counted from one sample to the next: cpu-clock or task-clock (ns of CPU time), cycles, ...";
        period: Option<u64>, Measured, "how much of the event the sample represents; null: not recorded";
        cpu: Option<u32>, Identity, "processor; null: not recorded";
    }
    Stacks "stacks" of StackRow, "functions by their callers: a row for each function, at each line, below each caller",
    (labels: &["function"]) {
        id: u64, Key, "unique among stacks";
        caller: Option<u64>, Key, "row of stacks that called it; null: nothing is known above it";
        function: Option<Text>, Identity, "its name; null: not known";
        module: Option<Text>, Identity, "file of the program or library, or `[kernel]`, `[vdso]`";
        address: Option<u64>, Identity, "where in its file, or in memory if no file is known; null: not recorded, or in several places of one line";
        file: Option<Text>, Identity, "source file";
        line: Option<u32>, Identity, "line in it";
        inlined: Option<bool>, Identity, "whether the compiler put it into its caller; null: not known";
    }
    Attributes "attributes" of AttributeRow, "attributes of a row in addition to its columns: a key and a typed value",
    (labels: &["name"]) {
        span: u64, Key, "the row it belongs to, in any table with ids; if a key repeats for a row, the last value counts";
        name: Text, Identity, "key";
        integer: Option<i64>, Declared, "whole number";
        unsigned: Option<u64>, Declared, "whole number of 2^63 or more, too large for `integer`";
        number: Option<f64>, Declared, "floating-point number";
        truth: Option<bool>, Declared, "true or false";
        text: Option<Text>, Declared, "text";
    }
}

impl TableId {
    /// Its name, columns and facts.
    pub fn schema(self) -> &'static Table {
        &TABLES[self as usize]
    }

    /// The table of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .copied()
            .find(|id| id.schema().name == name)
    }

    /// The bit of this table in a mask of tables.
    pub const fn bit(self) -> u32 {
        1 << self as u32
    }
}
