//! The tree of callers: links that cannot be are cut, so that each walk ends.

pub const NONE: u32 = u32::MAX;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tree {
    /// Caller of each node; [`NONE`] for roots.
    pub caller: Vec<u32>,
    /// Number of callers above a node.
    pub depth: Vec<u32>,
    /// Nodes that lay on a cycle of callers. They became roots.
    pub circular: u64,
}

impl Tree {
    pub fn new(mut caller: Vec<u32>) -> Self {
        let circular = cut_circles(&mut caller);
        let depth = depths(&caller);
        Self {
            caller,
            depth,
            circular,
        }
    }

    /// For each node, the nearest of itself and its callers that satisfies `holds`, or the root if none does.
    pub fn nearest(&self, holds: impl Fn(u32) -> bool) -> Vec<u32> {
        let mut nearest: Vec<u32> = (0..self.caller.len() as u32).collect();
        let mut callers_first = nearest.clone();
        callers_first.sort_unstable_by_key(|node| self.depth[*node as usize]);
        for node in callers_first {
            let caller = self.caller[node as usize];
            if caller != NONE && !holds(node) {
                nearest[node as usize] = nearest[caller as usize];
            }
        }
        nearest
    }

    /// By node: true if no caller above it has the same label. A stack with recursion has one such node per
    /// label.
    pub fn outermost(&self, label: &[u32]) -> Vec<bool> {
        let labels = label
            .iter()
            .copied()
            .max()
            .map_or(0, |max| max as usize + 1);
        let children = Children::new(&self.caller);
        let mut is_open = vec![false; labels];
        let mut out = vec![false; self.caller.len()];
        // A node on the path from a root, and its children that are left.
        let mut path: Vec<(u32, &[u32])> = Vec::new();
        let mut enter = |node: u32, is_open: &mut [bool]| {
            let is_first = !std::mem::replace(&mut is_open[label[node as usize] as usize], true);
            out[node as usize] = is_first;
            is_first
        };
        let mut is_opener: Vec<bool> = Vec::new();
        for root in (0..self.caller.len() as u32).filter(|node| self.caller[*node as usize] == NONE)
        {
            is_opener.push(enter(root, &mut is_open));
            path.push((root, children.of(root)));
            while let Some((node, left)) = path.last_mut() {
                if let Some((child, rest)) = left.split_first() {
                    *left = rest;
                    is_opener.push(enter(*child, &mut is_open));
                    path.push((*child, children.of(*child)));
                } else {
                    if is_opener.pop() == Some(true) {
                        is_open[label[*node as usize] as usize] = false;
                    }
                    path.pop();
                }
            }
        }
        out
    }
}

/// Turns nodes on a cycle into roots and returns their number. Nodes below a cycle keep their callers.
fn cut_circles(caller: &mut [u32]) -> u64 {
    const NOT_SEEN: u32 = 0;
    // The number of the walk that came by.
    let mut walk_of = vec![NOT_SEEN; caller.len()];
    let mut cut = 0;
    for (start, walk) in (0..caller.len()).zip(1..) {
        let mut at = start as u32;
        while at != NONE && walk_of[at as usize] == NOT_SEEN {
            walk_of[at as usize] = walk;
            at = caller[at as usize];
        }
        // A walk that comes to its own nodes goes round.
        if at != NONE && walk_of[at as usize] == walk {
            loop {
                let next = std::mem::replace(&mut caller[at as usize], NONE);
                cut += 1;
                if next == NONE || caller[next as usize] == NONE {
                    break;
                }
                at = next;
            }
        }
    }
    cut
}

fn depths(caller: &[u32]) -> Vec<u32> {
    let mut depth = vec![NONE; caller.len()];
    let mut path = Vec::new();
    for start in 0..caller.len() as u32 {
        let mut at = start;
        while at != NONE && depth[at as usize] == NONE {
            path.push(at);
            at = caller[at as usize];
        }
        let mut above = match at {
            NONE => None,
            at => Some(depth[at as usize]),
        };
        while let Some(node) = path.pop() {
            let own = above.map_or(0, |above| above + 1);
            depth[node as usize] = own;
            above = Some(own);
        }
    }
    depth
}

/// Children of each node, as slices of one list.
struct Children {
    first: Vec<u32>,
    all: Vec<u32>,
}

impl Children {
    fn new(caller: &[u32]) -> Self {
        let mut first = vec![0_u32; caller.len() + 1];
        let called = || (0_u32..).zip(caller).filter(|(_, of)| **of != NONE);
        for (_, of) in called() {
            first[*of as usize + 1] += 1;
        }
        for at in 1..first.len() {
            first[at] += first[at - 1];
        }
        let mut next = first.clone();
        let mut all = vec![0; first.last().map_or(0, |count| *count as usize)];
        for (node, of) in called() {
            let place = &mut next[*of as usize];
            all[*place as usize] = node;
            *place += 1;
        }
        Self { first, all }
    }

    fn of(&self, node: u32) -> &[u32] {
        let (from, to) = (self.first[node as usize], self.first[node as usize + 1]);
        &self.all[from as usize..to as usize]
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn circles_become_roots_and_what_hangs_below_stays() {
        // 0 → 1 → 2 → 0 is a circle, 3 hangs below it, 4 calls itself, 5 is called by 3.
        let tree = Tree::new(vec![1, 2, 0, 0, 4, 3]);
        assert_eq!(tree.circular, 4);
        assert_eq!(tree.caller, [NONE, NONE, NONE, 0, NONE, 3]);
        assert_eq!(tree.depth, [0, 0, 0, 1, 0, 2]);
        assert_eq!(Tree::new(Vec::new()), Tree::default());
    }

    #[test]
    fn a_long_chain_takes_no_stack_and_no_square_time() {
        let nodes = 300_000;
        let caller: Vec<u32> = std::iter::once(NONE).chain(0..nodes - 1).collect();
        let tree = Tree::new(caller);
        assert_eq!(tree.depth.last(), Some(&(nodes - 1)));
        let outermost = tree.outermost(&vec![0; nodes as usize]);
        assert_eq!(outermost.iter().filter(|is| **is).count(), 1);
    }

    proptest! {
        /// Compares with walking upwards from each node.
        #[test]
        fn as_by_walking(links in prop::collection::vec((prop::option::of(0..12_u32), 0..4_u32), 0..12)) {
            let nodes = links.len() as u32;
            let given: Vec<u32> = links.iter().map(|link| link.0.filter(|of| *of < nodes).unwrap_or(NONE)).collect();
            let label: Vec<u32> = links.iter().map(|link| link.1).collect();
            let tree = Tree::new(given.clone());
            let walk = |from: u32| {
                let steps = std::iter::successors(Some(from), |at| Some(given[*at as usize]).filter(|of| *of != NONE));
                steps.take(nodes as usize + 1).collect::<Vec<u32>>()
            };
            let is_circular = |node: u32| walk(node)[1..].contains(&node);
            let outermost = tree.outermost(&label);
            for node in 0..nodes {
                let above: Vec<u32> = if is_circular(node) { Vec::new() } else {
                        let walk = walk(node);
                        let end = walk.iter().position(|of| is_circular(*of)).map_or(walk.len(), |at| at + 1);
                        walk[1..end].to_vec()
                    };
                prop_assert_eq!(tree.depth[node as usize] as usize, above.len());
                prop_assert_eq!(tree.caller[node as usize], above.first().copied().unwrap_or(NONE));
                let is_first = above.iter().all(|of| label[*of as usize] != label[node as usize]);
                prop_assert_eq!(outermost[node as usize], is_first);
            }
            prop_assert_eq!(tree.circular, (0..nodes).filter(|node| is_circular(*node)).count() as u64);
        }
    }
}
