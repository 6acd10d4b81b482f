//! Whether a file that was found, and not named by the user, may be obeyed.
//!
//! It may if nobody but the user and root could have put it there: the file, every link on the way to it and every
//! folder above it belong to one of the two, and others can write none of them. A sticky folder such as `/tmp` may lie
//! on the way, because others cannot move what is not theirs. The folder that holds the file itself may not be one:
//! anyone can put a file of that name there.
//!
//! Access control lists are not read: where they give rights, the group bits of the mode show the most they give.

#![warn(missing_docs)]

mod groups;
mod tree;

use std::ffi::OsString;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Component, Path, PathBuf};

pub use tree::check_tree;

/// Limit on links followed for one file, as in the kernel.
const MAX_LINKS: usize = 40;
const STICKY: u32 = 0o1000;
const EVERYONE_WRITES: u32 = 0o002;
const GROUP_WRITES: u32 = 0o020;

/// Why a file or folder is not obeyed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{} {reason}", .path.display())]
pub struct Distrust {
    /// The file, link or folder that others have a hand in; not always the one that was checked.
    pub path: PathBuf,
    /// What is wrong with it.
    pub reason: Reason,
}

/// What is wrong with a file or folder.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Reason {
    /// The owner is neither the user nor root.
    #[error("belongs to another user (uid {0})")]
    OtherOwner(u32),
    /// Everyone may write.
    #[error("can be written by everyone")]
    EveryoneWrites,
    /// A group with other members may write.
    #[error("can be written by others of its group")]
    GroupWrites,
    /// It is a folder, a pipe or a device.
    #[error("is not a regular file")]
    NotAFile,
    /// It is not a folder.
    #[error("is not a folder")]
    NotAFolder,
    /// A link where none is allowed.
    #[error("is a symbolic link")]
    Link,
    /// A second name, which another user may have created for a file that is not theirs.
    #[error("has more than one name (hard links)")]
    HardLinks,
    /// Links that lead to each other.
    #[error("is behind too many symbolic links")]
    TooManyLinks,
    /// The system does not permit checking it.
    #[error("cannot be read: {0}")]
    Unreadable(String),
}

impl Distrust {
    fn new(path: &Path, reason: Reason) -> Self {
        Self {
            path: path.to_owned(),
            reason,
        }
    }

    fn io(path: &Path, error: &io::Error) -> Self {
        Self::new(path, Reason::Unreadable(error.to_string()))
    }

    /// What the user can do about it.
    pub fn remedy(&self) -> &'static str {
        match self.reason {
            Reason::OtherOwner(_) => "copy it to a folder of your own",
            Reason::EveryoneWrites => "remove the permission with chmod o-w",
            Reason::GroupWrites => "remove the permission with chmod g-w",
            Reason::Unreadable(_) => "check the path",
            _ => "put a file of your own in its place",
        }
    }
}

/// The user whose files are obeyed, besides root's.
pub fn user() -> u32 {
    // SAFETY: geteuid has no preconditions and cannot fail.
    unsafe { libc::geteuid() }
}

/// Checks a file, the links that lead to it, and all folders on the way. Gives its real path.
///
/// # Errors
/// Others could have put it there or changed it, or it is no regular file.
pub fn check_file(path: &Path) -> Result<PathBuf, Distrust> {
    let real = walk(path, Role::Holder)?;
    let found = fs::symlink_metadata(&real).map_err(|error| Distrust::io(&real, &error))?;
    judge_file(&real, &found)?;
    Ok(real)
}

/// Checks a folder from which files are taken, and all above it. Gives its real path.
///
/// # Errors
/// Others could put files there, or another folder in its place.
pub fn check_folder(path: &Path) -> Result<PathBuf, Distrust> {
    let real = walk(path, Role::Above)?;
    judge_folder(&real, Role::Holder)?;
    Ok(real)
}

/// Checks a file as [`check_file`] does, and opens that very file.
///
/// # Errors
/// As [`check_file`]; it cannot be opened.
pub fn open_file(path: &Path) -> Result<File, Distrust> {
    let real = check_file(path)?;
    let (file, found) = open(&real)?;
    judge_file(&real, &found)?;
    Ok(file)
}

/// Opens a file in a folder where everyone can put one, such as `/tmp`: if it belongs to one of `owners`, nobody else
/// can write it, and it has this name only. Links are not followed.
///
/// # Errors
/// It is another one's, or cannot be opened.
pub fn open_owned(path: &Path, owners: &[u32]) -> Result<File, Distrust> {
    let (file, found) = open(path)?;
    let distrust = |reason| Err(Distrust::new(path, reason));
    let owner = found.uid();
    match () {
        () if !found.is_file() => distrust(Reason::NotAFile),
        () if !owners.contains(&owner) => distrust(Reason::OtherOwner(owner)),
        () if found.nlink() > 1 => distrust(Reason::HardLinks),
        () => match writers(&found, owner) {
            Some(reason) => distrust(reason),
            None => Ok(file),
        },
    }
}

/// Checks a file or folder as it is, without those above it; for what ships with this program. It may be the owner's of
/// the program, and its group may write it: they could replace the program as well.
///
/// # Errors
/// It is another user's, or everyone can write it.
pub fn check_shipped(path: &Path) -> Result<(), Distrust> {
    let found = fs::metadata(path).map_err(|error| Distrust::io(path, &error))?;
    let program = std::env::current_exe().and_then(fs::metadata);
    if !program.is_ok_and(|program| program.uid() == found.uid()) {
        judge_owner(path, &found)?;
    }
    if found.mode() & EVERYONE_WRITES != 0 {
        return Err(Distrust::new(path, Reason::EveryoneWrites));
    }
    Ok(())
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Holder,
    /// It contains a folder whose owner is checked too, so it may be sticky.
    Above,
}

/// Resolves `path` from the root like the kernel does, and checks all folders and links on the way. `holder` is the
/// role of the folder that contains the last name.
fn walk(path: &Path, holder: Role) -> Result<PathBuf, Distrust> {
    let whole = std::path::absolute(path).map_err(|error| Distrust::io(path, &error))?;
    let mut pending = Vec::new();
    push_names(&mut pending, &whole);
    let mut real = PathBuf::from("/");
    let mut links = 0;
    while let Some(name) = pending.pop() {
        if name == ".." {
            real.pop();
            continue;
        }
        let role = if pending.is_empty() {
            holder
        } else {
            Role::Above
        };
        judge_folder(&real, role)?;
        let next = real.join(name);
        let found = fs::symlink_metadata(&next).map_err(|error| Distrust::io(&next, &error))?;
        if !found.is_symlink() {
            real = next;
            continue;
        }
        judge_owner(&next, &found)?;
        links += 1;
        if links > MAX_LINKS {
            return Err(Distrust::new(path, Reason::TooManyLinks));
        }
        let target = fs::read_link(&next).map_err(|error| Distrust::io(&next, &error))?;
        if target.is_absolute() {
            real = PathBuf::from("/");
        }
        push_names(&mut pending, &target);
    }
    Ok(real)
}

/// Pushes the names of a path onto a stack, with the first one on top.
fn push_names(pending: &mut Vec<OsString>, path: &Path) {
    let names = path.components().rev().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        _ => None,
    });
    pending.extend(names);
}

fn open(path: &Path) -> Result<(File, Metadata), Distrust> {
    let opened = OpenOptions::new()
        .read(true)
        // A pipe without a writer would be waited for.
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
        .open(path);
    let file = opened.map_err(|error| {
        if error.raw_os_error() == Some(libc::ELOOP) {
            Distrust::new(path, Reason::Link)
        } else {
            Distrust::io(path, &error)
        }
    })?;
    let found = file
        .metadata()
        .map_err(|error| Distrust::io(path, &error))?;
    Ok((file, found))
}

fn judge_file(path: &Path, found: &Metadata) -> Result<(), Distrust> {
    if !found.is_file() {
        return Err(Distrust::new(path, Reason::NotAFile));
    }
    judge_owner(path, found)?;
    match writers(found, user()) {
        Some(reason) => Err(Distrust::new(path, reason)),
        None => Ok(()),
    }
}

fn judge_folder(path: &Path, role: Role) -> Result<(), Distrust> {
    let found = fs::symlink_metadata(path).map_err(|error| Distrust::io(path, &error))?;
    if !found.is_dir() {
        return Err(Distrust::new(path, Reason::NotAFolder));
    }
    judge_owner(path, &found)?;
    if role == Role::Above && found.mode() & STICKY != 0 {
        return Ok(());
    }
    match writers(&found, user()) {
        Some(reason) => Err(Distrust::new(path, reason)),
        None => Ok(()),
    }
}

fn judge_owner(path: &Path, found: &Metadata) -> Result<(), Distrust> {
    let owner = found.uid();
    if owner == 0 || owner == user() {
        return Ok(());
    }
    Err(Distrust::new(path, Reason::OtherOwner(owner)))
}

fn writers(found: &Metadata, user: u32) -> Option<Reason> {
    if found.mode() & EVERYONE_WRITES != 0 {
        return Some(Reason::EveryoneWrites);
    }
    let by_group = found.mode() & GROUP_WRITES != 0 && !groups::is_own(found.gid(), user);
    by_group.then_some(Reason::GroupWrites)
}

#[cfg(test)]
mod tests;
