//! All files of a folder, for caches.

use std::fs;
use std::path::Path;

use crate::{Distrust, Reason, judge_owner, user, writers};

/// Checks a folder with all that lies in it, without those above it; it holds files and folders, and no link.
///
/// # Errors
/// Another user has written a part of it, or can.
pub fn check_tree(folder: &Path) -> Result<(), Distrust> {
    let io = |error| Distrust::io(folder, &error);
    let found = fs::symlink_metadata(folder).map_err(io)?;
    if !found.is_dir() {
        let reason = if found.is_symlink() {
            Reason::Link
        } else {
            Reason::NotAFolder
        };
        return Err(Distrust::new(folder, reason));
    }
    judge_owner(folder, &found)?;
    if let Some(reason) = writers(&found, user()) {
        return Err(Distrust::new(folder, reason));
    }
    for entry in fs::read_dir(folder).map_err(io)? {
        let path = entry.map_err(io)?.path();
        let found = fs::symlink_metadata(&path).map_err(|error| Distrust::io(&path, &error))?;
        if found.is_symlink() {
            return Err(Distrust::new(&path, Reason::Link));
        }
        if found.is_dir() {
            check_tree(&path)?;
            continue;
        }
        judge_owner(&path, &found)?;
        if let Some(reason) = writers(&found, user()) {
            return Err(Distrust::new(&path, reason));
        }
    }
    Ok(())
}
