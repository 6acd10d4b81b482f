//! Columns of results that are gathered before they are handed out, and the order of their rows.

use std::collections::BTreeSet;
use std::sync::Arc;

use polars::prelude::{ArrayRef, CategoricalMapping, PolarsResult, polars_err};
use polars_arrow::array::{Array, BooleanArray, PrimitiveArray, StructArray, Utf8Array};
use polars_arrow::bitmap::Bitmap;
use polars_arrow::datatypes::ArrowDataType;

use super::rows::Chosen;
use super::{Direct, Order};
use crate::columns::{Kind, is_set};

const BATCH_ROWS: usize = 1 << 16;

pub(super) struct Vector {
    kind: Kind,
    /// 64 bits each; arbitrary for missing values.
    values: Vec<u64>,
    valid: Option<Vec<bool>>,
}

pub(super) fn arrow_type(kind: Kind) -> ArrowDataType {
    match kind {
        Kind::I64 | Kind::U32 => ArrowDataType::Int64,
        Kind::U64 => ArrowDataType::UInt64,
        Kind::F64 => ArrowDataType::Float64,
        Kind::Bool => ArrowDataType::Boolean,
        Kind::Text => ArrowDataType::LargeUtf8,
    }
}

impl Vector {
    pub(super) fn new(kind: Kind) -> Self {
        Self {
            kind,
            values: Vec::new(),
            valid: None,
        }
    }

    pub(super) fn of(kind: Kind, rows: impl Iterator<Item = Option<u64>>) -> Self {
        let rows: Vec<Option<u64>> = rows.collect();
        let any_missing = rows.iter().any(Option::is_none);
        Self {
            kind,
            valid: any_missing.then(|| rows.iter().map(Option::is_some).collect()),
            values: rows.into_iter().map(Option::unwrap_or_default).collect(),
        }
    }

    pub(super) fn extend(&mut self, values: &[u64], valid: Option<&[u8]>, chosen: &Chosen) {
        let before = self.values.len();
        match chosen {
            Chosen::All => self.values.extend_from_slice(values),
            Chosen::Some(rows) => {
                let chosen = rows.iter().map(|row| values[*row as usize]);
                self.values.extend(chosen);
            }
        }
        if valid.is_none() && self.valid.is_none() {
            return;
        }
        let to = self.valid.get_or_insert_with(|| vec![true; before]);
        let is_valid = |row: usize| valid.is_none_or(|bits| is_set(bits, row));
        match chosen {
            Chosen::All => to.extend((0..values.len()).map(is_valid)),
            Chosen::Some(rows) => to.extend(rows.iter().map(|row| is_valid(*row as usize))),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.values.len()
    }

    fn is_missing(&self, row: usize) -> bool {
        self.valid.as_ref().is_some_and(|valid| !valid[row])
    }

    /// Its rows, or only those given.
    pub(super) fn array(
        &self,
        rows: Option<&[u32]>,
        numbers: &CategoricalMapping,
    ) -> PolarsResult<Box<dyn Array>> {
        let values: Vec<u64> = match rows {
            None => self.values.clone(),
            Some(rows) => rows.iter().map(|row| self.values[*row as usize]).collect(),
        };
        let valid: Option<Bitmap> = self.valid.as_ref().map(|valid| match rows {
            None => valid.iter().copied().collect(),
            Some(rows) => rows.iter().map(|row| valid[*row as usize]).collect(),
        });
        let dtype = arrow_type(self.kind);
        Ok(match self.kind {
            Kind::I64 | Kind::U32 => {
                let values: Vec<i64> = values.into_iter().map(u64::cast_signed).collect();
                PrimitiveArray::new(dtype, values.into(), valid).boxed()
            }
            Kind::U64 => PrimitiveArray::new(dtype, values.into(), valid).boxed(),
            Kind::F64 => {
                let values: Vec<f64> = values.into_iter().map(f64::from_bits).collect();
                PrimitiveArray::new(dtype, values.into(), valid).boxed()
            }
            Kind::Bool => {
                let values: Bitmap = values.into_iter().map(|value| value != 0).collect();
                BooleanArray::new(dtype, values, valid).boxed()
            }
            Kind::Text => {
                let text = |(row, number): (usize, &u64)| {
                    if valid.as_ref().is_some_and(|valid| !valid.get_bit(row)) {
                        return Ok(None);
                    }
                    Ok(Some(text(numbers, *number)?))
                };
                let texts = values.iter().enumerate().map(text);
                let texts = texts.collect::<PolarsResult<Vec<Option<&str>>>>()?;
                Utf8Array::<i64>::from(texts).boxed()
            }
        })
    }

    fn order_keys(&self, numbers: &CategoricalMapping) -> PolarsResult<Vec<u64>> {
        const SIGN: u64 = 1 << 63;
        let integer = |value: u64| value ^ SIGN;
        let float = |bits: u64| match f64::from_bits(bits) {
            value if value.is_nan() => u64::MAX,
            value => {
                // Both zeros are the same.
                let bits = (value + 0.0).to_bits();
                if bits & SIGN == 0 { bits | SIGN } else { !bits }
            }
        };
        Ok(match self.kind {
            Kind::I64 => self.values.iter().map(|value| integer(*value)).collect(),
            Kind::U64 | Kind::U32 | Kind::Bool => self.values.clone(),
            Kind::F64 => self.values.iter().map(|value| float(*value)).collect(),
            Kind::Text => {
                let there = (0..self.len()).filter(|row| !self.is_missing(*row));
                let distinct: BTreeSet<u64> = there.map(|row| self.values[row]).collect();
                let texts = distinct.iter().map(|at| Ok((text(numbers, *at)?, *at)));
                let mut texts = texts.collect::<PolarsResult<Vec<(&str, u64)>>>()?;
                texts.sort_unstable();
                let most = distinct.last().map_or(0, |most| *most as usize + 1);
                let mut places = vec![0; most];
                for (place, (_, number)) in (0..).zip(texts) {
                    places[number as usize] = place;
                }
                let place = |row: usize| {
                    if self.is_missing(row) {
                        0
                    } else {
                        places[self.values[row] as usize]
                    }
                };
                (0..self.len()).map(place).collect()
            }
        })
    }
}

fn text(numbers: &CategoricalMapping, number: u64) -> PolarsResult<&str> {
    let text = u32::try_from(number)
        .ok()
        .and_then(|number| numbers.cat_to_str(number));
    text.ok_or_else(|| polars_err!(ComputeError: "a number without a text"))
}

impl Direct {
    /// The rows in the query's order, batch by batch. The sort is stable.
    pub(super) fn in_order(
        &self,
        made: Vec<Vector>,
        shown: usize,
        dtype: ArrowDataType,
    ) -> Result<impl Iterator<Item = PolarsResult<ArrayRef>> + 'static, String> {
        let numbers = Arc::clone(&self.numbers);
        let rows = sorted(&made, &self.order, &numbers).map_err(|error| error.to_string())?;
        let starts = (0..rows.len()).step_by(BATCH_ROWS);
        Ok(starts.map(move |from| {
            let rows = &rows[from..rows.len().min(from + BATCH_ROWS)];
            let arrays = made[..shown].iter();
            let arrays = arrays.map(|vector| vector.array(Some(rows), &numbers));
            let arrays = arrays.collect::<PolarsResult<Vec<_>>>()?;
            Ok(StructArray::try_new(dtype.clone(), rows.len(), arrays, None)?.boxed())
        }))
    }
}

fn sorted(
    columns: &[Vector],
    order: &[Order],
    numbers: &CategoricalMapping,
) -> PolarsResult<Vec<u32>> {
    let count = columns.first().map_or(0, Vector::len);
    let count = u32::try_from(count)
        .map_err(|_| polars_err!(ComputeError: "too many rows to be put in order"))?;
    let mut rows: Vec<u32> = (0..count).collect();
    // A key less than another comes first: whether a value is there, then the value.
    let mut keys: Vec<Vec<(bool, u64)>> = Vec::new();
    for by in order {
        let column = &columns[by.column];
        let values = column.order_keys(numbers)?;
        let key = |(row, value): (usize, u64)| match (column.is_missing(row), by.is_descending) {
            (true, _) => (!by.nulls_first, 0),
            (false, true) => (by.nulls_first, !value),
            (false, false) => (by.nulls_first, value),
        };
        keys.push(values.into_iter().enumerate().map(key).collect());
    }
    let in_order = |a: &u32, b: &u32| {
        let keys = keys.iter();
        keys.map(|keys| keys[*a as usize].cmp(&keys[*b as usize]))
            .find(|order| order.is_ne())
            .unwrap_or(std::cmp::Ordering::Equal)
    };
    if !rows.is_sorted_by(|a, b| in_order(a, b).is_le()) {
        rows.sort_by(in_order);
    }
    Ok(rows)
}
