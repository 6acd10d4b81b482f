//! Findings: edges that the times contradict, and events without a clock.

use std::collections::VecDeque;

use trueno_analysis::hash::FastMap;
use trueno_analysis::wording::{count, many, short, time};
use trueno_plugin::{Finding, Severity, agreeing};

use crate::clocks::Clocks;
use crate::contradictions::Contradictions;
use crate::edges::Edges;
use crate::event_graph::EventGraph;
use crate::events::Events;

/// At most this many cycles are named; the rest are only counted.
const MAX_CIRCLES: usize = 10;
/// At most this many rows of a cycle are listed in a text.
const MAX_NAMES: usize = 8;

pub struct Facts<'a> {
    pub events: &'a Events<'a>,
    pub edges: &'a Edges,
    pub graph: &'a EventGraph,
    pub clocks: &'a Clocks,
    pub contradictions: &'a Contradictions,
}

pub fn findings(facts: &Facts<'_>) -> Vec<Finding> {
    let circles = &facts.clocks.circles;
    let named = circles.iter().take(MAX_CIRCLES);
    let mut out: Vec<Finding> = named.map(|circle| of_circle(facts, circle)).collect();
    if circles.len() > MAX_CIRCLES {
        let more = many((circles.len() - MAX_CIRCLES) as u64, "more circle");
        let title = format!("{more} of rows that precede themselves");
        out.push(Finding::new("cycles", Severity::Warning, title));
    }
    out.extend(contradictions(facts));
    out
}

fn contradictions(facts: &Facts<'_>) -> Option<Finding> {
    let first = facts.contradictions.by_lanes.first()?;
    let late = |ns: u64| i64::try_from(ns).map_or("more than 292 years".to_owned(), time);
    let contradicted = facts.contradictions.all.len() as u64;
    let title = format!(
        "recorded times contradict {} of {}, by up to {}",
        count(contradicted),
        many(facts.edges.used.len() as u64, "edge"),
        late(first.max_late_ns)
    );
    let lane = |lane: usize| facts.events.lanes.lanes[lane].name.as_str();
    let (from, to) = (lane(first.from), lane(first.to));
    let cause = if first.from == first.to {
        "these edges or the times of that lane are wrong".to_owned()
    } else {
        format!(
            "the clock of {from} is ahead of that of {to} by at least that much there, or these edges are wrong"
        )
    };
    let detail = format!(
        "the largest is in {} from {from} to {to}: the event that came first has the later recorded time; {cause}; Lamport clocks follow the edges",
        first.kind.name()
    );
    Some(
        Finding::new("contradictions", Severity::Warning, title)
            .detail(detail)
            .suggestion("do not compare times of these lanes more closely than that")
            .evidence("SELECT * FROM causality.contradictions_by_lanes ORDER BY max_late_ns DESC"),
    )
}

/// A finding about a cycle of events, sorted by number. It shows the shortest path from the first event back to
/// itself.
fn of_circle(facts: &Facts<'_>, circle: &[u32]) -> Finding {
    let way = shortest(facts.graph, circle);
    let mut rows: Vec<u32> = Vec::new();
    for node in way.into_iter().filter(|node| !facts.graph.is_gate(*node)) {
        if rows.last() != Some(&(node / 2)) {
            rows.push(node / 2);
        }
    }
    if rows.len() > 1 && rows.first() == rows.last() {
        rows.pop();
    }
    let id = |row: u32| facts.events.span(row).id;
    let named = rows.iter().take(MAX_NAMES);
    let named = named.map(|row| format!("{} ({})", short(facts.events.name(*row)), id(*row)));
    let mut names: Vec<String> = named.collect();
    if rows.len() > MAX_NAMES {
        names.push(format!("{} more", rows.len() - MAX_NAMES));
    }
    names.extend(names.first().cloned());
    let events = circle.iter().filter(|node| !facts.graph.is_gate(**node));
    let events = events.count() as u64;
    let title = format!(
        "{} {} before {}: {}",
        many(events, "event"),
        agreeing(events, "comes", "come"),
        agreeing(events, "itself", "themselves"),
        names.join(" → ")
    );
    let ids: Vec<u64> = rows.iter().map(|row| id(*row)).collect();
    Finding::new("cycle", Severity::Warning, title)
        .detail("edges and the order of lanes lead from each of these rows to the next; events of the cycle have no Lamport clock, and later events count it as one event")
        .suggestion("check where the program records these edges: one of them points the wrong way")
        .evidence(ids)
}

/// The shortest path from the first node of a cycle back to it, causes first.
fn shortest(graph: &EventGraph, circle: &[u32]) -> Vec<u32> {
    let Some(&start) = circle.first() else {
        return Vec::new();
    };
    let is_of_circle = |node: u32| circle.binary_search(&node).is_ok();
    let mut after: FastMap<u32, u32> = FastMap::default();
    let mut next = VecDeque::from([start]);
    while let Some(node) = next.pop_front() {
        for before in graph
            .predecessors(node)
            .into_iter()
            .flatten()
            .copied()
            .filter(|before| is_of_circle(*before))
        {
            if before == start {
                let mut way = vec![start];
                let mut at = node;
                while at != start {
                    way.push(at);
                    at = after[&at];
                }
                way.push(start);
                return way;
            }
            if let std::collections::hash_map::Entry::Vacant(vacant) = after.entry(before) {
                vacant.insert(node);
                next.push_back(before);
            }
        }
    }
    circle.to_vec()
}
