//! Descriptors that may be lost: a program may close all numbers that it did not open, as daemons do, and open files of
//! its own, which then get these numbers. So it is looked which file a number is of before each use, and a number that
//! is of another one is not closed.

use std::fs::File;
use std::io::{self, Write};
use std::mem::ManuallyDrop;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};

use crate::folder::Folder;

/// What tells a file or folder from all others for as long as it is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    device: u64,
    inode: u64,
}

impl Identity {
    pub(crate) fn of(stat: &rustix::fs::Stat) -> Self {
        Self {
            device: stat.st_dev,
            inode: stat.st_ino,
        }
    }

    /// For atomics.
    pub fn words(self) -> [u64; 2] {
        [self.device, self.inode]
    }

    /// Of [`Identity::words`].
    pub fn from_words([device, inode]: [u64; 2]) -> Self {
        Self { device, inode }
    }

    /// Of an open descriptor.
    ///
    /// # Errors
    /// It is not open.
    pub fn of_open(descriptor: impl AsFd) -> io::Result<Self> {
        Ok(Self::of(&rustix::fs::fstat(descriptor)?))
    }

    /// True if an open descriptor of this process has that number and is of this file. Safe in a signal handler.
    pub fn is_of_number(&self, number: RawFd) -> bool {
        // SAFETY: all zeros is a valid struct, and the call fills it.
        unsafe {
            let mut stat: libc::stat = std::mem::zeroed();
            libc::fstat(number, &mut stat) == 0
                && (stat.st_dev, stat.st_ino) == (self.device, self.inode)
        }
    }
}

/// A descriptor that is only closed while it still refers to the file it was opened for.
#[derive(Debug)]
pub(crate) struct Held {
    descriptor: ManuallyDrop<OwnedFd>,
    pub identity: Identity,
}

impl Held {
    pub fn new(descriptor: OwnedFd) -> io::Result<Self> {
        Ok(Self {
            identity: Identity::of_open(&descriptor)?,
            descriptor: ManuallyDrop::new(descriptor),
        })
    }

    /// `None`: the program has closed it.
    pub fn get(&self) -> Option<BorrowedFd<'_>> {
        let is_ours = self.identity.is_of_number(self.number());
        is_ours.then(|| self.descriptor.as_fd())
    }

    pub fn number(&self) -> RawFd {
        self.descriptor.as_raw_fd()
    }
}

impl AsFd for Held {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if self.get().is_some() {
            // SAFETY: dropped once, here.
            unsafe { ManuallyDrop::drop(&mut self.descriptor) };
        }
    }
}

/// A file of a run that is appended to. Where the program has closed it, it is opened anew.
#[derive(Debug)]
pub struct HeldFile {
    held: Held,
    name: String,
}

impl HeldFile {
    /// Makes a file in a folder; each write goes to its end.
    ///
    /// # Errors
    /// Something of that name is there, or the operating system refuses.
    pub fn create(folder: &Folder, name: &str) -> io::Result<Self> {
        let file = folder.create_appended(name)?;
        Ok(Self {
            held: Held::new(file.into())?,
            name: name.to_owned(),
        })
    }

    /// As it is.
    #[cfg(test)]
    pub fn of(file: File) -> Self {
        Self {
            held: Held::new(file.into()).unwrap(),
            name: String::new(),
        }
    }

    /// The file has another name in its folder.
    pub fn renamed(&mut self, name: &str) {
        name.clone_into(&mut self.name);
    }

    /// Appends; `open` opens the file of that name anew if need be. True: it did, and whatever lock the file had is
    /// gone.
    ///
    /// # Errors
    /// It cannot be written to, or `open` gives another one.
    pub fn append(
        &mut self,
        open: impl FnOnce(&str) -> io::Result<File>,
        bytes: &[u8],
    ) -> io::Result<bool> {
        let is_new = self.held.get().is_none();
        if is_new {
            let held = Held::new(open(&self.name)?.into())?;
            if held.identity != self.held.identity {
                return Err(io::Error::other(
                    "the program has closed its descriptor, and another file has its name",
                ));
            }
            self.held = held;
        }
        self.file(|file| file.write_all(bytes))?;
        Ok(is_new)
    }

    /// Cuts it.
    ///
    /// # Errors
    /// The operating system refuses.
    pub fn set_len(&self, bytes: u64) -> io::Result<()> {
        self.file(|file| file.set_len(bytes))
    }

    /// Locks it, where locks are known.
    pub fn lock(&self) {
        // Where they are not, readers go by the process number in run.json.
        let _ = self.file(|file| file.try_lock().map_err(io::Error::from));
    }

    /// Its number and its identity.
    pub fn descriptor(&self) -> (RawFd, Identity) {
        (self.held.number(), self.held.identity)
    }

    fn file<T>(&self, act: impl FnOnce(&mut File) -> io::Result<T>) -> io::Result<T> {
        let descriptor = self.held.get().ok_or_else(closed)?;
        // SAFETY: borrowed for as long as it is used, and not closed.
        let mut file = ManuallyDrop::new(unsafe {
            use std::os::fd::FromRawFd;
            File::from_raw_fd(descriptor.as_raw_fd())
        });
        act(&mut file)
    }
}

pub(crate) fn closed() -> io::Error {
    io::Error::other("the program has closed its descriptor, which it did not open")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Closes a descriptor and reuses its number for another file.
    fn take_over(number: RawFd) -> File {
        let file = tempfile::tempfile().unwrap();
        // SAFETY: plain system calls; the test has the process's other descriptors in view.
        unsafe {
            assert_eq!(libc::dup2(file.as_raw_fd(), number), number);
        }
        file
    }

    #[test]
    fn a_lost_descriptor_is_opened_anew_and_the_other_file_is_left_alone() {
        let place = tempfile::tempdir().unwrap();
        let folder = Folder::open(place.path()).unwrap();
        let mut file = HeldFile::create(&folder, "a").unwrap();
        let open = |name: &str| folder.open_appended(name);
        assert!(!file.append(open, b"one").unwrap());
        let theirs = take_over(file.descriptor().0);
        assert!(file.append(open, b"two").unwrap());
        assert_eq!(std::fs::read(place.path().join("a")).unwrap(), b"onetwo");
        assert_eq!(theirs.metadata().unwrap().len(), 0);

        let (number, _) = file.descriptor();
        let theirs = take_over(number);
        std::fs::rename(place.path().join("a"), place.path().join("b")).unwrap();
        std::fs::write(place.path().join("a"), "").unwrap();
        assert!(file.append(open, b"three").is_err());
        drop(file);
        let theirs = Identity::of_open(&theirs).unwrap();
        assert!(theirs.is_of_number(number), "it was closed");
    }
}
