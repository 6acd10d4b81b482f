//! Groups that hold nobody else.

use std::ffi::CStr;

const BUFFER_BYTES: usize = 1 << 16;

/// True for root's group, and for the user's private group that many systems create.
pub(crate) fn is_own(group: u32, user: u32) -> bool {
    group == 0 || holds_only(group, user).unwrap_or(false)
}

/// `None` if the system has no such group or user.
fn holds_only(group: u32, user: u32) -> Option<bool> {
    let (group_name, members) = group_of(group)?;
    let (user_name, primary) = user_of(user)?;
    // Users whose primary group it is are not among its members: only the name says that it is this user's alone.
    let is_private = primary == group && group_name == user_name;
    let others = members
        .iter()
        .any(|member| *member != user_name && member != "root");
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
