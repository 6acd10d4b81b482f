//! Time in which at least one of many intervals was open.

/// Length of the union of half-open intervals `(start, end)`; replaces them by
/// the union itself, latest first. Negative durations must not be among them.
///
/// Intervals mostly come in the order of their ends, in which a stable sort
/// takes one pass; from the last end back, each adds what lies before all
/// later ones.
pub fn union(intervals: &mut Vec<(i64, i64)>) -> i64 {
    intervals.sort_by_key(|interval| interval.1);
    intervals.reverse();
    let mut kept = 0_usize;
    for at in 0..intervals.len() {
        let (start, end) = intervals[at];
        match kept.checked_sub(1).map(|last: usize| intervals[last]) {
            Some((last_start, last_end)) if last_start <= end => {
                intervals[kept - 1] = (last_start.min(start), last_end);
            }
            _ => {
                intervals[kept] = (start, end);
                kept += 1;
            }
        }
    }
    intervals.truncate(kept);
    // As wide as the sum may be, a window is not.
    intervals.iter().fold(0, |sum: i64, (start, end)| {
        sum.saturating_add(end.saturating_sub(*start))
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn as_by_painting(rows in prop::collection::vec((-20..60_i64, 0..20_i64), 0..30)) {
            let mut intervals: Vec<(i64, i64)> = rows.iter().map(|(start, dur)| (*start, start + dur)).collect();
            let covered = |t: &i64| rows.iter().any(|(start, dur)| start <= t && *t < start + dur);
            let painted = (-20..80).filter(covered).count() as i64;
            prop_assert_eq!(union(&mut intervals), painted);
            prop_assert!(intervals.windows(2).all(|pair| pair[1].1 < pair[0].0));
        }
    }
}
