//! Lengths of sets of intervals.

/// Time in which at least one, and in which exactly one of several sets of intervals is active. Intervals are
/// `(set, start, end)`. Overlapping intervals of one set count once.
pub fn any_and_alone(intervals: &[(u32, i64, i64)]) -> (i64, i64) {
    let mut ends: Vec<(i64, i8, u32)> = Vec::with_capacity(2 * intervals.len());
    for (set, start, end) in intervals.iter().filter(|(_, start, end)| start < end) {
        ends.push((*start, 1, *set));
        ends.push((*end, -1, *set));
    }
    ends.sort_unstable();
    let mut open: std::collections::HashMap<u32, i32> = std::collections::HashMap::new();
    let (mut sets, mut any, mut alone, mut before) = (0, 0, 0, 0);
    for (time, step, set) in ends {
        if sets > 0 {
            any += time - before;
        }
        if sets == 1 {
            alone += time - before;
        }
        before = time;
        let count = open.entry(set).or_default();
        let was = *count > 0;
        *count += i32::from(step);
        match (was, *count > 0) {
            (false, true) => sets += 1,
            (true, false) => sets -= 1,
            _ => {}
        }
    }
    (any, alone)
}

#[cfg(test)]
mod tests {
    use super::any_and_alone;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn as_counting_each_instant(
            intervals in proptest::collection::vec((0..3_u32, 0..40_i64, 0..15_i64), 0..12)
        ) {
            let intervals: Vec<_> = intervals.into_iter().map(|(s, a, d)| (s, a, a + d)).collect();
            let at = |t: i64| {
                let holds = |set| intervals.iter().any(|(s, a, b)| *s == set && *a <= t && t < *b);
                (0..3).filter(|set| holds(*set)).count()
            };
            let any = (0..60).filter(|t| at(*t) > 0).count() as i64;
            let alone = (0..60).filter(|t| at(*t) == 1).count() as i64;
            prop_assert_eq!(any_and_alone(&intervals), (any, alone));
        }
    }
}
