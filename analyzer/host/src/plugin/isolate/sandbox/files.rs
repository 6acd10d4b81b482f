//! Files that a child may read, kept by Landlock.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::Program;
use landlock::{
    ABI, Access, AccessFs, AccessNet, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetError,
    Scope, path_beneath_rules,
};

/// The only environment variable of the loader that is kept: folders of libraries that plugins link.
pub const LIBRARY_PATH: &str = "LD_LIBRARY_PATH";

const LIBRARIES: [&str; 8] = [
    "/lib",
    "/lib32",
    "/lib64",
    "/usr/lib",
    "/usr/lib32",
    "/usr/lib64",
    "/usr/local/lib",
    "/usr/local/lib64",
];

/// Files that the loader, the allocator and the standard library read.
const FILES: [&str; 10] = [
    "/etc/ld.so.cache",
    "/dev/null",
    "/dev/urandom",
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/proc/self/cgroup",
    "/proc/self/maps",
    "/proc/self/stat",
    "/proc/self/statm",
    "/proc/self/status",
];

/// Newest Landlock version to use. Older kernels use their own.
const RULES: ABI = ABI::V6;

pub fn are_guarded() -> bool {
    const VERSION: libc::c_ulong = 1;
    // SAFETY: with this flag the call takes no struct and gives a number.
    unsafe {
        libc::syscall(
            libc::SYS_landlock_create_ruleset,
            std::ptr::null::<libc::c_void>(),
            0_usize,
            VERSION,
        ) > 0
    }
}

/// Restricts this thread to reading what the plugin in `library` and `program` need, and to executing `program`.
/// Nothing can be written.
///
/// # Errors
/// The kernel refuses.
pub fn guard(library: &Path, program: Option<&Program<'_>>) -> Result<(), RulesetError> {
    let files = FILES.iter().map(PathBuf::from);
    let folders = LIBRARIES.iter().map(PathBuf::from);
    // Paths that are not there are no error: systems differ.
    let readable = files.chain(folders).chain(libraries_of(library));
    let more = program.map_or(&[][..], |program| program.readable);
    let readable = readable.chain(more.iter().cloned());
    // Calls are filtered so that nothing is executed but `program`; that is kept here for the one call that is open.
    let execute = AccessFs::Execute;
    let read = match program {
        Some(_) => AccessFs::from_read(RULES) & !execute,
        None => AccessFs::from_read(RULES),
    };
    let executable = program.map_or(&[][..], |program| program.executable);
    Ruleset::default()
        .handle_access(AccessFs::from_all(RULES))
        .and_then(|rules| rules.handle_access(AccessNet::from_all(RULES)))
        .and_then(|rules| rules.scope(Scope::from_all(RULES)))
        .and_then(|rules| rules.create())
        .and_then(|rules| rules.add_rules(path_beneath_rules(readable, read)))
        .and_then(|rules| {
            rules.add_rules(path_beneath_rules(executable, execute | AccessFs::ReadFile))
        })
        .and_then(|rules| rules.restrict_self())
        .map(drop)
}

fn libraries_of(library: &Path) -> Vec<PathBuf> {
    let is_library = |path: &PathBuf| {
        let name = path.file_name().and_then(OsStr::to_str).unwrap_or("");
        name.ends_with(".so") || name.contains(".so.")
    };
    let beside = library.parent().map(std::fs::read_dir);
    let beside = beside.into_iter().flatten().flatten().flatten();
    let beside = beside.map(|entry| entry.path()).filter(is_library);
    let named = std::env::var_os(LIBRARY_PATH).unwrap_or_default();
    let named: Vec<PathBuf> = std::env::split_paths(&named).collect();
    // An empty folder would be the working folder.
    let named = named.into_iter().filter(|path| path.is_absolute());
    [library.to_owned()]
        .into_iter()
        .chain(beside)
        .chain(named)
        .collect()
}
