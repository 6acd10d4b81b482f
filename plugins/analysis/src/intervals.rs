//! Sets of times, or of addresses, as sorted half-open ranges.
//!
//! ```
//! use trueno_analysis::intervals::IntervalSet;
//!
//! // Busy times of two lanes, in any order; what overlaps or touches becomes one.
//! let host: IntervalSet<i64> = [(60, 90), (0, 30), (20, 50)].into_iter().collect();
//! let device: IntervalSet<i64> = [(40, 70)].into_iter().collect();
//! assert_eq!(host.ranges(), [(0, 50), (60, 90)]);
//! assert_eq!(host.total_ns(), 80);
//! assert_eq!(host.intersection(&device).ranges(), [(40, 50), (60, 70)]);
//! assert_eq!(device.difference(&host).ranges(), [(50, 60)]);
//! assert_eq!(host.within_ns(45, 65), 10);
//! ```

/// Sums that stay at the ends of their type: no time is that long, and a table may say anything.
pub trait SaturatingSum: Iterator<Item = i64> + Sized {
    /// The sum, which saturates instead of overflowing.
    fn saturating_sum(self) -> i64 {
        self.fold(0, i64::saturating_add)
    }
}

impl<I: Iterator<Item = i64>> SaturatingSum for I {}

/// A set of instants, or of addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IntervalSet<T> {
    /// Sorted; none is empty or touches the next.
    ranges: Vec<(T, T)>,
}

impl<T> Default for IntervalSet<T> {
    fn default() -> Self {
        Self { ranges: Vec::new() }
    }
}

/// An [`IntervalSet`] in the making, from intervals in any order.
///
/// Spans are recorded when they end, so the intervals of a thread come sorted by end, those inside
/// another right before it. An interval therefore swallows the last pieces as long as it touches
/// them, and what remains is few and sorted, but for the joints between threads:
///
/// ```text
///   recorded:  aa  bb    cccccccc (around both)  dd
///   pieces:    [a]  [a][b]  [c]  [c][d]
/// ```
#[derive(Clone, Debug)]
pub struct IntervalSetBuilder<T> {
    pieces: Vec<(T, T)>,
    /// Disjoint pieces that [`seal`](Self::seal) moved here.
    sealed: IntervalSet<T>,
    /// Index of the sealed range that contained the previous interval.
    sealed_at: usize,
}

impl<T> Default for IntervalSetBuilder<T> {
    fn default() -> Self {
        Self {
            pieces: Vec::new(),
            sealed: IntervalSet::default(),
            sealed_at: 0,
        }
    }
}

impl<T: Copy + Ord> IntervalSetBuilder<T> {
    /// Sorts what was added. Intervals that lie in it take no memory from here on: the kernels of bricks that
    /// were added before.
    pub fn seal(&mut self) {
        self.sealed = std::mem::take(self).finish();
    }

    #[inline]
    fn is_sealed(&mut self, from: T, to: T) -> bool {
        let ranges = self.sealed.ranges();
        let has = |range: &(T, T)| range.0 <= from && to <= range.1;
        // Most lie in the same range as the one before, or in the next.
        for at in [self.sealed_at, self.sealed_at + 1] {
            if ranges.get(at).is_some_and(has) {
                self.sealed_at = at;
                return true;
            }
        }
        self.sealed_at = ranges.partition_point(|range| range.1 < to);
        ranges.get(self.sealed_at).is_some_and(has)
    }

    /// Adds an interval; one that is empty or ends before it begins adds nothing.
    #[inline]
    pub fn add(&mut self, mut from: T, mut to: T) {
        if from >= to || (!self.sealed.is_empty() && self.is_sealed(from, to)) {
            return;
        }
        while let Some(&last) = self.pieces.last()
            && last.0 <= to
            && from <= last.1
        {
            (from, to) = (from.min(last.0), to.max(last.1));
            self.pieces.pop();
        }
        self.pieces.push((from, to));
    }

    /// The union of all that was added.
    pub fn finish(mut self) -> IntervalSet<T> {
        self.pieces.append(&mut self.sealed.ranges);
        // A stable sort merges runs that are in order, of which each lane makes one.
        self.pieces.sort();
        let mut kept = 0;
        for at in 0..self.pieces.len() {
            let (from, to) = self.pieces[at];
            if kept > 0 && from <= self.pieces[kept - 1].1 {
                self.pieces[kept - 1].1 = self.pieces[kept - 1].1.max(to);
            } else {
                self.pieces[kept] = (from, to);
                kept += 1;
            }
        }
        self.pieces.truncate(kept);
        IntervalSet {
            ranges: self.pieces,
        }
    }
}

impl<T: Copy + Ord> FromIterator<(T, T)> for IntervalSet<T> {
    fn from_iter<I: IntoIterator<Item = (T, T)>>(intervals: I) -> Self {
        let mut builder = IntervalSetBuilder::default();
        for (from, to) in intervals {
            builder.add(from, to);
        }
        builder.finish()
    }
}

impl<T: Copy + Ord> IntervalSet<T> {
    /// The ranges in order; none is empty, and between two is a gap.
    pub fn ranges(&self) -> &[(T, T)] {
        &self.ranges
    }

    /// True if nothing is in it.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// The ranges that have something in common with `from..to`.
    pub fn overlapping(&self, from: T, to: T) -> impl Iterator<Item = (T, T)> + '_ {
        let first = self.ranges.partition_point(|range| range.1 <= from);
        let rest = self.ranges[first..].iter().copied();
        rest.take_while(move |range| from < to && range.0 < to)
    }

    /// The set of what is in both.
    pub fn intersection(&self, other: &Self) -> Self {
        let common = |(from, to): &(T, T)| {
            let (from, to) = (*from, *to);
            let parts = other.overlapping(from, to);
            parts.map(move |part| (part.0.max(from), part.1.min(to)))
        };
        Self {
            ranges: self.ranges.iter().flat_map(common).collect(),
        }
    }

    /// The set of what is in this and not in the other.
    pub fn difference(&self, other: &Self) -> Self {
        let mut ranges = Vec::new();
        for &(mut from, to) in &self.ranges {
            for part in other.overlapping(from, to) {
                if from < part.0 {
                    ranges.push((from, part.0));
                }
                from = part.1;
            }
            if from < to {
                ranges.push((from, to));
            }
        }
        Self { ranges }
    }
}

impl IntervalSet<i64> {
    /// Length of its ranges together.
    pub fn total_ns(&self) -> i64 {
        let lengths = self
            .ranges
            .iter()
            .map(|(from, to)| to.saturating_sub(*from));
        lengths.saturating_sum()
    }

    /// Length of its ranges within `from..to`.
    pub fn within_ns(&self, from_ns: i64, to_ns: i64) -> i64 {
        self.overlapping(from_ns, to_ns)
            .map(|(from, to)| to.min(to_ns).saturating_sub(from.max(from_ns)))
            .saturating_sum()
    }

    /// Length of what is in both.
    pub fn common_ns(&self, other: &Self) -> i64 {
        let each = self
            .ranges
            .iter()
            .map(|(from, to)| other.within_ns(*from, *to));
        each.saturating_sum()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn set(rows: &[(i64, i64)]) -> IntervalSet<i64> {
        rows.iter()
            .map(|(start, dur)| (*start, start + dur))
            .collect()
    }

    proptest! {
        /// Reference implementation: counts instants one by one.
        #[test]
        fn as_by_painting(
            a in prop::collection::vec((0..60_i64, -3..20_i64), 0..20),
            b in prop::collection::vec((0..60_i64, 0..20_i64), 0..20),
            (from, to) in (-5..90_i64, -5..90_i64),
        ) {
            let covers = |rows: &[(i64, i64)], now: i64| rows.iter().any(|(start, dur)| *start <= now && now < start + dur);
            let instants = |set: &IntervalSet<i64>| set.ranges().iter().flat_map(|(from, to)| *from..*to).collect::<Vec<_>>();
            let painted = |is: &dyn Fn(bool, bool) -> bool| {
                (0..90).filter(|now| is(covers(&a, *now), covers(&b, *now))).collect::<Vec<_>>()
            };
            let (left, right) = (set(&a), set(&b));
            prop_assert_eq!(instants(&left), painted(&|a, _| a));
            prop_assert!(left.ranges().windows(2).all(|pair| pair[0].1 < pair[1].0));
            prop_assert_eq!(instants(&left.intersection(&right)), painted(&|a, b| a && b));
            prop_assert_eq!(instants(&left.difference(&right)), painted(&|a, b| a && !b));
            let mut both = IntervalSetBuilder::default();
            a.iter().for_each(|(start, dur)| both.add(*start, start + dur));
            both.seal();
            b.iter().for_each(|(start, dur)| both.add(*start, start + dur));
            prop_assert_eq!(instants(&both.finish()), painted(&|a, b| a || b));
            prop_assert_eq!(left.total_ns(), instants(&left).len() as i64);
            prop_assert_eq!(left.common_ns(&right), instants(&left.intersection(&right)).len() as i64);
            let inside = instants(&left).into_iter().filter(|now| (from..to).contains(now)).count();
            prop_assert_eq!(left.within_ns(from, to), inside as i64);
        }
    }

    #[test]
    fn sums_stay_in_range() {
        let all = set(&[(i64::MIN, i64::MAX), (-1, i64::MAX)]);
        assert_eq!(all.total_ns(), i64::MAX);
    }
}
