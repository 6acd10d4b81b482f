//! From the published tables to sums of waits.

use std::collections::BTreeSet;

use trueno_analysis::hash::FastMap;
use trueno_analysis::interner::Texts;
use trueno_analysis::window::Window;
use trueno_plugin::{Result, Run, Table};

use super::wakers::{self, Wakings};
use super::{WaitKey, WaitSum, Waits};
use crate::function::Function;
use crate::stacks::Stacks;
use crate::tree::NONE;

/// File names of the C library and its parts, without version and `.so`.
const SYSTEM_LIBRARIES: [&str; 7] = [
    "libc",
    "ld-linux",
    "libpthread",
    "libm",
    "librt",
    "libstdc++",
    "libgcc_s",
];
const STANDARD_CRATES: [&str; 3] = ["std::", "core::", "alloc::"];

/// True if a function belongs to the program, not to the kernel, the C library or the standard library.
fn is_own(function: &Function) -> bool {
    let module = function.module.as_deref().unwrap_or_default();
    let file = module.rsplit('/').next().unwrap_or_default();
    let is_library = |name: &&str| {
        let rest = file.strip_prefix(*name);
        rest.is_some_and(|rest| rest.starts_with(['.', '-']))
    };
    let name = function.name.as_deref().unwrap_or_default();
    let name = name.trim_start_matches('<');
    !module.starts_with('[')
        && !SYSTEM_LIBRARIES.iter().any(is_library)
        && !STANDARD_CRATES.iter().any(|krate| name.starts_with(krate))
}

/// For each node that a thread waited at, the program's function: the innermost that belongs to the program, else
/// the outermost.
struct Own<'a> {
    stacks: &'a Stacks,
    nearest: Vec<u32>,
    is_own: Vec<bool>,
}

impl<'a> Own<'a> {
    fn new(stacks: &'a Stacks) -> Self {
        let mut known: FastMap<u32, bool> = FastMap::default();
        let nodes = 0..stacks.tree.caller.len() as u32;
        let own: Vec<bool> = nodes
            .map(|node| {
                let function = stacks.function_of(node);
                let is = || is_own(&stacks.function(function));
                *known.entry(function).or_insert_with(is)
            })
            .collect();
        Self {
            stacks,
            nearest: stacks.tree.nearest(|node| own[node as usize]),
            is_own: own,
        }
    }

    fn function(&self, stack: Option<u64>) -> Function {
        let node = stack.and_then(|id| self.stacks.node(id));
        let node = node.map_or(NONE, |node| self.nearest[node as usize]);
        // The function that it was compiled into, unless that is one of those: a closure may be all of a thread.
        let compiled = self.stacks.compiled(node);
        let place = match self.is_own.get(compiled as usize) {
            Some(false) => node,
            _ => compiled,
        };
        self.stacks.function(self.stacks.function_of(place))
    }
}

/// Reads waits of threads whose switches were recorded, clipped to the report's window.
///
/// # Errors
/// An input lacks a column or has it in another type.
pub fn load(
    run: &mut Run,
    stacks: &Stacks,
    threads: &Table,
    window: Option<Window>,
) -> Result<Waits> {
    let mut out = Waits::default();
    let clip = |start_ns: i64, end_ns: i64| match window {
        None => Some((start_ns, end_ns)),
        Some(window) => window.clip(start_ns, end_ns),
    };
    let mut texts = Texts::default();
    let calls = texts.read_distinct(run, "wait_calls")?;
    let own = Own::new(stacks);
    let wakings = Wakings::read(run)?;
    out.stretches = wakers::stretches(run)?;
    let mut functions: FastMap<Option<u64>, Function> = FastMap::default();
    let mut batches = run.batches("waits")?;
    while let Some(batch) = batches.next_batch()? {
        let (thread, call_id) = (batch.i64("thread")?, batch.i64("call_id")?);
        let (start_ns, dur_ns) = (batch.i64("start_ns")?, batch.i64("dur_ns")?);
        let (stack, is_runnable) = (batch.u64("stack")?, batch.bool("is_runnable")?);
        let id = batch.u64("id")?;
        for row in 0..batch.rows() {
            let times = start_ns.get(row).zip(dur_ns.get(row));
            let (Some(thread), Some((start_ns, dur_ns))) = (thread.get(row), times) else {
                continue;
            };
            let end_ns = start_ns.checked_add(dur_ns).filter(|_| dur_ns >= 0);
            let Some((from_ns, until_ns)) = end_ns.and_then(|end_ns| clip(start_ns, end_ns)) else {
                continue;
            };
            let wait = WaitSum::one(until_ns.saturating_sub(from_ns));
            let times = out.threads.entry(thread).or_default();
            if is_runnable.get(row) == Some(true) {
                times.runnable.add(wait);
                continue;
            }
            times.off_cpu.add(wait);
            let stack = stack.get(row);
            let function = functions
                .entry(stack)
                .or_insert_with(|| own.function(stack));
            let call = call_id.get(row).and_then(|id| calls.get(&id));
            let key = WaitKey {
                thread,
                call: call.map(|call| texts.text(*call).to_owned()),
                function: function.clone(),
            };
            if let Some(waker) = wakings.key(id.get(row), &key) {
                out.wakers.entry(waker).or_default().add(wait);
            }
            out.places.entry(key).or_default().add(wait);
        }
    }
    lives(run, threads, &mut out, clip)?;
    Ok(out)
}

/// Reads the lifetimes of threads. If all switches of a thread are known, a counter says when it ended.
fn lives(
    run: &mut Run,
    threads: &Table,
    out: &mut Waits,
    clip: impl Fn(i64, i64) -> Option<(i64, i64)>,
) -> Result<()> {
    let mut ends: FastMap<i64, i64> = FastMap::default();
    let table = run.table("cpu_times")?;
    let (thread, time_ns) = (table.i64("thread")?, table.i64("time_ns")?);
    for (thread, time_ns) in thread.iter().zip(time_ns.iter()) {
        if let (Some(thread), Some(time_ns)) = (thread, time_ns) {
            ends.insert(thread, time_ns);
        }
    }
    let (thread, name) = (threads.i64("thread")?, threads.text("name")?);
    let start_ns = threads.i64("start_ns")?;
    let wakers: BTreeSet<i64> = out.wakers.keys().map(|key| key.waker).collect();
    for row in 0..threads.rows() {
        let Some(thread) = thread.get(row) else {
            continue;
        };
        if let (true, Some(name)) = (wakers.contains(&thread), name.get(row)) {
            out.waker_names.insert(thread, name.to_owned());
        }
        let end_ns = ends.get(&thread);
        let life = start_ns.get(row).zip(end_ns.copied());
        let life = life.and_then(|(start_ns, end_ns)| clip(start_ns, end_ns));
        if life.is_none() && !out.threads.contains_key(&thread) {
            continue;
        }
        let times = out.threads.entry(thread).or_default();
        times.name = name.get(row).map(str::to_owned);
        let life_ns = life.map(|(from_ns, until_ns)| until_ns.saturating_sub(from_ns));
        times.life_ns = life_ns.and_then(|ns| u64::try_from(ns).ok());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(name: &str, module: &str) -> Function {
        Function {
            name: Some(name.to_owned()),
            module: Some(module.to_owned()),
        }
    }

    #[test]
    fn what_every_program_calls_is_not_its_own() {
        for (name, module) in [
            ("schedule", "[kernel]"),
            ("clock_nanosleep", "/usr/lib/x86_64-linux-gnu/libc.so.6"),
            ("futex_wait", "/lib/libpthread-2.31.so"),
            ("std::thread::sleep", "/opt/app"),
            ("<std::sys::pal::unix::Thread as Clone>::clone", "/opt/app"),
        ] {
            assert!(!is_own(&function(name, module)), "{name}");
        }
        for (name, module) in [
            ("app::naps", "/opt/app"),
            ("read_all", "/opt/libcurl.so.4"),
            ("standard", "/opt/libc_of_ours.so"),
        ] {
            assert!(is_own(&function(name, module)), "{name}");
        }
        assert!(is_own(&Function::default()));
    }
}
