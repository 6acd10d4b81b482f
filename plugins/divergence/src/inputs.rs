//! What is asked of the two runs.

use trueno_plugin::Input;

/// Rows with the declared work of what they are the output of. Unsorted: sorting here is cheaper.
const ROWS: &str = "SELECT c.name_id AS name, c.span AS span, c.layer AS layer, c.iteration AS iteration, \
     c.position AS position, c.backend_id AS backend, c.thread AS thread, c.time_ns AS time_ns, \
     c.dtype_id AS dtype, c.shape_id AS shape, c.elements AS elements, c.hash AS hash, \
     c.nan_count AS nan_count, c.inf_count AS inf_count, c.zero_count AS zero_count, c.min AS min, \
     c.max AS max, c.absmax AS absmax, c.mean AS mean, c.l2 AS l2, b.name_id AS brick, \
     b.backend_id AS brick_backend, b.flops AS brick_flops, b.elements AS brick_elements, \
     k.name_id AS kernel, k.backend_id AS kernel_backend, k.flops AS kernel_flops, \
     k.elements AS kernel_elements, k.ptx_hash_id AS ptx \
     FROM checksums AS c LEFT JOIN bricks AS b ON c.span = b.id LEFT JOIN kernels AS k ON c.span = k.id";

/// The few distinct texts of a column, with the numbers that [`ROWS`] has in their place.
const NAMES: &str = "SELECT DISTINCT name_id AS id, name AS text FROM checksums";
const DTYPES: &str = "SELECT DISTINCT dtype_id AS id, dtype AS text FROM checksums";
const SHAPES: &str = "SELECT DISTINCT shape_id AS id, shape AS text FROM checksums";
const BACKENDS: &str = "SELECT DISTINCT backend_id AS id, backend AS text FROM checksums";
const BRICKS: &str = "SELECT DISTINCT name_id AS id, name AS text FROM bricks";
const BRICK_BACKENDS: &str = "SELECT DISTINCT backend_id AS id, backend AS text FROM bricks";
const KERNELS: &str = "SELECT DISTINCT name_id AS id, name AS text FROM kernels";
const KERNEL_BACKENDS: &str = "SELECT DISTINCT backend_id AS id, backend AS text FROM kernels";
const PTX: &str = "SELECT DISTINCT ptx_hash_id AS id, ptx_hash AS text FROM kernels";
/// Which kernels ran in bricks that tensors are the output of.
const RAN: &str = "SELECT DISTINCT b.name AS brick, b.layer AS layer, k.name AS kernel, k.backend AS backend, \
     k.ptx_hash AS ptx_hash FROM kernels AS k JOIN bricks AS b ON k.brick = b.id \
     WHERE b.id IN (SELECT span FROM checksums)";
/// Only the rows that have some; a row is found by thread, time and hash.
const SAMPLES: &str = "SELECT thread, time_ns, hash, sample_0, sample_1, sample_2, sample_3, sample_4, sample_5, \
     sample_6, sample_7, sample_8, sample_9, sample_10, sample_11, sample_12, sample_13, sample_14, sample_15 \
     FROM checksums WHERE sample_0 IS NOT NULL";
const RANKS: &str = "SELECT rank FROM ranks";

/// Names of one side's inputs.
pub struct Names {
    /// The rows.
    pub rows: &'static str,
    /// Texts of the columns in [`TEXT_COLUMNS`].
    pub texts: [&'static str; 9],
    /// Kernels of bricks.
    pub ran: &'static str,
    /// Sampled values.
    pub samples: &'static str,
    /// Ranks, where the run holds some.
    pub ranks: &'static str,
}

/// Columns of the rows that hold numbers of texts, in the order of [`Names::texts`].
pub const TEXT_COLUMNS: [&str; 9] = [
    "name",
    "dtype",
    "shape",
    "backend",
    "brick",
    "brick_backend",
    "kernel",
    "kernel_backend",
    "ptx",
];

/// Of the run.
pub const SUBJECT: Names = Names {
    rows: "rows",
    texts: [
        "names",
        "dtypes",
        "shapes",
        "backends",
        "bricks",
        "brick_backends",
        "kernels",
        "kernel_backends",
        "ptx",
    ],
    ran: "ran",
    samples: "samples",
    ranks: "ranks",
};

/// Of the baseline.
pub const BASELINE: Names = Names {
    rows: "base_rows",
    texts: [
        "base_names",
        "base_dtypes",
        "base_shapes",
        "base_backends",
        "base_bricks",
        "base_brick_backends",
        "base_kernels",
        "base_kernel_backends",
        "base_ptx",
    ],
    ran: "base_ran",
    samples: "base_samples",
    ranks: "base_ranks",
};

const TEXTS: [&str; 9] = [
    NAMES,
    DTYPES,
    SHAPES,
    BACKENDS,
    BRICKS,
    BRICK_BACKENDS,
    KERNELS,
    KERNEL_BACKENDS,
    PTX,
];

/// All inputs.
pub const INPUTS: [Input; 26] = {
    let mut all = [Input::sql("rows", ROWS); 26];
    all[1] = Input::sql(BASELINE.rows, ROWS).baseline();
    all[2] = Input::sql(SUBJECT.ran, RAN);
    all[3] = Input::sql(BASELINE.ran, RAN).baseline();
    all[4] = Input::sql(SUBJECT.ranks, RANKS).optional();
    all[5] = Input::sql(BASELINE.ranks, RANKS).baseline().optional();
    let mut i = 0;
    while i < TEXTS.len() {
        all[6 + 2 * i] = Input::sql(SUBJECT.texts[i], TEXTS[i]);
        all[7 + 2 * i] = Input::sql(BASELINE.texts[i], TEXTS[i]).baseline();
        i += 1;
    }
    all[24] = Input::sql(SUBJECT.samples, SAMPLES).optional();
    all[25] = Input::sql(BASELINE.samples, SAMPLES).baseline().optional();
    all
};
