//! The filter in the kernel: only calls that are asked for stop the program.

use std::io;

use libc::sock_filter;

use crate::ptrace::NATIVE;

/// Offsets in the data that the kernel passes to a filter.
const NUMBER_AT: u32 = 0;
const ARCHITECTURE_AT: u32 = 4;

/// The filter's program: stops before calls with these numbers, and before those of another call table.
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
    program.push(statement(
        libc::BPF_RET | libc::BPF_K,
        libc::SECCOMP_RET_ALLOW,
    ));
    program
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
