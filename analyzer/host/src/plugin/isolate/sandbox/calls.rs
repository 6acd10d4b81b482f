//! Calls to the kernel that a child may make, kept by seccomp.

use std::collections::BTreeMap;
use std::ffi::CStr;

use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition,
    SeccompFilter, SeccompRule, TargetArch, apply_filter,
};

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Whether the kernel supports filters, and system calls of this processor are known.
pub fn are_filtered() -> bool {
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

/// Restricts this thread to the allowed system calls, and to `execve` with the given address.
///
/// # Errors
/// The kernel refuses.
pub fn filter(program: Option<&CStr>) -> Result<(), Box<dyn std::error::Error>> {
    // The newer calls hide their flags behind a pointer: where they are unknown, libraries ask the older ones. The first
    // filter says so, and goes before the second, which would say that they are refused.
    let unknown = HIDDEN.into_iter().map(|call| (call, Vec::new())).collect();
    let not_there = SeccompAction::Errno(libc::ENOSYS.cast_unsigned());
    apply(unknown, SeccompAction::Allow, not_there)?;
    let refused = SeccompAction::Errno(libc::EPERM.cast_unsigned());
    apply(allowed(program)?, refused, SeccompAction::Allow)
}

fn apply(
    rules: Rules,
    others: SeccompAction,
    these: SeccompAction,
) -> Result<(), Box<dyn std::error::Error>> {
    let arch = TargetArch::try_from(std::env::consts::ARCH)?;
    let filter = SeccompFilter::new(rules, others, these, arch)?;
    apply_filter(&BpfProgram::try_from(filter)?)?;
    Ok(())
}

/// Newer variants of system calls of which only some uses are allowed.
const HIDDEN: [i64; 2] = [libc::SYS_clone3, libc::SYS_openat2];

/// Allowed system calls. Calls with rules are allowed if one of the rules matches.
fn allowed(program: Option<&CStr>) -> Result<Rules, BackendError> {
    use SeccompCmpArgLen::{Dword, Qword};
    use SeccompCmpOp::{Eq, MaskedEq};
    let all = READING.iter().chain(&MEMORY).chain(&THREADS).chain(&ASKING);
    let all = all.chain(&HIDDEN);
    let mut rules: Rules = all.map(|call| (*call, Vec::new())).collect();
    #[cfg(target_arch = "x86_64")]
    rules.extend(ON_X86.into_iter().map(|call| (call, Vec::new())));
    let is = |at: u8, value: u64| SeccompCondition::new(at, Dword, Eq, value);
    let has = |at: u8, mask: u64, value: u64| {
        let masked = SeccompCondition::new(at, Dword, MaskedEq(mask), value)?;
        SeccompRule::new(vec![masked])
    };
    let one_of = |at: u8, values: &[u64]| -> Result<Vec<SeccompRule>, BackendError> {
        let rules = values.iter();
        rules
            .map(|value| SeccompRule::new(vec![is(at, *value)?]))
            .collect()
    };
    // Threads yes, processes no.
    let thread = libc::CLONE_THREAD as u64;
    rules.insert(libc::SYS_clone, vec![has(0, thread, thread)?]);
    // Its own process, as `abort` does; nobody else's.
    let me = u64::from(std::process::id());
    for call in [libc::SYS_kill, libc::SYS_tgkill] {
        rules.insert(call, one_of(0, &[me])?);
    }
    // To read.
    let writing = (libc::O_WRONLY | libc::O_RDWR | libc::O_CREAT | libc::O_TRUNC) as u64;
    rules.insert(libc::SYS_openat, vec![has(2, writing, 0)?]);
    #[cfg(target_arch = "x86_64")]
    rules.insert(libc::SYS_open, vec![has(1, writing, 0)?]);
    // Pages of the inputs that have been read are given back; nothing grows.
    let give_back = (libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE) as u64;
    rules.insert(libc::SYS_fallocate, one_of(1, &[give_back])?);
    // Not: who is to be signalled when something can be read.
    let of_files = [
        libc::F_DUPFD,
        libc::F_DUPFD_CLOEXEC,
        libc::F_GETFD,
        libc::F_SETFD,
        libc::F_GETFL,
        libc::F_SETFL,
        libc::F_GET_SEALS,
        libc::F_GETPIPE_SZ,
    ];
    let of_files = of_files.map(|call| u64::from(call.cast_unsigned()));
    rules.insert(libc::SYS_fcntl, one_of(1, &of_files)?);
    // "Is it a terminal", and the same of files; not: keys typed into somebody's terminal.
    let of_devices = [
        libc::TCGETS,
        libc::TIOCGWINSZ,
        libc::FIONREAD,
        libc::FIONBIO,
        libc::FIOCLEX,
        libc::FIONCLEX,
    ];
    rules.insert(libc::SYS_ioctl, one_of(1, &of_devices)?);
    // Not: a longer life than the analyzer's.
    let of_process = [
        libc::PR_SET_NAME,
        libc::PR_GET_NAME,
        libc::PR_SET_VMA,
        libc::PR_GET_DUMPABLE,
        libc::PR_GET_PDEATHSIG,
        libc::PR_GET_TIMERSLACK,
        libc::PR_SET_NO_NEW_PRIVS,
        libc::PR_SET_SECCOMP,
    ];
    let of_process = of_process.map(|call| u64::from(call.cast_unsigned()));
    rules.insert(libc::SYS_prctl, one_of(0, &of_process)?);
    // Its own limits are read; none is set, for an administrator's could be raised.
    let reads = || SeccompCondition::new(2, Qword, Eq, 0);
    let mine = [0, me].map(|process| SeccompRule::new(vec![is(0, process)?, reads()?]));
    let mine = mine.into_iter().collect::<Result<_, _>>()?;
    rules.insert(libc::SYS_prlimit64, mine);
    rules.insert(libc::SYS_sched_setaffinity, one_of(0, &[0])?);
    if let Some(path) = program {
        let here = SeccompCondition::new(0, Qword, Eq, path.as_ptr().addr() as u64)?;
        rules.insert(libc::SYS_execve, vec![SeccompRule::new(vec![here])?]);
    }
    Ok(rules)
}

/// Reading and opening files, and waiting for them.
const READING: [i64; 36] = [
    libc::SYS_read,
    libc::SYS_readv,
    libc::SYS_pread64,
    libc::SYS_preadv,
    libc::SYS_preadv2,
    libc::SYS_write,
    libc::SYS_writev,
    libc::SYS_pwrite64,
    libc::SYS_pwritev,
    libc::SYS_pwritev2,
    libc::SYS_lseek,
    libc::SYS_close,
    libc::SYS_close_range,
    libc::SYS_fstat,
    libc::SYS_newfstatat,
    libc::SYS_statx,
    libc::SYS_statfs,
    libc::SYS_fstatfs,
    libc::SYS_faccessat,
    libc::SYS_faccessat2,
    libc::SYS_readlinkat,
    libc::SYS_getdents64,
    libc::SYS_getcwd,
    libc::SYS_dup,
    libc::SYS_dup3,
    libc::SYS_pipe2,
    libc::SYS_eventfd2,
    libc::SYS_fadvise64,
    libc::SYS_readahead,
    libc::SYS_fsync,
    libc::SYS_fdatasync,
    libc::SYS_ppoll,
    libc::SYS_pselect6,
    libc::SYS_epoll_create1,
    libc::SYS_epoll_ctl,
    libc::SYS_epoll_pwait,
];

const MEMORY: [i64; 17] = [
    libc::SYS_brk,
    libc::SYS_mmap,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_mprotect,
    libc::SYS_madvise,
    libc::SYS_mincore,
    libc::SYS_msync,
    libc::SYS_mlock,
    libc::SYS_munlock,
    libc::SYS_mbind,
    libc::SYS_get_mempolicy,
    libc::SYS_set_mempolicy,
    libc::SYS_membarrier,
    libc::SYS_pkey_alloc,
    libc::SYS_pkey_free,
    libc::SYS_pkey_mprotect,
];

/// Threads, signals, timers and exit.
const THREADS: [i64; 32] = [
    libc::SYS_futex,
    libc::SYS_futex_waitv,
    libc::SYS_set_robust_list,
    libc::SYS_get_robust_list,
    libc::SYS_set_tid_address,
    libc::SYS_rseq,
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_restart_syscall,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigpending,
    libc::SYS_rt_sigreturn,
    libc::SYS_rt_sigsuspend,
    libc::SYS_rt_sigtimedwait,
    libc::SYS_sigaltstack,
    libc::SYS_sched_yield,
    libc::SYS_sched_getaffinity,
    libc::SYS_sched_getparam,
    libc::SYS_sched_getscheduler,
    libc::SYS_sched_get_priority_max,
    libc::SYS_sched_get_priority_min,
    libc::SYS_nanosleep,
    libc::SYS_clock_nanosleep,
    libc::SYS_setitimer,
    libc::SYS_getitimer,
    libc::SYS_timer_create,
    libc::SYS_timer_settime,
    libc::SYS_timer_delete,
    libc::SYS_timerfd_create,
    libc::SYS_timerfd_settime,
    libc::SYS_wait4,
];

/// Queries, and random numbers.
const ASKING: [i64; 26] = [
    libc::SYS_clock_gettime,
    libc::SYS_clock_getres,
    libc::SYS_gettimeofday,
    libc::SYS_times,
    libc::SYS_getcpu,
    libc::SYS_getpid,
    libc::SYS_getppid,
    libc::SYS_gettid,
    libc::SYS_getpgid,
    libc::SYS_getsid,
    libc::SYS_getuid,
    libc::SYS_geteuid,
    libc::SYS_getgid,
    libc::SYS_getegid,
    libc::SYS_getresuid,
    libc::SYS_getresgid,
    libc::SYS_getgroups,
    libc::SYS_getpriority,
    libc::SYS_getrusage,
    libc::SYS_getrandom,
    libc::SYS_capget,
    libc::SYS_sysinfo,
    libc::SYS_uname,
    libc::SYS_waitid,
    libc::SYS_umask,
    libc::SYS_ioprio_get,
];

/// Older names of the same calls, which newer processors do not have.
#[cfg(target_arch = "x86_64")]
const ON_X86: [i64; 18] = [
    libc::SYS_stat,
    libc::SYS_lstat,
    libc::SYS_access,
    libc::SYS_readlink,
    libc::SYS_getdents,
    libc::SYS_dup2,
    libc::SYS_pipe,
    libc::SYS_eventfd,
    libc::SYS_poll,
    libc::SYS_select,
    libc::SYS_epoll_create,
    libc::SYS_epoll_wait,
    libc::SYS_alarm,
    libc::SYS_pause,
    libc::SYS_time,
    libc::SYS_getrlimit,
    libc::SYS_getpgrp,
    libc::SYS_arch_prctl,
];
