//! Tables for the query engine from columns in memory.
//!
//! The engine's own scan unpacks a column for each query that reads it, and looks up the text of each row in its
//! dictionary. Here the columns that a query names are made of those that were decoded before.

use std::collections::BTreeSet;
use std::sync::Arc;

use polars::prelude::{
    Categorical32Type, CategoricalChunked, Categories, ChunkedArray, Column, DataFrame, DataType,
    Expr, IntoColumn, IntoLazy, IntoSeries, LazyFrame, PlSmallStr, PolarsResult, Series, col,
    polars_err,
};
use polars_arrow::array::{Array, BooleanArray, PrimitiveArray};
use polars_arrow::bitmap::Bitmap;
use polars_arrow::datatypes::ArrowDataType;

use super::tokens::{Kind as TokenKind, Token};
use crate::catalog::ID_SUFFIX;
use crate::columns::{From64, Kind, Packed, StoredTable};

/// Keywords that stand for columns which a query does not name.
const UNNAMED: [&str; 6] = ["natural", "columns", "show", "explain", "exclude", "table"];

pub(super) struct Named {
    columns: BTreeSet<usize>,
    /// Columns whose texts the query may read.
    texts: BTreeSet<usize>,
    /// Columns whose companions the query may read.
    ids: BTreeSet<usize>,
}

impl Named {
    /// Every column that is named in a query, directly or by its companion. `None` if the query may read
    /// columns without naming them.
    pub(super) fn of(tokens: &[Token], table: &StoredTable) -> Option<Self> {
        let first = tokens.first()?;
        let is_wildcard = |at: usize| {
            let before = at.checked_sub(1).map(|at| &tokens[at]);
            before.is_none_or(|token| {
                let is_mark = matches!(token.kind, TokenKind::Mark(',' | '.'));
                is_mark
                    || ["select", "distinct", "all"]
                        .iter()
                        .any(|word| token.is(word))
            })
        };
        let unnamed = |at: usize| {
            let token = &tokens[at];
            (token.kind == TokenKind::Mark('*') && is_wildcard(at))
                || UNNAMED.iter().any(|word| token.is(word))
                || (token.is("from") && at > 0 && tokens[at - 1].kind == TokenKind::Mark('('))
        };
        let is_query = first.is("select") || first.is("with");
        if !is_query || (0..tokens.len()).any(unnamed) {
            return None;
        }
        let names: BTreeSet<&str> = tokens.iter().filter_map(|t| t.name.as_deref()).collect();
        let mut named = Self {
            columns: BTreeSet::new(),
            texts: BTreeSet::new(),
            ids: BTreeSet::new(),
        };
        for (at, (name, _)) in table.columns().iter().enumerate() {
            if names.contains(name.as_str()) {
                named.columns.insert(at);
                named.texts.insert(at);
            }
            let id = format!("{name}{ID_SUFFIX}");
            if names.contains(id.as_str()) && table.text_of_companion(&id).is_some() {
                named.columns.insert(at);
                named.ids.insert(at);
            }
        }
        // Rows are counted by a column, whichever.
        if named.columns.is_empty() {
            named.columns.insert(0);
            named.texts.insert(0);
        }
        Some(named)
    }

    pub(super) fn all(table: &StoredTable) -> Self {
        let columns: BTreeSet<usize> = (0..table.columns().len()).collect();
        let ids = columns.iter().copied();
        let ids = ids.filter(|column| table.columns()[*column].1 == Kind::Text);
        Self {
            ids: ids.collect(),
            texts: columns.clone(),
            columns,
        }
    }

    pub(super) fn columns(&self) -> impl Iterator<Item = usize> + '_ {
        self.columns.iter().copied()
    }

    /// Names of the columns as a query knows them.
    pub(super) fn names(&self, table: &StoredTable) -> impl Iterator<Item = String> {
        let name = |column: &usize| table.columns()[*column].0.as_str();
        let texts = self.texts.iter().map(move |column| name(column).to_owned());
        let ids = self.ids.iter();
        texts.chain(ids.map(move |column| format!("{}{ID_SUFFIX}", name(column))))
    }

    pub(super) fn frame(&self, table: &StoredTable) -> PolarsResult<LazyFrame> {
        let numbers: Vec<usize> = self.columns.iter().copied().collect();
        let batches = table.batches(&numbers);
        let batches = batches.map_err(|why| polars_err!(ComputeError: "{why}"))?;
        let mut columns = Vec::with_capacity(numbers.len());
        let (mut select, mut ids): (Vec<Expr>, Vec<Expr>) = Default::default();
        for (number, batches) in numbers.iter().zip(&batches) {
            let (name, kind) = &table.columns()[*number];
            columns.push(series(name, *kind, batches)?.into_column());
            if self.texts.contains(number) {
                select.push(match kind {
                    Kind::Text => col(name.as_str()).cast(DataType::String),
                    _ => col(name.as_str()),
                });
            }
            if self.ids.contains(number) {
                let id = col(name.as_str()).to_physical().cast(DataType::Int64);
                ids.push(id.alias(format!("{name}{ID_SUFFIX}")));
            }
        }
        // Behind all others, as in the catalog.
        select.extend(ids);
        let height = columns.first().map_or(0, Column::len);
        Ok(DataFrame::new(height, columns)?.lazy().select_seq(select))
    }
}

fn series(name: &str, kind: Kind, batches: &Arc<[Packed]>) -> PolarsResult<Series> {
    let valid = validity(batches);
    let array: Box<dyn Array> = match kind {
        Kind::I64 => {
            PrimitiveArray::<i64>::new(ArrowDataType::Int64, values(batches).into(), valid).boxed()
        }
        Kind::U64 => {
            PrimitiveArray::<u64>::new(ArrowDataType::UInt64, values(batches).into(), valid).boxed()
        }
        Kind::F64 => {
            PrimitiveArray::<f64>::new(ArrowDataType::Float64, values(batches).into(), valid)
                .boxed()
        }
        Kind::U32 | Kind::Text => {
            PrimitiveArray::<u32>::new(ArrowDataType::UInt32, values(batches).into(), valid).boxed()
        }
        Kind::Bool => {
            let values: Vec<u64> = values(batches);
            let values: Bitmap = values.into_iter().map(|value| value != 0).collect();
            BooleanArray::new(ArrowDataType::Boolean, values, valid).boxed()
        }
    };
    let series = Series::try_from((PlSmallStr::from(name), array))?;
    if kind != Kind::Text {
        return Ok(series);
    }
    let numbers: ChunkedArray<_> = series.u32()?.clone();
    let dtype = DataType::from_categories(Categories::global());
    let texts = CategoricalChunked::<Categorical32Type>::from_cats_and_dtype(numbers, dtype);
    Ok(texts.into_series())
}

fn values<T: From64>(batches: &Arc<[Packed]>) -> Vec<T> {
    let rows = batches.iter().map(Packed::rows).sum();
    let mut values = Vec::with_capacity(rows);
    batches.iter().for_each(|packed| packed.unpack(&mut values));
    values
}

fn validity(batches: &Arc<[Packed]>) -> Option<Bitmap> {
    use polars_arrow::bitmap::MutableBitmap;
    if !batches.iter().any(Packed::has_missing) {
        return None;
    }
    let mut all = MutableBitmap::new();
    for packed in batches.iter() {
        match packed.validity() {
            None => all.extend_constant(packed.rows(), true),
            Some(bits) => all.extend_from_slice(&bits, 0, packed.rows()),
        }
    }
    Some(all.into())
}
