//! The path of the run during every iteration.

use trueno_analysis::lanes::Class;

use crate::graph::Graph;
use crate::walk::{Piece, PieceKind};

/// One iteration and what its path is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Iteration {
    /// Its row.
    pub id: u64,
    /// Name that the program gave it.
    pub name: u32,
    /// Lane on which it was marked.
    pub lane: usize,
    /// Start.
    pub start_ns: i64,
    /// Its duration.
    pub dur_ns: i64,
    /// Time on the path by kind; adds up to `dur_ns`.
    pub by_kind_ns: [i64; PieceKind::ALL.len()],
}

/// All iterations in the order of lanes and starts.
pub fn iterations(graph: &Graph<'_>, path: &[Piece]) -> Vec<Iteration> {
    let run = graph.run;
    let kind = |number: u32| run.texts.text(run.labels.get(number).kind);
    let labels: Vec<bool> = (0..run.labels.all().len() as u32)
        .map(|label| run.labels.get(label).class == Class::Scope && kind(label) == "iteration")
        .collect();
    let mut out = Vec::new();
    if !labels.contains(&true) {
        return out;
    }
    for (lane, spans) in run.lanes.iter().enumerate() {
        for span in spans
            .spans
            .iter()
            .filter(|span| labels[span.label as usize])
        {
            let first = path.partition_point(|piece| piece.start_ns <= span.start_ns);
            let mut by_kind_ns = [0; PieceKind::ALL.len()];
            for at in first.saturating_sub(1)..path.len() {
                let piece = path[at];
                if piece.start_ns >= span.end_ns {
                    break;
                }
                let end_ns = path.get(at + 1).map_or(run.wall_ns, |next| next.start_ns);
                let inside_ns = end_ns.min(span.end_ns) - piece.start_ns.max(span.start_ns);
                by_kind_ns[piece.kind as usize] += inside_ns.max(0);
            }
            out.push(Iteration {
                id: span.id,
                name: run.labels.get(span.label).name,
                lane,
                start_ns: span.start_ns,
                dur_ns: span.dur_ns(),
                by_kind_ns,
            });
        }
    }
    out
}
