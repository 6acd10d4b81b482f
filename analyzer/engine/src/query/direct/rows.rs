//! Rows of a direct query, batch by batch.

use std::sync::Arc;

use polars::prelude::{ArrayRef, CategoricalMapping, PolarsResult, polars_err};
use polars_arrow::array::{Array, BooleanArray, PrimitiveArray, StructArray, Utf8Array};
use polars_arrow::bitmap::Bitmap;
use polars_arrow::datatypes::{ArrowDataType, Field};

use super::result::{Vector, arrow_type};
use super::{Condition, Direct, Item, Output};
use crate::columns::{From64, Kind, Packed, TRUE, Truths, UNKNOWN, is_set};

pub(super) struct Batch<'a> {
    pub(super) columns: &'a [usize],
    pub(super) packed: Vec<&'a Packed>,
    pub(super) rows: usize,
}

pub(super) enum Chosen {
    All,
    Some(Vec<u32>),
}

type Batches = Box<dyn Iterator<Item = PolarsResult<ArrayRef>>>;

impl Direct {
    pub(crate) fn fields(&self) -> Vec<Field> {
        let field = |name: &str, kind: Kind| Field::new(name.into(), arrow_type(kind), true);
        match &self.output {
            Output::Rows { items, shown } => items[..*shown]
                .iter()
                .map(|(name, item)| field(name, item.kind()))
                .collect(),
            Output::Groups(grouping) => grouping
                .columns()
                .map(|(name, kind)| field(name, kind))
                .collect(),
        }
    }

    /// Its rows, as structs of [`Direct::fields`]. Call it on the result of [`Direct::resolved`].
    ///
    /// # Errors
    /// A column cannot be read; no batch was returned then.
    pub(crate) fn batches(self) -> Result<Batches, String> {
        let is_empty = self.filter == Some(Condition::Constant(false));
        let columns = self.columns();
        if matches!(self.output, Output::Rows { .. }) && self.order.is_empty() && !is_empty {
            return self.streamed(columns);
        }
        let of_columns = if is_empty {
            columns.iter().map(|_| Arc::from([])).collect()
        } else {
            self.table.batches(&columns)?
        };
        let dtype = ArrowDataType::Struct(self.fields());
        let made = match &self.output {
            Output::Rows { .. } if self.order.is_empty() => None,
            Output::Rows { items, shown } => {
                Some((self.rows(items, &columns, &of_columns)?, *shown))
            }
            Output::Groups(grouping) => {
                let made = self.groups(grouping, &columns, &of_columns)?;
                let shown = made.len();
                Some((made, shown))
            }
        };
        if let Some((made, shown)) = made {
            return Ok(Box::new(self.in_order(made, shown, dtype)?));
        }
        Ok(Box::new(std::iter::empty()))
    }

    /// Its rows as stored. What no other query reads is not held.
    fn streamed(self, columns: Vec<usize>) -> Result<Batches, String> {
        let stream = self.table.stream(&columns)?;
        let dtype = ArrowDataType::Struct(self.fields());
        Ok(Box::new((0..stream.count()).filter_map(move |at| {
            let batch = stream.batch(at, |packed| {
                let rows = packed.first().map_or(0, |packed| packed.rows());
                let columns = &columns;
                let batch = Batch {
                    columns,
                    packed,
                    rows,
                };
                self.batch(&batch, &dtype)
            });
            let batch = batch.map_err(|why| polars_err!(ComputeError: "{why}"));
            batch.and_then(|batch| batch).transpose()
        })))
    }

    fn rows(
        &self,
        items: &[(String, Item)],
        columns: &[usize],
        of_columns: &[Arc<[Packed]>],
    ) -> Result<Vec<Vector>, &'static str> {
        let mut made: Vec<Vector> = items
            .iter()
            .map(|(_, item)| Vector::new(item.kind()))
            .collect();
        let count = of_columns.first().map_or(0, |batches| batches.len());
        for at in 0..count {
            let batch = batch_at(columns, of_columns, at);
            let Some(chosen) = self.chosen(&batch) else {
                continue;
            };
            for (vector, (_, item)) in made.iter_mut().zip(items) {
                let (values, valid) = item.values(&batch)?;
                vector.extend(&values, valid.as_deref(), &chosen);
            }
        }
        Ok(made)
    }

    pub(super) fn chosen(&self, batch: &Batch<'_>) -> Option<Chosen> {
        if batch.rows == 0 {
            return None;
        }
        match self.filter.as_ref().map(|filter| filter.truths(batch)) {
            None | Some(Truths::Same(TRUE)) => Some(Chosen::All),
            Some(Truths::Same(_)) => None,
            Some(Truths::Each(truths)) => {
                let rows: Vec<u32> = (0..)
                    .zip(truths)
                    .filter_map(|(row, truth)| (truth == TRUE).then_some(row))
                    .collect();
                match rows.len() {
                    0 => None,
                    all if all == batch.rows => Some(Chosen::All),
                    _ => Some(Chosen::Some(rows)),
                }
            }
        }
    }

    fn batch(&self, batch: &Batch<'_>, dtype: &ArrowDataType) -> PolarsResult<Option<ArrayRef>> {
        let (Some(chosen), Output::Rows { items, shown }) = (self.chosen(batch), &self.output)
        else {
            return Ok(None);
        };
        let chosen = match &chosen {
            Chosen::All => None,
            Chosen::Some(rows) => Some(rows.as_slice()),
        };
        let rows = chosen.map_or(batch.rows, <[u32]>::len);
        let arrays = items[..*shown]
            .iter()
            .map(|(_, item)| self.array(item, batch, chosen));
        let arrays = arrays.collect::<PolarsResult<Vec<_>>>()?;
        Ok(Some(
            StructArray::try_new(dtype.clone(), rows, arrays, None)?.boxed(),
        ))
    }

    fn array(
        &self,
        item: &Item,
        batch: &Batch<'_>,
        chosen: Option<&[u32]>,
    ) -> PolarsResult<Box<dyn Array>> {
        Ok(match item {
            Item::Id(column) => integers(batch.column(*column), chosen),
            Item::Column(column, kind) => {
                let packed = batch.column(*column);
                match kind {
                    Kind::I64 | Kind::U32 => integers(packed, chosen),
                    Kind::U64 => {
                        let values: Vec<u64> = values(packed, chosen);
                        let valid = validity(packed, chosen);
                        PrimitiveArray::new(ArrowDataType::UInt64, values.into(), valid).boxed()
                    }
                    Kind::F64 => {
                        let values: Vec<f64> = values(packed, chosen);
                        let valid = validity(packed, chosen);
                        PrimitiveArray::new(ArrowDataType::Float64, values.into(), valid).boxed()
                    }
                    Kind::Bool => truths(Condition::Column(*column).truths(batch), batch, chosen),
                    Kind::Text => texts(packed, chosen, &self.numbers)?,
                }
            }
            Item::Sum(..) | Item::OrElse(..) => {
                let values = item.values(batch);
                let (values, valid) = values.map_err(|why| polars_err!(ComputeError: "{why}"))?;
                let mut vector = Vector::new(item.kind());
                let chosen = match chosen {
                    None => Chosen::All,
                    Some(rows) => Chosen::Some(rows.to_vec()),
                };
                vector.extend(&values, valid.as_deref(), &chosen);
                vector.array(None, &self.numbers)?
            }
            Item::Truth(condition) => truths(condition.truths(batch), batch, chosen),
        })
    }
}

impl Item {
    /// The values of all rows of a batch as 64 bits, and the validity bitmap (`None` if all have a value).
    ///
    /// # Errors
    /// A sum does not fit into 64 bits.
    pub(super) fn values(&self, batch: &Batch<'_>) -> Result<Values, &'static str> {
        Ok(match self {
            Self::Column(column, _) | Self::Id(column) => {
                let packed = batch.column(*column);
                (values(packed, None), packed.validity())
            }
            Self::Sum(a, b) => {
                let (mut sums, valid) = a.values(batch)?;
                let (others, other_valid) = b.values(batch)?;
                let valid: Option<Vec<u8>> = match (valid, other_valid) {
                    (Some(a), Some(b)) => Some(a.into_iter().zip(b).map(|(a, b)| a & b).collect()),
                    (a, b) => a.or(b),
                };
                for (row, (sum, other)) in sums.iter_mut().zip(others).enumerate() {
                    // Where no value is, anything may be.
                    let is_there = valid.as_ref().is_none_or(|bits| is_set(bits, row));
                    *sum = match add(self.kind(), *sum, other) {
                        None if is_there => return Err(TOO_LARGE),
                        sum => sum.unwrap_or(0),
                    };
                }
                (sums, valid)
            }
            Self::OrElse(item, otherwise) => {
                let (mut values, valid) = item.values(batch)?;
                if let Some(bits) = valid {
                    for (row, value) in values.iter_mut().enumerate() {
                        if !is_set(&bits, row) {
                            *value = *otherwise;
                        }
                    }
                }
                (values, None)
            }
            Self::Truth(condition) => {
                let truths = match condition.truths(batch) {
                    Truths::Same(truth) => vec![truth; batch.rows],
                    Truths::Each(truths) => truths,
                };
                let valid = truths.contains(&UNKNOWN).then(|| {
                    let byte = |eight: &[u8]| {
                        let bits = eight.iter().rev();
                        bits.fold(0, |byte, truth| byte << 1 | u8::from(*truth != UNKNOWN))
                    };
                    truths.chunks(8).map(byte).collect()
                });
                let values = truths.into_iter().map(|truth| u64::from(truth == TRUE));
                (values.collect(), valid)
            }
        })
    }
}

/// Values as 64 bits, and the validity bitmap (`None` if all have a value).
pub(super) type Values = (Vec<u64>, Option<Vec<u8>>);

pub(super) const TOO_LARGE: &str =
    "a sum of whole numbers does not fit into 64 bits (hint: CAST(… AS DOUBLE) first)";

pub(super) fn add(kind: Kind, a: u64, b: u64) -> Option<u64> {
    if kind == Kind::I64 {
        let sum = a.cast_signed().checked_add(b.cast_signed())?;
        Some(sum.cast_unsigned())
    } else {
        a.checked_add(b)
    }
}

pub(super) fn batch_at<'a>(
    columns: &'a [usize],
    of_columns: &'a [Arc<[Packed]>],
    at: usize,
) -> Batch<'a> {
    let packed: Vec<&Packed> = of_columns.iter().map(|batches| &batches[at]).collect();
    let rows = packed.first().map_or(0, |packed| packed.rows());
    Batch {
        columns,
        packed,
        rows,
    }
}

impl Batch<'_> {
    pub(super) fn column(&self, number: usize) -> &Packed {
        // Every column of the query is among them.
        let at = self.columns.binary_search(&number).unwrap_or(0);
        self.packed[at]
    }
}

fn values<T: From64>(packed: &Packed, chosen: Option<&[u32]>) -> Vec<T> {
    let mut values = Vec::with_capacity(packed.rows());
    packed.unpack(&mut values);
    match chosen {
        None => values,
        Some(rows) => rows
            .iter()
            .map(|row| values[*row as usize].clone())
            .collect(),
    }
}

fn validity(packed: &Packed, chosen: Option<&[u32]>) -> Option<Bitmap> {
    let bits = packed.validity()?;
    let bits = Bitmap::from_u8_vec(bits, packed.rows());
    Some(match chosen {
        None => bits,
        Some(rows) => rows.iter().map(|row| bits.get_bit(*row as usize)).collect(),
    })
}

fn integers(packed: &Packed, chosen: Option<&[u32]>) -> Box<dyn Array> {
    let values: Vec<i64> = values(packed, chosen);
    let valid = validity(packed, chosen);
    PrimitiveArray::new(ArrowDataType::Int64, values.into(), valid).boxed()
}

/// polars' own version allocates 8 MiB of zeros on first use.
fn same_bit(bit: bool, rows: usize) -> Bitmap {
    let byte = if bit { u8::MAX } else { 0 };
    Bitmap::from_u8_vec(vec![byte; rows.div_ceil(8)], rows)
}

fn truths(truths: Truths, batch: &Batch<'_>, chosen: Option<&[u32]>) -> Box<dyn Array> {
    let rows = chosen.map_or(batch.rows, <[u32]>::len);
    let (values, valid) = match truths {
        Truths::Same(UNKNOWN) => (same_bit(false, rows), Some(same_bit(false, rows))),
        Truths::Same(truth) => (same_bit(truth == TRUE, rows), None),
        Truths::Each(mut truths) => {
            if let Some(rows) = chosen {
                truths = rows.iter().map(|row| truths[*row as usize]).collect();
            }
            let values = bits(&truths, |truth| truth == TRUE);
            let valid = truths.contains(&UNKNOWN);
            (
                values,
                valid.then(|| bits(&truths, |truth| truth != UNKNOWN)),
            )
        }
    };
    BooleanArray::new(ArrowDataType::Boolean, values, valid).boxed()
}

fn bits(truths: &[u8], is_set: impl Fn(u8) -> bool) -> Bitmap {
    let byte = |eight: &[u8]| {
        let bits = eight.iter().rev();
        bits.fold(0, |byte, truth| byte << 1 | u8::from(is_set(*truth)))
    };
    let bytes: Vec<u8> = truths.chunks(8).map(byte).collect();
    Bitmap::from_u8_vec(bytes, truths.len())
}

fn texts(
    packed: &Packed,
    chosen: Option<&[u32]>,
    numbers: &CategoricalMapping,
) -> PolarsResult<Box<dyn Array>> {
    let valid = validity(packed, chosen);
    let values: Vec<u64> = values(packed, chosen);
    let text = |(row, number): (usize, &u64)| {
        if valid.as_ref().is_some_and(|valid| !valid.get_bit(row)) {
            return Ok(None);
        }
        let text = u32::try_from(*number)
            .ok()
            .and_then(|number| numbers.cat_to_str(number));
        let text = text.ok_or_else(|| polars_err!(ComputeError: "a number without a text"))?;
        Ok(Some(text))
    };
    let all = values.iter().enumerate().map(text);
    let all = all.collect::<PolarsResult<Vec<Option<&str>>>>()?;
    Ok(Utf8Array::<i64>::from(all).boxed())
}

/// Distinct numbers of a column's texts, sorted. `None` comes first, if a row has no text.
pub(crate) fn distinct(batches: &Arc<[Packed]>) -> Vec<Option<i64>> {
    let mut seen: Vec<bool> = Vec::new();
    let mut any_missing = false;
    let mut mark = |number: u64| {
        let at = number as usize;
        if seen.len() <= at {
            seen.resize(at + 1, false);
        }
        seen[at] = true;
    };
    let mut values: Vec<u64> = Vec::new();
    for packed in batches.iter().filter(|packed| packed.rows() > 0) {
        any_missing |= packed.has_missing();
        if packed.is_missing() {
            continue;
        }
        match packed.one_value() {
            Some(value) => mark(value),
            // What stands in the place of a missing value is a value of another row.
            None => {
                values.clear();
                packed.unpack(&mut values);
                values.iter().for_each(|value| mark(*value));
            }
        }
    }
    let numbers = (0..)
        .zip(seen)
        .filter_map(|(number, is_seen)| is_seen.then_some(Some(number)));
    any_missing
        .then_some(None)
        .into_iter()
        .chain(numbers)
        .collect()
}
