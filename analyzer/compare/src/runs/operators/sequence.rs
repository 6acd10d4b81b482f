//! Alignment of two lists of siblings: the longest common subsequence of their labels.
//!
//! Of several longest ones it is one with the most equal shapes. Equal shapes at both ends are taken first, which
//! loses nothing. What is left is aligned exactly while its table has no more than [`MAX_CELLS`]; beyond, shapes
//! that both have once split it, and what is still too long is aligned piece by piece in windows. That is linear in
//! the length of the lists; what it takes for equal has equal labels in the same order, but more might have been
//! found.

use std::collections::HashMap;

pub(super) const MAX_CELLS: usize = 1 << 20;
pub(super) const WINDOW: usize = 256;
/// How often unique shapes may split a list recursively.
const MAX_SPLITS: u32 = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sibling {
    pub label: u32,
    pub shape: u32,
}

/// Pairs of indices, ascending on both sides.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Matches {
    pub pairs: Vec<(u32, u32)>,
    pub is_partial: bool,
}

#[derive(Clone, Copy)]
struct Part {
    a: (usize, usize),
    b: (usize, usize),
    splits: u32,
}

pub(super) fn align(a: &[Sibling], b: &[Sibling]) -> Matches {
    let mut matches = Matches::default();
    // The first part is on top.
    let mut parts = vec![Part {
        a: (0, a.len()),
        b: (0, b.len()),
        splits: 0,
    }];
    let mut found = Vec::new();
    while let Some(mut part) = parts.pop() {
        trim(a, b, &mut part, &mut found);
        let (of_a, of_b) = (&a[part.a.0..part.a.1], &b[part.b.0..part.b.1]);
        let mut add = |pairs: &[(usize, usize)]| {
            let pairs = pairs.iter();
            found.extend(pairs.map(|(x, y)| ((part.a.0 + x) as u32, (part.b.0 + y) as u32)));
        };
        if of_a.is_empty() || of_b.is_empty() {
            continue;
        }
        if of_a.len().saturating_mul(of_b.len()) <= MAX_CELLS {
            add(&exact(of_a, of_b));
            continue;
        }
        matches.is_partial = true;
        let anchors = if part.splits < MAX_SPLITS {
            unique_on_both(of_a, of_b)
        } else {
            Vec::new()
        };
        if anchors.is_empty() {
            add(&in_windows(of_a, of_b));
            continue;
        }
        add(&anchors);
        let (mut x, mut y) = part_start(&part);
        let ends = anchors
            .iter()
            .map(|(x, y)| (part.a.0 + x, part.b.0 + y))
            .chain([(part.a.1, part.b.1)]);
        for (to_x, to_y) in ends {
            parts.push(Part {
                a: (x, to_x),
                b: (y, to_y),
                splits: part.splits + 1,
            });
            (x, y) = (to_x + 1, to_y + 1);
        }
    }
    found.sort_unstable();
    matches.pairs = found;
    matches
}

fn part_start(part: &Part) -> (usize, usize) {
    (part.a.0, part.b.0)
}

/// Matches equal shapes at both ends and removes them from the part.
fn trim(a: &[Sibling], b: &[Sibling], part: &mut Part, found: &mut Vec<(u32, u32)>) {
    let ((mut a0, mut a1), (mut b0, mut b1)) = (part.a, part.b);
    while a0 < a1 && b0 < b1 && a[a0].shape == b[b0].shape {
        found.push((a0 as u32, b0 as u32));
        (a0, b0) = (a0 + 1, b0 + 1);
    }
    while a0 < a1 && b0 < b1 && a[a1 - 1].shape == b[b1 - 1].shape {
        (a1, b1) = (a1 - 1, b1 - 1);
        found.push((a1 as u32, b1 as u32));
    }
    (part.a, part.b) = ((a0, a1), (b0, b1));
}

/// The longest common subsequence, by dynamic programming over all pairs; the earliest of the best.
fn exact(a: &[Sibling], b: &[Sibling]) -> Vec<(usize, usize)> {
    const MATCH: u8 = 0;
    const SKIP_A: u8 = 1;
    const SKIP_B: u8 = 2;
    let width = b.len() + 1;
    let mut steps = vec![SKIP_A; a.len() * b.len()];
    // Matches in the upper half, equal shapes in the lower.
    let (mut below, mut row) = (vec![0_u64; width], vec![0_u64; width]);
    for x in (0..a.len()).rev() {
        row[b.len()] = 0;
        for y in (0..b.len()).rev() {
            let (mut best, mut step) = (below[y], SKIP_A);
            if row[y + 1] > best {
                (best, step) = (row[y + 1], SKIP_B);
            }
            if a[x].label == b[y].label {
                let equal = u64::from(a[x].shape == b[y].shape);
                let matched = below[y + 1] + (1 << 32) + equal;
                if matched >= best {
                    (best, step) = (matched, MATCH);
                }
            }
            row[y] = best;
            steps[x * b.len() + y] = step;
        }
        std::mem::swap(&mut below, &mut row);
    }
    let mut pairs = Vec::new();
    let (mut x, mut y) = (0, 0);
    while x < a.len() && y < b.len() {
        match steps[x * b.len() + y] {
            MATCH => {
                pairs.push((x, y));
                (x, y) = (x + 1, y + 1);
            }
            SKIP_A => x += 1,
            _ => y += 1,
        }
    }
    pairs
}

/// Indices of shapes that occur once in each list, as many as ascend on both sides.
fn unique_on_both(a: &[Sibling], b: &[Sibling]) -> Vec<(usize, usize)> {
    // Number of places and the last one, of each side.
    let mut places: HashMap<u32, [(u32, usize); 2]> = HashMap::new();
    for (side, list) in [a, b].into_iter().enumerate() {
        for (at, sibling) in list.iter().enumerate() {
            let place = &mut places.entry(sibling.shape).or_default()[side];
            *place = (place.0 + 1, at);
        }
    }
    let mut unique: Vec<(usize, usize)> = places
        .into_values()
        .filter(|[a, b]| a.0 == 1 && b.0 == 1)
        .map(|[a, b]| (a.1, b.1))
        .collect();
    unique.sort_unstable();
    longest_rising(&unique)
}

fn longest_rising(pairs: &[(usize, usize)]) -> Vec<(usize, usize)> {
    // By length: the pair that ends a subsequence of it with the least second place.
    let mut ends: Vec<usize> = Vec::new();
    let mut before = vec![usize::MAX; pairs.len()];
    for (at, pair) in pairs.iter().enumerate() {
        let length = ends.partition_point(|end| pairs[*end].1 < pair.1);
        if length > 0 {
            before[at] = ends[length - 1];
        }
        match ends.get_mut(length) {
            Some(end) => *end = at,
            None => ends.push(at),
        }
    }
    let mut chain = Vec::new();
    let mut at = ends.last().copied();
    while let Some(end) = at {
        chain.push(pairs[end]);
        at = (before[end] != usize::MAX).then_some(before[end]);
    }
    chain.reverse();
    chain
}

/// Aligns a window of each list, and continues from the middle of the match.
fn in_windows(a: &[Sibling], b: &[Sibling]) -> Vec<(usize, usize)> {
    const HALF: usize = WINDOW / 2;
    let (mut x, mut y) = (0, 0);
    let mut pairs = Vec::new();
    while x < a.len() && y < b.len() {
        let (to_x, to_y) = ((x + WINDOW).min(a.len()), (y + WINDOW).min(b.len()));
        let is_last = to_x == a.len() && to_y == b.len();
        let window = exact(&a[x..to_x], &b[y..to_y]);
        let is_late = |pair: &&(usize, usize)| !is_last && pair.0 >= HALF && pair.1 >= HALF;
        let late = window.iter().find(is_late);
        let kept = window.iter().take_while(|pair| !is_late(pair));
        let last = kept.clone().last().copied();
        pairs.extend(kept.map(|pair| (x + pair.0, y + pair.1)));
        let next = |late: Option<usize>, last: Option<usize>| {
            late.unwrap_or_else(|| last.map_or(HALF, |last| HALF.max(last + 1)))
        };
        if is_last {
            break;
        }
        let (by_x, by_y) = (
            next(late.map(|late| late.0), last.map(|last| last.0)),
            next(late.map(|late| late.1), last.map(|last| last.1)),
        );
        (x, y) = (x + by_x, y + by_y);
    }
    pairs
}
