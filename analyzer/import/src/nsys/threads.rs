//! Threads and processes: an export packs machine, process and thread into one number.

use std::collections::HashMap;

/// Number of bits of a `globalTid` that hold the thread; the same number above them hold the process.
const BITS: u32 = 24;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thread {
    pub global: Option<i64>,
    pub start_ns: i64,
    /// It calls CUDA or has ranges. Others are threads of libraries and of the profiler, or unknown.
    pub is_of_program: bool,
}

impl Thread {
    pub fn os_id(self) -> Option<u64> {
        u64::try_from(self.global? & ((1 << BITS) - 1))
            .ok()
            .filter(|id| *id != 0)
    }
}

pub fn pid(global: i64) -> u32 {
    ((global >> BITS) & ((1 << BITS) - 1)) as u32
}

/// Threads and processes, each in order of their first row.
#[derive(Debug, Default)]
pub struct Threads {
    numbers: HashMap<Option<i64>, u32>,
    pub list: Vec<Thread>,
    processes: HashMap<i64, u32>,
    pub pids: Vec<u32>,
}

impl Threads {
    /// The number of a thread. Rows without a thread share one number.
    pub fn number(&mut self, global: Option<i64>, start_ns: i64) -> u32 {
        if let Some(global) = global {
            self.process(global);
        }
        let list = &mut self.list;
        let number = *self.numbers.entry(global).or_insert_with(|| {
            list.push(Thread {
                global,
                start_ns,
                is_of_program: false,
            });
            list.len() as u32 - 1
        });
        if let Some(thread) = list.get_mut(number as usize) {
            thread.start_ns = thread.start_ns.min(start_ns);
        }
        number
    }

    pub fn set_of_program(&mut self, number: u32) {
        if let Some(thread) = self.list.get_mut(number as usize) {
            thread.is_of_program = true;
        }
    }

    /// The number of a thread that calls CUDA or has ranges.
    pub fn of_program(&self, global: i64) -> Option<u32> {
        let number = *self.numbers.get(&Some(global))?;
        let thread = self.list.get(number as usize)?;
        thread.is_of_program.then_some(number)
    }

    pub fn has_process(&self, global: i64) -> bool {
        self.processes.contains_key(&(global >> BITS))
    }

    pub fn process(&mut self, global: i64) -> u32 {
        let pids = &mut self.pids;
        *self.processes.entry(global >> BITS).or_insert_with(|| {
            pids.push(pid(global));
            pids.len() as u32 - 1
        })
    }

    /// Process and correlation id combined. Unique in the run, and equal to the plain id for its first process.
    /// Without a process, the only process is assumed, if there is just one.
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
