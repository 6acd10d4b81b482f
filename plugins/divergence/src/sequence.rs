//! Pairs that the two runs recorded in another order.
//!
//! Of the pairs that lie on one thread of each run, the longest run of those in the same order stays
//! as it is (a longest non-decreasing subsequence); the fewest possible others count as moved.

use std::collections::BTreeMap;

use crate::align::Item;
use crate::judge::Judged;
use crate::rows::{NONE, Side};

/// Time on each side, and index of the item.
type Times = (i64, i64, u32);

/// Marks the pairs whose order changed between the runs.
pub fn order_changed(sides: [&Side; 2], items: &[Item], judged: &mut [Judged]) {
    let mut lanes: BTreeMap<(i64, i64), Vec<Times>> = BTreeMap::new();
    for (at, item) in items.iter().enumerate() {
        if item.rows.contains(&NONE) {
            continue;
        }
        let [a, b] = item.rows.map(|row| row as usize);
        let lane = (sides[0].thread[a], sides[1].thread[b]);
        let times = (sides[0].time_ns[a], sides[1].time_ns[b], at as u32);
        lanes.entry(lane).or_default().push(times);
    }
    for lane in lanes.values_mut() {
        if !lane.is_sorted() {
            lane.sort_unstable();
        }
        if lane.is_sorted_by_key(|pair| pair.1) {
            continue;
        }
        let stays = longest_in_order(&lane.iter().map(|pair| pair.1).collect::<Vec<_>>());
        for (pair, stays) in lane.iter().zip(stays) {
            judged[pair.2 as usize].order_changed = !stays;
        }
    }
}

/// Marks the values of a longest non-decreasing subsequence, by patience sorting in O(n log n).
pub fn longest_in_order(values: &[i64]) -> Vec<bool> {
    let mut ends: Vec<usize> = Vec::new();
    let mut before = vec![usize::MAX; values.len()];
    for (at, value) in values.iter().enumerate() {
        let pile = ends.partition_point(|end| values[*end] <= *value);
        if pile > 0 {
            before[at] = ends[pile - 1];
        }
        if pile == ends.len() {
            ends.push(at);
        } else {
            ends[pile] = at;
        }
    }
    let mut stays = vec![false; values.len()];
    let mut at = ends.last().copied().unwrap_or(usize::MAX);
    while at != usize::MAX {
        stays[at] = true;
        at = before[at];
    }
    stays
}
