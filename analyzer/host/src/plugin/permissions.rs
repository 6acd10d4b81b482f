//! Tells whether other users could have put a library where it lies.

use std::path::Path;

/// The flag that turns these checks off.
pub const ALLOW_FLAG: &str = "--allow-unsafe-plugins";

/// A library, and the folder it really lies in (links are followed by the caller).
pub fn check_file(file: &Path) -> Result<(), String> {
    check(file, "library")?;
    match file.parent() {
        Some(dir) => check_dir(dir),
        None => Ok(()),
    }
}

/// A folder with libraries.
pub fn check_dir(dir: &Path) -> Result<(), String> {
    check(dir, "folder")
}

#[cfg(unix)]
fn check(path: &Path, what: &str) -> Result<(), String> {
    use std::os::unix::fs::MetadataExt;
    let metadata =
        std::fs::metadata(path).map_err(|error| format!("{}: {error}", path.display()))?;
    // SAFETY: geteuid has no preconditions and cannot fail.
    let me = unsafe { libc::geteuid() };
    match reason(metadata.mode(), metadata.uid(), me) {
        None => Ok(()),
        Some((why, remedy)) => Err(format!(
            "the {what} {} {why}, so nothing is loaded from there (hint: {remedy}, or pass {ALLOW_FLAG})",
            path.display()
        )),
    }
}

/// Other systems have no such bits; their folders are trusted as they are.
#[cfg(not(unix))]
fn check(_path: &Path, _what: &str) -> Result<(), String> {
    Ok(())
}

/// The reason why a file with this mode and owner is not trusted, and what to do.
#[cfg_attr(not(unix), expect(dead_code, reason = "used on Unix and in tests"))]
fn reason(mode: u32, owner: u32, me: u32) -> Option<(String, &'static str)> {
    if mode & 0o002 != 0 {
        return Some((
            "can be written by everyone".into(),
            "take the right away with chmod o-w",
        ));
    }
    if owner != 0 && owner != me {
        return Some((
            format!("belongs to another user (uid {owner})"),
            "copy it to a folder of your own",
        ));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::reason;

    #[test]
    fn own_and_root_files_are_trusted_unless_everyone_can_write_them() {
        assert_eq!(reason(0o755, 1000, 1000), None);
        assert_eq!(reason(0o775, 0, 1000), None);
        assert!(reason(0o757, 1000, 1000).is_some_and(|(why, _)| why.contains("everyone")));
        assert!(
            reason(0o1777, 0, 1000).is_some(),
            "a sticky folder still takes new files from everyone"
        );
        assert!(reason(0o755, 1001, 1000).is_some_and(|(why, _)| why.contains("uid 1001")));
        assert!(
            reason(0o755, 1001, 0).is_some(),
            "root does not run what another user owns"
        );
    }
}
