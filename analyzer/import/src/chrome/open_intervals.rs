//! Intervals that have begun and not ended yet.

use std::collections::HashMap;

use super::category::Class;

/// Bounds the search for a name in a file that opens without end.
const MAX_SEARCHED: usize = 1_000;

#[derive(Clone, Copy, Debug)]
pub(super) struct Open {
    pub start_ns: i64,
    pub name: u32,
    pub lane: u32,
    pub class: Class,
    pub order: u64,
}

/// One stack per lane or id; empty stacks are removed.
#[derive(Debug, Default)]
pub(super) struct OpenIntervals {
    stacks: HashMap<u64, Vec<Open>>,
    open: u64,
}

impl OpenIntervals {
    pub fn begin(&mut self, key: u64, open: Open) {
        self.stacks.entry(key).or_default().push(open);
        self.open += 1;
    }

    /// Ends the innermost interval.
    pub fn end(&mut self, key: u64) -> Option<Open> {
        self.end_named(key, None)
    }

    /// Ends the innermost interval of this name, or the innermost of all if none has it.
    pub fn end_named(&mut self, key: u64, name: Option<u32>) -> Option<Open> {
        let stack = self.stacks.get_mut(&key)?;
        let inner = stack.len().saturating_sub(MAX_SEARCHED);
        let named = stack[inner..]
            .iter()
            .rposition(|open| Some(open.name) == name);
        let named = named.map(|at| inner + at);
        let open = stack.remove(named.or(stack.len().checked_sub(1))?);
        if stack.is_empty() {
            self.stacks.remove(&key);
        }
        self.open -= 1;
        Some(open)
    }

    pub fn open(&self) -> u64 {
        self.open
    }
}
