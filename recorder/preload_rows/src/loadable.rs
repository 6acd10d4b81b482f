//! Programs that a library can be loaded into.

use std::env;
use std::ffi::{CString, OsStr};
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use object::elf::FileHeader64;
use object::read::elf::{ElfFile64, FileHeader, ProgramHeader};
use object::{Endianness, Object, ObjectSection, ReadCache};

/// Bytes of a program that are read: its headers and the name of its loader.
const HEAD_BYTES: u64 = 1 << 16;
/// Limit on scripts that name scripts, as in the kernel.
const MAX_SCRIPTS: u32 = 4;

/// Why no library can be loaded into a program. Also `None` if the program cannot start, because the system then
/// says why.
pub fn problem(program: &OsStr) -> Option<String> {
    let mut path = find(program)?;
    let mut head = head(&path)?;
    for _ in 0..MAX_SCRIPTS {
        let Some(interpreter) = interpreter(&head) else {
            break;
        };
        path = interpreter;
        head = self::head(&path)?;
    }
    if !head.starts_with(b"\x7fELF") {
        return None;
    }
    if gains_privileges(&path) {
        return Some(
            "is a program that runs with other rights than yours (set-uid, or capabilities of its file), so the system does not allow loading a library into it"
                .to_owned(),
        );
    }
    let own = self::head(Path::new("/proc/self/exe"))?;
    if head.get(4) != own.get(4) || head.get(18..20) != own.get(18..20) {
        return Some("is a program for another kind of processor than this command".to_owned());
    }
    if needs_address_sanitizer(&path) {
        return Some(
            "is built with AddressSanitizer, whose own allocator must come before all other libraries: it would refuse to start"
                .to_owned(),
        );
    }
    match (loader(&head), loader(&own)) {
        (None, _) => Some("is linked statically, and nothing can be loaded into it".to_owned()),
        (Some(its), Some(ours)) if its != ours => Some(format!(
            "has another C library than this command, by its loader {}",
            String::from_utf8_lossy(&its)
        )),
        _ => None,
    }
}

fn find(program: &OsStr) -> Option<PathBuf> {
    let path = Path::new(program);
    if program.as_bytes().contains(&b'/') {
        return Some(path.to_owned());
    }
    let folders = env::var_os("PATH")?;
    let mut places = env::split_paths(&folders).map(|folder| folder.join(path));
    places.find(|place| {
        fs::metadata(place).is_ok_and(|facts| facts.is_file() && facts.mode() & 0o111 != 0)
    })
}

fn head(path: &Path) -> Option<Vec<u8>> {
    let mut head = Vec::new();
    let file = File::open(path).ok()?;
    file.take(HEAD_BYTES).read_to_end(&mut head).ok()?;
    Some(head)
}

/// The program that runs a script. For `env`, the program that it finds.
fn interpreter(head: &[u8]) -> Option<PathBuf> {
    let line = head
        .strip_prefix(b"#!")?
        .split(|byte| *byte == b'\n')
        .next()?;
    let mut words = line
        .split(|byte| byte.is_ascii_whitespace())
        .filter(|word| !word.is_empty())
        .map(OsStr::from_bytes);
    let first = words.next()?;
    let asked = words.find(|word| !word.as_bytes().starts_with(b"-"));
    match asked {
        Some(asked) if Path::new(first).ends_with("env") => find(asked),
        _ => find(first),
    }
}

fn loader(head: &[u8]) -> Option<Vec<u8>> {
    let file = FileHeader64::<Endianness>::parse(head).ok()?;
    let endian = file.endian().ok()?;
    let segments = file.program_headers(endian, head).ok()?;
    let path = segments
        .iter()
        .find_map(|segment| segment.interpreter(endian, head).ok()?)?;
    Some(path.rsplit(|byte| *byte == b'/').next()?.to_vec())
}

/// True if a program needs AddressSanitizer's library, which checks its own position in the list of libraries when
/// the program starts.
fn needs_address_sanitizer(path: &Path) -> bool {
    let Ok(file) = File::open(path) else {
        return false;
    };
    let cache = ReadCache::new(file);
    let Ok(file) = ElfFile64::<Endianness, _>::parse(&cache) else {
        return false;
    };
    let texts = file.section_by_name(".dynstr");
    let texts = texts.and_then(|texts| texts.data().ok());
    texts.is_some_and(|texts| {
        texts
            .split(|byte| *byte == 0)
            .any(|text| text.starts_with(b"libasan.so") || text.starts_with(b"libclang_rt.asan"))
    })
}

fn gains_privileges(path: &Path) -> bool {
    let Ok(facts) = fs::metadata(path) else {
        return false;
    };
    // SAFETY: takes nothing.
    let (user, group) = unsafe { (libc::geteuid(), libc::getegid()) };
    let sets = |bit: u32, other: bool| facts.mode() & bit != 0 && other;
    let changes =
        sets(libc::S_ISUID, facts.uid() != user) || sets(libc::S_ISGID, facts.gid() != group);
    changes || user != 0 && has_capabilities(path)
}

fn has_capabilities(path: &Path) -> bool {
    let Ok(path) = CString::new(path.as_os_str().as_bytes()) else {
        return false;
    };
    let name = c"security.capability";
    // SAFETY: texts, and no room to write to.
    unsafe { libc::getxattr(path.as_ptr(), name.as_ptr(), std::ptr::null_mut(), 0) > 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_are_followed_to_what_runs_them() {
        assert_eq!(interpreter(b"\x7fELF"), None);
        assert_eq!(interpreter(b"#! /bin/sh -e\n"), Some("/bin/sh".into()));
        let by_env = interpreter(b"#!/usr/bin/env -S sh\necho");
        assert_eq!(by_env, find(OsStr::new("sh")));
    }

    #[test]
    fn programs_of_this_system_can_be_loaded_into() {
        assert_eq!(problem(OsStr::new("sh")), None);
        assert_eq!(problem(OsStr::new("/is/not/there")), None);
        let own = head(Path::new("/proc/self/exe")).unwrap();
        assert!(loader(&own).unwrap().starts_with(b"ld-"));
    }
}
