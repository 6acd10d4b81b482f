//! Rows of a tree, level by level.

use trueno_execution_graph::{Filter, Graph, Group, Limits, Rest, Totals, pick};

pub struct TreeOptions<'a> {
    pub limits: Limits,
    /// Levels; `None` shows as many as fit into `fit_rows`.
    pub depth: Option<u32>,
    pub fit_rows: usize,
    pub merge: bool,
    pub filter: Option<&'a Filter>,
}

pub struct Item {
    pub parent: Option<usize>,
    /// Lanes have depth 1.
    pub depth: u32,
    /// `None` for the row that stands for the rows left out below the parent.
    pub group: Option<Group>,
    /// Number of rows that such a row stands for; else 0.
    pub left_out: usize,
    pub totals: Totals,
    pub is_last: bool,
}

/// Rows in depth-first order.
pub struct Tree {
    pub items: Vec<Item>,
    pub depth: u32,
    pub is_cut: bool,
}

impl Tree {
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

/// Turns breadth-first order into depth-first order.
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
