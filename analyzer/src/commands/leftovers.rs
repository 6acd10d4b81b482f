//! Hidden files and folders in which a result is made, beside its place: their names, and what killed commands left of them.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::path::{Path, PathBuf};

/// Path of `.<name>.<doing>-<process>-<start>-<random>` in the folder of `place`. Leftovers of processes that have
/// ended are removed. The start time tells a process from a later one with the same id. The random part keeps
/// others from placing a link there in advance.
pub(super) fn beside(place: &Path, doing: &str) -> PathBuf {
    let name = place.file_name().unwrap_or_default();
    let mut begin = OsString::from(".");
    begin.push(name);
    begin.push(format!(".{doing}-"));
    let folder = place.parent().filter(|folder| *folder != Path::new(""));
    let entries = fs::read_dir(folder.unwrap_or(Path::new(".")));
    for entry in entries.into_iter().flatten().flatten() {
        if Process::named(&entry.file_name(), &begin).is_some_and(Process::is_gone) {
            // What cannot be removed has a name that says what it is.
            let _ = remove(&entry.path());
        }
    }
    let random = RandomState::new().build_hasher().finish();
    begin.push(format!("{}-{random:016x}", Process::this().name()));
    place.with_file_name(begin)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Process {
    id: libc::pid_t,
    /// Start time in the unit of the system; `None` if unknown.
    start: Option<u64>,
}

impl Process {
    fn this() -> Process {
        let id = std::process::id().cast_signed();
        let start = start_of(id);
        Process { id, start }
    }

    fn name(self) -> String {
        match self.start {
            Some(start) => format!("{}-{start}", self.id),
            None => self.id.to_string(),
        }
    }

    /// The process in the name of one of our files or folders.
    fn named(name: &OsStr, begin: &OsStr) -> Option<Process> {
        let name = name
            .as_encoded_bytes()
            .strip_prefix(begin.as_encoded_bytes())?;
        let name = std::str::from_utf8(name).ok()?;
        let mut parts = name.splitn(3, '-');
        let id = parts.next()?.parse().ok().filter(|id| *id > 0)?;
        let start = parts.next().map(str::parse).transpose().ok()?;
        Some(Process { id, start })
    }

    fn is_gone(self) -> bool {
        // SAFETY: signal 0 only asks.
        let asked = unsafe { libc::kill(self.id, 0) };
        if asked != 0 {
            return io::Error::last_os_error().raw_os_error() == Some(libc::ESRCH);
        }
        // Another program may have the number by now.
        let now = start_of(self.id);
        self.start.is_some() && now.is_some() && self.start != now
    }
}

/// Start time of a process in ticks since boot; `None` if the system does not report it.
fn start_of(process: libc::pid_t) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The second field is a name in brackets, which may hold anything; the start is the twenty-second.
    let (_, behind_name) = stat.rsplit_once(')')?;
    behind_name.split_whitespace().nth(19)?.parse().ok()
}

fn remove(path: &Path) -> io::Result<()> {
    if path.symlink_metadata()?.is_dir() {
        fs::remove_dir_all(path)
    } else {
        fs::remove_file(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_process_that_is_gone_has_left_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let gone = std::process::Command::new("true").spawn().unwrap();
        let id = gone.id();
        gone.wait_with_output().unwrap();
        let mine = Process::this().name();
        let start = Process::this().start.expect("Linux says it");
        let left = [
            format!(".o.run.importing-{id}"),
            format!(".o.run.importing-{id}-{start}"),
            format!(".o.run.importing-{id}-{start}-0123456789abcdef"),
            // The number of this process, which another one had before.
            format!(".o.run.importing-{}-{}", std::process::id(), start + 1),
        ];
        let others = [
            "o.run",
            ".o.run.importing-",
            ".o.run.importing-x",
            ".o.run.importing-1-",
            ".p.run.importing-1",
            &format!(".o.run.importing-{mine}-0123456789abcdef"),
            // An older version of this program, which may be at work.
            &format!(".o.run.importing-{}", std::process::id()),
        ];
        for name in left.iter().map(String::as_str).chain(others) {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        let work = beside(&folder.path().join("o.run"), "importing");
        let again = beside(&folder.path().join("o.run"), "importing");
        let name = work.file_name().unwrap().to_str().unwrap();
        assert!(
            name.starts_with(&format!(".o.run.importing-{mine}-")),
            "{name}"
        );
        assert!(work != again && !work.exists());
        assert!(left.iter().all(|name| !folder.path().join(name).exists()));
        assert!(others.iter().all(|name| folder.path().join(name).exists()));
    }
}
