//! Gains of pieces of work that may go on at the same time.

/// Largest total saving of pieces that do not overlap (weighted interval scheduling). Overlapping pieces are never
/// one after the other on a path, so only one of them counts. An empty range overlaps nothing.
pub fn one_after_another(mut pieces: Vec<((i64, i64), i64)>) -> i64 {
    pieces.sort_unstable_by_key(|((from, to), _)| (*to, *from));
    // By number of pieces looked at: the best of those.
    let mut best = vec![0_i64];
    for (at, ((from, _), saved)) in pieces.iter().enumerate() {
        let before = pieces[..at].partition_point(|((_, to), _)| to <= from);
        best.push(best[at].max(best[before].saturating_add(*saved)));
    }
    best.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_overlaps_is_not_added_up() {
        let mut number = 7_u64;
        let mut next = |below: u64| {
            number = number
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            ((number >> 33) % below) as i64
        };
        for _ in 0..200 {
            let pieces: Vec<((i64, i64), i64)> = (0..9)
                .map(|_| {
                    let from = next(30);
                    ((from, from + 1 + next(9)), next(20))
                })
                .collect();
            let is_path = |some: &[((i64, i64), i64)]| {
                let apart = |a: (i64, i64), b: (i64, i64)| a.1 <= b.0 || b.1 <= a.0;
                let pairs = some.iter().enumerate();
                pairs
                    .clone()
                    .all(|(i, a)| pairs.clone().all(|(k, b)| i == k || apart(a.0, b.0)))
            };
            let subset = |bits: usize| -> Vec<((i64, i64), i64)> {
                let of = pieces.iter().enumerate();
                of.filter(|(at, _)| bits >> at & 1 == 1)
                    .map(|one| *one.1)
                    .collect()
            };
            let all = (0..1 << pieces.len())
                .map(subset)
                .filter(|some| is_path(some));
            let most = all.map(|some| some.iter().map(|one| one.1).sum()).max();
            assert_eq!(Some(one_after_another(pieces.clone())), most, "{pieces:?}");
        }
        assert_eq!(one_after_another(Vec::new()), 0);
    }
}
