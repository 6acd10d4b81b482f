//! Intervals that have begun and not ended yet.

use std::collections::HashMap;

use super::category::Class;

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

    pub fn end(&mut self, key: u64) -> Option<Open> {
        let stack = self.stacks.get_mut(&key)?;
        let open = stack.pop();
        if stack.is_empty() {
            self.stacks.remove(&key);
        }
        self.open -= u64::from(open.is_some());
        open
    }

    pub fn open(&self) -> u64 {
        self.open
    }
}
