//! Rows of a tree, level by level.

use trueno_graph::{Filter, Graph, Group, Limits, Rest, Totals, pick};

/// Part of the graph that is wanted.
pub struct TreeOptions<'a> {
    /// Rows below one.
    pub limits: Limits,
    /// Levels; `None`: as many as make no more than `fit_rows`.
    pub depth: Option<u32>,
    /// Rows to fit; see `depth`.
    pub fit_rows: usize,
    /// True for one row a name.
    pub merge: bool,
    /// The only rows to show.
    pub filter: Option<&'a Filter>,
}

pub struct Item {
    /// The row it hangs below.
    pub parent: Option<usize>,
    /// Lanes have 1.
    pub depth: u32,
    /// `None`: the sum of what is left out below the parent.
    pub group: Option<Group>,
    /// Rows that such a sum stands for; 0 for others.
    pub left_out: usize,
    /// Sums of the row.
    pub totals: Totals,
    /// Tells whether no other row follows below the same one.
    pub is_last: bool,
}

/// The rows, each after the one it hangs below and before the next of its own level.
pub struct Tree {
    /// Items in the order in which they are shown.
    pub items: Vec<Item>,
    pub depth: u32,
    /// Tells whether there is more below the last level.
    pub is_cut: bool,
}

impl Tree {
    /// Takes level after level, as far as wanted.
    pub fn grow(graph: &Graph, options: &TreeOptions<'_>) -> Tree {
        let mut items: Vec<Item> = Vec::new();
        let lanes = graph.top(options.merge, options.filter);
        // Lanes are few, and what a run consists of: none of them is left out.
        let all = Limits {
            top: usize::MAX,
            min_share: 0.0,
        };
        add(&mut items, graph, lanes, all, None, false);
        let (mut from, mut depth, mut is_cut) = (0, 1, false);
        loop {
            let to = items.len();
            let open = |item: &Item| {
                let group = item.group.as_ref();
                group.is_some_and(|group| graph.has_below(group, options.filter))
            };
            if !items[from..to].iter().any(open) {
                break;
            }
            if options.depth.is_some_and(|most| depth >= most) {
                is_cut = true;
                break;
            }
            for at in from..to {
                let Some(group) = &items[at].group else {
                    continue;
                };
                let below = graph.below(group, options.merge, options.filter);
                add(
                    &mut items,
                    graph,
                    below,
                    options.limits,
                    Some(at),
                    options.merge,
                );
            }
            // The first level below the lanes is always there: a tree of lanes says nothing.
            if options.depth.is_none() && depth > 1 && items.len() > options.fit_rows {
                items.truncate(to);
                is_cut = true;
                break;
            }
            depth += 1;
            from = to;
        }
        Tree {
            items: in_order(items),
            depth,
            is_cut,
        }
    }
}

fn add(
    items: &mut Vec<Item>,
    graph: &Graph,
    groups: Vec<Group>,
    limits: Limits,
    parent: Option<usize>,
    longest_first: bool,
) {
    let depth = parent.map_or(0, |parent| items[parent].depth) + 1;
    let picked = pick(graph, groups, limits, longest_first);
    items.extend(picked.shown.into_iter().map(|(group, totals)| Item {
        parent,
        depth,
        group: Some(group),
        left_out: 0,
        totals,
        is_last: false,
    }));
    if let Some(Rest { rows, totals }) = picked.rest {
        items.push(Item {
            parent,
            depth,
            group: None,
            left_out: rows,
            totals,
            is_last: false,
        });
    }
}

/// From level by level to each row right before what hangs below it.
fn in_order(items: Vec<Item>) -> Vec<Item> {
    let mut below: Vec<Vec<usize>> = items.iter().map(|_| Vec::new()).collect();
    let mut open: Vec<usize> = Vec::new();
    for (at, item) in items.iter().enumerate() {
        match item.parent {
            Some(parent) => below[parent].push(at),
            None => open.push(at),
        }
    }
    open.reverse();
    let mut places = vec![0; items.len()];
    let mut old: Vec<Option<Item>> = items.into_iter().map(Some).collect();
    let mut ordered: Vec<Item> = Vec::with_capacity(old.len());
    while let Some(at) = open.pop() {
        let Some(mut item) = old[at].take() else {
            continue;
        };
        places[at] = ordered.len();
        item.parent = item.parent.map(|parent| places[parent]);
        ordered.push(item);
        open.extend(below[at].iter().rev());
    }
    let mut parents = vec![false; ordered.len()];
    for item in ordered.iter_mut().rev() {
        item.is_last = match item.parent {
            Some(parent) => !std::mem::replace(&mut parents[parent], true),
            None => false,
        };
    }
    ordered
}
