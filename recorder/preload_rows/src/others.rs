//! Processes that run as another user: the system loads no library into them, or keeps the memory from them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use trueno_processes::effective_user;

use crate::channel::CHANNEL_NAME;

/// Processes of a program that are not recorded because they run as another user, with their names.
#[derive(Debug, Default)]
pub(crate) struct Others(BTreeMap<u32, String>);

impl Others {
    pub fn look(&mut self, program: u32) {
        // SAFETY: takes nothing.
        let user = unsafe { libc::geteuid() };
        let mut left = vec![program];
        let mut seen = BTreeSet::new();
        while let Some(process) = left.pop() {
            if !seen.insert(process) {
                continue;
            }
            left.extend(children(process));
            let is_other = effective_user(process).is_some_and(|its| its != user);
            if is_other && !self.0.contains_key(&process) && !has_channel(process) {
                let name = fs::read_to_string(format!("/proc/{process}/comm"));
                let name = name.unwrap_or_default().trim_end().to_owned();
                self.0.insert(process, name);
            }
        }
    }

    pub fn names(&self) -> BTreeSet<String> {
        self.0.values().cloned().collect()
    }
}

fn children(process: u32) -> Vec<u32> {
    let tasks = fs::read_dir(format!("/proc/{process}/task"));
    let tasks = tasks.into_iter().flatten().flatten();
    let lists = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    let numbers = |list: String| -> Vec<u32> {
        let words = list.split_whitespace();
        words.filter_map(|word| word.parse().ok()).collect()
    };
    lists.flat_map(numbers).collect()
}

/// A recorded process may have changed its user later. If its maps cannot be read, it was not recorded.
fn has_channel(process: u32) -> bool {
    fs::read_to_string(format!("/proc/{process}/maps"))
        .is_ok_and(|maps| maps.contains(CHANNEL_NAME))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_of_this_user_are_none() {
        let mut others = Others::default();
        others.look(std::process::id());
        assert_eq!(others.names(), BTreeSet::new());
    }
}
