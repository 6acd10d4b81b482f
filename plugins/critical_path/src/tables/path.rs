//! Tables of the path itself.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use trueno_analysis::lanes::Label;
use trueno_analysis::share;
use trueno_plugin::{Table, TableBuilder};

use crate::condense::{Of, condense};
use crate::graph::Graph;
use crate::host_waits::is_inferred;
use crate::inferred::Rule;
use crate::segments::NONE;
use crate::walk::{Piece, PieceKind, durations};

/// Table `path`: the pieces in the order of time; `dur_ns` adds up to the window.
///
/// `seq` from 0; `kind`; `name`, `lane` and `id` of the interval that ran or
/// was held up, `lane` alone for a gap; `start_ns`; `dur_ns`. Beyond `limit`
/// pieces the shorter ones stand in sums, named by their number. `inferred`: the rule that inferred the
/// dependency by which a piece is on the path; null: it was recorded.
pub fn path(graph: &Graph<'_>, path: &[Piece], limit: usize) -> TableBuilder {
    let rows = condense(path, graph.run.wall_ns, limit);
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
            .filter(|id| !is_inferred(*id))
    };
    let lane = |of: Of| place(of).map(|(_, lane)| &graph.run.lanes[lane].name);
    Table::build("path")
        .i64("seq", 0..rows.len() as i64)
        .text("kind", rows.iter().map(|row| row.kind.name()))
        .text("name", rows.iter().map(|row| name(row.of, row.kind)))
        .text("lane", rows.iter().map(|row| lane(row.of)))
        .i64(
            "start_ns",
            rows.iter().map(|row| row.start_ns + graph.run.origin_ns),
        )
        .i64("dur_ns", rows.iter().map(|row| row.dur_ns))
        .u64("id", rows.iter().map(|row| id(row.of, row.kind)))
        .text(
            "inferred",
            rows.iter().map(|row| row.inferred.map(Rule::name)),
        )
}

/// Table `by_kind`: all kinds; `dur_ns` on the path; `wall_share` of the window; `pieces`.
pub fn by_kind(name: &str, path: &[Piece], wall_ns: i64) -> TableBuilder {
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
    Table::build(name)
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
pub fn by_name(table: &str, graph: &Graph<'_>, path: &[Piece], wall_ns: i64) -> TableBuilder {
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
    Table::build(table)
        .text("name", rows.iter().map(|row| row.1))
        .text("kind", rows.iter().map(|row| row.2.name()))
        .text("category", rows.iter().map(|row| row.3))
        .i64("dur_ns", rows.iter().map(|row| row.0.0))
        .f64("wall_share", rows.iter().map(|row| share(row.0.0, wall_ns)))
        .u64("pieces", rows.iter().map(|row| row.4))
}

/// Table `by_category`: the path by category, longest first; null for gaps. `dur_ns` adds up to the
/// window.
pub fn by_category(graph: &Graph<'_>, path: &[Piece], wall_ns: i64) -> TableBuilder {
    // By label first, which is cheap; the last entry is that of gaps.
    let labels = graph.run.labels.all();
    let mut by_label = vec![(0_i64, 0_u64); labels.len() + 1];
    for (piece, dur_ns) in durations(path, wall_ns) {
        let label = match piece.kind {
            PieceKind::Gap => labels.len(),
            _ => {
                let lane = graph.segments.lane(piece.segment);
                graph.span(piece.segment, lane).label as usize
            }
        };
        let sum = &mut by_label[label];
        *sum = (sum.0 + dur_ns, sum.1 + 1);
    }
    let mut sums: BTreeMap<Option<u32>, (i64, u64)> = BTreeMap::new();
    for (at, found) in by_label
        .into_iter()
        .enumerate()
        .filter(|(_, sum)| sum.1 > 0)
    {
        let category = labels.get(at).map(|label| label.category);
        let sum = sums.entry(category).or_default();
        *sum = (sum.0 + found.0, sum.1 + found.1);
    }
    let text = |number: Option<u32>| number.map(|number| graph.run.texts.text(number));
    let mut rows: Vec<_> = sums
        .into_iter()
        .map(|(category, sum)| (Reverse(sum.0), text(category), sum.1))
        .collect();
    rows.sort_unstable();
    Table::build("by_category")
        .text("category", rows.iter().map(|row| row.1))
        .i64("dur_ns", rows.iter().map(|row| row.0.0))
        .f64("wall_share", rows.iter().map(|row| share(row.0.0, wall_ns)))
        .u64("pieces", rows.iter().map(|row| row.2))
}
