//! Processes and threads, which trace events name by numbers or texts.

use std::collections::{BTreeSet, HashMap};

/// A thread of a process. Not every lane gets rows.
#[derive(Debug)]
pub(super) struct Lane {
    pub process: u32,
    pub thread: String,
    pub name: Option<String>,
}

#[derive(Debug, Default)]
pub(super) struct Lanes {
    numbers: HashMap<Vec<u8>, u32>,
    all: Vec<Lane>,
    processes: HashMap<Vec<u8>, u32>,
    process_names: Vec<Option<String>>,
    process_ids: Vec<String>,
    last: (Vec<u8>, Vec<u8>, u32),
}

impl Lanes {
    pub fn number(&mut self, process: &[u8], thread: &[u8]) -> u32 {
        if self.last.0 == process && self.last.1 == thread && !self.all.is_empty() {
            return self.last.2;
        }
        let mut key = process.to_owned();
        key.push(0);
        key.extend_from_slice(thread);
        let number = match self.numbers.get(&key) {
            Some(number) => *number,
            None => {
                let number = self.all.len() as u32;
                let process = self.process(process);
                self.all.push(Lane {
                    process,
                    thread: String::from_utf8_lossy(thread).into_owned(),
                    name: None,
                });
                self.numbers.insert(key, number);
                number
            }
        };
        self.last = (process.to_owned(), thread.to_owned(), number);
        number
    }

    pub fn numbered_processes(&self) -> BTreeSet<u64> {
        let ids = self.all.iter();
        let ids = ids.map(|lane| &self.process_ids[lane.process as usize]);
        ids.filter_map(|id| id.parse().ok()).collect()
    }

    pub fn process(&mut self, process: &[u8]) -> u32 {
        if let Some(number) = self.processes.get(process) {
            return *number;
        }
        let number = self.process_names.len() as u32;
        self.processes.insert(process.to_owned(), number);
        self.process_names.push(None);
        let id = String::from_utf8_lossy(process).into_owned();
        self.process_ids.push(id);
        number
    }

    pub fn name_process(&mut self, process: &[u8], name: &[u8]) {
        let number = self.process(process);
        self.process_names[number as usize] = Some(String::from_utf8_lossy(name).into_owned());
    }

    pub fn name_thread(&mut self, process: &[u8], thread: &[u8], name: &[u8]) {
        let number = self.number(process, thread);
        self.all[number as usize].name = Some(String::from_utf8_lossy(name).into_owned());
    }

    pub fn len(&self) -> u32 {
        self.all.len() as u32
    }

    pub fn processes(&self) -> u32 {
        self.process_ids.len() as u32
    }

    pub fn process_id(&self, number: u32) -> &str {
        &self.process_ids[number as usize]
    }

    pub fn get(&self, number: u32) -> &Lane {
        &self.all[number as usize]
    }

    pub fn process_name(&self, number: u32) -> Option<&str> {
        self.process_names[number as usize].as_deref()
    }

    /// The name of the process with this id.
    pub fn name_of(&self, process: &[u8]) -> Option<&str> {
        self.process_name(*self.processes.get(process)?)
    }

    pub fn process_title(&self, number: u32) -> String {
        let id = &self.process_ids[number as usize];
        match self.process_name(number) {
            Some(name) => format!("{name} ({id})"),
            None if id.is_empty() => "no process".to_owned(),
            None => format!("process {id}"),
        }
    }

    pub fn several_processes(&self) -> bool {
        self.process_names.len() > 1
    }

    /// The name for the row of `threads`, which includes the process if there are several.
    pub fn title(&self, number: u32, several: bool) -> Option<String> {
        let lane = self.get(number);
        let name = lane.name.as_deref();
        let says_it = |process: &str| name.is_some_and(|name| name.contains(process));
        let process = self
            .process_name(lane.process)
            .filter(|process| name.is_none() || several && !says_it(process));
        match (process, &lane.name) {
            (Some(process), Some(thread)) => Some(format!("{process} / {thread}")),
            (Some(name), None) => Some(name.to_owned()),
            (None, name) => name.clone(),
        }
    }
}
