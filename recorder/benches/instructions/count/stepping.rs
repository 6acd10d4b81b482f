//! A process that is stepped through between two marks.

use std::error::Error;
use std::fs;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

/// Instructions between the marks.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    pub instructions: u64,
    /// Conditional branches only.
    pub branches: u64,
}

/// Called in the traced process, where counting begins and where it ends.
#[inline(never)]
pub fn mark() {
    // SAFETY: stops the calling thread until its tracer lets it go on.
    unsafe { libc::raise(libc::SIGUSR1) };
}

/// Counts the instructions of candidate `name` for `spans` spans. `seen` gets the address of each, relative to the
/// program's first byte in memory.
pub fn count(name: &str, spans: u64, mut seen: impl FnMut(u64)) -> Result<Counts, Box<dyn Error>> {
    let process = start(&["--candidate", name, &spans.to_string()])?;
    let mut counts = Counts::default();
    // Stopped at its `exec`; then at the marks, and at signals that are its own.
    wait(process)?;
    let first = first_address(process)?;
    run_to_mark(process)?;
    loop {
        step(process, libc::PTRACE_SINGLESTEP, 0)?;
        match wait(process)? {
            Some(libc::SIGTRAP) => {}
            Some(libc::SIGUSR1) => break,
            other => return Err(format!("{name} stopped by {other:?}").into()),
        }
        let address = instruction_pointer(process)?;
        counts.instructions += 1;
        counts.branches += u64::from(is_conditional_jump(peek(process, address)));
        seen(address.wrapping_sub(first));
    }
    step(process, libc::PTRACE_DETACH, 0)?;
    wait(process)?;
    Ok(counts)
}

/// Starts this program again under ptrace; it stops at its `exec`.
pub fn start(arguments: &[&str]) -> io::Result<libc::pid_t> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(arguments).stdin(Stdio::null());
    // SAFETY: a system call without memory of ours; the child asks to be traced by this process.
    unsafe {
        command.pre_exec(|| match libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) {
            -1 => Err(io::Error::last_os_error()),
            _ => Ok(()),
        });
    }
    Ok(command.spawn()?.id() as libc::pid_t)
}

fn run_to_mark(process: libc::pid_t) -> Result<(), Box<dyn Error>> {
    let mut signal = 0;
    loop {
        step(process, libc::PTRACE_CONT, signal)?;
        match wait(process)? {
            Some(libc::SIGUSR1) => return Ok(()),
            Some(own) => signal = own,
            None => return Err("it ended before its first mark".into()),
        }
    }
}

pub fn step(process: libc::pid_t, how: libc::c_uint, signal: i32) -> io::Result<()> {
    // SAFETY: no address of ours is given.
    match unsafe { libc::ptrace(how, process, 0, signal) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// The signal that stopped the process; `None` if it has ended.
pub fn wait(process: libc::pid_t) -> io::Result<Option<i32>> {
    let mut status = 0;
    // SAFETY: `status` is valid for the write.
    match unsafe { libc::waitpid(process, &mut status, 0) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(libc::WIFSTOPPED(status).then(|| libc::WSTOPSIG(status))),
    }
}

fn instruction_pointer(process: libc::pid_t) -> io::Result<u64> {
    Ok(registers(process)?.rip)
}

pub fn registers(process: libc::pid_t) -> io::Result<libc::user_regs_struct> {
    // SAFETY: zeroed registers are valid ones, and the call fills them in.
    unsafe {
        let mut registers: libc::user_regs_struct = std::mem::zeroed();
        match libc::ptrace(libc::PTRACE_GETREGS, process, 0, &mut registers) {
            -1 => Err(io::Error::last_os_error()),
            _ => Ok(registers),
        }
    }
}

pub fn peek(process: libc::pid_t, address: u64) -> [u8; 8] {
    // SAFETY: reads a word of the other process; -1 where there is none, which is no jump either.
    let word = unsafe { libc::ptrace(libc::PTRACE_PEEKTEXT, process, address, 0) };
    word.to_le_bytes()
}

fn is_conditional_jump(code: [u8; 8]) -> bool {
    matches!(code, [0x70..=0x7f, ..] | [0x0f, 0x80..=0x8f, ..])
}

fn first_address(process: libc::pid_t) -> Result<u64, Box<dyn Error>> {
    let maps = fs::read_to_string(format!("/proc/{process}/maps"))?;
    let first = maps.split('-').next().unwrap_or_default();
    Ok(u64::from_str_radix(first, 16)?)
}
