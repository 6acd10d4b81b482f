//! Tables of the path itself.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use trueno_analysis::lanes::Label;
use trueno_analysis::share;
use trueno_plugin::{Table, TableBuilder};

use crate::graph::dependency_graph::Graph;
use crate::graph::segments::NONE;
use crate::graph::walk::{Piece, PieceKind};
use crate::infer::host_waits::is_inferred;
use crate::load::inferred::Rule;
use crate::path::condense::{Of, Row};
use crate::path::path_sums::{PathSums, Sum};

/// Table `path`: the pieces sorted by time; `dur_ns` adds up to the window. `seq` counts from 0. `name`, `lane` and
/// `id` are those of the interval that ran or was delayed; a gap has only a `lane`. Shorter pieces that are not
/// listed appear as sums, named by their number. `inferred` is the rule that inferred the dependency by which a
/// piece is on the path, null if it was recorded.
pub fn path(graph: &Graph<'_>, rows: &[Row]) -> TableBuilder {
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

/// Table `path_by_id`: time on the path by row, in the order of the path. A row to which the path returns appears
/// again.
#[derive(Default)]
pub struct PathById {
    rows: Vec<(u64, i64)>,
}

impl PathById {
    /// Pieces must come sorted by time.
    #[inline]
    pub fn add(&mut self, graph: &Graph<'_>, piece: &Piece) {
        if piece.kind == PieceKind::Gap || piece.segment == NONE {
            return;
        }
        let id = graph.span(piece.segment, piece.lane as usize).id;
        match self.rows.last_mut() {
            Some((last, dur_ns)) if *last == id => *dur_ns += piece.dur_ns,
            _ if is_inferred(id) => {}
            _ => self.rows.push((id, piece.dur_ns)),
        }
    }

    pub fn into_table(self) -> TableBuilder {
        Table::build("path_by_id")
            .u64("id", self.rows.iter().map(|row| row.0))
            .i64("dur_ns", self.rows.iter().map(|row| row.1))
    }
}

/// Like [`PathById`], but with one row for each row on the path, lane by lane. For a long path this takes less
/// memory.
pub struct PathByRow<'g> {
    graph: &'g Graph<'g>,
    path_ns: Vec<Vec<i64>>,
}

impl<'g> PathByRow<'g> {
    pub fn new(graph: &'g Graph<'g>) -> Self {
        let lanes = graph.run.lanes.iter();
        Self {
            graph,
            path_ns: lanes.map(|lane| vec![0; lane.spans.len()]).collect(),
        }
    }

    #[inline]
    pub fn add(&mut self, piece: &Piece) {
        if piece.kind != PieceKind::Gap && piece.segment != NONE {
            let span = self.graph.segments.span[piece.segment as usize];
            self.path_ns[piece.lane as usize][span as usize] += piece.dur_ns;
        }
    }

    pub fn table(&self) -> TableBuilder {
        let rows = || {
            let lanes = self.graph.run.lanes.iter().zip(&self.path_ns);
            let rows = lanes.flat_map(|(lane, path_ns)| lane.spans.iter().zip(path_ns));
            rows.filter(|(span, ns)| **ns > 0 && !is_inferred(span.id))
        };
        Table::build("path_by_id")
            .u64("id", rows().map(|(span, _)| span.id))
            .i64("dur_ns", rows().map(|(_, ns)| *ns))
    }
}

/// Table `by_kind`: time on the path and number of pieces for all kinds.
pub fn by_kind(name: &str, path: &PathSums<'_>, wall_ns: i64) -> TableBuilder {
    let sums = path.by_kind();
    let kinds = if sums.is_empty() {
        &[][..]
    } else {
        &PieceKind::ALL[..]
    };
    let sum = |kind: &PieceKind| sums.get(kind).copied().unwrap_or_default();
    Table::build(name)
        .text("kind", kinds.iter().map(|kind| kind.name()))
        .i64("dur_ns", kinds.iter().map(|kind| sum(kind).0))
        .f64(
            "wall_share",
            kinds.iter().map(|kind| share(sum(kind).0, wall_ns)),
        )
        .u64("pieces", kinds.iter().map(|kind| sum(kind).1))
}

/// Table `by_name`: the path by name, kind of piece and category, longest first. `name` and `category` are those of
/// the interval that ran or was delayed, null for gaps. `dur_ns` adds up to the window.
pub fn by_name(table: &str, graph: &Graph<'_>, path: &PathSums<'_>, wall_ns: i64) -> TableBuilder {
    // By name, kind and category.
    let mut sums: BTreeMap<(Option<u32>, PieceKind, Option<u32>), Sum> = BTreeMap::new();
    for (label, kind, (ns, pieces)) in path.by_label() {
        let Label { name, category, .. } = graph.run.labels.get(label);
        let sum = sums.entry((Some(name), kind, Some(category))).or_default();
        *sum = (sum.0 + ns, sum.1 + pieces);
    }
    if path.gap().1 > 0 {
        sums.insert((None, PieceKind::Gap, None), path.gap());
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

/// Table `by_category`: the path by category, longest first; null for gaps. `dur_ns` adds up to the window.
pub fn by_category(graph: &Graph<'_>, path: &PathSums<'_>, wall_ns: i64) -> TableBuilder {
    let mut sums: BTreeMap<Option<u32>, Sum> = BTreeMap::new();
    for (label, _, (ns, pieces)) in path.by_label() {
        let category = graph.run.labels.get(label).category;
        let sum = sums.entry(Some(category)).or_default();
        *sum = (sum.0 + ns, sum.1 + pieces);
    }
    if path.gap().1 > 0 {
        sums.insert(None, path.gap());
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
