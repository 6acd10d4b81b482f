//! Many numbers in little memory: durations, and other numbers that are mostly small.

use trueno_analysis::hash::FastMap;

/// Numbers in four bytes each; larger ones are in a map.
#[derive(Clone, Debug, Default)]
pub(super) struct Durations {
    short: Vec<u32>,
    long: FastMap<u32, i64>,
}

const LONG: u32 = u32::MAX;
const MISSING: u32 = LONG - 1;

impl Durations {
    pub(super) fn zeros(length: usize) -> Self {
        Self {
            short: vec![0; length],
            long: FastMap::default(),
        }
    }

    pub(super) fn missing(length: usize) -> Self {
        let mut numbers = Self::default();
        numbers.extend_missing(length);
        numbers
    }

    pub(super) fn extend_missing(&mut self, length: usize) {
        self.short.resize(length, MISSING);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.short.is_empty()
    }

    pub(super) fn reserve(&mut self, more: usize) {
        let _ = self.short.try_reserve_exact(more);
    }

    /// A duration; 0 if missing.
    #[inline]
    pub(super) fn ns(&self, at: usize) -> i64 {
        self.get(at).unwrap_or_default()
    }

    #[inline]
    pub(super) fn get(&self, at: usize) -> Option<i64> {
        match *self.short.get(at)? {
            LONG => self.long.get(&(at as u32)).copied(),
            MISSING => None,
            short => Some(i64::from(short)),
        }
    }

    #[inline]
    pub(super) fn push(&mut self, number: i64) {
        self.short.push(0);
        self.set(self.short.len() - 1, number);
    }

    #[inline]
    pub(super) fn set(&mut self, at: usize, number: i64) {
        match u32::try_from(number) {
            Ok(short) if short < MISSING => self.short[at] = short,
            _ => self.set_long(at, number),
        }
    }

    pub(super) fn unset(&mut self, at: usize) {
        self.short[at] = MISSING;
    }

    #[cold]
    fn set_long(&mut self, at: usize, number: i64) {
        self.short[at] = LONG;
        self.long.insert(at as u32, number);
    }

    #[inline]
    pub(super) fn add(&mut self, at: usize, ns: i64) {
        self.set(at, self.ns(at).saturating_add(ns));
    }

    /// `first` zeros, followed by the numbers in the given order.
    pub(super) fn gathered(&self, first: usize, order: &[u32]) -> Self {
        let zeros = std::iter::repeat_n(0, first);
        let of_order = order.iter().map(|at| self.short[*at as usize]);
        let short: Vec<u32> = zeros.chain(of_order).collect();
        let mut long = FastMap::default();
        if !self.long.is_empty() {
            for (at, from) in (first as u32..).zip(order) {
                if self.short[*from as usize] == LONG {
                    long.insert(at, self.ns(*from as usize));
                }
            }
        }
        Self { short, long }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_numbers_come_back() {
        let (missing, long) = (i64::from(MISSING), i64::from(LONG));
        let all = [
            0,
            -1,
            7,
            i64::MAX,
            missing - 1,
            missing,
            long,
            long + 1,
            i64::MIN,
        ];
        let mut numbers = Durations::default();
        all.into_iter().for_each(|number| numbers.push(number));
        let order = [8, 2, 4, 5, 7, 3, 1, 0, 6];
        let gathered = numbers.gathered(2, &order);
        for (at, number) in all.into_iter().enumerate() {
            assert_eq!(numbers.get(at), Some(number));
        }
        assert_eq!((gathered.ns(0), gathered.ns(1)), (0, 0));
        for (at, from) in order.into_iter().enumerate() {
            assert_eq!(gathered.get(2 + at), Some(all[from as usize]));
        }
        for (at, more, sum) in [(4, 1, missing), (3, 1, i64::MAX), (7, -9, long - 8)] {
            numbers.add(at, more);
            assert_eq!(numbers.get(at), Some(sum));
        }
        let mut some = Durations::missing(2);
        some.set(1, long);
        assert_eq!(
            (some.get(0), some.ns(0), some.get(1)),
            (None, 0, Some(long))
        );
        assert_eq!(Durations::default().get(0), None);
    }
}
