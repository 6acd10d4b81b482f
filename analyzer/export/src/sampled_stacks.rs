//! Estimated CPU time by stack of functions, from samples.

use std::collections::HashMap;

use trueno_engine::frame::{i64_at, text_at, u64_at};

use super::rows::Source;
use super::stacks::{DEEPEST, ROOT, Stacks};
use crate::error::ExportError;

/// Events whose periods are nanoseconds; modifiers, as in `cpu-clock:u`, change nothing in that.
const TIME: [&str; 2] = ["cpu-clock", "task-clock"];
const SAMPLES: &str = "SELECT s.thread, t.name AS thread_name, s.stack, s.event, SUM(s.period) AS ns \
                       FROM samples s LEFT JOIN threads t ON t.thread = s.thread \
                       GROUP BY s.thread, t.name, s.stack, s.event ORDER BY s.thread, s.stack";
const STACKS: &str = "SELECT id, caller, function, module, address FROM stacks";

/// Folds the samples of all threads.
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
    let mut stacks = Stacks::empty();
    stacks.is_estimated = true;
    let mut nodes: HashMap<(usize, u64), usize> = HashMap::new();
    for row in 0..samples.height() {
        let event = text_at(&samples, "event", row).unwrap_or_default();
        let counts_time = TIME.contains(&event.split(':').next().unwrap_or_default());
        let (true, Some(ns)) = (counts_time, i64_at(&samples, "ns", row)) else {
            continue;
        };
        let thread = u64_at(&samples, "thread", row).unwrap_or_default();
        let lane = match text_at(&samples, "thread_name", row) {
            Some(name) => format!("{name} (thread {thread})"),
            None => format!("thread {thread}"),
        };
        let lane = stacks.number(&lane);
        let lane = stacks.child(ROOT, lane);
        let id = u64_at(&samples, "stack", row);
        let node = match id.and_then(|id| nodes.get(&(lane, id)).copied()) {
            Some(node) => node,
            None => {
                let mut node = lane;
                for name in functions.outermost_first(id, &mut stacks.deeper) {
                    let name = stacks.number(&name);
                    node = stacks.child(node, name);
                }
                nodes.extend(id.map(|id| ((lane, id), node)));
                node
            }
        };
        let sum = &mut stacks.nodes[node].self_ns;
        *sum = sum.saturating_add(ns);
    }
    if stacks.nodes.len() == 1 {
        return Err(ExportError::Lacking(
            "its samples count no time, but another event: how long a function ran is not known (hint: \
             `trueno-analyze query RUN \"SELECT * FROM samples.functions\"` has their shares)"
                .to_owned(),
        ));
    }
    Ok(stacks)
}

/// Names by the rows of `stacks`.
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

    /// The functions of a stack. What lies deeper than is written is left out and counted.
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
