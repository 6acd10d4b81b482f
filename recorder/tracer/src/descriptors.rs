//! Files behind the descriptors of traced processes.

use std::collections::HashMap;
use std::fs;

use libc::pid_t;
use syscalls::Sysno;
use trueno_format::run_writer::Text;

/// Names of open files.
#[derive(Default)]
pub(crate) struct Descriptors {
    /// Those asked for before. Used only while every call that changes a descriptor is seen.
    known: Option<HashMap<(pid_t, i32), Text>>,
}

impl Descriptors {
    /// Keeps what it has read, if every change is told to [`Descriptors::forget`].
    pub(crate) fn new(sees_all_calls: bool) -> Self {
        Self {
            known: sees_all_calls.then(HashMap::new),
        }
    }

    /// The file behind a descriptor. `None`: there is none.
    pub(crate) fn name(
        &mut self,
        process: pid_t,
        descriptor: i32,
        intern: impl FnOnce(&str) -> Text,
    ) -> Option<Text> {
        if descriptor < 0 {
            return None;
        }
        let place = (process, descriptor);
        if let Some(text) = self.known.as_ref().and_then(|known| known.get(&place)) {
            return Some(*text);
        }
        let link = fs::read_link(format!("/proc/{process}/fd/{descriptor}")).ok()?;
        let text = intern(kind(&link.to_string_lossy()));
        if let Some(known) = &mut self.known {
            known.insert(place, text);
        }
        Some(text)
    }

    /// Forgets what a call changes.
    pub(crate) fn forget(&mut self, process: pid_t, call: Sysno, arguments: &[u64; 6]) {
        let Some(known) = &mut self.known else { return };
        let changed = match call {
            Sysno::close => arguments[0],
            #[cfg(target_arch = "x86_64")]
            Sysno::dup2 => arguments[1],
            Sysno::dup3 => arguments[1],
            Sysno::close_range | Sysno::execve | Sysno::execveat | Sysno::unshare => {
                return known.retain(|(of, _), _| *of != process);
            }
            _ => return,
        };
        known.remove(&(process, changed as i32));
    }

    /// Forgets a process.
    pub(crate) fn forget_all(&mut self, process: pid_t) {
        if let Some(known) = &mut self.known {
            known.retain(|(of, _), _| *of != process);
        }
    }
}

/// A file's path; of what has none, its kind, without the number that differs from run to run.
fn kind(link: &str) -> &str {
    if link.starts_with('/') {
        return link.trim_end_matches(" (deleted)");
    }
    match link.split_once(':') {
        Some(("anon_inode", kind)) => kind.trim_matches(['[', ']']),
        Some((kind, _)) => kind,
        None => link,
    }
}

/// True of what is read only when somebody has given it.
pub(crate) fn is_given(name: &str) -> bool {
    let terminals = ["/dev/tty", "/dev/pts/", "/dev/console"];
    !name.starts_with('/') || terminals.iter().any(|path| name.starts_with(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_path_is_told_by_its_kind() {
        for (link, expected) in [
            ("/tmp/a: b", "/tmp/a: b"),
            ("/dev/shm/x (deleted)", "/dev/shm/x"),
            ("socket:[12345]", "socket"),
            ("pipe:[77]", "pipe"),
            ("anon_inode:[eventpoll]", "eventpoll"),
            ("anon_inode:inotify", "inotify"),
        ] {
            assert_eq!(kind(link), expected);
        }
    }
}
