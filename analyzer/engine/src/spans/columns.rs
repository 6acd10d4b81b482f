//! Columns of the computed tables, as the catalog lists them.

use trueno_model::{ColumnInfo, TableInfo};

use super::{LANES, SPANS};
use crate::catalog::{id_column, unit};
use crate::columns::Kind;

/// Name, kind, nullability, source and description.
type Listed = (&'static str, Kind, bool, &'static str, &'static str);

// Indices in the list below.
pub(super) const ID: usize = 0;
pub(super) const LANE: usize = 1;
pub(super) const LANE_KIND: usize = 2;
pub(super) const START_NS: usize = 3;
pub(super) const DUR_NS: usize = 4;
pub(super) const SELF_NS: usize = 5;
pub(super) const PARENT: usize = 6;
pub(super) const DEPTH: usize = 7;
pub(super) const KIND: usize = 8;
pub(super) const NAME: usize = 9;
pub(super) const CATEGORY: usize = 10;
pub(super) const BRICK: usize = 11;
pub(super) const ELEMENTS: usize = 12;

const SPAN_COLUMNS: [Listed; 13] = [
    ("id", Kind::U64, false, "identity", "that of its row"),
    ("lane", Kind::Text, false, "identity", "name of its lane"),
    ("lane_kind", Kind::Text, false, "identity", "host or device"),
    ("start_ns", Kind::I64, false, "measured", "its start"),
    ("dur_ns", Kind::I64, false, "measured", "its duration"),
    (
        "self_ns",
        Kind::I64,
        false,
        "computed",
        "time in which it was the innermost of its lane",
    ),
    (
        "parent",
        Kind::U64,
        true,
        "computed",
        "the interval that was the innermost when it began; null: none",
    ),
    (
        "depth",
        Kind::U32,
        false,
        "computed",
        "how many intervals lie around it",
    ),
    (
        "kind",
        Kind::Text,
        false,
        "identity",
        "kind of its brick, or kernel, tile, sync, call, transfer",
    ),
    (
        "name",
        Kind::Text,
        false,
        "identity",
        "its name; of tiles and transfers level and direction, of a wait without a name its kind",
    ),
    (
        "category",
        Kind::Text,
        false,
        "computed",
        "recorded, that of its brick, or by a rule on names",
    ),
    (
        "brick",
        Kind::U64,
        true,
        "computed",
        "itself, the brick it names, or else the innermost it began in; null: none",
    ),
    ("elements", Kind::U64, true, "declared", "as recorded"),
];

const LANE_COLUMNS: [Listed; 9] = [
    ("lane", Kind::Text, false, "identity", "its name"),
    ("lane_kind", Kind::Text, false, "identity", "host or device"),
    (
        "thread",
        Kind::I64,
        true,
        "identity",
        "row of threads; null: not recorded, or a stream",
    ),
    (
        "device",
        Kind::I64,
        true,
        "identity",
        "its device; null: a thread",
    ),
    (
        "stream",
        Kind::I64,
        true,
        "identity",
        "its stream; null: not recorded, or a thread",
    ),
    (
        "spans",
        Kind::U64,
        false,
        "computed",
        "how many intervals it has",
    ),
    (
        "busy_ns",
        Kind::I64,
        false,
        "computed",
        "time in which any of them ran",
    ),
    (
        "first_ns",
        Kind::I64,
        true,
        "computed",
        "its first start; null: it has no rows",
    ),
    (
        "last_ns",
        Kind::I64,
        true,
        "computed",
        "its last end; null: it has no rows",
    ),
];

pub(crate) fn span_columns() -> Vec<(String, Kind)> {
    named(&SPAN_COLUMNS)
}

pub(crate) fn lane_columns() -> Vec<(String, Kind)> {
    named(&LANE_COLUMNS)
}

fn named(columns: &[Listed]) -> Vec<(String, Kind)> {
    let columns = columns.iter();
    columns
        .map(|(name, kind, ..)| ((*name).to_owned(), *kind))
        .collect()
}

/// The computed tables, for listings. Their row counts are unknown until they are computed.
pub fn computed_tables() -> Vec<TableInfo> {
    let table = |name: &str, doc: &str, columns: &[Listed]| {
        let own = columns.iter().map(info);
        let texts = columns.iter().filter(|column| column.1 == Kind::Text);
        let ids = texts.map(|(name, _, nullable, ..)| id_column(name, *nullable));
        TableInfo {
            name: name.to_owned(),
            doc: doc.to_owned(),
            columns: own.chain(ids).collect(),
            rows: None,
        }
    };
    let spans = "computed on demand: one row per interval, lane by lane in order of time";
    let lanes = "computed on demand: one row per lane (a thread or a stream)";
    vec![
        table(SPANS, spans, &SPAN_COLUMNS),
        table(LANES, lanes, &LANE_COLUMNS),
    ]
}

fn info((name, kind, nullable, provenance, doc): &Listed) -> ColumnInfo {
    let ty = match kind {
        Kind::I64 => "i64",
        Kind::U64 => "u64",
        Kind::U32 => "u32",
        Kind::F64 => "f64",
        Kind::Bool => "bool",
        Kind::Text => "text",
    };
    ColumnInfo {
        name: (*name).to_owned(),
        ty: ty.to_owned(),
        unit: unit(name).map(Into::into),
        nullable: *nullable,
        provenance: Some((*provenance).into()),
        doc: (*doc).to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_are_those_of_the_list() {
        let by_index = [
            (ID, "id"),
            (LANE, "lane"),
            (LANE_KIND, "lane_kind"),
            (START_NS, "start_ns"),
            (DUR_NS, "dur_ns"),
            (SELF_NS, "self_ns"),
            (PARENT, "parent"),
            (DEPTH, "depth"),
            (KIND, "kind"),
            (NAME, "name"),
            (CATEGORY, "category"),
            (BRICK, "brick"),
            (ELEMENTS, "elements"),
        ];
        let listed: Vec<(usize, &str)> = (0..).zip(SPAN_COLUMNS.iter().map(|of| of.0)).collect();
        assert_eq!(listed, by_index);
    }
}
