//! Sets of times as sorted ranges without overlap.

/// Half-open ranges of nanoseconds.
pub type Ranges = Vec<(i64, i64)>;

/// Sums that stay at the ends of their type: no time is that long, and a table may say anything.
pub trait Total: Iterator<Item = i64> + Sized {
    /// The sum.
    fn total(self) -> i64 {
        self.fold(0, i64::saturating_add)
    }
}

impl<I: Iterator<Item = i64>> Total for I {}

/// The same times; ranges that touch become one.
pub fn union(mut ranges: Ranges) -> Ranges {
    ranges.sort_unstable();
    let mut out: Ranges = Vec::with_capacity(ranges.len());
    for (from, to) in ranges {
        match out.last_mut() {
            Some(last) if from <= last.1 => last.1 = last.1.max(to),
            _ if from < to => out.push((from, to)),
            _ => {}
        }
    }
    out
}

/// How long they are together.
pub fn total(ranges: &[(i64, i64)]) -> i64 {
    ranges
        .iter()
        .map(|(from, to)| to.saturating_sub(*from))
        .total()
}

/// How long `ranges` (as [`union`] gives them) are within `from..to`.
pub fn within(ranges: &[(i64, i64)], from: i64, to: i64) -> i64 {
    let first = ranges.partition_point(|range| range.1 <= from);
    ranges[first..]
        .iter()
        .take_while(|range| range.0 < to)
        .map(|range| range.1.min(to).saturating_sub(range.0.max(from)))
        .total()
}

/// How long both go on at once.
pub fn common(a: &[(i64, i64)], b: &[(i64, i64)]) -> i64 {
    a.iter().map(|(from, to)| within(b, *from, *to)).total()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_of_times() {
        let a = union(vec![(5, 9), (0, 3), (3, 4), (8, 12), (20, 20)]);
        assert_eq!(a, [(0, 4), (5, 12)]);
        assert_eq!(
            (total(&a), within(&a, 2, 6), within(&a, 12, 30)),
            (11, 3, 0)
        );
        assert_eq!(common(&a, &[(3, 6), (11, 40)]), 3);
    }
}
