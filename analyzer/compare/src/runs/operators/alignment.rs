//! Alignment of two trees from their roots, added up by path.

use std::collections::HashMap;
use std::rc::Rc;

use super::lanes;
use super::rows::{Rows, Sums};
use super::sequence::{self, Matches, Sibling};
use super::shapes::Numbered;
use super::tree::OperatorTree;

#[derive(Clone, Copy)]
pub(super) struct Side<'a> {
    pub tree: &'a OperatorTree,
    pub numbered: &'a Numbered,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub matched: u64,
    pub iterations: u64,
    pub partial_lists: u64,
}

/// Aligns two trees, adds their times to the rows, and calls `matched` for each pair of operators.
pub(super) fn align(
    sides: [Side<'_>; 2],
    rows: &mut Rows,
    matched: &mut dyn FnMut(u32, u32),
) -> Counts {
    let mut counts = Counts::default();
    // Lists of equal shapes are aligned once.
    let mut known: HashMap<(u32, u32), Rc<Matches>> = HashMap::new();
    let root = rows.row(0, u32::MAX);
    let mut open = vec![(0_u32, 0_u32, root)];
    while let Some((a, b, row)) = open.pop() {
        matched(a, b);
        let at = [a, b];
        for side in 0..2 {
            own(sides[side], at[side], row, side, rows);
        }
        // Threads and the run itself are none.
        counts.matched += u64::from(rows.rows[row as usize].around != root);
        counts.iterations += u64::from(sides[0].tree.operators[a as usize].is_iteration);
        let children = [0, 1].map(|side| sides[side].tree.children(at[side]));
        let matches = matches(sides, at, &children, &mut known);
        counts.partial_lists += u64::from(matches.is_partial);
        let mut is_matched = children.each_ref().map(|list| vec![false; list.len()]);
        for &(x, y) in &matches.pairs {
            let (x, y) = (x as usize, y as usize);
            (is_matched[0][x], is_matched[1][y]) = (true, true);
            let (x, y) = (children[0][x], children[1][y]);
            let label = sides[0].numbered.labels[x as usize];
            open.push((x, y, rows.row(row, label)));
        }
        for side in 0..2 {
            let all = children[side].iter().zip(&is_matched[side]);
            for (child, _) in all.filter(|(_, is_matched)| !**is_matched) {
                only_here(sides[side], *child, row, side, rows);
            }
        }
    }
    rows.end_pair();
    counts
}

fn matches(
    sides: [Side<'_>; 2],
    at: [u32; 2],
    children: &[Vec<u32>; 2],
    known: &mut HashMap<(u32, u32), Rc<Matches>>,
) -> Rc<Matches> {
    if at == [0, 0] {
        let [a, b] = sides.map(|side| (side.tree, side.numbered));
        return Rc::new(Matches {
            pairs: lanes::pair(a, b),
            is_partial: false,
        });
    }
    let shape = |side: usize| sides[side].numbered.shapes[at[side] as usize];
    let list = |side: usize| -> Vec<Sibling> {
        let Numbered { labels, shapes, .. } = sides[side].numbered;
        let sibling = |at: &u32| Sibling {
            label: labels[*at as usize],
            shape: shapes[*at as usize],
        };
        children[side].iter().map(sibling).collect()
    };
    let matches = known
        .entry((shape(0), shape(1)))
        .or_insert_with(|| Rc::new(sequence::align(&list(0), &list(1))));
    Rc::clone(matches)
}

/// Adds one operator without its descendants.
fn own(side: Side<'_>, at: u32, row: u32, number: usize, rows: &mut Rows) {
    let operator = &side.tree.operators[at as usize];
    let sums = Sums {
        calls: u64::from(operator.calls),
        device_ns: operator.device_ns,
        host_self_ns: operator.host_self_ns,
    };
    rows.add(row, number, sums);
    kernels(side, at..at + 1, row, number, rows);
}

/// Adds a subtree that only this side has to the row of its parent.
fn only_here(side: Side<'_>, at: u32, row: u32, number: usize, rows: &mut Rows) {
    let root = &side.tree.operators[at as usize];
    let subtree = at..at + root.size;
    let mut sums = Sums::default();
    for operator in &side.tree.operators[subtree.start as usize..subtree.end as usize] {
        sums.device_ns += operator.device_ns;
        sums.host_self_ns += operator.host_self_ns;
    }
    rows.add(row, number, sums);
    kernels(side, subtree, row, number, rows);
    let label = side.numbered.labels[at as usize];
    sums.calls = u64::from(root.calls);
    rows.add_one_sided(row, number, label, sums, u64::from(root.size));
}

fn kernels(
    side: Side<'_>,
    operators: std::ops::Range<u32>,
    row: u32,
    number: usize,
    rows: &mut Rows,
) {
    for kernel in side.tree.kernels_of(operators) {
        let label = side.numbered.names[kernel.name as usize];
        let sums = Sums {
            calls: u64::from(kernel.calls),
            device_ns: kernel.device_ns,
            host_self_ns: 0,
        };
        rows.add_kernel(row, number, label, sums);
    }
}
