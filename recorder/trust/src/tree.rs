//! All files of a folder, for caches.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::{Distrust, Reason, judge_owner, user, writers};

/// Permission of group and others to enter a folder.
const OTHERS_ENTER: u32 = 0o011;

/// Checks a folder with all that lies in it, which are files and folders, and no links. Those above it are not checked,
/// but modes count only if the one that holds it lets others in.
///
/// # Errors
/// Another user has written a part of it, or can.
pub fn check_tree(folder: &Path) -> Result<(), Distrust> {
    let above = folder.parent().unwrap_or(Path::new("/"));
    let holder = fs::metadata(above).map_err(|error| Distrust::io(above, &error))?;
    let is_private = holder.uid() == user() && holder.mode() & OTHERS_ENTER == 0;
    let found = fs::symlink_metadata(folder).map_err(|error| Distrust::io(folder, &error))?;
    if !found.is_dir() && !found.is_symlink() {
        return Err(Distrust::new(folder, Reason::NotAFolder));
    }
    check_entry(folder, &found, is_private)
}

fn check_entry(path: &Path, found: &Metadata, is_private: bool) -> Result<(), Distrust> {
    if found.is_symlink() {
        return Err(Distrust::new(path, Reason::Link));
    }
    judge_owner(path, found)?;
    if !is_private && let Some(reason) = writers(found, user()) {
        return Err(Distrust::new(path, reason));
    }
    if !found.is_dir() {
        return Ok(());
    }
    let io = |error| Distrust::io(path, &error);
    for entry in fs::read_dir(path).map_err(io)? {
        let below = entry.map_err(io)?.path();
        let found = fs::symlink_metadata(&below).map_err(|error| Distrust::io(&below, &error))?;
        check_entry(&below, &found, is_private)?;
    }
    Ok(())
}
