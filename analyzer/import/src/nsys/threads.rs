//! Threads and processes: an export packs machine, process and thread into one number.

use std::collections::HashMap;

/// Bits of a `globalTid` that are the thread; as many above them are the process.
const BITS: u32 = 24;

/// A thread that had a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thread {
    /// Its `globalTid`.
    pub global: Option<i64>,
    /// Start of its first row.
    pub start_ns: i64,
}

impl Thread {
    /// The number the operating system gave it.
    pub fn os_id(self) -> Option<u64> {
        u64::try_from(self.global? & ((1 << BITS) - 1))
            .ok()
            .filter(|id| *id != 0)
    }
}

/// The number the operating system gave a process, from a `globalTid` or `globalPid`.
pub fn pid(global: i64) -> u32 {
    ((global >> BITS) & ((1 << BITS) - 1)) as u32
}

/// Threads in order of their first row, and processes likewise.
#[derive(Debug, Default)]
pub struct Threads {
    numbers: HashMap<Option<i64>, u32>,
    pub list: Vec<Thread>,
    processes: HashMap<i64, u32>,
    pub pids: Vec<u32>,
}

impl Threads {
    /// The number of a thread; rows without one share one of their own.
    pub fn number(&mut self, global: Option<i64>, start_ns: i64) -> u32 {
        if let Some(global) = global {
            self.process(global);
        }
        let list = &mut self.list;
        *self.numbers.entry(global).or_insert_with(|| {
            list.push(Thread { global, start_ns });
            list.len() as u32 - 1
        })
    }

    /// The number of the process of a `globalTid` or `globalPid`.
    pub fn process(&mut self, global: i64) -> u32 {
        let pids = &mut self.pids;
        *self.processes.entry(global >> BITS).or_insert_with(|| {
            pids.push(pid(global));
            pids.len() as u32 - 1
        })
    }

    /// Process and correlation id in one: unique in the run, and the plain id in its first process.
    ///
    /// Without a process it is that of the only one there is.
    pub fn key(&mut self, global: Option<i64>, correlation: u32) -> Option<u64> {
        let process = match global {
            Some(global) => self.process(global),
            None if self.pids.len() <= 1 => 0,
            None => return None,
        };
        (correlation != 0).then_some(u64::from(process) << 32 | u64::from(correlation))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_global_id_is_taken_apart() {
        let global = 310_028_055_214_088; // process and thread 1701896
        let mut threads = Threads::default();
        assert_eq!(threads.number(Some(global), 5), 0);
        assert_eq!(threads.list[0].os_id(), Some(1_701_896));
        assert_eq!(threads.pids, [1_701_896]);
        // Another thread of the process, and the process itself.
        assert_eq!(threads.number(Some(global + 6), 6), 1);
        assert_eq!(threads.process(310_028_053_512_192), 0);
        assert_eq!(threads.key(None, 9), Some(9));
        // A second process: the same correlation id is another.
        assert_eq!(threads.key(Some(global + (1 << 24)), 9), Some(1 << 32 | 9));
        assert_eq!(threads.key(None, 9), None);
    }
}
