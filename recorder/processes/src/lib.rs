//! Running processes as `/proc` shows them: threads, children, names, owners.

mod end;
mod selection;
mod status;

use std::collections::{BTreeSet, HashMap};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

use libc::pid_t;

pub use end::{Ended, ProcessEnd, is_over, note_that_it_went_on, wait_for_child};
pub use selection::Selection;
pub use status::Status;

/// Index of the start time among the fields of `stat` after the name.
const START_AT: usize = 19;

/// Running threads of a process, sorted by number.
///
/// # Errors
/// There is no such process, or it belongs to another user on a system that hides those.
pub fn threads(process: pid_t) -> io::Result<Vec<pid_t>> {
    let mut all = BTreeSet::new();
    for entry in fs::read_dir(format!("/proc/{process}/task"))? {
        all.extend(number(&entry?.file_name()));
    }
    all.retain(|thread| {
        Status::of_thread(process, *thread).is_ok_and(|status| !status.has_ended())
    });
    Ok(all.into_iter().collect())
}

pub fn family(process: pid_t) -> Vec<pid_t> {
    let mut children: HashMap<pid_t, Vec<pid_t>> = HashMap::new();
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    for other in entries.filter_map(|entry| number(&entry.file_name())) {
        if let Ok(status) = Status::of(other) {
            children.entry(status.parent).or_default().push(other);
        }
    }
    let mut all = vec![process];
    let mut at = 0;
    while let Some(parent) = all.get(at) {
        all.extend(children.remove(parent).unwrap_or_default());
        at += 1;
    }
    all
}

/// The user whose rights a process has. `None`: there is no such process.
pub fn effective_user(process: u32) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    trueno_format::host::field(&status, "Uid")?
        .split_whitespace()
        .nth(1)?
        .parse()
        .ok()
}

pub fn arguments(process: pid_t) -> Vec<OsString> {
    let text = fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
    let text = text.strip_suffix(&[0]).unwrap_or(&text);
    let words = text
        .split(|byte| *byte == 0)
        .map(|word| OsStr::from_bytes(word).to_owned());
    words.collect()
}

/// Time since a process began. `None` if it has ended or the system does not tell.
pub fn age(process: pid_t) -> Option<Duration> {
    let text = fs::read(format!("/proc/{process}/stat")).ok()?;
    // The name before it may have anything in it.
    let end = text.iter().rposition(|byte| *byte == b')')?;
    let rest = std::str::from_utf8(&text[end + 1..]).ok()?;
    let began: u64 = rest.split_whitespace().nth(START_AT)?.parse().ok()?;
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the struct is valid for the call.
    unsafe { libc::clock_gettime(libc::CLOCK_BOOTTIME, &mut now) };
    // SAFETY: takes a number.
    let per_second = u64::try_from(unsafe { libc::sysconf(libc::_SC_CLK_TCK) }).ok()?;
    let began = Duration::from_millis(began * 1000 / per_second.max(1));
    Some(Duration::new(now.tv_sec as u64, now.tv_nsec as u32).saturating_sub(began))
}

fn number(name: &OsStr) -> Option<pid_t> {
    name.to_str()?.parse().ok()
}
