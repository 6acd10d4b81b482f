//! Filter of nodes by a word.

use super::{Graph, NONE};

/// Keeps matching nodes, their ancestors and descendants.
#[derive(Clone, Debug)]
pub struct Filter {
    kept: Vec<bool>,
    pub fits: usize,
}

impl Filter {
    /// `text` is the beginning of a lane's name up to the end of a word (`thread 1`, `gpu0`), which keeps all
    /// rows of the lane, or any part of a row's name. Case is ignored.
    pub fn new(graph: &Graph, text: &str) -> Filter {
        let text = text.to_lowercase();
        let lanes: Vec<bool> = graph
            .lanes
            .iter()
            .map(|lane| begins(&lane.name.to_lowercase(), &text))
            .collect();
        let names: Vec<bool> = graph
            .names
            .iter()
            .map(|name| name.to_lowercase().contains(&text))
            .collect();
        let rows = graph.lanes.len();
        let nodes = &graph.nodes;
        let fits = |at: usize| {
            if graph.hides(nodes.classes[at]) {
                return false;
            }
            lanes[nodes.lanes[at] as usize] || (at >= rows && names[nodes.names[at] as usize])
        };
        let mut kept = vec![false; nodes.len()];
        let mut count = 0;
        let mut open = Vec::new();
        for at in (0..nodes.len()).filter(|at| fits(*at)) {
            count += usize::from(at >= rows);
            let mut up = nodes.parents[at];
            while up != NONE && !kept[up as usize] {
                kept[up as usize] = true;
                up = nodes.parents[up as usize];
            }
            open.push(at as u32);
        }
        let mut below = vec![false; nodes.len()];
        while let Some(at) = open.pop() {
            if std::mem::replace(&mut below[at as usize], true) {
                continue;
            }
            kept[at as usize] = true;
            // What runs on a lane hangs elsewhere, too, and fits itself.
            if (at as usize) >= rows {
                open.extend_from_slice(graph.children(at));
            }
        }
        Filter { kept, fits: count }
    }

    pub fn keeps(&self, at: u32) -> bool {
        self.kept[at as usize]
    }
}

fn begins(name: &str, text: &str) -> bool {
    !text.is_empty()
        && name
            .strip_prefix(text)
            .is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
}
