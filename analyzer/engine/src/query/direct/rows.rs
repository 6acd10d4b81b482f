//! Rows of a direct query, batch by batch.

use std::sync::Arc;

use polars::prelude::{ArrayRef, CategoricalMapping, PolarsResult, polars_err};
use polars_arrow::array::{Array, BooleanArray, PrimitiveArray, StructArray, Utf8Array};
use polars_arrow::bitmap::Bitmap;
use polars_arrow::datatypes::{ArrowDataType, Field};

use super::{Comparison, Condition, Direct, Item};
use crate::columns::{Kind, Packed, Truths};

/// Truth of a row that a condition holds for.
const TRUE: u8 = 2;
const UNKNOWN: u8 = 1;

/// The columns of one batch that a query reads.
struct Batch<'a> {
    columns: &'a [usize],
    packed: Vec<&'a Packed>,
    rows: usize,
}

impl Direct {
    /// Columns of the result, in the types that plugins read.
    pub(crate) fn fields(&self) -> Vec<Field> {
        let field = |(name, item): &(String, Item)| {
            let of = match item {
                Item::Id(_) => ArrowDataType::Int64,
                Item::Truth(_) => ArrowDataType::Boolean,
                Item::Column(_, kind) | Item::Sum(_, _, kind) => match kind {
                    Kind::I64 | Kind::U32 => ArrowDataType::Int64,
                    Kind::U64 => ArrowDataType::UInt64,
                    Kind::F64 => ArrowDataType::Float64,
                    Kind::Bool => ArrowDataType::Boolean,
                    Kind::Text => ArrowDataType::LargeUtf8,
                },
            };
            Field::new(name.as_str().into(), of, true)
        };
        self.items.iter().map(field).collect()
    }

    /// Its rows, as structs of [`Direct::fields`].
    ///
    /// # Errors
    /// A column cannot be read; nothing was handed out then.
    pub(crate) fn batches(
        self,
    ) -> Result<impl Iterator<Item = PolarsResult<ArrayRef>> + 'static, String> {
        let columns = self.columns();
        let of_columns = self.table.batches(&columns)?;
        let count = of_columns.first().map_or(0, |batches| batches.len());
        let dtype = ArrowDataType::Struct(self.fields());
        Ok((0..count).filter_map(move |at| {
            let packed: Vec<&Packed> = of_columns.iter().map(|batches| &batches[at]).collect();
            let rows = packed.first()?.rows();
            let batch = Batch {
                columns: &columns,
                packed,
                rows,
            };
            self.batch(&batch, &dtype).transpose()
        }))
    }

    fn batch(&self, batch: &Batch<'_>, dtype: &ArrowDataType) -> PolarsResult<Option<ArrayRef>> {
        let chosen = match self.filter.as_ref().map(|filter| filter.truths(batch)) {
            None | Some(Truths::Same(TRUE)) => None,
            Some(Truths::Same(_)) => return Ok(None),
            Some(Truths::Each(truths)) => {
                let rows: Vec<u32> = (0..)
                    .zip(truths)
                    .filter_map(|(row, truth)| (truth == TRUE).then_some(row))
                    .collect();
                match rows.len() {
                    0 => return Ok(None),
                    all if all == batch.rows => None,
                    _ => Some(rows),
                }
            }
        };
        let chosen = chosen.as_deref();
        let rows = chosen.map_or(batch.rows, <[u32]>::len);
        if rows == 0 {
            return Ok(None);
        }
        let arrays = self
            .items
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
            Item::Sum(a, b, kind) => sum(batch.column(*a), batch.column(*b), *kind, chosen),
            Item::Truth(condition) => truths(condition.truths(batch), batch, chosen),
        })
    }
}

impl Batch<'_> {
    fn column(&self, number: usize) -> &Packed {
        // Every column of the query is among them.
        let at = self.columns.binary_search(&number).unwrap_or(0);
        self.packed[at]
    }
}

impl Condition {
    fn truths(&self, batch: &Batch<'_>) -> Truths {
        match self {
            Self::Column(column) => batch.column(*column).test(|value| value != 0),
            Self::Text(column, number) => {
                let packed = batch.column(*column);
                match *number {
                    Some(number) => packed.test(|value| value == number),
                    None => packed.test(|_| false),
                }
            }
            Self::Integer(column, kind, by, than) => {
                let packed = batch.column(*column);
                let than = *than;
                if *kind == Kind::U64 {
                    return match by {
                        Comparison::Equal => packed.test(|value| value == than),
                        Comparison::Less => packed.test(|value| value < than),
                        Comparison::LessOrEqual => packed.test(|value| value <= than),
                        Comparison::Greater => packed.test(|value| value > than),
                        Comparison::GreaterOrEqual => packed.test(|value| value >= than),
                    };
                }
                let than = than.cast_signed();
                match by {
                    Comparison::Equal => packed.test(|value| value.cast_signed() == than),
                    Comparison::Less => packed.test(|value| value.cast_signed() < than),
                    Comparison::LessOrEqual => packed.test(|value| value.cast_signed() <= than),
                    Comparison::Greater => packed.test(|value| value.cast_signed() > than),
                    Comparison::GreaterOrEqual => packed.test(|value| value.cast_signed() >= than),
                }
            }
            Self::Present(column) => batch.column(*column).presence(),
            Self::Not(inner) => inner.truths(batch).not(),
            Self::And(a, b) => a.truths(batch).and(b.truths(batch)),
            Self::Or(a, b) => a.truths(batch).or(b.truths(batch)),
        }
    }
}

fn values<T: crate::columns::From64>(packed: &Packed, chosen: Option<&[u32]>) -> Vec<T> {
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

fn sum(a: &Packed, b: &Packed, kind: Kind, chosen: Option<&[u32]>) -> Box<dyn Array> {
    let (left, right): (Vec<u64>, Vec<u64>) = (values(a, chosen), values(b, chosen));
    // The sum of the bits is the same with a sign and without.
    let sums = left.into_iter().zip(right).map(|(a, b)| a.wrapping_add(b));
    let valid = match (validity(a, chosen), validity(b, chosen)) {
        (Some(a), Some(b)) => Some(&a & &b),
        (a, b) => a.or(b),
    };
    match kind {
        Kind::I64 => {
            let sums: Vec<i64> = sums.map(u64::cast_signed).collect();
            PrimitiveArray::new(ArrowDataType::Int64, sums.into(), valid).boxed()
        }
        _ => {
            let sums: Vec<u64> = sums.collect();
            PrimitiveArray::new(ArrowDataType::UInt64, sums.into(), valid).boxed()
        }
    }
}

fn truths(truths: Truths, batch: &Batch<'_>, chosen: Option<&[u32]>) -> Box<dyn Array> {
    let rows = chosen.map_or(batch.rows, <[u32]>::len);
    let (values, valid) = match truths {
        Truths::Same(UNKNOWN) => (Bitmap::new_zeroed(rows), Some(Bitmap::new_zeroed(rows))),
        Truths::Same(truth) => (Bitmap::new_with_value(truth == TRUE, rows), None),
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

/// Distinct numbers of the texts of a column, in order; `None` first, where a row has no text.
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
