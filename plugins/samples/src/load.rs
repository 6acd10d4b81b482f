//! From the published tables to sums.

use std::collections::{BTreeMap, BTreeSet};

use trueno_analysis::hash::FastMap;
use trueno_analysis::interner::Texts;
use trueno_analysis::window::Window;
use trueno_plugin::{Result, Run};

use crate::enclosing::Enclosing;
use crate::function::Function;
use crate::sampled_waits;
use crate::stacks::Stacks;
use crate::sums::{EventSum, Sums, Tally, WaitPlace};
use crate::tree::NONE;
use crate::waits;

/// A sample of a thread: time, then event and function as numbers.
type Moment = (i64, (u32, u32));

/// Samples while they are read. Texts and nodes are numbers.
#[derive(Default)]
struct Read {
    events: Texts,
    nodes: FastMap<(u32, u32), Tally>,
    threads: BTreeMap<(u32, i64), Tally>,
    /// By event, thread and node.
    waiting: BTreeMap<(u32, i64, u32), u64>,
    moments: BTreeMap<i64, Vec<Moment>>,
    /// Samples whose stack has no row.
    missing: u64,
}

/// Reads the samples, and adds them up.
///
/// # Errors
/// An input lacks a column or has it in another type.
pub fn load(run: &mut Run) -> Result<Sums> {
    let window = Window::read(run)?;
    let stacks = Stacks::read(run)?;
    let threads = run.table("threads")?;
    let mut read = samples(run, &stacks, window)?;
    run.check_cancelled()?;
    // Counted also where no sample lies in the window: a job's count is the sum of its ranks'.
    let mut out = Sums {
        missing_stacks: stacks.missing.saturating_add(read.missing),
        circular_stacks: stacks.tree.circular,
        waits: waits::load::load(run, &stacks, &threads, window)?,
        ..Sums::default()
    };
    let mut events: Vec<EventSum> = vec![EventSum::default(); read.events.len()];
    add_functions(&mut events, &read.nodes, &stacks);
    for ((event, thread), tally) in &read.threads {
        events[*event as usize].threads.insert(*thread, *tally);
    }
    for ((event, thread, node), count) in &read.waiting {
        let place = WaitPlace {
            thread: *thread,
            function: stacks.function(stacks.function_of(*node)),
            file: stacks.file_of(*node).map(str::to_owned),
        };
        let waiting = &mut events[*event as usize].waiting;
        *waiting.entry(place).or_default() += count;
    }
    add_bricks(&mut events, run, &mut read.moments, &stacks)?;
    let waiting: BTreeSet<i64> = read.waiting.keys().map(|(_, thread, _)| *thread).collect();
    let (thread, name) = (threads.i64("thread")?, threads.text("name")?);
    for (thread, name) in thread.iter().zip(name.iter()) {
        if let (Some(thread), Some(name)) = (thread, name)
            && (read.moments.contains_key(&thread) || waiting.contains(&thread))
        {
            out.thread_names.insert(thread, name.to_owned());
        }
    }
    let named = read.events.all().iter().cloned().zip(events);
    out.events = named
        .filter(|(_, event)| event.all.samples > 0 || !event.waiting.is_empty())
        .collect();
    Ok(out)
}

fn samples(run: &mut Run, stacks: &Stacks, window: Option<Window>) -> Result<Read> {
    let mut out = Read::default();
    let events = out.events.read_distinct(run, "events")?;
    let texts = out.events.all().iter();
    let also_waiting: Vec<bool> = texts
        .map(|event| sampled_waits::samples_waiting_threads(event))
        .collect();
    let mut batches = run.batches("samples")?;
    while let Some(batch) = batches.next_batch()? {
        let (time_ns, thread) = (batch.i64("time_ns")?, batch.i64("thread")?);
        let (stack, event_id) = (batch.u64("stack")?, batch.i64("event_id")?);
        let period = batch.u64("period")?;
        for row in 0..batch.rows() {
            let event = event_id.get(row).and_then(|id| events.get(&id).copied());
            let (Some(time_ns), Some(thread), Some(event)) =
                (time_ns.get(row), thread.get(row), event)
            else {
                continue;
            };
            if window.is_some_and(|window| !window.has(time_ns)) {
                continue;
            }
            let node = stack.get(row).map(|id| stacks.node(id));
            out.missing += u64::from(node == Some(None));
            let node = node.flatten().unwrap_or(NONE);
            let compiled = stacks.compiled(node);
            if also_waiting[event as usize] && stacks.waits(compiled) {
                *out.waiting.entry((event, thread, compiled)).or_default() += 1;
                continue;
            }
            let one = Tally::one(period.get(row));
            out.nodes.entry((event, node)).or_default().add(one);
            out.threads.entry((event, thread)).or_default().add(one);
            let function = stacks.function_of(compiled);
            let moment = (time_ns, (event, function));
            out.moments.entry(thread).or_default().push(moment);
        }
    }
    Ok(out)
}

fn add_functions(events: &mut [EventSum], nodes: &FastMap<(u32, u32), Tally>, stacks: &Stacks) {
    let mut nodes: Vec<((u32, u32), Tally)> = nodes.iter().map(|(at, sum)| (*at, *sum)).collect();
    nodes.sort_unstable_by_key(|(at, _)| *at);
    for of_event in nodes.chunk_by(|a, b| a.0.0 == b.0.0) {
        let event = &mut events[of_event[0].0.0 as usize];
        let counts: Vec<(u32, u64)> = of_event
            .iter()
            .map(|((_, node), tally)| (*node, tally.samples))
            .collect();
        for (function, inclusive) in stacks.inclusive(&counts) {
            let function = stacks.function(function);
            event.functions.entry(function).or_default().inclusive = inclusive;
        }
        for ((_, node), tally) in of_event {
            event.all.add(*tally);
            let compiled = stacks.compiled(*node);
            let function = stacks.function(stacks.function_of(compiled));
            let sum = event.functions.entry(function).or_default();
            sum.innermost.add(*tally);
            if let Some(line) = stacks.line_of(compiled) {
                *sum.lines.entry(line).or_default() += tally.samples;
            }
        }
    }
}

fn add_bricks(
    events: &mut [EventSum],
    run: &mut Run,
    moments: &mut BTreeMap<i64, Vec<Moment>>,
    stacks: &Stacks,
) -> Result<()> {
    if moments.is_empty() {
        return Ok(());
    }
    let enclosing = Enclosing::read(run)?;
    if enclosing.is_empty() {
        return Ok(());
    }
    // By event, label of the row and function.
    let mut counts: BTreeMap<(u32, u32, u32), u64> = BTreeMap::new();
    for (thread, moments) in moments {
        moments.sort_unstable();
        let moments = moments.iter().copied();
        enclosing.locate(*thread, moments, |label, (event, function)| {
            *counts.entry((event, label, function)).or_default() += 1;
        });
    }
    let mut functions: BTreeMap<u32, Function> = BTreeMap::new();
    for ((event, label, function), count) in counts {
        let bricks = &mut events[event as usize].bricks;
        let function = functions
            .entry(function)
            .or_insert_with(|| stacks.function(function));
        let of_brick = bricks.entry(enclosing.key(label)).or_default();
        *of_brick.entry(function.clone()).or_default() += count;
    }
    Ok(())
}
