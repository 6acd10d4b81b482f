//! An order of segments that respects every edge, in linear time.
//!
//! Lanes are walked side by side; one that meets a dependency on a segment not
//! yet reached stops until it is. The result is a list of stretches of lanes,
//! far shorter than a list of segments.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::ops::Range;

use crate::graph::Graph;

/// Stretches of lanes; every segment comes after all it depends on.
///
/// The times of edges that were let into the graph order their segments, and
/// cycles among segments of one instant were taken out before, so the walk
/// reaches all of them.
pub fn order(graph: &Graph<'_>) -> Vec<Range<u32>> {
    let first = &graph.segments.lane_first;
    let lanes = first.len() - 1;
    let mut reached: Vec<u32> = first[..lanes].to_vec();
    // How many dependencies of the segment a lane stands at are known to be met.
    let mut met = vec![0_usize; lanes];
    // For each lane, which others wait for which of its segments.
    let mut awaited: Vec<BinaryHeap<Reverse<(u32, usize)>>> = vec![BinaryHeap::new(); lanes];
    let mut ready: VecDeque<usize> = (0..lanes).collect();
    let mut out = Vec::new();
    while let Some(lane) = ready.pop_front() {
        let begin = reached[lane];
        'lane: while reached[lane] < first[lane + 1] {
            let sources = graph.sources(reached[lane]);
            while let Some(&source) = sources.get(met[lane]) {
                let other = graph.segments.lane(source);
                if source >= reached[other] {
                    awaited[other].push(Reverse((source, lane)));
                    break 'lane;
                }
                met[lane] += 1;
            }
            reached[lane] += 1;
            met[lane] = 0;
        }
        if begin < reached[lane] {
            out.push(begin..reached[lane]);
        }
        while let Some(&Reverse((source, waiting))) = awaited[lane].peek() {
            if source >= reached[lane] {
                break;
            }
            awaited[lane].pop();
            ready.push_back(waiting);
        }
    }
    debug_assert!(
        (0..lanes).all(|lane| reached[lane] == first[lane + 1]),
        "a cycle among segments"
    );
    out
}
