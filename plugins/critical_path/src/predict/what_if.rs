//! Rules turned into durations of segments and lags.
//!
//! A rule about intervals covers all that belongs to them ([`Ownership`]): a brick's nested bricks, the
//! kernels it launched, the tasks it spawned. The innermost interval with a rule decides; of several
//! rules for one interval the last. Waits are covered by rules about waits only: they last as long as
//! what they wait for. So an unexplained wait is scaled only by `kind:sync_wait`.

use trueno_analysis::lanes::{Class, Label};

use crate::graph::dependency_graph::{Graph, Link, Predecessor};
use crate::graph::lag_kind;
use crate::graph::ownership::{Own, Ownership};
use crate::graph::walk::{PieceKind, Timing};
use crate::predict::at_roof::Roofs;
use crate::predict::schedule::{Scenario, needed, tail};
use crate::predict::what_if_rule::{Change, Rule, Target, stretched};

pub struct Assumption<'a> {
    graph: &'a Graph<'a>,
    ownership: &'a Ownership,
    factor: Vec<u32>,
    factors: Vec<f64>,
    lags: [Option<Change>; PieceKind::ALL.len()],
    /// For each rule, how many intervals match it themselves.
    pub matched: Vec<u64>,
    /// For each rule, whether it also changes lags.
    pub about_lags: Vec<bool>,
}

impl<'a> Assumption<'a> {
    pub fn new(
        graph: &'a Graph<'a>,
        ownership: &'a Ownership,
        roofs: &Roofs,
        rules: &[Rule],
    ) -> Self {
        let mut out = Self {
            graph,
            ownership,
            factor: Vec::new(),
            factors: vec![1.0],
            lags: [None; PieceKind::ALL.len()],
            matched: vec![0; rules.len()],
            about_lags: vec![false; rules.len()],
        };
        for (rule, about_lags) in rules.iter().zip(&mut out.about_lags) {
            let Target::Kind(kind) = &rule.target else {
                continue;
            };
            if let Some(kind) = PieceKind::ALL.into_iter().find(|k| k.name() == *kind) {
                *about_lags = !matches!(kind, PieceKind::Work | PieceKind::Transfer);
                if *about_lags {
                    out.lags[kind as usize] = Some(rule.change);
                }
            }
        }
        out.cover(roofs, rules);
        out
    }

    fn cover(&mut self, roofs: &Roofs, rules: &[Rule]) {
        let run = self.graph.run;
        // Labels are few; of each the last rule that fits.
        let of_label: Vec<Option<usize>> = run
            .labels
            .all()
            .iter()
            .map(|label| rules.iter().rposition(|rule| fits(self.graph, rule, label)))
            .collect();
        let ids: Vec<(u64, usize)> = rules
            .iter()
            .enumerate()
            .filter_map(|(at, rule)| match rule.target {
                Target::Id(id) => Some((id, at)),
                _ => None,
            })
            .collect();
        let scales: Vec<u32> = rules
            .iter()
            .map(|rule| match rule.change {
                Change::Scale(scale) => {
                    self.factors.push(scale);
                    self.factors.len() as u32 - 1
                }
                Change::Absolute(_) | Change::Roof(_) => 0,
            })
            .collect();
        const NONE: u32 = u32::MAX;
        let mut own = vec![NONE; self.ownership.len()];
        let mut number = 0;
        for lane in &run.lanes {
            for span in &lane.spans {
                let id = ids
                    .iter()
                    .rev()
                    .find(|(id, _)| *id == span.id)
                    .map(|id| id.1);
                let left = roofs.left(span.label);
                let rule = id.max(of_label[span.label as usize]);
                let has_roof = |rule: &usize| {
                    left.is_some() || !matches!(rules[*rule].change, Change::Roof(_))
                };
                if let Some(rule) = rule.filter(has_roof) {
                    self.matched[rule] += 1;
                    let factor = match rules[rule].change {
                        Change::Scale(_) => scales[rule],
                        Change::Roof(share) => {
                            self.factors
                                .push(left.map_or(1.0, |left| (left / share).min(1.0)));
                            self.factors.len() as u32 - 1
                        }
                        Change::Absolute(ns) => {
                            // An interval without duration has none to stretch.
                            let factor = match span.dur_ns() {
                                0 => 1.0,
                                measured_ns => ns as f64 / measured_ns as f64,
                            };
                            self.factors.push(factor);
                            self.factors.len() as u32 - 1
                        }
                    };
                    own[number] = factor;
                }
                number += 1;
            }
        }
        self.factor = self.ownership.inherit(0, |number| {
            let factor = own[number as usize];
            if factor != NONE {
                return Own::Has(factor);
            }
            let at = self.ownership.place(number);
            let span = &run.lanes[at.lane as usize].spans[at.index as usize];
            match run.labels.get(span.label).class {
                Class::Wait => Own::Alone,
                _ => Own::Inherits,
            }
        });
    }

    pub fn is_idle(&self, rule: usize) -> bool {
        self.matched[rule] == 0 && !self.about_lags[rule]
    }
}

/// The function of a C++ signature, as reports show it: `gemm` of `void mm::gemm<4>(float*, int)`.
fn function(signature: &str) -> Option<&str> {
    let (path, _) = signature.split_at(signature.find(['<', '('])?);
    let name = path.rsplit([' ', ':']).next()?;
    let is_name = name.chars().all(|c| c.is_alphanumeric() || c == '_');
    (is_name && !name.is_empty() && signature.ends_with(')')).then_some(name)
}

fn fits(graph: &Graph<'_>, rule: &Rule, label: &Label) -> bool {
    let text = |number: u32| graph.run.texts.text(number);
    match &rule.target {
        Target::Name(name) => {
            let full = text(label.name);
            full == name || function(full).is_some_and(|function| function == name)
        }
        Target::Category(category) => {
            graph.run.texts.get(label.category) == Some(category.as_str())
        }
        Target::Kind(kind) => {
            let piece = match label.class {
                Class::Wait => PieceKind::SyncWait,
                Class::Transfer => PieceKind::Transfer,
                _ => PieceKind::Work,
            };
            piece.name() == kind || text(label.kind) == kind
        }
        Target::Id(_) => false,
    }
}

impl Scenario<1> for Assumption<'_> {
    #[inline]
    fn dur_ns(&self, segment: u32, lane: usize) -> [i64; 1] {
        let span = self.graph.segments.span[segment as usize];
        let factor = self.factor[(self.ownership.first(lane) + span) as usize];
        let (start_ns, end_ns) = self.graph.needs_ns(segment);
        [stretched(start_ns, end_ns, self.factors[factor as usize])]
    }

    #[inline]
    fn lag_ns(&self, kind: PieceKind, measured_ns: i64) -> [i64; 1] {
        [self.lags[kind as usize].map_or(measured_ns, |change| change.apply(measured_ns))]
    }
}

pub struct Predicted<'a, S> {
    pub graph: &'a Graph<'a>,
    pub scenario: &'a S,
    pub free_ns: &'a [[i64; 1]],
}

impl<S: Scenario<1>> Predicted<'_, S> {
    /// The segment that the predicted path ends with: the measured one, unless another lane connected with it
    /// is now released after the end of the window.
    pub fn last(&self) -> Option<u32> {
        let graph = self.graph;
        let last = graph.last()?;
        let own = graph.segments.lane(last);
        let [[waited_ns], [after_ns]] = tail(graph, self.scenario, last);
        let after_ns = waited_ns + after_ns;
        let mut best = (self.free_ns(last).saturating_add(after_ns), last);
        let lanes = 0..graph.run.lanes.len();
        for lane in lanes.filter(|lane| graph.are_connected(*lane, own)) {
            let of_lane = graph.segments.lane_first[lane]..graph.followers(lane).start;
            if let Some(segment) = of_lane.last()
                && self.free_ns(segment) > best.0
            {
                best = (self.free_ns(segment), segment);
            }
        }
        Some(best.1)
    }
}

impl<S: Scenario<1>> Timing for Predicted<'_, S> {
    fn start_ns(&self, segment: u32) -> i64 {
        let lane = self.graph.segments.lane(segment);
        let [needed_ns] = needed(self.graph, self.scenario, segment, lane);
        self.free_ns(segment) - needed_ns
    }

    fn free_ns(&self, segment: u32) -> i64 {
        self.free_ns[segment as usize][0]
    }

    fn end_ns(&self, segment: u32) -> i64 {
        let free_ns = self.free_ns(segment);
        if Some(segment) == self.graph.last() {
            free_ns + tail(self.graph, self.scenario, segment)[0][0]
        } else {
            free_ns
        }
    }

    fn binding(&self, segment: u32, lane: usize) -> Option<(u32, Link)> {
        let measured = self.graph.binding(segment, lane)?;
        let start_ns = self.start_ns(segment);
        let binds = |of: &Predecessor| {
            let lag_ns = match self.graph.lag_ns(segment, of, &measured) {
                0 => 0,
                lag_ns => {
                    let (source, link) = (of.source, of.link);
                    let kind = lag_kind::lag_kind(self.graph, source, link, segment, lane);
                    self.scenario.lag_ns(kind, lag_ns)[0]
                }
            };
            self.free_ns(of.source) + lag_ns == start_ns
        };
        let all = self.graph.predecessors(segment, lane).filter(binds);
        let is_other = |of: &Predecessor| (of.source, of.link) != (measured.source, measured.link);
        let binding = all.min_by_key(is_other);
        binding.map(|of| (of.source, of.link))
    }
}
