//! Dependencies between the nodes of a replayed graph.
//!
//! A row of a replay has the number of a node of the instantiated graph; edges are between nodes of the program's
//! graph, which that is a clone of. A node that has no row (an event, a host function, an empty node, a graph in the
//! graph) passes on what it waits for. Rows of one launch have its correlation.

use std::collections::{HashMap, HashSet};

use super::build::{Build, Interval};
use crate::Error;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Node {
    correlation: u32,
    node: u64,
    id: u64,
    start: i64,
    end: i64,
}

const MAX_CLONES: usize = 16;
/// Limit for the rows that one row waits for through nodes without a row.
const MAX_THROUGH: usize = 64;

#[derive(Debug, Default, PartialEq, Eq)]
struct Found {
    /// Ids of the row that ended and of the row that began then.
    edges: Vec<(u64, u64)>,
    /// Nodes with several rows in one launch, so it is unknown which one was waited for.
    ambiguous: u64,
    /// Edges whose later row began before the earlier one ended. That is allowed: a programmatic dependency lets it. On an
    /// H200 some overlap by 32 ns, a step of its clock.
    early: u64,
    /// Rows that wait for too many others through nodes without a row.
    wide: u64,
}

fn find(mut rows: Vec<Node>, clones: &HashMap<u64, u64>, edges: &[(u64, u64)]) -> Found {
    let mut found = Found::default();
    let mut before: HashMap<u64, Vec<u64>> = HashMap::new();
    let mut nodes = HashSet::new();
    let mut unique = HashSet::new();
    // A graph that is instantiated twice has its edges twice.
    for (from, to) in edges.iter().filter(|edge| unique.insert(**edge)) {
        nodes.extend([*from, *to]);
        before.entry(*to).or_default().push(*from);
    }
    // The node that edges know.
    let known = |node: u64| {
        let clone_of = |node: &u64| clones.get(node).copied();
        let mut chain = std::iter::successors(Some(node), clone_of).take(MAX_CLONES);
        chain.find(|node| nodes.contains(node))
    };
    rows.sort_by_key(|row| (row.correlation, row.id));
    for launch in rows.chunk_by(|a, b| a.correlation == b.correlation) {
        let mut of_node: HashMap<u64, Option<&Node>> = HashMap::new();
        for row in launch {
            if let Some(node) = known(row.node) {
                let is_new = of_node.insert(node, Some(row)).is_none();
                if !is_new {
                    of_node.insert(node, None);
                }
            }
        }
        found.ambiguous += of_node.values().filter(|row| row.is_none()).count() as u64;
        for row in launch {
            let Some(node) = known(row.node).filter(|node| of_node[node] == Some(row)) else {
                continue;
            };
            let mut earlier: Vec<&Node> = Vec::new();
            let mut through = Vec::new();
            let mut seen = HashSet::from([node]);
            let mut open: Vec<(u64, bool)> = vec![(node, true)];
            while let Some((at, is_direct)) = open.pop() {
                for from in before.get(&at).into_iter().flatten() {
                    if !seen.insert(*from) {
                        continue;
                    }
                    match of_node.get(from) {
                        Some(Some(row)) if is_direct => earlier.push(*row),
                        Some(Some(row)) => through.push(*row),
                        Some(None) => {}
                        None => open.push((*from, false)),
                    }
                }
                if through.len() > MAX_THROUGH {
                    break;
                }
            }
            if through.len() > MAX_THROUGH {
                found.wide += 1;
            } else {
                earlier.extend(through);
            }
            earlier.sort_by_key(|row| row.id);
            for from in earlier {
                if from.end <= row.start {
                    found.edges.push((from.id, row.id));
                } else {
                    found.early += 1;
                }
            }
        }
    }
    found
}

impl Build {
    /// Remembers the row of a node; node 0 means none.
    pub(super) fn node(&mut self, correlation: u32, node: u64, id: u64, interval: Interval) {
        if correlation != 0 && node != 0 && !self.from.graph_edges.is_empty() {
            self.nodes.push(Node {
                correlation,
                node,
                id,
                start: interval.start,
                end: interval.start + interval.dur,
            });
        }
    }

    pub(super) fn graph_edges(&mut self) -> Result<(), Error> {
        let rows = std::mem::take(&mut self.nodes);
        let found = find(rows, &self.from.graph_clones, &self.from.graph_edges);
        if found.early > 0 {
            let text = format!(
                "{} left out: the later node began before the earlier one had ended (programmatic dependent launch, or one \
                 step of the device's clock)",
                found.early
            );
            let values = &mut self.into.run().values;
            values.insert("graphs.edges_early".to_owned(), text);
        }
        for (what, count) in [
            ("a launch has several rows of one node", found.ambiguous),
            (
                "a node waits for more than 64 others through nodes that are not recorded",
                found.wide,
            ),
        ] {
            if count > 0 {
                self.invalid
                    .insert(format!("edges of graphs: {what}"), count);
            }
        }
        for (from, to) in found.edges {
            self.edge(from, to, "depends_on")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(correlation: u32, node: u64, start: i64) -> Node {
        Node {
            correlation,
            node,
            id: u64::from(correlation) * 100 + node % 100,
            start,
            end: start + 10,
        }
    }

    /// Node 0 precedes 1 and 2; both precede 5, which has no row; 5 precedes 3.
    const DIAMOND: [(u64, u64); 5] = [(100, 101), (100, 102), (101, 105), (102, 105), (105, 103)];

    fn clones() -> HashMap<u64, u64> {
        (200..206).map(|clone| (clone, clone - 100)).collect()
    }

    #[test]
    fn each_launch_has_the_edges_of_its_graph() {
        let launch = |correlation, at| {
            [(200, 0i64), (201, 10), (202, 12), (203, 30)]
                .map(|(node, start)| row(correlation, node, at + start))
        };
        let rows = [launch(7, 0), launch(8, 100)].concat();
        let found = find(rows, &clones(), &DIAMOND);
        let of = |n: u64| [(n, n + 1), (n, n + 2), (n + 1, n + 3), (n + 2, n + 3)];
        assert_eq!(found.edges, [of(700), of(800)].concat());
        assert_eq!((found.ambiguous, found.early, found.wide), (0, 0, 0));
    }

    #[test]
    fn what_cannot_be_told_is_counted_and_is_no_edge() {
        let rows = vec![row(7, 200, 0), row(7, 201, 9), row(7, 202, 10)];
        let found = find(rows, &clones(), &DIAMOND);
        assert_eq!(found.edges, [(700, 702)], "1 began too early");
        assert_eq!(found.early, 1);
        let mut twice = vec![row(7, 200, 0), row(7, 200, 0), row(7, 201, 20)];
        twice[1].id = 777;
        let found = find(twice, &clones(), &DIAMOND);
        assert_eq!((found.edges.len(), found.ambiguous), (0, 1));
        let strange = vec![row(7, 300, 0), row(7, 301, 20)];
        assert_eq!(find(strange, &clones(), &DIAMOND), Found::default());
    }

    #[test]
    fn clones_of_clones_are_followed_and_circles_end() {
        let clones = HashMap::from([(300, 200), (200, 100), (301, 201), (201, 101)]);
        let rows = vec![row(7, 300, 0), row(7, 301, 10)];
        assert_eq!(find(rows, &clones, &DIAMOND).edges, [(700, 701)]);
        let circle = HashMap::from([(300, 301), (301, 300)]);
        let rows = vec![row(7, 300, 0), row(7, 301, 10)];
        assert_eq!(find(rows, &circle, &DIAMOND), Found::default());
        let round = [(100, 101), (101, 100), (101, 102)];
        let rows = vec![row(7, 102, 10)];
        assert_eq!(find(rows, &HashMap::new(), &round), Found::default());
    }

    #[test]
    fn a_wide_crossing_of_nodes_without_rows_is_counted() {
        let most = MAX_THROUGH as u64;
        let into = (1..=most + 2).map(|node| (node, 1_000));
        let edges: Vec<(u64, u64)> = into.chain([(1_000, 2_000), (1, 2_000)]).collect();
        let mut rows: Vec<Node> = (1..=most + 2).map(|node| row(7, node, 0)).collect();
        rows.push(Node {
            id: 9_999,
            ..row(7, 2_000, 10)
        });
        let found = find(rows.clone(), &HashMap::new(), &edges);
        assert_eq!((found.edges, found.wide), (vec![(701, 9_999)], 1));
        rows.remove(1);
        let found = find(rows, &HashMap::new(), &edges);
        assert_eq!((found.edges.len() as u64, found.wide), (most + 1, 0));
    }

    /// True if one node leads to another over nodes without rows. Tries every path.
    fn leads(from: u64, to: u64, edges: &[(u64, u64)], has_row: &[bool]) -> bool {
        edges.iter().any(|(a, b)| {
            *a == from && (*b == to || !has_row[*b as usize] && leads(*b, to, edges, has_row))
        })
    }

    proptest::proptest! {
        #[test]
        fn edges_are_the_ways_over_nodes_without_rows(
            pairs in proptest::collection::vec((0u64..9, 0u64..9), 0..24),
            has_row in proptest::collection::vec(proptest::bool::weighted(0.6), 9),
        ) {
            let edges: Vec<(u64, u64)> = pairs
                .into_iter()
                .filter(|(a, b)| a != b)
                .map(|(a, b)| (a.min(b), a.max(b)))
                .collect();
            let with_row = || (0..9).filter(|node| has_row[*node as usize]);
            let rows: Vec<Node> = with_row()
                .map(|node| Node { correlation: 7, node, id: node, start: node as i64 * 10, end: node as i64 * 10 + 10 })
                .collect();
            let mut found = find(rows, &HashMap::new(), &edges).edges;
            found.sort_unstable();
            let ways = with_row().flat_map(|a| with_row().map(move |b| (a, b)));
            let expected: Vec<(u64, u64)> = ways.filter(|(a, b)| leads(*a, *b, &edges, &has_row)).collect();
            proptest::prop_assert_eq!(found, expected);
        }
    }
}
