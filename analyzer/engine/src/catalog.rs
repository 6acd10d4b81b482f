//! The published tables: what `query` and the inputs of plugins see.
//!
//! Every table of the format, whether the run holds it or not; `run`,
//! `segments` and `problems`, which tell of the run itself; and whatever else
//! the run's files hold.
//!
//! Text columns have a companion `<column>_id` (number of the text, valid in one process): plugins ask for it and a
//! list of distinct texts, which is much cheaper than millions of strings.

use trueno_format::schema::{self, Provenance};
use trueno_model::ColumnInfo;

/// Suffix of the companion column that numbers the texts of a text column.
pub const ID_SUFFIX: &str = "_id";

pub const RUN_TABLES: [&str; 3] = ["run", "segments", "problems"];

/// Published tables that lanes depend on, but that are not part of a run.
pub(crate) const ADDED: [&str; 2] = ["category_rules", "report_window"];

pub const RANKS: &str = "ranks";

/// Published like [`ADDED`], but nothing depends on it here.
pub(crate) const PART: &str = "report_part";

/// Unit of a column, from its suffix (`_ns`, `_bytes`, `_share`, `_per_s`, `_percent`) or, for bytes, from its
/// name.
pub fn unit(column: &str) -> Option<&'static str> {
    const BYTES: [&str; 6] = [
        "bytes",
        "bytes_read",
        "bytes_written",
        "smem_static",
        "smem_dynamic",
        "smem",
    ];
    let ends = |suffix| column.ends_with(suffix);
    match () {
        () if ends("_ns") || column == "cost_ns_per_span" => Some("ns"),
        () if ends("_bytes") || BYTES.contains(&column) => Some("bytes"),
        () if ends("_share") => Some("ratio"),
        () if ends("_per_s") => Some("1/s"),
        () if ends("_percent") => Some("%"),
        () => None,
    }
}

pub(crate) fn columns(table: &schema::Table) -> Vec<ColumnInfo> {
    let own = table.columns.iter().map(|column| ColumnInfo {
        name: column.name.to_owned(),
        ty: column.ty.name().to_owned(),
        unit: unit(column.name).map(Into::into),
        nullable: column.nullable,
        provenance: Some(provenance(column.provenance).into()),
        doc: column.doc.to_owned(),
    });
    own.collect()
}

pub fn id_column(column: &str, nullable: bool) -> ColumnInfo {
    ColumnInfo {
        name: format!("{column}{ID_SUFFIX}"),
        ty: "i64".to_owned(),
        unit: None,
        nullable,
        provenance: Some("identity".into()),
        doc: format!("number of the text in {column}, the same only within one process"),
    }
}

/// The column with the rank of a row, in runs with several ranks. Nullable if some rows belong to the whole run.
pub(crate) fn rank_column(nullable: bool) -> ColumnInfo {
    ColumnInfo {
        name: "rank".to_owned(),
        ty: "u64".to_owned(),
        unit: None,
        nullable,
        provenance: Some("identity".into()),
        doc: if nullable {
            "its rank; null: of the whole job".to_owned()
        } else {
            "its rank: that of its folder".to_owned()
        },
    }
}

pub(crate) fn unknown_column(name: &str, ty: String) -> ColumnInfo {
    ColumnInfo {
        name: name.to_owned(),
        ty,
        unit: unit(name).map(Into::into),
        nullable: true,
        provenance: None,
        doc: "not a column this program knows".to_owned(),
    }
}

fn provenance(provenance: Provenance) -> &'static str {
    match provenance {
        Provenance::Measured => "measured",
        Provenance::Declared => "declared",
        Provenance::Identity => "identity",
    }
}

pub(crate) fn run_table_columns(table: &str) -> Vec<ColumnInfo> {
    let columns: &[(&str, &str, bool, &'static str, &str)] = match table {
        "run" => &[
            ("run_id", "text", true, "identity", "given by the recorder"),
            ("label", "text", true, "identity", "given by the program"),
            (
                "state",
                "text",
                false,
                "identity",
                "recording, finished, failed, recovered or unknown",
            ),
            (
                "format_minor",
                "u32",
                true,
                "identity",
                "minor version of the format",
            ),
            (
                "clock_source",
                "text",
                true,
                "identity",
                "tsc, monotonic or cntvct",
            ),
            (
                "wall_ns",
                "i64",
                true,
                "measured",
                "wall time of the run; see wall_source",
            ),
            (
                "wall_source",
                "text",
                false,
                "identity",
                "recorded, last_event or none",
            ),
            (
                "complete",
                "bool",
                true,
                "computed",
                "finished, nothing dropped or lost, all of it verified; null: drops are not known",
            ),
            (
                "clean_end",
                "bool",
                false,
                "computed",
                "finished, and no segment left open",
            ),
            (
                "dropped",
                "u64",
                true,
                "measured",
                "rows the recorder dropped; null: not known",
            ),
            (
                "rows",
                "u64",
                false,
                "measured",
                "rows that can be read, all tables",
            ),
            ("host_name", "text", true, "identity", "machine"),
            ("cpu_model", "text", true, "identity", "its processor"),
            (
                "logical_cpus",
                "u64",
                true,
                "identity",
                "its logical processors",
            ),
            (
                "cpu_features",
                "text",
                true,
                "identity",
                "its instruction sets, separated by spaces",
            ),
            (
                "cost_ns_per_span",
                "f64",
                true,
                "measured",
                "what a span costs the program",
            ),
            (
                "recorder_ns",
                "u64",
                true,
                "measured",
                "what the recorder took on all threads of the program beside spans: their beginning and end, longer rings, waits for the writer",
            ),
            (
                "recorder_cpu_ns",
                "u64",
                true,
                "measured",
                "CPU time of the recorder's own thread",
            ),
        ],
        "segments" => &[
            ("table", "text", false, "identity", "table it belongs to"),
            ("segment", "text", false, "identity", "file within the run"),
            (
                "state",
                "text",
                false,
                "identity",
                "sealed, open, rebuilt, lost, or live: still in live/",
            ),
            (
                "rows_expected",
                "u64",
                true,
                "identity",
                "rows written; null: not known",
            ),
            (
                "rows_read",
                "u64",
                false,
                "identity",
                "rows that can be read",
            ),
            (
                "rows_lost",
                "u64",
                true,
                "computed",
                "rows_expected without rows_read",
            ),
            (
                "verified",
                "bool",
                false,
                "identity",
                "whether its bytes agree with the hashes of the journal, or its own",
            ),
            ("problem", "text", true, "identity", "what is wrong with it"),
        ],
        "problems" => &[
            (
                "severity",
                "text",
                false,
                "identity",
                "info, warning or error",
            ),
            ("code", "text", false, "identity", "stable name of the case"),
            ("text", "text", false, "identity", "for people"),
        ],
        "ranks" => &[
            ("rank", "u64", false, "identity", "number of the rank"),
            ("run_id", "text", true, "identity", "given by its recorder"),
            (
                "state",
                "text",
                false,
                "identity",
                "recording, finished, failed, recovered or unknown",
            ),
            (
                "complete",
                "bool",
                true,
                "computed",
                "whether it is complete by itself; null: not known",
            ),
            (
                "offset_ns",
                "i64",
                false,
                "computed",
                "its time 0 on the timeline of the whole, by the wall clocks of the hosts",
            ),
            (
                "origin_realtime_ns",
                "i64",
                true,
                "measured",
                "its time 0 since the Unix epoch; null: not known, and offset_ns is 0",
            ),
            ("wall_ns", "i64", true, "measured", "its wall time"),
            (
                "rows",
                "u64",
                false,
                "measured",
                "its rows that can be read, all tables",
            ),
            (
                "dropped",
                "u64",
                true,
                "measured",
                "rows its recorder dropped; null: not known",
            ),
            ("host_name", "text", true, "identity", "its machine"),
            (
                "pipeline",
                "u64",
                true,
                "identity",
                "its pipeline stage; null: not stated",
            ),
            (
                "data",
                "u64",
                true,
                "identity",
                "its number among the ranks with the same part of the model; null: not stated",
            ),
            (
                "tensor",
                "u64",
                true,
                "identity",
                "its number among the ranks that share each layer; null: not stated",
            ),
        ],
        _ => &[],
    };
    columns
        .iter()
        .map(|&(name, ty, nullable, provenance, doc)| ColumnInfo {
            name: name.to_owned(),
            ty: ty.to_owned(),
            unit: unit(name).map(Into::into),
            nullable,
            provenance: Some(provenance.into()),
            doc: doc.to_owned(),
        })
        .collect()
}

pub(crate) fn run_table_doc(table: &str) -> &'static str {
    match table {
        "run" => "one row: the run itself",
        "segments" => "one row per segment file: what was written, read and lost",
        "problems" => "what is wrong with the run",
        "ranks" => "one row per rank of a run of several ranks",
        _ => "",
    }
}
