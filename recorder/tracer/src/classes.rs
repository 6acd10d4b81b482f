//! Calls by name and by class, as a user asks for them.

use std::collections::BTreeSet;

use syscalls::Sysno;

const CLASSES: [(&str, &[Sysno]); 5] = [
    ("file", FILE),
    ("network", NETWORK),
    ("memory", MEMORY),
    ("process", PROCESS),
    ("ioctl", &[Sysno::ioctl]),
];

#[rustfmt::skip]
const FILE: &[Sysno] = &[
    Sysno::openat, Sysno::openat2, Sysno::close, Sysno::read, Sysno::write, Sysno::pread64, Sysno::pwrite64,
    Sysno::readv, Sysno::writev, Sysno::preadv, Sysno::pwritev, Sysno::preadv2, Sysno::pwritev2, Sysno::lseek,
    Sysno::fstat, Sysno::newfstatat, Sysno::statx, Sysno::statfs, Sysno::fstatfs, Sysno::faccessat, Sysno::faccessat2,
    Sysno::readlinkat, Sysno::getdents64, Sysno::getcwd, Sysno::chdir, Sysno::fchdir, Sysno::mkdirat, Sysno::unlinkat,
    Sysno::renameat2, Sysno::linkat, Sysno::symlinkat, Sysno::fchmodat, Sysno::fchmod, Sysno::fchownat, Sysno::fchown,
    Sysno::utimensat, Sysno::truncate, Sysno::ftruncate, Sysno::fallocate, Sysno::fsync, Sysno::fdatasync,
    Sysno::sync_file_range, Sysno::fadvise64, Sysno::readahead, Sysno::sendfile, Sysno::splice, Sysno::tee,
    Sysno::copy_file_range, Sysno::flock, Sysno::dup, Sysno::dup3, Sysno::fcntl, Sysno::pipe2, Sysno::io_uring_enter,
    #[cfg(target_arch = "x86_64")] Sysno::open,
    #[cfg(target_arch = "x86_64")] Sysno::creat,
    #[cfg(target_arch = "x86_64")] Sysno::stat,
    #[cfg(target_arch = "x86_64")] Sysno::lstat,
    #[cfg(target_arch = "x86_64")] Sysno::access,
    #[cfg(target_arch = "x86_64")] Sysno::readlink,
    #[cfg(target_arch = "x86_64")] Sysno::getdents,
    #[cfg(target_arch = "x86_64")] Sysno::mkdir,
    #[cfg(target_arch = "x86_64")] Sysno::rmdir,
    #[cfg(target_arch = "x86_64")] Sysno::unlink,
    #[cfg(target_arch = "x86_64")] Sysno::rename,
    #[cfg(target_arch = "x86_64")] Sysno::link,
    #[cfg(target_arch = "x86_64")] Sysno::symlink,
    #[cfg(target_arch = "x86_64")] Sysno::chmod,
    #[cfg(target_arch = "x86_64")] Sysno::chown,
    #[cfg(target_arch = "x86_64")] Sysno::dup2,
    #[cfg(target_arch = "x86_64")] Sysno::pipe,
];

#[rustfmt::skip]
const NETWORK: &[Sysno] = &[
    Sysno::socket, Sysno::socketpair, Sysno::bind, Sysno::listen, Sysno::accept, Sysno::accept4, Sysno::connect,
    Sysno::getsockname, Sysno::getpeername, Sysno::sendto, Sysno::recvfrom, Sysno::sendmsg, Sysno::recvmsg,
    Sysno::sendmmsg, Sysno::recvmmsg, Sysno::setsockopt, Sysno::getsockopt, Sysno::shutdown,
];

#[rustfmt::skip]
const MEMORY: &[Sysno] = &[
    Sysno::mmap, Sysno::munmap, Sysno::mremap, Sysno::mprotect, Sysno::brk, Sysno::madvise, Sysno::mlock, Sysno::mlock2,
    Sysno::munlock, Sysno::mlockall, Sysno::munlockall, Sysno::msync, Sysno::mincore, Sysno::mbind,
    Sysno::set_mempolicy, Sysno::get_mempolicy, Sysno::memfd_create,
];

#[rustfmt::skip]
const PROCESS: &[Sysno] = &[
    Sysno::clone, Sysno::clone3, Sysno::execve, Sysno::execveat, Sysno::exit, Sysno::exit_group, Sysno::wait4,
    Sysno::waitid, Sysno::kill, Sysno::tkill, Sysno::tgkill, Sysno::pidfd_open, Sysno::pidfd_send_signal,
    Sysno::rt_sigqueueinfo, Sysno::rt_tgsigqueueinfo, Sysno::unshare, Sysno::setns,
    #[cfg(target_arch = "x86_64")] Sysno::fork,
    #[cfg(target_arch = "x86_64")] Sysno::vfork,
];

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Calls {
    /// `None` for all calls.
    asked: Option<BTreeSet<Sysno>>,
    /// As the user wrote it.
    text: String,
}

impl Calls {
    pub fn all() -> Self {
        Self {
            asked: None,
            text: "all".to_owned(),
        }
    }

    /// Parses a list such as `file,network,futex`: classes (`file`, `network`, `memory`, `process`, `ioctl`)
    /// and names, or each of them with `!` for all except these. `all` stands for all calls.
    ///
    /// # Errors
    /// A word is neither a class nor the name of a call on this machine; words with and without `!` are mixed.
    pub fn parse(text: &str) -> Result<Self, String> {
        let words: Vec<&str> = text.split(',').map(str::trim).collect();
        if words == ["all"] {
            return Ok(Self::all());
        }
        let without = words.iter().filter(|word| word.starts_with('!')).count();
        if without > 0 && without < words.len() {
            return Err(format!(
                "`{text}`: list either what to record, or, each with `!`, what to leave out"
            ));
        }
        let mut named = BTreeSet::new();
        for word in words {
            let word = word.trim_start_matches('!');
            match CLASSES.iter().find(|(name, _)| *name == word) {
                Some((_, calls)) => named.extend(calls.iter().copied()),
                None => {
                    named.insert(by_name(word)?);
                }
            }
        }
        if without > 0 {
            named = Sysno::iter().filter(|call| !named.contains(call)).collect();
        }
        Ok(Self {
            asked: Some(named),
            text: text.to_owned(),
        })
    }

    pub(crate) fn numbers(&self) -> Option<Vec<u32>> {
        let asked = self.asked.as_ref()?;
        Some(asked.iter().map(|call| call.id() as u32).collect())
    }

    pub fn text(&self) -> &str {
        &self.text
    }
}

fn by_name(word: &str) -> Result<Sysno, String> {
    Sysno::iter()
        .find(|call| call.name() == word)
        .ok_or_else(|| {
            let classes: Vec<&str> = CLASSES.iter().map(|(name, _)| *name).collect();
            format!(
                "`{word}`: expected the name of a system call of this machine, or one of {}",
                classes.join(", ")
            )
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(text: &str) -> Vec<u32> {
        Calls::parse(text).unwrap().numbers().unwrap()
    }

    #[test]
    fn classes_and_names_are_numbers_of_this_machine() {
        assert_eq!(numbers("futex"), [Sysno::futex.id() as u32]);
        assert_eq!(numbers("ioctl,ioctl").len(), 1);
        assert!(numbers("file,network").len() > 60);
        assert_eq!(Calls::parse("all").unwrap().numbers(), None);
    }

    #[test]
    fn all_but_some_is_all_the_rest() {
        let all = Sysno::iter().count();
        assert_eq!(numbers("!futex,!read").len(), all - 2);
        assert!(!numbers("!futex").contains(&(Sysno::futex.id() as u32)));
    }

    #[test]
    fn unknown_and_mixed_words_are_refused() {
        for (text, why) in [
            ("file,foo", "`foo`"),
            ("", "``"),
            ("read,!write", "list either what to record"),
        ] {
            let error = Calls::parse(text).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
    }
}
