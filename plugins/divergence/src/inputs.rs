//! What is asked of the two runs, and of a third one.

use trueno_plugin::Input;

/// The queries, over tables whose names begin with a prefix: a third run's tables lie beside those of the run.
macro_rules! queries {
    ($prefix:literal) => {
        Queries {
            // Rows with the declared work of what they are the output of. Unsorted: sorting here is cheaper.
            rows: concat!(
                "SELECT c.name_id AS name, c.span AS span, c.layer AS layer, c.iteration AS iteration, \
                 c.position AS position, c.backend_id AS backend, c.thread AS thread, c.time_ns AS time_ns, \
                 c.dtype_id AS dtype, c.shape_id AS shape, c.elements AS elements, c.hash AS hash, \
                 c.nan_count AS nan_count, c.inf_count AS inf_count, c.zero_count AS zero_count, c.min AS min, \
                 c.max AS max, c.absmax AS absmax, c.mean AS mean, c.l2 AS l2, b.name_id AS brick, \
                 b.backend_id AS brick_backend, b.flops AS brick_flops, b.elements AS brick_elements, \
                 k.name_id AS kernel, k.backend_id AS kernel_backend, k.flops AS kernel_flops, \
                 k.elements AS kernel_elements, k.ptx_hash_id AS ptx FROM ",
                $prefix,
                "checksums AS c LEFT JOIN ",
                $prefix,
                "bricks AS b ON c.span = b.id LEFT JOIN ",
                $prefix,
                "kernels AS k ON c.span = k.id"
            ),
            // The few distinct texts of a column, with the numbers that the rows have in their place.
            texts: [
                concat!("SELECT DISTINCT name_id AS id, name AS text FROM ", $prefix, "checksums"),
                concat!("SELECT DISTINCT dtype_id AS id, dtype AS text FROM ", $prefix, "checksums"),
                concat!("SELECT DISTINCT shape_id AS id, shape AS text FROM ", $prefix, "checksums"),
                concat!("SELECT DISTINCT backend_id AS id, backend AS text FROM ", $prefix, "checksums"),
                concat!("SELECT DISTINCT name_id AS id, name AS text FROM ", $prefix, "bricks"),
                concat!("SELECT DISTINCT backend_id AS id, backend AS text FROM ", $prefix, "bricks"),
                concat!("SELECT DISTINCT name_id AS id, name AS text FROM ", $prefix, "kernels"),
                concat!("SELECT DISTINCT backend_id AS id, backend AS text FROM ", $prefix, "kernels"),
                concat!("SELECT DISTINCT ptx_hash_id AS id, ptx_hash AS text FROM ", $prefix, "kernels"),
            ],
            // Which kernels ran in bricks that tensors are the output of.
            ran: concat!(
                "SELECT DISTINCT b.name AS brick, b.layer AS layer, k.name AS kernel, k.backend AS backend, \
                 k.ptx_hash AS ptx_hash FROM ",
                $prefix,
                "kernels AS k JOIN ",
                $prefix,
                "bricks AS b ON k.brick = b.id WHERE b.id IN (SELECT span FROM ",
                $prefix,
                "checksums)"
            ),
            // Only the rows that have some; a row is found by thread, time and hash.
            samples: concat!(
                "SELECT thread, time_ns, hash, sample_0, sample_1, sample_2, sample_3, sample_4, sample_5, \
                 sample_6, sample_7, sample_8, sample_9, sample_10, sample_11, sample_12, sample_13, \
                 sample_14, sample_15 FROM ",
                $prefix,
                "checksums WHERE sample_0 IS NOT NULL"
            ),
            ranks: concat!("SELECT rank FROM ", $prefix, "ranks"),
        }
    };
}

struct Queries {
    rows: &'static str,
    texts: [&'static str; 9],
    ran: &'static str,
    samples: &'static str,
    ranks: &'static str,
}

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

/// Of a third run, where there is one.
pub const REFERENCE: Names = Names {
    rows: "reference_rows",
    texts: [
        "reference_names",
        "reference_dtypes",
        "reference_shapes",
        "reference_backends",
        "reference_bricks",
        "reference_brick_backends",
        "reference_kernels",
        "reference_kernel_backends",
        "reference_ptx",
    ],
    ran: "reference_ran",
    samples: "reference_samples",
    ranks: "reference_ranks",
};

const EACH: usize = 13;

/// All inputs.
pub const INPUTS: [Input; 3 * EACH] = {
    let own = queries!("");
    let third = queries!("reference_");
    let mut all = [Input::sql(SUBJECT.rows, own.rows); 3 * EACH];
    let mut i = 0;
    while i < EACH {
        let (name, query) = one(&SUBJECT, &own, i);
        all[3 * i] = Input::sql(name, query);
        let (name, query) = one(&BASELINE, &own, i);
        all[3 * i + 1] = Input::sql(name, query).baseline();
        let (name, query) = one(&REFERENCE, &third, i);
        all[3 * i + 2] = Input::sql(name, query).optional();
        // Ranks and samples need not be there.
        if i >= EACH - 2 {
            all[3 * i] = all[3 * i].optional();
            all[3 * i + 1] = all[3 * i + 1].optional();
        }
        i += 1;
    }
    all
};

const fn one(names: &Names, queries: &Queries, nth: usize) -> (&'static str, &'static str) {
    match nth {
        0 => (names.rows, queries.rows),
        1 => (names.ran, queries.ran),
        11 => (names.ranks, queries.ranks),
        12 => (names.samples, queries.samples),
        text => (names.texts[text - 2], queries.texts[text - 2]),
    }
}
