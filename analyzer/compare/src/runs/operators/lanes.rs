//! Pairs of threads and devices of two runs: those whose operators have most names in common.
//!
//! Numbers of threads say nothing: they are given by the system. All pairs of threads with a name in common stand in
//! the order of how many operators they have in common, by label, then of those with equal labels before others,
//! then of places; each thread is in the first pair of which both are free.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::shapes::Numbered;
use super::tree::OperatorTree;

/// Pairs of indices in the lists of lanes, sorted by the first.
pub(super) fn pair(
    a: (&OperatorTree, &Numbered),
    b: (&OperatorTree, &Numbered),
) -> Vec<(u32, u32)> {
    let (of_a, of_b) = (profiles(a), profiles(b));
    let mut candidates = Vec::new();
    for (x, (label_x, profile_x)) in of_a.iter().enumerate() {
        for (y, (label_y, profile_y)) in of_b.iter().enumerate() {
            let common = in_common(profile_x, profile_y);
            if common > 0 || label_x == label_y {
                candidates.push((Reverse(common), label_x != label_y, x as u32, y as u32));
            }
        }
    }
    candidates.sort_unstable();
    let (mut free_a, mut free_b) = (vec![true; of_a.len()], vec![true; of_b.len()]);
    let mut pairs = Vec::new();
    for (_, _, x, y) in candidates {
        let (free_x, free_y) = (&mut free_a[x as usize], &mut free_b[y as usize]);
        if *free_x && *free_y {
            (*free_x, *free_y) = (false, false);
            pairs.push((x, y));
        }
    }
    pairs.sort_unstable();
    pairs
}

type Profile = BTreeMap<u32, u64>;

fn profiles((tree, numbered): (&OperatorTree, &Numbered)) -> Vec<(u32, Profile)> {
    let lanes = tree.children(0).into_iter();
    lanes
        .map(|lane| {
            let mut profile = Profile::new();
            for at in lane + 1..lane + tree.operators[lane as usize].size {
                let calls = u64::from(tree.operators[at as usize].calls);
                *profile.entry(numbered.labels[at as usize]).or_default() += calls;
            }
            (numbered.labels[lane as usize], profile)
        })
        .collect()
}

fn in_common(a: &Profile, b: &Profile) -> u64 {
    let (few, many) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    few.iter()
        .map(|(label, calls)| (*calls).min(many.get(label).copied().unwrap_or(0)))
        .sum()
}
