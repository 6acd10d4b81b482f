//! Host time on the path while a device is busy.
//!
//! A device that keeps up with the host that feeds it is busy nearly all the time, and yet waits for the host: each
//! time its stream has drained, the next work begins with its launch. The path then lies on the host, and shorter
//! kernels would not end it sooner. How much of the path is like that, and where most of it is, is said.

use std::cmp::Reverse;

use trueno_analysis::hash::FastMap;
use trueno_analysis::lanes::Class;

use crate::graph::dependency_graph::Graph;
use crate::graph::walk::{Piece, PieceKind};

pub struct HostOverDevice<'g> {
    graph: &'g Graph<'g>,
    busy: Vec<(i64, i64)>,
    at: usize,
    /// By label and lane; gaps have no label.
    sums_ns: FastMap<(Option<u32>, u32), i64>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostTime {
    pub all_ns: i64,
    pub most_ns: i64,
    /// `None`: between rows.
    pub name: Option<String>,
    pub lane: String,
}

impl<'g> HostOverDevice<'g> {
    /// `None` if the run has no device work.
    pub fn new(graph: &'g Graph<'g>) -> Option<Self> {
        let run = graph.run;
        let devices = (0..run.lanes.len()).filter(|lane| graph.is_device(*lane));
        let rows = devices.flat_map(|lane| &run.lanes[lane].spans);
        let work = rows.filter(|row| run.labels.get(row.label).class != Class::Wait);
        let mut times: Vec<(i64, i64)> = work.map(|row| (row.start_ns, row.end_ns)).collect();
        times.sort_unstable();
        times.dedup_by(|next, before| {
            let touches = next.0 <= before.1;
            before.1 = if touches {
                before.1.max(next.1)
            } else {
                before.1
            };
            touches
        });
        (!times.is_empty()).then(|| Self {
            graph,
            busy: times,
            at: 0,
            sums_ns: FastMap::default(),
        })
    }

    /// Pieces must come sorted by time.
    pub fn add(&mut self, piece: &Piece) {
        if self.graph.is_device(piece.lane as usize) {
            return;
        }
        let end_ns = piece.start_ns + piece.dur_ns;
        let ended = |busy: &&(i64, i64)| busy.1 <= piece.start_ns;
        self.at += self.busy[self.at..].iter().take_while(ended).count();
        let busy = self.busy[self.at..]
            .iter()
            .take_while(|busy| busy.0 < end_ns);
        let ns: i64 = busy
            .map(|busy| busy.1.min(end_ns) - busy.0.max(piece.start_ns))
            .fold(0, i64::saturating_add);
        if ns > 0 {
            let label = (piece.kind != PieceKind::Gap)
                .then(|| self.graph.span(piece.segment, piece.lane as usize).label);
            *self.sums_ns.entry((label, piece.lane)).or_default() += ns;
        }
    }

    /// `None` if there was no such time.
    pub fn finish(self) -> Option<HostTime> {
        let run = self.graph.run;
        let all_ns = self.sums_ns.values().copied().fold(0, i64::saturating_add);
        let most = self.sums_ns.into_iter();
        let most = most.max_by_key(|&(of, ns)| (ns, Reverse(of)));
        most.map(|((label, lane), most_ns)| HostTime {
            all_ns,
            most_ns,
            name: label.map(|label| run.texts.text(run.labels.get(label).name).to_owned()),
            lane: run.lanes[lane as usize].name.clone(),
        })
    }
}
