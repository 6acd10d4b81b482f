//! Queries over the two runs, and over a third one.

use trueno_plugin::Input;

/// The queries of one run. The prefix of the table names selects the run.
macro_rules! queries {
    ($prefix:literal) => {
        Queries {
            // Unsorted: sorting here is cheaper. Statistics come later, of the rows that need them.
            rows: concat!(
                "SELECT name_id AS name, span, layer, iteration, position, backend_id AS backend, thread, time_ns, \
                 dtype_id AS dtype, shape_id AS shape, elements, hash FROM ",
                $prefix,
                "checksums"
            ),
            // With the declared work of what the tensors are the output of.
            of_bricks: concat!(
                "SELECT id, name_id AS name, backend_id AS backend, flops, elements FROM ",
                $prefix,
                "bricks WHERE id IN (SELECT span FROM ",
                $prefix,
                "checksums)"
            ),
            of_kernels: concat!(
                "SELECT id, name_id AS name, backend_id AS backend, ptx_hash_id AS ptx, flops, elements FROM ",
                $prefix,
                "kernels WHERE id IN (SELECT span FROM ",
                $prefix,
                "checksums)"
            ),
            // A row is found by thread, time and hash.
            statistics: concat!(
                "SELECT thread, time_ns, hash, nan_count, inf_count, zero_count, min, max, absmax, mean, l2 FROM ",
                $prefix,
                "checksums"
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
    of_bricks: &'static str,
    of_kernels: &'static str,
    statistics: &'static str,
    texts: [&'static str; 9],
    ran: &'static str,
    samples: &'static str,
    ranks: &'static str,
}

pub struct Names {
    pub rows: &'static str,
    /// Bricks that have tensors as their output.
    pub of_bricks: &'static str,
    /// Kernels that have tensors as their output.
    pub of_kernels: &'static str,
    pub statistics: &'static str,
    /// Texts: of the columns [`TEXT_COLUMNS`] of the rows, of the names and backends of bricks and of kernels,
    /// and of PTX.
    pub texts: [&'static str; 9],
    /// Kernels that ran in bricks.
    pub ran: &'static str,
    pub samples: &'static str,
    pub ranks: &'static str,
}

/// Columns with text numbers, in the order of [`Names::texts`].
pub const TEXT_COLUMNS: [&str; 4] = ["name", "dtype", "shape", "backend"];

/// Tables of the run under test.
pub const SUBJECT: Names = Names {
    rows: "rows",
    of_bricks: "of_bricks",
    of_kernels: "of_kernels",
    statistics: "statistics",
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

pub const BASELINE: Names = Names {
    rows: "base_rows",
    of_bricks: "base_of_bricks",
    of_kernels: "base_of_kernels",
    statistics: "base_statistics",
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

pub const REFERENCE: Names = Names {
    rows: "reference_rows",
    of_bricks: "reference_of_bricks",
    of_kernels: "reference_of_kernels",
    statistics: "reference_statistics",
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

const EACH: usize = 16;

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
        if i == 11 || i == 12 {
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
        13 => (names.of_bricks, queries.of_bricks),
        14 => (names.of_kernels, queries.of_kernels),
        15 => (names.statistics, queries.statistics),
        text => (names.texts[text - 2], queries.texts[text - 2]),
    }
}
