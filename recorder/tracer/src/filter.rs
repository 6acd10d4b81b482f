//! The filter in the kernel: only calls that are asked for stop the program.

use std::io;

use libc::sock_filter;
use syscalls::Sysno;

use crate::ptrace::NATIVE;

/// Offsets in the data that the kernel passes to a filter.
const NUMBER_AT: u32 = 0;
const ARCHITECTURE_AT: u32 = 4;

/// The filter's program: stops before calls with these numbers, before those of another call table, and before those that
/// would not do under a filter what they do without one ([`Special`]).
pub(crate) fn program(numbers: &[u32]) -> Vec<sock_filter> {
    let stop = statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_TRACE);
    let mut program = vec![
        statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, ARCHITECTURE_AT),
        equal(NATIVE, 1),
        stop,
        statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, NUMBER_AT),
    ];
    for number in numbers {
        program.push(unequal(*number, 1));
        program.push(stop);
    }
    let allow = statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ALLOW);
    let argument = |at| statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, argument_at(at));
    let number = |call: Sysno, skipped| unequal(call.id() as u32, skipped);
    program.extend([
        number(Sysno::clone, 4),
        argument(0),
        has_bits(libc::CLONE_UNTRACED as u32, 1),
        stop,
        allow,
        number(Sysno::prctl, 6),
        argument(0),
        unequal(libc::PR_SET_SECCOMP as u32, 3),
        argument(1),
        unequal(libc::SECCOMP_MODE_STRICT, 1),
        stop,
        allow,
        number(Sysno::seccomp, 4),
        argument(0),
        unequal(libc::SECCOMP_SET_MODE_STRICT, 1),
        stop,
        allow,
        allow,
    ]);
    program
}

/// Offset of the low half of an argument.
const fn argument_at(at: u32) -> u32 {
    16 + 8 * at
}

/// A call that a tracer or its filter would change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Special {
    /// Its child would have the filter and no tracer.
    Untraced,
    /// The kernel refuses it to a thread that has a filter.
    StrictSeccomp,
}

impl Special {
    pub(crate) fn of(number: u64, arguments: &[u64; 6]) -> Option<Self> {
        let call = usize::try_from(number).ok().and_then(Sysno::new)?;
        let words = arguments.map(|argument| argument as u32);
        match call {
            Sysno::clone if words[0] & libc::CLONE_UNTRACED as u32 != 0 => Some(Self::Untraced),
            Sysno::prctl
                if words[0] == libc::PR_SET_SECCOMP as u32
                    && words[1] == libc::SECCOMP_MODE_STRICT =>
            {
                Some(Self::StrictSeccomp)
            }
            Sysno::seccomp if words[0] == libc::SECCOMP_SET_MODE_STRICT => {
                Some(Self::StrictSeccomp)
            }
            _ => None,
        }
    }
}

/// Installs the filter for this process and its descendants. Does not allocate, because it runs between fork and
/// exec.
pub(crate) fn install(program: &[sock_filter]) -> io::Result<()> {
    let filter = libc::sock_fprog {
        len: program.len() as u16,
        filter: program.as_ptr().cast_mut(),
    };
    let mode = libc::SECCOMP_MODE_FILTER;
    // SAFETY: the kernel reads the program, which is there, and nothing is written.
    let install = || unsafe { libc::prctl(libc::PR_SET_SECCOMP, mode, &raw const filter) };
    if install() == 0 {
        return Ok(());
    }
    // Without privileges a filter is taken from those who can gain none. They could not anyway: programs that would are
    // started without, when a tracer has no more privileges than they.
    // SAFETY: takes numbers.
    if unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) } == 0 && install() == 0 {
        return Ok(());
    }
    Err(io::Error::last_os_error())
}

fn statement(code: u32, value: u32) -> sock_filter {
    sock_filter {
        code: code as u16,
        jt: 0,
        jf: 0,
        k: value,
    }
}

fn has_bits(bits: u32, skipped: u8) -> sock_filter {
    sock_filter {
        jf: skipped,
        ..statement(libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K, bits)
    }
}

fn equal(value: u32, skipped: u8) -> sock_filter {
    sock_filter {
        jt: skipped,
        ..statement(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, value)
    }
}

fn unequal(value: u32, skipped: u8) -> sock_filter {
    sock_filter {
        jf: skipped,
        ..statement(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, value)
    }
}
