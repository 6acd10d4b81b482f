//! One column of one batch.

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Packed {
    rows: usize,
    values: Values,
    /// Validity bitmap; `None` if every row has a value.
    valid: Option<Box<[u8]>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Values {
    Missing,
    Same(u64),
    /// Differences to the first number.
    Bytes(u64, Box<[u8]>),
    Halves(u64, Box<[u16]>),
    Words(u64, Box<[u32]>),
    Whole(Box<[u64]>),
}

/// Truth values of rows: 0 false, 1 unknown, 2 true. AND is the minimum and OR the maximum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Truths {
    Same(u8),
    Each(Vec<u8>),
}

pub(crate) const FALSE: u8 = 0;
pub(crate) const UNKNOWN: u8 = 1;
pub(crate) const TRUE: u8 = 2;

impl Packed {
    pub(crate) fn missing(rows: usize) -> Self {
        let (values, valid) = (Values::Missing, None);
        Self {
            rows,
            values,
            valid,
        }
    }

    pub(crate) fn same(rows: usize, value: u64, valid: Option<&[u8]>) -> Self {
        let valid = valid.map(Box::from);
        Self {
            rows,
            values: Values::Same(value),
            valid,
        }
    }

    /// Packs values; `None` is a missing value. `values` is a buffer for reuse.
    pub(crate) fn of_rows(rows: impl Iterator<Item = Option<u64>>, values: &mut Vec<u64>) -> Self {
        values.clear();
        let mut missing: Vec<usize> = Vec::new();
        for (row, value) in rows.enumerate() {
            if value.is_none() {
                missing.push(row);
            }
            values.push(value.unwrap_or(0));
        }
        let valid = (!missing.is_empty()).then(|| {
            let mut bits = vec![0xff; values.len().div_ceil(8)];
            for row in missing {
                bits[row / 8] &= !(1 << (row % 8));
            }
            bits
        });
        Self::pack(values, valid.as_deref())
    }

    /// Packs values. What `values` contains for missing ones is irrelevant, and is overwritten.
    pub(crate) fn pack(values: &mut [u64], valid: Option<&[u8]>) -> Self {
        let rows = values.len();
        if let Some(bits) = valid {
            let first = (0..rows).find(|&row| is_set(bits, row));
            let Some(first) = first else {
                return Self::missing(rows);
            };
            let filler = values[first];
            for (row, value) in values.iter_mut().enumerate() {
                if !is_set(bits, row) {
                    *value = filler;
                }
            }
        }
        let (mut least, mut most) = (u64::MAX, 0);
        for value in values.iter() {
            least = least.min(*value);
            most = most.max(*value);
        }
        let packed = match most.wrapping_sub(least) {
            _ if rows == 0 => Values::Same(0),
            0 => Values::Same(least),
            1..=0xff => Values::Bytes(
                least,
                values.iter().map(|v| v.wrapping_sub(least) as u8).collect(),
            ),
            0x100..=0xffff => Values::Halves(
                least,
                values
                    .iter()
                    .map(|v| v.wrapping_sub(least) as u16)
                    .collect(),
            ),
            0x1_0000..=0xffff_ffff => Values::Words(
                least,
                values
                    .iter()
                    .map(|v| v.wrapping_sub(least) as u32)
                    .collect(),
            ),
            _ => Values::Whole(Box::from(&*values)),
        };
        let valid = valid.map(Box::from);
        Self {
            rows,
            values: packed,
            valid,
        }
    }

    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// With `by` added to each value, wrapping around.
    pub(crate) fn shifted(mut self, by: u64) -> Self {
        match &mut self.values {
            Values::Missing => {}
            Values::Same(least)
            | Values::Bytes(least, _)
            | Values::Halves(least, _)
            | Values::Words(least, _) => *least = least.wrapping_add(by),
            Values::Whole(all) => {
                for value in all {
                    *value = value.wrapping_add(by);
                }
            }
        }
        self
    }

    /// Appends the values. Missing ones are arbitrary.
    pub(crate) fn unpack<T: From64>(&self, to: &mut Vec<T>) {
        match &self.values {
            Values::Missing => to.resize(to.len() + self.rows, T::from64(0)),
            Values::Same(value) => to.resize(to.len() + self.rows, T::from64(*value)),
            Values::Bytes(least, all) => {
                to.extend(
                    all.iter()
                        .map(|v| T::from64(least.wrapping_add(u64::from(*v)))),
                );
            }
            Values::Halves(least, all) => {
                to.extend(
                    all.iter()
                        .map(|v| T::from64(least.wrapping_add(u64::from(*v)))),
                );
            }
            Values::Words(least, all) => {
                to.extend(
                    all.iter()
                        .map(|v| T::from64(least.wrapping_add(u64::from(*v)))),
                );
            }
            Values::Whole(all) => to.extend(all.iter().map(|v| T::from64(*v))),
        }
    }

    #[inline]
    pub(crate) fn get(&self, row: usize) -> Option<u64> {
        if self.valid.as_ref().is_some_and(|bits| !is_set(bits, row)) {
            return None;
        }
        match &self.values {
            Values::Missing => None,
            Values::Same(value) => Some(*value),
            Values::Bytes(least, all) => Some(least.wrapping_add(u64::from(all[row]))),
            Values::Halves(least, all) => Some(least.wrapping_add(u64::from(all[row]))),
            Values::Words(least, all) => Some(least.wrapping_add(u64::from(all[row]))),
            Values::Whole(all) => Some(all[row]),
        }
    }

    pub(crate) fn one_value(&self) -> Option<u64> {
        match self.values {
            Values::Same(value) => Some(value),
            _ => None,
        }
    }

    /// An upper bound of the values, for unsigned columns; not always the tightest.
    pub(crate) fn bound(&self) -> u64 {
        match &self.values {
            Values::Missing => 0,
            Values::Same(value) => *value,
            Values::Bytes(least, _) => least.saturating_add(u8::MAX.into()),
            Values::Halves(least, _) => least.saturating_add(u16::MAX.into()),
            Values::Words(least, _) => least.saturating_add(u32::MAX.into()),
            Values::Whole(all) => all.iter().copied().max().unwrap_or(0),
        }
    }

    pub(crate) fn has_missing(&self) -> bool {
        matches!(self.values, Values::Missing) || self.valid.is_some()
    }

    pub(crate) fn is_missing(&self) -> bool {
        matches!(self.values, Values::Missing)
    }

    /// Validity bitmap; `None` if every row has a value.
    pub(crate) fn validity(&self) -> Option<Vec<u8>> {
        match (&self.values, &self.valid) {
            (Values::Missing, _) => Some(vec![0; self.rows.div_ceil(8)]),
            (_, Some(bits)) => Some(bits.to_vec()),
            (_, None) => None,
        }
    }

    pub(crate) fn presence(&self) -> Truths {
        match (&self.values, &self.valid) {
            (Values::Missing, _) => Truths::Same(FALSE),
            (_, None) => Truths::Same(TRUE),
            (_, Some(bits)) => Truths::Each(
                (0..self.rows)
                    .map(|row| if is_set(bits, row) { TRUE } else { FALSE })
                    .collect(),
            ),
        }
    }

    /// Evaluates a condition on the values; unknown for missing ones.
    pub(crate) fn test(&self, condition: impl Fn(u64) -> bool) -> Truths {
        let truth = |value: u64| if condition(value) { TRUE } else { FALSE };
        let truths: Vec<u8> = match &self.values {
            Values::Missing => return Truths::Same(UNKNOWN),
            Values::Same(value) if self.valid.is_none() => return Truths::Same(truth(*value)),
            Values::Same(value) => vec![truth(*value); self.rows],
            Values::Bytes(least, all) => all
                .iter()
                .map(|v| truth(least.wrapping_add(u64::from(*v))))
                .collect(),
            Values::Halves(least, all) => all
                .iter()
                .map(|v| truth(least.wrapping_add(u64::from(*v))))
                .collect(),
            Values::Words(least, all) => all
                .iter()
                .map(|v| truth(least.wrapping_add(u64::from(*v))))
                .collect(),
            Values::Whole(all) => all.iter().map(|v| truth(*v)).collect(),
        };
        match &self.valid {
            None => Truths::Each(truths),
            Some(bits) => {
                let known = |(row, truth)| if is_set(bits, row) { truth } else { UNKNOWN };
                Truths::Each(truths.into_iter().enumerate().map(known).collect())
            }
        }
    }

    #[cfg(test)]
    pub(crate) fn bytes(&self) -> usize {
        let values = match &self.values {
            Values::Missing | Values::Same(_) => 0,
            Values::Bytes(_, all) => all.len(),
            Values::Halves(_, all) => 2 * all.len(),
            Values::Words(_, all) => 4 * all.len(),
            Values::Whole(all) => 8 * all.len(),
        };
        values + self.valid.as_ref().map_or(0, |bits| bits.len())
    }
}

pub(crate) trait From64: Clone {
    fn from64(bits: u64) -> Self;
}

impl From64 for u64 {
    fn from64(bits: u64) -> Self {
        bits
    }
}

impl From64 for u32 {
    fn from64(bits: u64) -> Self {
        bits as u32
    }
}

impl From64 for i64 {
    fn from64(bits: u64) -> Self {
        bits.cast_signed()
    }
}

impl From64 for f64 {
    fn from64(bits: u64) -> Self {
        f64::from_bits(bits)
    }
}

pub(crate) fn is_set(bits: &[u8], at: usize) -> bool {
    bits[at / 8] >> (at % 8) & 1 == 1
}

impl Truths {
    pub(crate) fn not(self) -> Self {
        match self {
            Self::Same(truth) => Self::Same(TRUE - truth),
            Self::Each(truths) => {
                Self::Each(truths.into_iter().map(|truth| TRUE - truth).collect())
            }
        }
    }

    pub(crate) fn and(self, other: Self) -> Self {
        self.zip(other, FALSE, u8::min)
    }

    pub(crate) fn or(self, other: Self) -> Self {
        self.zip(other, TRUE, u8::max)
    }

    /// `strong` is the result if either side equals it.
    fn zip(self, other: Self, strong: u8, of: impl Fn(u8, u8) -> u8) -> Self {
        match (self, other) {
            (Self::Same(a), Self::Same(b)) => Self::Same(of(a, b)),
            (Self::Same(same), _) | (_, Self::Same(same)) if same == strong => Self::Same(strong),
            (Self::Same(same), Self::Each(truths)) | (Self::Each(truths), Self::Same(same)) => {
                Self::Each(truths.into_iter().map(|truth| of(truth, same)).collect())
            }
            (Self::Each(a), Self::Each(b)) => {
                Self::Each(a.into_iter().zip(b).map(|(a, b)| of(a, b)).collect())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn rows() -> impl Strategy<Value = Vec<Option<u64>>> {
        let width = prop_oneof![Just(0), Just(8), Just(16), Just(32), Just(64)];
        (any::<u64>(), width, 0..4_usize).prop_flat_map(|(base, width, nulls)| {
            let value = any::<u64>().prop_map(move |bits| match width {
                0 => base,
                64 => bits,
                width => (base >> 1).wrapping_add(bits >> (64 - width)),
            });
            let weight = [0.999, 0.9, 0.1, 0.001][nulls];
            proptest::collection::vec(proptest::option::weighted(weight, value), 0..40)
        })
    }

    fn packed(rows: &[Option<u64>]) -> Packed {
        let mut values: Vec<u64> = rows.iter().map(|row| row.unwrap_or(7)).collect();
        let mut bits = vec![0; rows.len().div_ceil(8)];
        for (at, row) in rows.iter().enumerate() {
            bits[at / 8] |= u8::from(row.is_some()) << (at % 8);
        }
        let any_missing = rows.iter().any(Option::is_none);
        Packed::pack(&mut values, any_missing.then_some(&bits))
    }

    fn unpacked(packed: &Packed) -> Vec<Option<u64>> {
        let mut values: Vec<u64> = Vec::new();
        packed.unpack(&mut values);
        let valid = packed.validity();
        let is_valid = |row: usize| valid.as_ref().is_none_or(|bits| is_set(bits, row));
        values
            .into_iter()
            .enumerate()
            .map(|(row, value)| is_valid(row).then_some(value))
            .collect()
    }

    proptest! {
        #[test]
        fn values_come_back_as_they_were(rows in rows()) {
            let packed = packed(&rows);
            prop_assert_eq!(packed.rows(), rows.len());
            prop_assert_eq!(unpacked(&packed), rows.clone());
            let each: Vec<Option<u64>> = (0..rows.len()).map(|row| packed.get(row)).collect();
            prop_assert_eq!(each, rows);
        }

        #[test]
        fn conditions_know_three_truths(a in rows(), b in rows(), than in any::<u64>()) {
            let length = a.len().min(b.len());
            let (a, b) = (&a[..length], &b[..length]);
            let each = |truths: Truths| match truths {
                Truths::Same(truth) => vec![truth; length],
                Truths::Each(truths) => truths,
            };
            let number = |truth: Option<bool>| match truth {
                None => UNKNOWN,
                Some(truth) => 2 * u8::from(truth),
            };
            let (p, q) = (packed(a), packed(b));
            let test = |v: u64| v < than;
            let tests = || (p.test(test), q.test(test));
            let both = |of: fn(Option<bool>, Option<bool>) -> Option<bool>| -> Vec<u8> {
                let pairs = a.iter().zip(b);
                pairs.map(|(a, b)| number(of(a.map(test), b.map(test)))).collect()
            };
            let and = |a, b| match (a, b) {
                (Some(false), _) | (_, Some(false)) => Some(false),
                (Some(true), Some(true)) => Some(true),
                _ => None,
            };
            let or = |a, b| match (a, b) {
                (Some(true), _) | (_, Some(true)) => Some(true),
                (Some(false), Some(false)) => Some(false),
                _ => None,
            };
            let (x, y) = tests();
            prop_assert_eq!(each(x.and(y)), both(and));
            let (x, y) = tests();
            prop_assert_eq!(each(x.or(y)), both(or));
            let not: Vec<u8> = a.iter().map(|a| number(a.map(|v| !test(v)))).collect();
            prop_assert_eq!(each(p.test(test).not()), not);
            let there: Vec<u8> = a.iter().map(|a| number(Some(a.is_some()))).collect();
            prop_assert_eq!(each(p.presence()), there);
        }
    }

    #[test]
    fn neighbours_take_few_bytes() {
        let times: Vec<Option<u64>> = (0..8192).map(|row| Some((1 << 40) + row * 7)).collect();
        assert_eq!(packed(&times).bytes(), 2 * 8192);
        assert_eq!(packed(&[Some(9); 100]).bytes(), 0);
        assert_eq!(packed(&[None; 100]).bytes(), 0);
    }
}
