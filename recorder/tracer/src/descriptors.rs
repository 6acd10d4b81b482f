//! Files behind the descriptors of traced processes.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};

use libc::pid_t;
use syscalls::Sysno;
use trueno_format::run_writer::Text;

/// An object through which one thread or process passes data to another. Several processes can have descriptors of
/// one object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Object {
    /// A pipe without a name.
    Pipe(u64),
    /// A named pipe: device and number.
    Fifo(u64, u64),
    /// A socket: one of two ends.
    Socket(u64),
    Event(u64),
    /// Signals of the process that reads.
    Signals,
}

#[derive(Clone, Copy, Debug)]
struct Open {
    name: Text,
    object: Option<Object>,
}

#[derive(Default)]
pub(crate) struct Descriptors {
    /// Names that were read before. Only used while every call that changes a descriptor is traced.
    known: Option<HashMap<(pid_t, i32), Open>>,
    /// The one read last, for another query about the same call.
    last: Option<((pid_t, i32), Open)>,
    processes: HashMap<pid_t, u32>,
}

impl Descriptors {
    /// With `sees_all_calls`, caches what it reads, and every change must be passed to [`Descriptors::forget`].
    pub(crate) fn new(sees_all_calls: bool) -> Self {
        Self {
            known: sees_all_calls.then(HashMap::new),
            ..Self::default()
        }
    }

    pub(crate) fn thread_begins(&mut self, process: pid_t) {
        *self.processes.entry(process).or_default() += 1;
    }

    pub(crate) fn thread_ends(&mut self, process: pid_t) {
        if let Some(threads) = self.processes.get_mut(&process) {
            *threads -= 1;
            if *threads == 0 {
                self.processes.remove(&process);
            }
        }
    }

    /// Everything that the traced processes have open; `None` if it cannot be read.
    pub(crate) fn objects(&self) -> Option<HashSet<Object>> {
        let of_each = self.processes.keys().map(|process| objects(*process));
        let of_each = of_each.collect::<Option<Vec<_>>>()?;
        Some(of_each.into_iter().flatten().collect())
    }

    /// The object behind a descriptor, if others can give to it or take from it.
    pub(crate) fn object(&mut self, process: pid_t, descriptor: i32) -> Option<Object> {
        let place = (process, descriptor);
        let known = self.known.as_ref().and_then(|known| known.get(&place));
        if let Some(open) = known {
            return open.object;
        }
        if let Some((_, open)) = self.last.filter(|(last, _)| *last == place) {
            return open.object;
        }
        let link = fs::read_link(format!("/proc/{process}/fd/{descriptor}")).ok()?;
        object(process, descriptor, &link.to_string_lossy())
    }

    /// A call begins: the result of the last query may be outdated.
    pub(crate) fn call_begins(&mut self) {
        self.last = None;
    }

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
            return Some(text.name);
        }
        let link = fs::read_link(format!("/proc/{process}/fd/{descriptor}")).ok()?;
        let link = link.to_string_lossy();
        let open = Open {
            name: intern(kind(&link)),
            object: object(process, descriptor, &link),
        };
        self.last = Some((place, open));
        if let Some(known) = &mut self.known {
            known.insert(place, open);
        }
        Some(open.name)
    }

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

    pub(crate) fn forget_all(&mut self, process: pid_t) {
        if let Some(known) = &mut self.known {
            known.retain(|(of, _), _| *of != process);
        }
    }
}

pub(crate) fn objects(process: pid_t) -> Option<HashSet<Object>> {
    let folder = format!("/proc/{process}/fd");
    let entries = fs::read_dir(folder).ok()?.filter_map(Result::ok);
    let objects = entries.filter_map(|entry| {
        let descriptor = entry.file_name().to_str()?.parse().ok()?;
        let link = fs::read_link(entry.path()).ok()?;
        object(process, descriptor, &link.to_string_lossy())
    });
    Some(objects.collect())
}

fn object(process: pid_t, descriptor: i32, link: &str) -> Option<Object> {
    if link.starts_with('/') {
        let file = fs::metadata(format!("/proc/{process}/fd/{descriptor}")).ok()?;
        let is_pipe = file.file_type().is_fifo();
        return is_pipe.then(|| Object::Fifo(file.dev(), file.ino()));
    }
    let (kind, number) = link.split_once(':')?;
    let number = number.trim_matches(['[', ']']);
    match (kind, number) {
        ("pipe", number) => number.parse().ok().map(Object::Pipe),
        ("socket", number) => number.parse().ok().map(Object::Socket),
        ("anon_inode", "signalfd") => Some(Object::Signals),
        ("anon_inode", "eventfd") => {
            let path = format!("/proc/{process}/fdinfo/{descriptor}");
            let facts = fs::read_to_string(path).ok()?;
            let number = trueno_format::host::field(&facts, "eventfd-id")?;
            number.parse().ok().map(Object::Event)
        }
        _ => None,
    }
}

/// A file's path, or the kind of an object without a path, without the number that varies between runs.
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

/// True for objects that are only readable after someone has written to them.
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
