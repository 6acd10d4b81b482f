//! The output tables, and what their columns hold.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use trueno_plugin::{Table, TableBuilder};

use crate::fold::{Of, fold};
use crate::graph::Graph;
use crate::lanes::Label;
use crate::segments::NONE;
use crate::slack::slack_of_spans;
use crate::walk::{Piece, PieceKind};

/// Durations of the pieces: each ends where the next begins.
fn durations(path: &[Piece], wall_ns: i64) -> impl Iterator<Item = (&Piece, i64)> {
    let ends = path
        .iter()
        .skip(1)
        .map(|next| next.start_ns)
        .chain([wall_ns]);
    path.iter()
        .zip(ends)
        .map(|(piece, end_ns)| (piece, end_ns - piece.start_ns))
}

fn share(part_ns: i64, wall_ns: i64) -> Option<f64> {
    (wall_ns > 0).then(|| part_ns as f64 / wall_ns as f64)
}

/// Table `path`: the pieces in the order of time; `dur_ns` adds up to the window.
///
/// `seq` from 0; `kind`; `name`, `lane` and `id` of the interval that ran or
/// was held up, `lane` alone for a gap; `start_ns`; `dur_ns`. Beyond `limit`
/// pieces the shorter ones stand in sums, named by their number.
pub fn path(graph: &Graph<'_>, path: &[Piece], limit: usize) -> TableBuilder {
    let rows = fold(path, graph.run.wall_ns, limit);
    let text = |number: u32| graph.run.texts.text(number).to_owned();
    let place = |of: Of| match of {
        Of::Segment(NONE) | Of::Pieces(_) => None,
        Of::Segment(segment) => Some((segment, graph.segments.lane(segment))),
    };
    let name = |of: Of, kind: PieceKind| match (of, place(of)) {
        (Of::Pieces(pieces), _) => Some(format!("{pieces} shorter pieces")),
        (_, Some((segment, lane))) if kind != PieceKind::Gap => Some(text(
            graph.run.labels.get(graph.span(segment, lane).label).name,
        )),
        _ => None,
    };
    let id = |of: Of, kind: PieceKind| {
        place(of)
            .filter(|_| kind != PieceKind::Gap)
            .map(|(segment, lane)| graph.span(segment, lane).id)
    };
    let lane = |of: Of| place(of).map(|(_, lane)| &graph.run.lanes[lane].name);
    Table::build("path")
        .i64("seq", 0..rows.len() as i64)
        .text("kind", rows.iter().map(|row| row.kind.name()))
        .text("name", rows.iter().map(|row| name(row.of, row.kind)))
        .text("lane", rows.iter().map(|row| lane(row.of)))
        .i64("start_ns", rows.iter().map(|row| row.start_ns))
        .i64("dur_ns", rows.iter().map(|row| row.dur_ns))
        .u64("id", rows.iter().map(|row| id(row.of, row.kind)))
}

/// Table `by_kind`: all kinds; `dur_ns` on the path; `wall_share` of the window; `pieces`.
pub fn by_kind(path: &[Piece], wall_ns: i64) -> TableBuilder {
    let mut sums = [(0_i64, 0_u64); PieceKind::ALL.len()];
    for (piece, dur_ns) in durations(path, wall_ns) {
        let sum = &mut sums[piece.kind as usize];
        *sum = (sum.0 + dur_ns, sum.1 + 1);
    }
    let kinds = if path.is_empty() {
        &[][..]
    } else {
        &PieceKind::ALL[..]
    };
    Table::build("by_kind")
        .text("kind", kinds.iter().map(|kind| kind.name()))
        .i64("dur_ns", kinds.iter().map(|kind| sums[*kind as usize].0))
        .f64(
            "wall_share",
            kinds
                .iter()
                .map(|kind| share(sums[*kind as usize].0, wall_ns)),
        )
        .u64("pieces", kinds.iter().map(|kind| sums[*kind as usize].1))
}

/// Table `by_name`: the path by name, kind of piece and category, longest first.
///
/// `name` and `category` are those of the interval that ran or was held up;
/// null for gaps. `dur_ns` adds up to the window; `pieces` on the path.
pub fn by_name(graph: &Graph<'_>, path: &[Piece]) -> TableBuilder {
    let wall_ns = graph.run.wall_ns;
    // By label first, which is cheap, then by what the label says.
    let labels = graph.run.labels.all().len();
    let mut by_label = vec![(0_i64, 0_u64); labels * PieceKind::ALL.len()];
    let mut gap = (0_i64, 0_u64);
    for (piece, dur_ns) in durations(path, wall_ns) {
        let sum = if piece.kind == PieceKind::Gap {
            &mut gap
        } else {
            let label = graph
                .span(piece.segment, graph.segments.lane(piece.segment))
                .label as usize;
            &mut by_label[label * PieceKind::ALL.len() + piece.kind as usize]
        };
        *sum = (sum.0 + dur_ns, sum.1 + 1);
    }
    // By name, kind and category: nanoseconds and pieces.
    type Row = (Option<u32>, PieceKind, Option<u32>);
    let mut sums: BTreeMap<Row, (i64, u64)> = BTreeMap::new();
    for (at, sum) in by_label
        .into_iter()
        .enumerate()
        .filter(|(_, sum)| sum.1 > 0)
    {
        let Label { name, category, .. } = graph.run.labels.get((at / PieceKind::ALL.len()) as u32);
        let total = sums
            .entry((
                Some(name),
                PieceKind::ALL[at % PieceKind::ALL.len()],
                Some(category),
            ))
            .or_default();
        *total = (total.0 + sum.0, total.1 + sum.1);
    }
    if gap.1 > 0 {
        sums.insert((None, PieceKind::Gap, None), gap);
    }
    let text = |number: Option<u32>| number.map(|number| graph.run.texts.text(number));
    let mut rows: Vec<_> = sums
        .into_iter()
        .map(|((name, kind, category), sum)| {
            (Reverse(sum.0), text(name), kind, text(category), sum.1)
        })
        .collect();
    rows.sort_unstable();
    Table::build("by_name")
        .text("name", rows.iter().map(|row| row.1))
        .text("kind", rows.iter().map(|row| row.2.name()))
        .text("category", rows.iter().map(|row| row.3))
        .i64("dur_ns", rows.iter().map(|row| row.0.0))
        .f64("wall_share", rows.iter().map(|row| share(row.0.0, wall_ns)))
        .u64("pieces", rows.iter().map(|row| row.4))
}

/// Table `slack`: `id`, `name` and `lane` of an interval, and by how much it may
/// begin later without moving the last end. Least first, of equals the longer.
/// Beyond `limit` intervals the rest is not listed; the second value counts all.
pub fn slack(graph: &Graph<'_>, slack: &[i64], limit: usize) -> (TableBuilder, usize) {
    let run = graph.run;
    let mut rows: Vec<(i64, Reverse<i64>, u64, u32, u32)> = Vec::new();
    let mut all = 0;
    for (lane, spans) in run.lanes.iter().enumerate() {
        let least = slack_of_spans(graph, slack, lane);
        all += spans.spans.len();
        for (span, slack_ns) in spans.spans.iter().zip(least) {
            rows.push((
                slack_ns,
                Reverse(span.dur_ns()),
                span.id,
                lane as u32,
                span.label,
            ));
            if rows.len() >= limit.saturating_mul(2).max(1 << 16) {
                keep_least(&mut rows, limit);
            }
        }
    }
    keep_least(&mut rows, limit);
    rows.sort_unstable();
    let name = |label: u32| run.texts.text(run.labels.get(label).name);
    let table = Table::build("slack")
        .u64("id", rows.iter().map(|row| row.2))
        .text("name", rows.iter().map(|row| name(row.4)))
        .text(
            "lane",
            rows.iter().map(|row| &run.lanes[row.3 as usize].name),
        )
        .i64("slack_ns", rows.iter().map(|row| row.0));
    (table, all)
}

fn keep_least<T: Ord>(rows: &mut Vec<T>, limit: usize) {
    if rows.len() > limit {
        if limit > 0 {
            rows.select_nth_unstable(limit - 1);
        }
        rows.truncate(limit);
    }
}
