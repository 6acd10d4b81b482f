//! An order of segments that respects every edge, in linear time.
//!
//! Lanes are walked side by side; one that meets a dependency on a segment not
//! yet reached stops until it is. The result is a list of stretches of lanes,
//! far shorter than a list of segments.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::ops::Range;

use crate::graph::dependency_graph::Graph;

/// Returns ranges of segments, each within a lane, in which every segment comes after all it depends on. Also
/// returns the dependencies dropped to break cycles, as indexes into [`Graph::sources`]. Times already order all
/// segments except those of one instant. Of lanes that wait for each other in a cycle, the one at the earliest
/// segment loses its dependency.
pub fn order(graph: &Graph<'_>) -> (Vec<Range<u32>>, Vec<usize>) {
    let first = &graph.segments.lane_first;
    let lanes = first.len() - 1;
    let mut reached: Vec<u32> = first[..lanes].to_vec();
    // How many dependencies of the segment a lane stands at are known to be met.
    let mut met = vec![0_usize; lanes];
    // For each lane, which others wait for which of its segments.
    let mut awaited: Vec<BinaryHeap<Reverse<(u32, usize)>>> = vec![BinaryHeap::new(); lanes];
    let mut ready: VecDeque<usize> = (0..lanes).collect();
    let (mut out, mut let_go) = (Vec::new(), Vec::new());
    loop {
        let Some(lane) = ready.pop_front() else {
            let Some(stuck) = (0..lanes).find(|&lane| reached[lane] < first[lane + 1]) else {
                return (out, let_go);
            };
            let waits_for = |lane: usize| {
                let source = graph.sources(reached[lane])[met[lane]];
                graph.segments.lane(source)
            };
            let circle = circle(stuck, lanes, waits_for);
            let earliest = circle.into_iter().min_by_key(|&lane| {
                let segment = reached[lane];
                (graph.segments.start_ns(segment as usize), segment)
            });
            let lane = earliest.unwrap_or(stuck);
            let_go.push(graph.edges(reached[lane]).start + met[lane]);
            met[lane] += 1;
            ready.push_back(lane);
            continue;
        };
        let begin = reached[lane];
        'lane: while reached[lane] < first[lane + 1] {
            let target = graph.targets().next(reached[lane], first[lane + 1]);
            let Some(target) = target else {
                reached[lane] = first[lane + 1];
                break;
            };
            reached[lane] = target;
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
}

/// The cycle of waiting lanes reached from lane `from`.
fn circle(from: usize, lanes: usize, waits_for: impl Fn(usize) -> usize) -> Vec<usize> {
    // After as many steps as there are lanes, one is in the circle for certain.
    let inside = (0..lanes).fold(from, |lane, _| waits_for(lane));
    let mut out = vec![inside];
    let mut lane = waits_for(inside);
    while lane != inside {
        out.push(lane);
        lane = waits_for(lane);
    }
    out
}
