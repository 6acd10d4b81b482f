//! Tells whether other users could have put a library where it lies.

use std::path::Path;

/// The flag that turns these checks off.
pub const ALLOW_FLAG: &str = "--allow-unsafe-plugins";

/// Place of a library or folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The folders of the program itself: who can write there by a right of a group can replace the program.
    BesideProgram,
    /// Elsewhere.
    Elsewhere,
}

/// A library, and the folders it really lies in (links are followed by the caller).
pub fn check_file(file: &Path, place: Place) -> Result<(), String> {
    check(file, "library", Part::Itself, place)?;
    file.parent().map_or(Ok(()), |dir| check_dir(dir, place))
}

/// A folder with libraries, and those above it.
pub fn check_dir(dir: &Path, place: Place) -> Result<(), String> {
    check(dir, "folder", Part::Itself, place)?;
    if place == Place::BesideProgram {
        return Ok(());
    }
    let real = std::fs::canonicalize(dir).map_err(|error| format!("{}: {error}", dir.display()))?;
    let mut above = real.ancestors().skip(1);
    above.try_for_each(|dir| check(dir, "folder", Part::Above, place))
}

/// Part of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Itself,
    /// A folder above: who can write it can put another one in its place, unless it is sticky.
    Above,
}

#[cfg(unix)]
fn check(path: &Path, what: &str, part: Part, place: Place) -> Result<(), String> {
    use std::os::unix::fs::MetadataExt;
    let metadata =
        std::fs::metadata(path).map_err(|error| format!("{}: {error}", path.display()))?;
    // SAFETY: geteuid has no preconditions and cannot fail.
    let me = unsafe { libc::geteuid() };
    let (owner, group) = (metadata.uid(), metadata.gid());
    let by_group = || place == Place::Elsewhere && !groups::is_own(group, me);
    match reason(metadata.mode(), owner, me, part, by_group) {
        None => Ok(()),
        Some((why, remedy)) => Err(format!(
            "the {what} {} {why}, so nothing is loaded from there (hint: {remedy}, or pass {ALLOW_FLAG})",
            path.display()
        )),
    }
}

/// Other systems have no such bits; their folders are trusted as they are.
#[cfg(not(unix))]
fn check(_path: &Path, _what: &str, _part: Part, _place: Place) -> Result<(), String> {
    Ok(())
}

/// The reason why a file with this mode and owner is not trusted, and what to do; `by_group`: others are in its group.
#[cfg_attr(not(unix), expect(dead_code, reason = "used on Unix and in tests"))]
fn reason(
    mode: u32,
    owner: u32,
    me: u32,
    part: Part,
    by_group: impl FnOnce() -> bool,
) -> Option<(String, &'static str)> {
    if owner != 0 && owner != me {
        return Some((
            format!("belongs to another user (uid {owner})"),
            "copy it to a folder of your own",
        ));
    }
    if part == Part::Above && mode & 0o1000 != 0 {
        // In a sticky folder nobody but its owner, and theirs, moves what lies there.
        return None;
    }
    if mode & 0o002 != 0 {
        return Some((
            "can be written by everyone".into(),
            "take the right away with chmod o-w",
        ));
    }
    if mode & 0o020 != 0 && by_group() {
        return Some((
            "can be written by others of its group".into(),
            "take the right away with chmod g-w",
        ));
    }
    None
}

/// Groups that hold nobody else.
#[cfg(unix)]
mod groups {
    use std::ffi::CStr;

    const BUFFER_BYTES: usize = 1 << 16;

    /// Tells whether a group is root's, or the user's own that many systems give each user.
    pub fn is_own(group: u32, me: u32) -> bool {
        group == 0 || holds_only(group, me).unwrap_or(false)
    }

    /// `None`: the system does not tell.
    fn holds_only(group: u32, me: u32) -> Option<bool> {
        let (name, members) = group_of(group)?;
        let (user, primary) = user_of(me)?;
        // Those whose primary group it is are not among its members: by its name it is nobody's but this user's.
        let is_private = primary == group && name == user;
        let others = members
            .iter()
            .any(|member| *member != user && member != "root");
        Some(is_private && !others)
    }

    fn group_of(group: u32) -> Option<(String, Vec<String>)> {
        let mut buffer = vec![0; BUFFER_BYTES];
        // SAFETY: struct and buffer live for the call and as long as what it points to is read; lists end with a null.
        unsafe {
            let (mut entry, mut found) = (std::mem::zeroed::<libc::group>(), std::ptr::null_mut());
            let at = buffer.as_mut_ptr();
            libc::getgrgid_r(group, &raw mut entry, at, BUFFER_BYTES, &raw mut found);
            if found.is_null() {
                return None;
            }
            let text = |at| CStr::from_ptr(at).to_string_lossy().into_owned();
            let mut members = Vec::new();
            let mut member = entry.gr_mem;
            while !member.is_null() && !(*member).is_null() {
                members.push(text(*member));
                member = member.add(1);
            }
            Some((text(entry.gr_name), members))
        }
    }

    fn user_of(user: u32) -> Option<(String, u32)> {
        let mut buffer = vec![0; BUFFER_BYTES];
        // SAFETY: as above.
        unsafe {
            let (mut entry, mut found) = (std::mem::zeroed::<libc::passwd>(), std::ptr::null_mut());
            let at = buffer.as_mut_ptr();
            libc::getpwuid_r(user, &raw mut entry, at, BUFFER_BYTES, &raw mut found);
            if found.is_null() {
                return None;
            }
            let name = CStr::from_ptr(entry.pw_name).to_string_lossy();
            Some((name.into_owned(), entry.pw_gid))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(mode: u32, owner: u32, me: u32, part: Part) -> Option<String> {
        reason(mode, owner, me, part, || true).map(|(why, _)| why)
    }

    #[test]
    fn own_and_root_files_are_trusted_unless_others_can_write_them() {
        use Part::Itself;
        assert_eq!(of(0o755, 1000, 1000, Itself), None);
        assert_eq!(reason(0o775, 0, 1000, Itself, || false), None);
        assert!(of(0o775, 0, 1000, Itself).is_some_and(|why| why.contains("group")));
        assert!(of(0o757, 1000, 1000, Itself).is_some_and(|why| why.contains("everyone")));
        assert!(
            of(0o1777, 0, 1000, Itself).is_some(),
            "a sticky folder still takes new files from everyone"
        );
        assert!(of(0o755, 1001, 1000, Itself).is_some_and(|why| why.contains("uid 1001")));
        assert!(
            of(0o755, 1001, 0, Itself).is_some(),
            "root does not run what another user owns"
        );
    }

    #[test]
    fn folders_above_are_trusted_where_others_cannot_put_something_else_there() {
        use Part::Above;
        assert_eq!(of(0o755, 0, 1000, Above), None);
        assert_eq!(of(0o1777, 0, 1000, Above), None);
        assert!(of(0o777, 0, 1000, Above).is_some());
        assert!(of(0o775, 1000, 1000, Above).is_some());
        assert!(of(0o1777, 1001, 1000, Above).is_some(), "its owner can");
    }

    #[cfg(unix)]
    #[test]
    fn a_folder_below_one_that_everyone_can_write_is_refused() {
        use std::fs::{Permissions, create_dir, set_permissions};
        use std::os::unix::fs::PermissionsExt;
        let top = tempfile::tempdir().unwrap();
        let (open, below) = (top.path().join("open"), top.path().join("open/below"));
        create_dir(&open).unwrap();
        create_dir(&below).unwrap();
        set_permissions(&below, Permissions::from_mode(0o755)).unwrap();
        for (mode, place, is_safe) in [
            (0o755, Place::Elsewhere, true),
            (0o777, Place::Elsewhere, false),
            (0o1777, Place::Elsewhere, true),
            (0o777, Place::BesideProgram, true),
        ] {
            set_permissions(&open, Permissions::from_mode(mode)).unwrap();
            let checked = check_dir(&below, place);
            assert_eq!(checked.is_ok(), is_safe, "{mode:o} {place:?}: {checked:?}");
        }
    }
}
