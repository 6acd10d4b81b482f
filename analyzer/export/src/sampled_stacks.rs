//! Estimated CPU time by stack of functions, from samples, and time waited, which is measured.

use std::collections::HashMap;

use polars::prelude::DataFrame;
use trueno_engine::frame::{i64_at, text_at, u64_at};

use super::rows::Source;
use super::stacks::{DEEPEST, Measure, ROOT, Stacks};
use crate::error::ExportError;

/// Events with periods in nanoseconds. Modifiers, as in `cpu-clock:u`, do not change that.
const TIME: [&str; 2] = ["cpu-clock", "task-clock"];
const SAMPLES: &str = "SELECT s.thread, t.name AS thread_name, s.stack, s.event, SUM(s.period) AS ns \
                       FROM samples s LEFT JOIN threads t ON t.thread = s.thread \
                       GROUP BY s.thread, t.name, s.stack, s.event ORDER BY s.thread, s.stack";
const WAITS: &str = "SELECT w.thread, t.name AS thread_name, w.kind, w.stack, w.ns \
                     FROM (SELECT thread, kind, stack, SUM(dur_ns) AS ns FROM syncs \
                           WHERE kind = 'off_cpu' OR kind = 'runnable' GROUP BY thread, kind, stack) w \
                     LEFT JOIN threads t ON t.thread = w.thread ORDER BY w.thread, w.kind, w.stack";
/// Intervals in which threads of a sampled program ran (`on_cpu`) are not calls.
const CALLS: &str = "SELECT COUNT(*) AS calls FROM calls WHERE kind IS NULL OR kind <> 'on_cpu'";
/// Frames of the two kinds of waits.
const WAITED: &str = "[waited]";
const NO_PROCESSOR: &str = "[no processor was free]";
const STACKS: &str = "SELECT id, caller, function, module, address FROM stacks";

/// Stacks of the samples of all threads.
///
/// # Errors
/// [`ExportError::Lacking`]: there are none, or none that count time.
pub(super) fn stacks(source: &Source<'_>) -> Result<Stacks, ExportError> {
    if source.table("samples").is_none_or(|table| table.rows == 0) {
        return Err(ExportError::Lacking(
            "the run holds no samples (hint: `trueno-record run --sample -- PROGRAM` records them)"
                .to_owned(),
        ));
    }
    let functions = Functions::read(source)?;
    let samples = source.ask("samples", SAMPLES)?;
    let mut tree = Tree::new(Measure::EstimatedCpuTime, &functions);
    for row in 0..samples.height() {
        let event = text_at(&samples, "event", row).unwrap_or_default();
        let counts_time = TIME.contains(&event.split(':').next().unwrap_or_default());
        let (true, Some(ns)) = (counts_time, i64_at(&samples, "ns", row)) else {
            continue;
        };
        let lane = tree.lane(&samples, row);
        tree.add(lane, u64_at(&samples, "stack", row), ns);
    }
    let stacks = tree.stacks;
    if stacks.nodes.len() == 1 {
        return Err(ExportError::Lacking(
            "its samples count another event than time, so how long a function ran is not known (hint: \
             `trueno-analyze query RUN \"SELECT * FROM samples.functions\"` has their shares)"
                .to_owned(),
        ));
    }
    Ok(stacks)
}

/// Stacks of the waits of all threads, which are measured, while samples are estimates.
///
/// # Errors
/// [`ExportError::Lacking`]: there are none.
pub(super) fn waits(source: &Source<'_>) -> Result<Stacks, ExportError> {
    let lacking = || {
        ExportError::Lacking(
            "the run holds no waits of a sampled program (hint: `trueno-record run --sample -- PROGRAM` records them)"
                .to_owned(),
        )
    };
    if source.table("syncs").is_none_or(|table| table.rows == 0) {
        return Err(lacking());
    }
    let functions = Functions::read(source)?;
    let waits = source.ask("syncs", WAITS)?;
    let mut tree = Tree::new(Measure::Waits, &functions);
    for row in 0..waits.height() {
        let Some(ns) = i64_at(&waits, "ns", row) else {
            continue;
        };
        let lane = tree.lane(&waits, row);
        if text_at(&waits, "kind", row) == Some("runnable") {
            let node = tree.child(lane, NO_PROCESSOR);
            tree.add_to(node, ns);
        } else {
            let node = tree.child(lane, WAITED);
            tree.add(node, u64_at(&waits, "stack", row), ns);
        }
    }
    match tree.stacks.nodes.len() {
        1 => Err(lacking()),
        _ => Ok(tree.stacks),
    }
}

pub(super) fn has_calls(source: &Source<'_>) -> Result<bool, ExportError> {
    let calls = source.ask("calls", CALLS)?;
    Ok(u64_at(&calls, "calls", 0).unwrap_or(0) > 0)
}

struct Tree<'a> {
    stacks: Stacks,
    functions: &'a Functions,
    /// Nodes by parent node and row of `stacks`.
    nodes: HashMap<(usize, u64), usize>,
}

impl<'a> Tree<'a> {
    fn new(measure: Measure, functions: &'a Functions) -> Self {
        let mut stacks = Stacks::empty();
        stacks.measure = measure;
        Self {
            stacks,
            functions,
            nodes: HashMap::new(),
        }
    }

    fn lane(&mut self, frame: &DataFrame, row: usize) -> usize {
        let thread = u64_at(frame, "thread", row).unwrap_or_default();
        let lane = match text_at(frame, "thread_name", row) {
            Some(name) => format!("{name} (thread {thread})"),
            None => format!("thread {thread}"),
        };
        self.child(ROOT, &lane)
    }

    fn child(&mut self, of: usize, name: &str) -> usize {
        let name = self.stacks.number(name);
        self.stacks.child(of, name)
    }

    fn add(&mut self, below: usize, stack: Option<u64>, ns: i64) {
        let node = match stack.and_then(|id| self.nodes.get(&(below, id)).copied()) {
            Some(node) => node,
            None => {
                let mut node = below;
                let functions = self.functions;
                for name in functions.outermost_first(stack, &mut self.stacks.deeper) {
                    node = self.child(node, &name);
                }
                self.nodes.extend(stack.map(|id| ((below, id), node)));
                node
            }
        };
        self.add_to(node, ns);
    }

    fn add_to(&mut self, node: usize, ns: i64) {
        let sum = &mut self.stacks.nodes[node].self_ns;
        *sum = sum.saturating_add(ns);
    }
}

struct Functions(HashMap<u64, (Option<u64>, String)>);

impl Functions {
    fn read(source: &Source<'_>) -> Result<Self, ExportError> {
        let frame = match source.table("stacks") {
            Some(_) => source.ask("stacks", STACKS)?,
            None => return Ok(Self(HashMap::new())),
        };
        let rows = (0..frame.height()).filter_map(|row| {
            let id = u64_at(&frame, "id", row)?;
            let module = text_at(&frame, "module", row);
            let file = module.map(|module| module.rsplit('/').next().unwrap_or(module));
            let name = match text_at(&frame, "function", row) {
                Some(function) => function.to_owned(),
                None => format!("[{}]", file.unwrap_or("not known")),
            };
            Some((id, (u64_at(&frame, "caller", row), name)))
        });
        Ok(Self(rows.collect()))
    }

    /// Functions of a stack. Frames beyond the depth limit are left out and counted in `deeper`.
    fn outermost_first(&self, innermost: Option<u64>, deeper: &mut u64) -> Vec<String> {
        let mut names = Vec::new();
        let mut at = innermost;
        // Callers of a damaged run may go round: there are no more than there are rows.
        while let Some((caller, name)) = at.and_then(|id| self.0.get(&id))
            && names.len() <= self.0.len()
        {
            names.push(name.clone());
            at = *caller;
        }
        if names.is_empty() {
            names.push("[not known]".to_owned());
        }
        names.reverse();
        if names.len() > DEEPEST {
            names.truncate(DEEPEST);
            *deeper += 1;
        }
        names
    }
}
