//! A folder held open by its descriptor. Somebody may rename it, or put another one at its path: files are still made,
//! renamed and removed in this folder and in no other.

use std::ffi::{OsStr, OsString};
use std::fs::{File, TryLockError};
use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags};
use rustix::io::retry_on_intr;

use crate::file_lock::FileLock;
use crate::held_file::{Held, Identity, closed};
use crate::regular_file;

/// An open folder. Names are those of its direct entries.
#[derive(Debug)]
pub struct Folder {
    held: Held,
    /// Absolute path at the time the folder was opened.
    path: PathBuf,
}

/// One entry of a folder.
#[derive(Clone, Debug)]
pub struct FolderEntry {
    /// Its name.
    pub name: OsString,
    /// Its kind; a link is a link.
    pub kind: EntryKind,
}

/// The kinds of entries that matter here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A link, pipe, socket or device.
    Other,
}

impl Folder {
    /// Opens a folder, also through a link.
    ///
    /// # Errors
    /// It is not a folder, or cannot be opened.
    pub fn open(path: &Path) -> io::Result<Self> {
        let path = absolute(path)?;
        Self::open_at(CWD, path.as_os_str(), OFlags::empty(), path.clone())
    }

    /// As [`Folder::open`], but not where the path is a link.
    ///
    /// # Errors
    /// As there.
    pub fn open_no_link(path: &Path) -> io::Result<Self> {
        let path = absolute(path)?;
        Self::open_at(CWD, path.as_os_str(), OFlags::NOFOLLOW, path.clone())
    }

    fn open_at(
        folder: BorrowedFd<'_>,
        name: &OsStr,
        more: OFlags,
        path: PathBuf,
    ) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | more;
        let descriptor = retry_on_intr(|| rustix::fs::openat(folder, name, flags, Mode::empty()))?;
        let held = Held::new(descriptor)?;
        Ok(Self { held, path })
    }

    /// Where the folder is now. If nobody can tell, the path by which it was opened.
    pub fn path(&self) -> PathBuf {
        if self.is_found(&self.path, AtFlags::empty()) {
            return self.path.clone();
        }
        let link = format!("/proc/self/fd/{}", self.held.number());
        let moved = std::fs::read_link(link).ok();
        moved
            .filter(|path| self.is_at(path))
            .unwrap_or_else(|| self.path.clone())
    }

    /// A path of an entry that is short however deep the folder lies, as addresses of sockets must be.
    pub fn short_path(&self, name: &str) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}/{name}", self.held.number()))
    }

    /// True if this very folder is at a path, and not a link to it.
    pub fn is_at(&self, path: &Path) -> bool {
        self.is_found(path, AtFlags::SYMLINK_NOFOLLOW)
    }

    /// True if both are the same folder.
    pub fn is_same(&self, other: &Self) -> bool {
        self.held.identity == other.held.identity
    }

    fn is_found(&self, path: &Path, flags: AtFlags) -> bool {
        let found = rustix::fs::statat(CWD, path, flags);
        found.is_ok_and(|stat| Identity::of(&stat) == self.held.identity)
    }

    /// The descriptor, or a new one if the program has closed it.
    fn held(&self) -> io::Result<Open<'_>> {
        if let Some(held) = self.held.get() {
            return Ok(Open::Held(held));
        }
        let again = Self::open_at(CWD, self.path.as_os_str(), OFlags::empty(), PathBuf::new());
        let again = again.map_err(|_| closed())?.held;
        if again.identity == self.held.identity {
            return Ok(Open::Again(again));
        }
        Err(closed())
    }

    /// A folder in it.
    ///
    /// # Errors
    /// There is none of that name, it is something else, or a link.
    pub fn folder(&self, name: impl AsRef<OsStr>) -> io::Result<Self> {
        let name = name.as_ref();
        let path = self.path.join(name);
        Self::open_at(self.held()?.as_fd(), name, OFlags::NOFOLLOW, path)
    }

    /// Makes a folder in it.
    ///
    /// # Errors
    /// Something of that name is there, or the operating system refuses.
    pub fn create_folder(&self, name: &str) -> io::Result<Self> {
        let mode = Mode::from_raw_mode(0o777);
        rustix::fs::mkdirat(self.held()?, name, mode)?;
        self.folder(name)
    }

    /// Makes a file in it, to be written to and read from.
    ///
    /// # Errors
    /// Something of that name is there, or the operating system refuses.
    pub fn create_file(&self, name: &str) -> io::Result<File> {
        self.create_file_with(name, OFlags::RDWR)
    }

    /// As [`Folder::create_file`]; each write goes to its end.
    ///
    /// # Errors
    /// As there.
    pub fn create_appended(&self, name: &str) -> io::Result<File> {
        self.create_file_with(name, OFlags::WRONLY | OFlags::APPEND)
    }

    fn create_file_with(&self, name: &str, more: OFlags) -> io::Result<File> {
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC | more;
        let mode = Mode::from_raw_mode(0o666);
        let folder = self.held()?;
        let descriptor = retry_on_intr(|| rustix::fs::openat(&folder, name, flags, mode))?;
        Ok(File::from(descriptor))
    }

    /// Opens an existing file for appending.
    ///
    /// # Errors
    /// It cannot be opened, or is a link.
    pub(crate) fn open_appended(&self, name: &str) -> io::Result<File> {
        let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let folder = self.held()?;
        let open = || rustix::fs::openat(&folder, name, flags, Mode::empty());
        Ok(File::from(retry_on_intr(open)?))
    }

    /// Opens a file in it for reading.
    ///
    /// # Errors
    /// It cannot be opened, is a link, or no regular file.
    pub fn open_file(&self, name: &str) -> io::Result<File> {
        // A pipe without a writer would be waited for within `open`.
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let folder = self.held()?;
        let open = || rustix::fs::openat(&folder, name, flags, Mode::empty());
        regular_file::checked(File::from(retry_on_intr(open)?))
    }

    /// Reads a file in it of at most `max_bytes`.
    ///
    /// # Errors
    /// As [`Folder::open_file`]; it cannot be read, or is larger.
    pub fn read(&self, name: &str, max_bytes: u64) -> io::Result<Vec<u8>> {
        let file = self.open_file(name)?;
        let mut text = Vec::new();
        let read = file.take(max_bytes + 1).read_to_end(&mut text)?;
        if read as u64 > max_bytes {
            let error = format!("it is larger than {max_bytes} bytes");
            return Err(io::Error::new(io::ErrorKind::InvalidData, error));
        }
        Ok(text)
    }

    /// Gives a file in it another name, in the place of a file that has it.
    ///
    /// # Errors
    /// It is not there, or the operating system refuses.
    pub fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let folder = self.held()?;
        Ok(rustix::fs::renameat(&folder, from, &folder, to)?)
    }

    /// Removes a file in it.
    ///
    /// # Errors
    /// It is not there, is a folder, or the operating system refuses.
    pub fn remove_file(&self, name: &str) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(self.held()?, name, AtFlags::empty())?)
    }

    /// Removes a folder in it, with all that is in it: `folder` itself, and not what has its name by now.
    ///
    /// # Errors
    /// The operating system refuses, or another one has its name.
    pub fn remove_folder(&self, name: impl AsRef<OsStr>, folder: &Self) -> io::Result<()> {
        let name = name.as_ref();
        folder.empty(None)?;
        let found = rustix::fs::statat(self.held()?, name, AtFlags::SYMLINK_NOFOLLOW)?;
        if Identity::of(&found) != folder.held.identity {
            return Err(moved());
        }
        // Never one that is not empty.
        Ok(rustix::fs::unlinkat(
            self.held()?,
            name,
            AtFlags::REMOVEDIR,
        )?)
    }

    /// Removes all that is in it; the entry of the name `last` goes last.
    ///
    /// # Errors
    /// The operating system refuses.
    pub fn empty(&self, last: Option<&str>) -> io::Result<()> {
        let is_last = |entry: &FolderEntry| last.is_some_and(|last| entry.name == last);
        let (ends, begins): (Vec<_>, Vec<_>) = self.entries()?.into_iter().partition(is_last);
        for entry in begins.into_iter().chain(ends) {
            if entry.kind == EntryKind::Folder {
                self.remove_folder(&entry.name, &self.folder(&entry.name)?)?;
            } else {
                let name = entry.name.as_os_str();
                rustix::fs::unlinkat(self.held()?, name, AtFlags::empty())?;
            }
        }
        Ok(())
    }

    /// Removes the folder itself, with all that is in it. If it was renamed, under its new name.
    ///
    /// # Errors
    /// The operating system refuses, or another folder has its name.
    pub fn remove(&self, last: Option<&str>) -> io::Result<()> {
        let path = self.path();
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(io::Error::other("it has no name"));
        };
        let parent = Self::open(parent)?;
        self.empty(last)?;
        parent.remove_folder(name, self)
    }

    /// True if an entry of that name is there, whatever it is.
    pub fn has(&self, name: &str) -> bool {
        let found = |folder: Open<'_>| rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW);
        self.held().is_ok_and(|folder| found(folder).is_ok())
    }

    /// Its entries, in no order.
    ///
    /// # Errors
    /// It cannot be listed.
    pub fn entries(&self) -> io::Result<Vec<FolderEntry>> {
        let mut all = Vec::new();
        for entry in Dir::read_from(self.held()?)? {
            let entry = entry?;
            let name = OsString::from_vec(entry.file_name().to_bytes().to_vec());
            if name == "." || name == ".." {
                continue;
            }
            let mut kind = entry.file_type();
            if kind == FileType::Unknown {
                // Some file systems say it only when asked for one entry.
                let name = name.as_os_str();
                let found = rustix::fs::statat(self.held()?, name, AtFlags::SYMLINK_NOFOLLOW)?;
                kind = FileType::from_raw_mode(found.st_mode);
            }
            let kind = match kind {
                FileType::RegularFile => EntryKind::File,
                FileType::Directory => EntryKind::Folder,
                _ => EntryKind::Other,
            };
            all.push(FolderEntry { name, kind });
        }
        Ok(all)
    }

    /// Locks the folder against others that would make, replace or remove a run in it. `None`: another has the lock. A
    /// file system without locks keeps nobody out.
    ///
    /// # Errors
    /// There are too many open files.
    pub fn lock(&self) -> io::Result<Option<FileLock>> {
        let folder = self.held()?.as_fd().try_clone_to_owned()?;
        Ok(FileLock::take(File::from(folder)))
    }

    /// True if somebody has its [`Folder::lock`].
    pub fn is_locked(&self) -> bool {
        let folder = self
            .held()
            .and_then(|folder| folder.as_fd().try_clone_to_owned());
        let Ok(folder) = folder.map(File::from) else {
            return false;
        };
        match folder.try_lock_shared() {
            Ok(()) => {
                // A child that another thread is starting has it open as well for a moment.
                let _ = folder.unlock();
                false
            }
            Err(TryLockError::WouldBlock) => true,
            Err(TryLockError::Error(_)) => false,
        }
    }

    /// Checks that the user may add to it and remove from it.
    ///
    /// # Errors
    /// The user may not.
    pub fn check_writable(&self) -> io::Result<()> {
        let asked = libc::W_OK | libc::X_OK;
        let folder = self.held()?;
        let number = folder.as_fd().as_raw_fd();
        // SAFETY: an open descriptor and a text that ends with a zero.
        match unsafe { libc::faccessat(number, c".".as_ptr(), asked, libc::AT_EACCESS) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

enum Open<'f> {
    Held(BorrowedFd<'f>),
    Again(Held),
}

impl AsFd for Open<'_> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Held(held) => *held,
            Self::Again(held) => held.as_fd(),
        }
    }
}

pub(crate) fn moved() -> io::Error {
    io::Error::other("the folder was moved, and another one is in its place")
}

/// An absolute path, which stays valid when the program changes its working directory. It has no trailing slash,
/// because a link before one would be followed.
pub(crate) fn absolute(path: &Path) -> io::Result<PathBuf> {
    Ok(std::path::absolute(path)?.components().collect())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_folder_that_was_moved_is_worked_in_where_it_is() {
        let place = tempfile::tempdir().unwrap();
        let (path, moved) = (place.path().join("a"), place.path().join("b"));
        fs::create_dir(&path).unwrap();
        let folder = Folder::open_no_link(&path).unwrap();
        fs::rename(&path, &moved).unwrap();
        fs::create_dir_all(path.join("live")).unwrap();
        fs::write(path.join("live/theirs"), "").unwrap();

        folder.create_file("file").unwrap();
        folder.rename("file", "renamed").unwrap();
        let live = folder.create_folder("live").unwrap();
        live.create_appended("mine").unwrap();
        assert_eq!(folder.path(), moved);
        assert!(folder.has("renamed") && !folder.has("file"));
        assert!(moved.join("live/mine").exists());

        folder.remove_folder("live", &live).unwrap();
        folder.remove(None).unwrap();
        assert!(!moved.exists());
        assert!(path.join("live/theirs").exists());
    }

    #[test]
    fn a_folder_that_took_its_place_is_not_removed() {
        let place = tempfile::tempdir().unwrap();
        let path = |name: &str| place.path().join(name);
        fs::create_dir_all(path("run/live")).unwrap();
        let run = Folder::open(&path("run")).unwrap();
        let live = run.folder("live").unwrap();
        fs::rename(path("run/live"), path("elsewhere")).unwrap();
        fs::create_dir(path("run/live")).unwrap();
        assert!(run.remove_folder("live", &live).is_err());
        assert!(path("run/live").exists());
    }

    #[test]
    fn links_are_neither_followed_nor_emptied() {
        let place = tempfile::tempdir().unwrap();
        let path = |name: &str| place.path().join(name);
        fs::create_dir_all(path("theirs")).unwrap();
        fs::write(path("theirs/thesis"), "years of work").unwrap();
        fs::create_dir(path("run")).unwrap();
        symlink(path("theirs"), path("run/link")).unwrap();
        symlink(path("run"), path("latest")).unwrap();
        for link in ["latest", "latest/"] {
            assert!(Folder::open_no_link(&path(link)).is_err(), "{link}");
        }
        let run = Folder::open(&path("latest")).unwrap();
        assert!(run.folder("link").is_err());
        assert_eq!(run.entries().unwrap()[0].kind, EntryKind::Other);
        run.empty(None).unwrap();
        assert!(run.entries().unwrap().is_empty());
        assert!(path("theirs/thesis").exists());
    }

    #[test]
    fn one_at_a_time_has_the_lock() {
        let place = tempfile::tempdir().unwrap();
        let open = || Folder::open(place.path()).unwrap();
        let (first, second) = (open(), open());
        let lock = first.lock().unwrap().expect("nobody else has it");
        assert!(second.lock().unwrap().is_none());
        drop(lock);
        assert!(second.lock().unwrap().is_some());
    }
}
