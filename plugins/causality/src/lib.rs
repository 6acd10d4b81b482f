//! Lamport clocks: the causal order of a run's events, across threads, streams, processes and ranks.
//!
//! Each interval of a lane has two [`events`], its begin and its end. One happened before another if the
//! [program order](program_order) of their lane says so, or an [edge](edges), or several of these one after the other
//! (Lamport 1978). The clock of an event is 1 more than the latest of those directly before it ([`clocks`]). Recorded
//! times decide the order of a lane and nothing else, so that edges between lanes can be held against them
//! ([`contradictions`]).

pub mod clocks;
pub mod contradictions;
pub mod edges;
pub mod event_graph;
pub mod events;
pub mod findings;
pub mod inputs;
pub mod lane_groups;
pub mod program_order;
pub mod tables;

use serde::Deserialize;
use trueno_plugin::{Input, Plugin, Result, Run, export};

use crate::clocks::Clocks;
use crate::contradictions::Contradictions;
use crate::event_graph::EventGraph;
use crate::events::Events;
use crate::lane_groups::LaneGroups;

pub struct Causality;

#[derive(Clone, Debug, Deserialize)]
#[serde(default)]
pub struct Options {
    /// Emits table `events`, with a row for each row of the run. It is meant for queries: no page can show it.
    pub events: bool,
    pub contradiction_rows: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            events: false,
            contradiction_rows: 1_000,
        }
    }
}

impl Plugin for Causality {
    const ID: &'static str = "causality";
    const SUMMARY: &'static str =
        "Lamport clocks: the order of events by cause, and edges that recorded times contradict.";
    const INPUTS: &'static [Input] = &inputs::INPUTS;
    type Options = Options;

    fn run(run: &mut Run, options: Options) -> Result<()> {
        // Lanes that nothing ties together have an order of their own only, which their times tell as well.
        if !options.events && !edges::may_be_any(run)? {
            return Ok(());
        }
        let lanes = events::load(run)?;
        let events = Events::new(&lanes)?;
        if events.rows() == 0 {
            return Ok(());
        }
        let edges = edges::read(run, &events)?;
        if !options.events && edges.used.is_empty() {
            return Ok(());
        }
        run.check_cancelled()?;
        let graph = EventGraph::new(&events, &edges.used);
        let clocks = Clocks::new(&graph);
        run.check_cancelled()?;
        let groups = LaneGroups::new(&events, &edges.used);
        let contradictions = Contradictions::new(&events, &edges.used);
        let places = tables::Places::read(run)?;

        if !contradictions.by_lanes.is_empty() {
            run.emit(tables::contradictions_by_lanes(&events, &contradictions))?;
        }
        let tells =
            groups.groups > 0 || !contradictions.all.is_empty() || !clocks.circles.is_empty();
        if tells || options.events {
            run.emit(tables::totals(&events, &edges, &clocks, &groups))?;
            run.emit(tables::edges(&edges, &contradictions, &events))?;
            run.emit(tables::lanes(&events, &clocks, &groups))?;
            let limit = options.contradiction_rows;
            run.emit(tables::contradictions(
                &events,
                &places,
                &contradictions,
                limit,
            ))?;
        }
        if options.events {
            run.emit(tables::events(&events, &clocks))?;
        }
        let facts = findings::Facts {
            events: &events,
            edges: &edges,
            graph: &graph,
            clocks: &clocks,
            contradictions: &contradictions,
        };
        for finding in findings::findings(&facts) {
            run.finding(finding)?;
        }
        Ok(())
    }
}

export!(Causality, as trueno_plugin_v1_causality);
