//! The sandbox of a child: it reads libraries and asks for memory and threads, and that is all.
//!
//! Landlock keeps it from files, the network and the signals of others; a seccomp filter from calls that Landlock knows
//! nothing of, and from writing where the kernel has no Landlock. What is refused fails with `EPERM` or `EACCES`,
//! as it does for a user without rights: nothing is ended for having tried.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, Ruleset, RulesetAttr, RulesetCreatedAttr, Scope,
    path_beneath_rules,
};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, apply_filter,
};

/// The variable of the loader that is kept of the environment: folders of libraries that plugins link.
pub const LIBRARY_PATH: &str = "LD_LIBRARY_PATH";

/// Folders of the system's libraries.
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
const FILES: [&str; 6] = [
    "/etc/ld.so.cache",
    "/dev/null",
    "/dev/urandom",
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/proc/self",
];

/// Newest rules that are asked for; the kernel's own are used where they are older.
const RULES: ABI = ABI::V6;

/// Parts of the sandbox that this kernel does not have, for people.
pub fn missing() -> Option<&'static str> {
    match (has_landlock(), has_seccomp()) {
        (true, true) => None,
        (false, true) => Some("Landlock: plugins can read your files"),
        (true, false) => Some("seccomp: plugins can start programs and change modes of your files"),
        (false, false) => Some("Landlock and no seccomp: plugins can do all that you can"),
    }
}

fn has_landlock() -> bool {
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

fn has_seccomp() -> bool {
    let action: u32 = libc::SECCOMP_RET_ERRNO;
    let known = TargetArch::try_from(std::env::consts::ARCH).is_ok();
    // SAFETY: the number lives for the call, which only looks at it.
    known
        && unsafe {
            libc::syscall(
                libc::SYS_seccomp,
                libc::SECCOMP_GET_ACTION_AVAIL,
                0_u32,
                &raw const action,
            ) == 0
        }
}

/// Closes all files but the first three and `kept`: what the analyzer was started with is no plugin's.
///
/// # Errors
/// The system refuses.
pub fn close_others(mut kept: [i32; 2]) -> io::Result<()> {
    kept.sort_unstable();
    let mut from = 3_u32;
    for end in kept.map(i32::cast_unsigned).into_iter().chain([u32::MAX]) {
        let last = if end == u32::MAX { end } else { end - 1 };
        // SAFETY: a call with numbers; nothing of this process owns one of these files.
        if from <= last && unsafe { libc::syscall(libc::SYS_close_range, from, last, 0_u32) } != 0 {
            let error = io::Error::last_os_error();
            // Kernels before 5.9: files of ours close at `exec`, only those of whoever started us stay.
            return match error.raw_os_error() {
                Some(libc::ENOSYS) => Ok(()),
                _ => Err(error),
            };
        }
        from = end.saturating_add(1);
    }
    Ok(())
}

/// Shuts this thread, and all that it starts, into the sandbox of the plugin in `library`. What the kernel
/// does not have is left out: see [`missing`].
///
/// # Errors
/// The kernel has it and refuses.
pub fn enter(library: &Path) -> Result<(), String> {
    if has_landlock() {
        let files = FILES.iter().map(PathBuf::from);
        let folders = LIBRARIES.iter().map(PathBuf::from);
        // Paths that are not there are no error: systems differ.
        let readable = files.chain(folders).chain(libraries_of(library));
        let read = AccessFs::from_read(RULES);
        Ruleset::default()
            .handle_access(AccessFs::from_all(RULES))
            .and_then(|rules| rules.handle_access(AccessNet::from_all(RULES)))
            .and_then(|rules| rules.scope(Scope::from_all(RULES)))
            .and_then(|rules| rules.create())
            .and_then(|rules| rules.add_rules(path_beneath_rules(readable, read)))
            .and_then(|rules| rules.restrict_self())
            .map_err(|error| format!("Landlock: {error}"))?;
    }
    if has_seccomp() {
        // The newer calls hide their flags behind a pointer: where they are unknown, libraries ask the older ones.
        let unknown = [libc::SYS_clone3, libc::SYS_openat2];
        let unknown = unknown.into_iter().map(|call| (call, Vec::new())).collect();
        let refused = refused().map_err(|error| format!("seccomp: {error}"))?;
        for (rules, error) in [(unknown, libc::ENOSYS), (refused, libc::EPERM)] {
            filter(rules, error.cast_unsigned()).map_err(|error| format!("seccomp: {error}"))?;
        }
    }
    Ok(())
}

/// The library, those beside it, and the folders that the user names for the loader.
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

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

fn filter(rules: Rules, error: u32) -> Result<(), Box<dyn std::error::Error>> {
    let arch = TargetArch::try_from(std::env::consts::ARCH)?;
    let refuse = SeccompAction::Errno(error);
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, refuse, arch)?;
    apply_filter(&BpfProgram::try_from(filter)?)?;
    Ok(())
}

/// Calls that are refused; with rules: where one of them holds.
fn refused() -> Result<Rules, seccompiler::BackendError> {
    use SeccompCmpArgLen::Dword;
    use SeccompCmpOp::{Eq, MaskedEq, Ne};
    let mut rules: Rules = ALWAYS.into_iter().map(|call| (call, Vec::new())).collect();
    #[cfg(target_arch = "x86_64")]
    rules.extend(ALWAYS_ON_X86.into_iter().map(|call| (call, Vec::new())));
    let when = |at: u8, is: SeccompCmpOp, value: u64| {
        SeccompRule::new(vec![SeccompCondition::new(at, Dword, is, value)?])
    };
    let me = u64::from(std::process::id());
    for call in [libc::SYS_kill, libc::SYS_tgkill, libc::SYS_rt_sigqueueinfo] {
        rules.insert(call, vec![when(0, Ne, me)?]);
    }
    // Threads yes, processes no.
    let thread = libc::CLONE_THREAD as u64;
    rules.insert(libc::SYS_clone, vec![when(0, MaskedEq(thread), 0)?]);
    // Limits of others, and a longer life than the analyzer's.
    let other = SeccompRule::new(vec![
        SeccompCondition::new(0, Dword, Ne, 0)?,
        SeccompCondition::new(0, Dword, Ne, me)?,
    ])?;
    rules.insert(libc::SYS_prlimit64, vec![other]);
    let death = libc::PR_SET_PDEATHSIG as u64;
    rules.insert(libc::SYS_prctl, vec![when(0, Eq, death)?]);
    // Keys typed into somebody's terminal.
    rules.insert(
        libc::SYS_ioctl,
        vec![when(1, Eq, libc::TIOCSTI)?, when(1, Eq, libc::TIOCLINUX)?],
    );
    let writing = |at: u8| -> Result<Vec<SeccompRule>, seccompiler::BackendError> {
        [libc::O_WRONLY, libc::O_RDWR, libc::O_CREAT, libc::O_TRUNC]
            .map(|flag| when(at, MaskedEq(flag as u64), flag as u64))
            .into_iter()
            .collect()
    };
    rules.insert(libc::SYS_openat, writing(2)?);
    #[cfg(target_arch = "x86_64")]
    rules.insert(libc::SYS_open, writing(1)?);
    Ok(rules)
}

/// Calls that no analysis needs.
const ALWAYS: [i64; 67] = [
    // Programs, other processes, a session of its own.
    libc::SYS_execve,
    libc::SYS_execveat,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_kcmp,
    libc::SYS_tkill,
    libc::SYS_rt_tgsigqueueinfo,
    libc::SYS_pidfd_open,
    libc::SYS_pidfd_getfd,
    libc::SYS_pidfd_send_signal,
    libc::SYS_setsid,
    libc::SYS_setpgid,
    // The network, queues and memory that processes share.
    libc::SYS_socket,
    libc::SYS_mq_open,
    libc::SYS_msgget,
    libc::SYS_semget,
    libc::SYS_shmget,
    // A way round this filter, and round the rights of a process.
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_open_by_handle_at,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    // Files: their content, names, modes and owners.
    libc::SYS_truncate,
    libc::SYS_unlinkat,
    libc::SYS_renameat,
    libc::SYS_renameat2,
    libc::SYS_mkdirat,
    libc::SYS_mknodat,
    libc::SYS_linkat,
    libc::SYS_symlinkat,
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    libc::SYS_fchmodat2,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_utimensat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    // The machine, where the analyzer is started with all rights.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_reboot,
    libc::SYS_kexec_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_sethostname,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_acct,
];

/// Older names of the same, which newer processors do not have.
#[cfg(target_arch = "x86_64")]
const ALWAYS_ON_X86: [i64; 19] = [
    libc::SYS_fork,
    libc::SYS_vfork,
    libc::SYS_creat,
    libc::SYS_unlink,
    libc::SYS_rename,
    libc::SYS_mkdir,
    libc::SYS_rmdir,
    libc::SYS_mknod,
    libc::SYS_link,
    libc::SYS_symlink,
    libc::SYS_chmod,
    libc::SYS_chown,
    libc::SYS_lchown,
    libc::SYS_utime,
    libc::SYS_utimes,
    libc::SYS_futimesat,
    libc::SYS_iopl,
    libc::SYS_ioperm,
    libc::SYS_modify_ldt,
];
