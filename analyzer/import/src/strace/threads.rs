//! Threads of a file, by the numbers of the operating system.

use std::collections::{BTreeSet, HashMap, HashSet};

use trueno_format::schema::ThreadRow;
use trueno_format::stacks::Frame;

use crate::{Error, Import};

#[derive(Debug, Default)]
pub struct Thread {
    /// 0 if no line states it.
    os_id: u64,
    name: Option<String>,
    start_ns: i64,
    /// End of its last call, for files without times.
    pub reached_ns: i64,
    pub open: Option<OpenCall>,
    pub first_row: Option<u64>,
    pub last_row: Option<u64>,
    /// The call that started it, until the thread has a row.
    pub begun_by: Option<u64>,
}

#[derive(Debug, Default)]
pub struct OpenCall {
    pub name: String,
    pub arguments: String,
    pub start_ns: i64,
    pub source: Option<Frame>,
}

#[derive(Debug, Default)]
pub struct Threads {
    list: Vec<Thread>,
    numbers: HashMap<u64, u32>,
    /// Threads that were started according to a call or message.
    begun: HashSet<u64>,
    /// Calls that started threads without a line yet.
    waiting: HashMap<u64, u64>,
    living: BTreeSet<u32>,
    /// For threads that are not the first of their process: the thread that started them, or an earlier one of
    /// the process.
    creators: HashMap<u64, u64>,
    /// Last rows of ended processes that nothing has waited for yet.
    ended: HashMap<u64, u64>,
}

impl Threads {
    /// The thread of a line. While there is only one thread strace does not name it; it does once there are
    /// two.
    pub fn number(&mut self, os_id: u64, name: Option<&str>, time_ns: i64) -> u32 {
        let number = self.find(os_id).unwrap_or_else(|| {
            self.list.push(Thread {
                os_id,
                start_ns: time_ns,
                begun_by: self.waiting.remove(&os_id),
                ..Thread::default()
            });
            let number = self.list.len() as u32 - 1;
            self.numbers.insert(os_id, number);
            number
        });
        self.living.insert(number);
        if let Some(name) = name {
            let known = &mut self.list[number as usize].name;
            if known.as_deref() != Some(name) {
                *known = Some(name.to_owned());
            }
        }
        number
    }

    fn find(&mut self, os_id: u64) -> Option<u32> {
        let known = self.numbers.get(&os_id).copied();
        if os_id == 0 {
            return match self.living.len() {
                1 => self.living.first().copied(),
                _ => known,
            };
        }
        if known.is_some() || self.begun.contains(&os_id) {
            return known;
        }
        let unnamed = self.numbers.get(&0).copied()?;
        let thread = &mut self.list[unnamed as usize];
        if thread.os_id != 0 {
            return None;
        }
        thread.os_id = os_id;
        self.numbers.insert(os_id, unnamed);
        Some(unnamed)
    }

    pub fn get(&mut self, number: u32) -> &mut Thread {
        &mut self.list[number as usize]
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Thread> {
        self.list.iter_mut()
    }

    pub fn attach(&mut self, os_id: u64) {
        self.begun.insert(os_id);
    }

    /// Handles a call that started a thread; `row` is the call's row, if it has one. Returns the edge to the
    /// new thread's first row, if that exists already.
    pub fn spawn(
        &mut self,
        creator: u32,
        child: u64,
        is_same_process: bool,
        row: Option<u64>,
    ) -> Option<(u64, u64)> {
        self.begun.insert(child);
        if is_same_process {
            let creator = self.list[creator as usize].os_id;
            let process = self.creators.get(&creator).copied();
            self.creators.insert(child, process.unwrap_or(creator));
        }
        let row = row?;
        let Some(number) = self.numbers.get(&child).copied() else {
            self.waiting.insert(child, row);
            return None;
        };
        let thread = &mut self.list[number as usize];
        if thread.first_row.is_none() {
            thread.begun_by = Some(row);
        }
        thread.first_row.map(|first| (row, first))
    }

    /// Handles a new row of a thread. Returns the edge to it from the call that started the thread.
    pub fn wrote(&mut self, number: u32, row: u64) -> Option<(u64, u64)> {
        let thread = &mut self.list[number as usize];
        thread.first_row.get_or_insert(row);
        thread.last_row = Some(row);
        thread.begun_by.take().map(|from| (from, row))
    }

    pub fn end(&mut self, number: u32) {
        self.living.remove(&number);
        let thread = &self.list[number as usize];
        if let Some(row) = thread.last_row {
            self.ended.insert(thread.os_id, row);
        }
    }

    /// The last row of an ended process; returned only once.
    pub fn join(&mut self, os_id: u64) -> Option<u64> {
        self.ended.remove(&os_id)
    }

    pub fn write(&self, import: &mut Import<'_>) -> Result<(), Error> {
        for (number, thread) in (0..).zip(&self.list) {
            let os_id = Some(thread.os_id).filter(|id| *id != 0);
            let row = ThreadRow {
                thread: number,
                name: thread.name.as_deref().map(|name| import.text(name)),
                os_id,
                start_ns: Some(thread.start_ns),
                process: os_id.map(|id| self.process(id)),
                ..ThreadRow::default()
            };
            import.add(&row)?;
        }
        Ok(())
    }

    /// The process of a thread, which is the id of its first thread.
    fn process(&self, os_id: u64) -> u64 {
        let mut process = os_id;
        // A thread may begin another before the call that began it has returned: short chains are left, and in a damaged
        // file circles.
        for _ in 0..16 {
            match self.creators.get(&process) {
                Some(creator) if *creator != 0 => process = *creator,
                _ => break,
            }
        }
        process
    }
}
