//! From segments to the published columns of one table.
//!
//! Whatever a file holds, a published table has the columns of the format, in
//! their types, then columns only the files know, then a number for every text.
//! All of it is lazy: a query reads the columns it names.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock};

use polars::io::HiveOptions;
use polars::prelude::{
    Categories, DataType, Expr, Field, IntoLazy, IpcScanOptions, LazyFrame, NULL, PlRefPath,
    PolarsResult, ScanArgsParquet, ScanSources, Schema, SchemaRef, UnifiedScanArgs, UnionArgs, col,
    concat, lit,
};
use trueno_format::schema::{self, ColumnType};
use trueno_model::{ColumnInfo, Problem};

use super::segment::{Segment, Source};
use crate::catalog::{self, ID_SUFFIX};
use crate::closed_types::frame_without_rows;
use crate::columns::{Kind, kind};

#[derive(Clone)]
struct Target {
    name: String,
    dtype: DataType,
}

pub(super) struct Published {
    pub(super) columns: Vec<ColumnInfo>,
    targets: Vec<Target>,
    numbered: Vec<String>,
    kinds: Option<ColumnKinds>,
    /// Of its frames.
    pub(super) schema: SchemaRef,
}

/// The tables of the format, for files without other columns. Computed once, because a thousand ranks share them.
static OF_FORMAT: LazyLock<BTreeMap<&'static str, Arc<Published>>> = LazyLock::new(|| {
    let published = |table: &'static schema::Table| {
        let published = Published::with_unknown(Some(table), BTreeMap::new());
        (table.name, Arc::new(published))
    };
    schema::TABLES.iter().map(published).collect()
});

impl Published {
    /// Plans a table with the columns of its segments. Columns that cannot be published become problems.
    pub(super) fn plan(
        table: &str,
        segments: &[&Segment],
        problems: &mut Vec<Problem>,
    ) -> Arc<Published> {
        let known = schema::table(table);
        let unknown = unknown_columns(known, segments, problems);
        match (unknown.is_empty(), OF_FORMAT.get(table)) {
            (true, Some(published)) => published.clone(),
            _ => Arc::new(Published::with_unknown(known, unknown)),
        }
    }

    /// The columns of the format, those only found in files, and a companion for every text column.
    fn with_unknown(
        known: Option<&schema::Table>,
        unknown: BTreeMap<String, DataType>,
    ) -> Published {
        let mut columns = known.map(catalog::columns).unwrap_or_default();
        let target = |column: &schema::Column| Target {
            name: column.name.to_owned(),
            dtype: dtype(column.ty),
        };
        let of_format = known.iter().flat_map(|table| table.columns);
        let mut targets: Vec<Target> = of_format.map(target).collect();
        for (name, dtype) in unknown {
            columns.push(catalog::unknown_column(&name, plain_type_name(&dtype)));
            targets.push(Target { name, dtype });
        }
        let texts = columns
            .iter()
            .zip(&targets)
            .filter(|(_, target)| has_id(target, &targets));
        let (ids, numbered): (Vec<ColumnInfo>, Vec<String>) = texts
            .map(|(column, _)| {
                let id = catalog::id_column(&column.name, column.nullable);
                (id, column.name.clone())
            })
            .unzip();
        columns.extend(ids);
        let kinds = targets.iter();
        let kinds = kinds.map(|target| Some((target.name.clone(), kind(&target.dtype)?)));
        let kinds = kinds.collect::<Option<Vec<_>>>().map(Arc::from);
        let own = targets
            .iter()
            .map(|target| Field::new(target.name.as_str().into(), target.dtype.clone()));
        let ids = numbered.iter().map(|name| id_name(name).into());
        let ids = ids.map(|name| Field::new(name, DataType::Int64));
        let schema = Arc::new(own.chain(ids).collect());
        Published {
            schema,
            columns,
            targets,
            numbered,
            kinds,
        }
    }

    pub(super) fn numbered(&self) -> impl Iterator<Item = &str> {
        self.numbered.iter().map(String::as_str)
    }

    /// Columns that the format of this version lacks, in a table that it has.
    pub(super) fn unknown_columns(&self, table: &str) -> impl Iterator<Item = &str> {
        let known = schema::table(table);
        let names = self.targets.iter().map(|target| target.name.as_str());
        names.filter(move |name| known.is_some_and(|table| table.column(name).is_none()))
    }

    pub(super) fn has_not(&self, column: &str) -> bool {
        self.targets.iter().all(|target| target.name != column)
    }

    /// Its columns with their kinds, and the files that contain all its rows as the recorder wrote them. `None`
    /// if rows must be converted or are not all in such files.
    pub(super) fn stored(&self, segments: &[&Segment]) -> Option<StoredColumns> {
        let mut files = Vec::new();
        for segment in segments {
            match &segment.source {
                Source::Scan { path, schema } if segment.verified => {
                    let same = |target: &Target| {
                        let found = schema.get(target.name.as_str());
                        found.is_none_or(|found| published_type(found) == target.dtype)
                    };
                    if !self.targets.iter().all(same) {
                        return None;
                    }
                    files.push(path.clone());
                }
                Source::Nothing => {}
                Source::Scan { .. } | Source::Parquet { .. } | Source::Frame(_) => return None,
            }
        }
        Some((self.kinds()?, files))
    }

    /// Its columns with their kinds; `None` if a column has a type that only the engine supports.
    pub(super) fn kinds(&self) -> Option<ColumnKinds> {
        self.kinds.clone()
    }

    /// The table's rows, in the order in which they were written.
    pub(super) fn frame(&self, segments: &[&Segment]) -> PolarsResult<LazyFrame> {
        let mut parts = Vec::new();
        let mut scans = Scans::default();
        for segment in segments {
            match &segment.source {
                Source::Scan { path, schema } => {
                    if !scans.take(Form::Arrow, schema) {
                        parts.push(self.scan(&mut scans)?);
                        scans.take(Form::Arrow, schema);
                    }
                    scans.paths.push(PlRefPath::try_from_path(path)?);
                }
                Source::Parquet { path, schema } => {
                    if !scans.take(Form::Parquet, schema) {
                        parts.push(self.scan(&mut scans)?);
                        scans.take(Form::Parquet, schema);
                    }
                    scans.paths.push(PlRefPath::try_from_path(path)?);
                }
                Source::Frame(frame) => {
                    parts.push(self.scan(&mut scans)?);
                    parts.push(Some(
                        frame.clone().lazy().select(self.select(frame.schema())),
                    ));
                }
                Source::Nothing => {}
            }
        }
        parts.push(self.scan(&mut scans)?);
        let mut parts: Vec<LazyFrame> = parts.into_iter().flatten().collect();
        match parts.len() {
            0 => Ok(frame_without_rows(&self.schema).lazy()),
            1 => Ok(parts.remove(0)),
            _ => concat(parts, UnionArgs::default()),
        }
    }

    /// Scans the collected segments, which have the same form and schema, and clears the list.
    fn scan(&self, scans: &mut Scans) -> PolarsResult<Option<LazyFrame>> {
        let Some((form, schema)) = scans.of.take() else {
            return Ok(None);
        };
        let paths = ScanSources::Paths(scans.paths.drain(..).collect());
        let frame = match form {
            Form::Arrow => LazyFrame::scan_ipc_sources(
                paths,
                IpcScanOptions::default(),
                UnifiedScanArgs {
                    schema: Some(schema.clone()),
                    glob: false,
                    ..UnifiedScanArgs::default()
                },
            )?,
            Form::Parquet => LazyFrame::scan_parquet_sources(
                paths,
                ScanArgsParquet {
                    schema: Some(schema.clone()),
                    glob: false,
                    // A folder `rank=0` on the way is no column.
                    hive_options: HiveOptions::new_disabled(),
                    ..ScanArgsParquet::default()
                },
            )?,
        };
        Ok(Some(frame.select(self.select(&schema))))
    }

    /// The published columns as expressions over a frame with the schema `found`.
    fn select(&self, found: &Schema) -> Vec<Expr> {
        let mut select: Vec<Expr> = Vec::with_capacity(self.columns.len());
        for target in &self.targets {
            let name = target.name.as_str();
            select.push(match found.get(name) {
                Some(dtype) if *dtype == target.dtype => col(name),
                Some(dtype) if convertible(&published_type(dtype), &target.dtype) => {
                    col(name).cast(target.dtype.clone())
                }
                _ => lit(NULL).cast(target.dtype.clone()).alias(name),
            });
        }
        for name in self.numbered() {
            let number = |categorical: Expr| categorical.to_physical().cast(DataType::Int64);
            select.push(
                match found.get(name) {
                    Some(DataType::Categorical(categories, _)) if categories.is_global() => {
                        number(col(name))
                    }
                    Some(DataType::Categorical(..)) => number(
                        col(name)
                            .cast(DataType::String)
                            .cast(DataType::from_categories(Categories::global())),
                    ),
                    Some(DataType::String) => {
                        number(col(name).cast(DataType::from_categories(Categories::global())))
                    }
                    _ => lit(NULL).cast(DataType::Int64),
                }
                .alias(id_name(name)),
            );
        }
        select
    }
}

pub(super) type ColumnKinds = Arc<[(String, Kind)]>;

/// Names and kinds of columns, and the files that contain them.
pub(super) type StoredColumns = (ColumnKinds, Vec<PathBuf>);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Arrow,
    Parquet,
}

#[derive(Default)]
struct Scans {
    of: Option<(Form, SchemaRef)>,
    paths: Vec<PlRefPath>,
}

impl Scans {
    /// Whether a file of this form and schema may join the scan. The first one always may.
    fn take(&mut self, form: Form, schema: &SchemaRef) -> bool {
        let (own, columns) = self.of.get_or_insert_with(|| (form, schema.clone()));
        *own == form && columns == schema
    }
}

/// Columns that the format lacks, by name. What cannot be published becomes a problem.
fn unknown_columns(
    known: Option<&schema::Table>,
    segments: &[&Segment],
    problems: &mut Vec<Problem>,
) -> BTreeMap<String, DataType> {
    let mut unknown: BTreeMap<String, DataType> = BTreeMap::new();
    for segment in segments {
        let Some(schema) = segment_schema(segment) else {
            continue;
        };
        for (name, found) in schema.iter() {
            let found = published_type(found);
            let expected = match known.and_then(|t| t.column(name)) {
                Some(column) => dtype(column.ty),
                None => unknown
                    .entry(name.to_string())
                    .or_insert_with(|| found.clone())
                    .clone(),
            };
            if !convertible(&found, &expected) {
                let (found, expected) = (plain_type_name(&found), plain_type_name(&expected));
                let text = format!(
                    "{}: column {name} is {found}, expected {expected}: read as null",
                    segment.name
                );
                problems.push(Problem::error("column_type", text));
            }
        }
    }
    unknown
}

/// Whether a column gets a companion: not if another column has that name.
fn has_id(column: &Target, all: &[Target]) -> bool {
    column.dtype == DataType::String && !all.iter().any(|other| other.name == id_name(&column.name))
}

fn id_name(column: &str) -> String {
    format!("{column}{ID_SUFFIX}")
}

fn segment_schema(segment: &Segment) -> Option<SchemaRef> {
    match &segment.source {
        Source::Scan { schema, .. } | Source::Parquet { schema, .. } => Some(schema.clone()),
        Source::Frame(frame) => Some(frame.schema().clone()),
        Source::Nothing => None,
    }
}

pub(super) fn dtype(ty: ColumnType) -> DataType {
    match ty {
        ColumnType::U32 => DataType::UInt32,
        ColumnType::U64 => DataType::UInt64,
        ColumnType::I64 => DataType::Int64,
        ColumnType::F64 => DataType::Float64,
        ColumnType::Bool => DataType::Boolean,
        ColumnType::Text => DataType::String,
    }
}

/// Published type of a column found in a file: dictionaries become strings, other types are kept.
pub(super) fn published_type(found: &DataType) -> DataType {
    if matches!(found, DataType::Categorical(..)) {
        DataType::String
    } else {
        found.clone()
    }
}

/// Whether the published type can hold every value of the found type.
pub(super) fn convertible(found: &DataType, published: &DataType) -> bool {
    found == published
        || (found.is_integer() && published.is_integer())
        || (found.is_primitive_numeric() && published.is_float())
}

pub(super) fn plain_type_name(dtype: &DataType) -> String {
    match dtype {
        DataType::String => "text".to_owned(),
        DataType::Boolean => "bool".to_owned(),
        DataType::Int64 => "i64".to_owned(),
        DataType::UInt64 => "u64".to_owned(),
        DataType::UInt32 => "u32".to_owned(),
        DataType::Float64 => "f64".to_owned(),
        other => other.to_string(),
    }
}
