//! A million rows and as many edges, on one core.
//!
//! ```text
//! cargo bench -p trueno-plugin-causality
//! ```
//!
//! Printed for each step are its time and the greatest memory of the process so far, the rows included. The argument is
//! the number of rows.

use std::hint::black_box;
use std::time::Instant;

use trueno_analysis::lanes::{
    Class, Label, Lane, LaneKey, LaneKind, Lanes, NO_ELEMENTS, OUTSIDE, Span,
};
use trueno_plugin_causality::clocks::Clocks;
use trueno_plugin_causality::contradictions::Contradictions;
use trueno_plugin_causality::edges::{Edge, EdgeKind};
use trueno_plugin_causality::event_graph::EventGraph;
use trueno_plugin_causality::events::Events;
use trueno_plugin_causality::lane_groups::LaneGroups;

const LANES: u32 = 8;
const NESTED: u32 = 10;

fn lanes(rows: u32) -> Lanes {
    let mut run = Lanes::default();
    let name = run.texts.number("brick");
    let label = run.labels.number(Label {
        class: Class::Brick,
        kind: name,
        name,
        category: OUTSIDE,
    });
    for lane in 0..LANES {
        let spans = (0..rows / LANES).map(|at| {
            let start_ns = i64::from(at) * 100;
            let is_outer = at % (NESTED + 1) == 0;
            let rows = if is_outer { NESTED + 1 } else { 1 };
            Span {
                start_ns,
                end_ns: start_ns + i64::from(rows) * 100 - 10,
                id: u64::from(lane * (rows / LANES) + at),
                label,
                elements: NO_ELEMENTS,
            }
        });
        run.lanes.push(Lane {
            life: None,
            name: format!("thread {lane}"),
            key: LaneKey::Thread(Some(i64::from(lane))),
            kind: LaneKind::Host,
            spans: spans.collect(),
        });
    }
    run
}

/// For each row, an edge from the row of another lane that began two before it.
fn edges(rows: u32) -> Vec<Edge> {
    let of_lane = rows / LANES;
    let edges = (0..of_lane * LANES).filter_map(|to| {
        let (lane, at) = (to / of_lane, to % of_lane);
        let other = (lane + 1 + at % (LANES - 1)) % LANES;
        Some(Edge {
            to,
            from: other * of_lane + at.checked_sub(2)?,
            kind: EdgeKind::Launches,
            is_implied: false,
        })
    });
    edges.collect()
}

/// Peak resident memory in MB; 0 where the system does not report it.
fn peak_mb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let kb = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
    kb.unwrap_or(0) / 1_000
}

fn timed<T>(step: &str, run: impl FnOnce() -> T) -> T {
    let began = Instant::now();
    let out = black_box(run());
    let ms = began.elapsed().as_secs_f64() * 1e3;
    println!("{step:<14} {ms:8.1} ms {:6} MB", peak_mb());
    out
}

fn main() {
    let rows = std::env::args().find_map(|argument| argument.parse().ok());
    let rows = rows.unwrap_or(1_000_000);
    let lanes = timed("rows", || lanes(rows));
    let edges = timed("edges", || edges(rows));
    let events = Events::new(&lanes).expect("rows have numbers");
    let graph = timed("graph", || EventGraph::new(&events, &edges));
    let clocks = timed("clocks", || Clocks::new(&graph));
    let groups = timed("groups", || LaneGroups::new(&events, &edges));
    let found = timed("contradictions", || Contradictions::new(&events, &edges));
    println!(
        "{} rows, {} edges, longest chain {}, {} groups, {} contradictions",
        events.rows(),
        edges.len(),
        clocks.max,
        groups.groups,
        found.all.len()
    );
}
