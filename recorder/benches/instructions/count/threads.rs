//! A thread that records a few rows, from its first one to its end.

use std::error::Error;
use std::fs;
use std::io;
use std::time::Duration;

use trueno_recorder::Recorder;

use super::stepping::{self, mark, peek, registers, step};

const ROWS: u64 = 10;
const EARLIER: u64 = 100;

/// Counts of one thread from its mark to its end.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    instructions: u64,
    system_calls: u64,
    /// Of the whole process in that time.
    page_faults: i64,
}

pub fn run(is_on: bool) -> Result<(), Box<dyn Error>> {
    let folder = std::env::temp_dir().join(format!("trueno-instructions-{}", std::process::id()));
    let rec = match is_on {
        true => Recorder::create(&folder)?,
        false => Recorder::disabled(),
    };
    let in_turn = |marks: bool| {
        let rec = rec.clone();
        let work = move || {
            if marks {
                mark();
            }
            (0..ROWS).for_each(|_| drop(rec.brick("short")));
        };
        std::thread::spawn(work).join()
    };
    for _ in 0..EARLIER {
        in_turn(false).map_err(|_| "a thread failed")?;
    }
    // The writer has read what they left.
    std::thread::sleep(Duration::from_millis(200));
    in_turn(true).map_err(|_| "the thread failed")?;
    rec.finish()?;
    if is_on {
        fs::remove_dir_all(folder)?;
    }
    Ok(())
}

pub fn print() -> Result<(), Box<dyn Error>> {
    let [off, on] = [count("off")?, count("on")?];
    println!(
        "\na thread with {ROWS} bricks, from its first one to its end, beside one that records nothing:\n\
         {} instructions, {} system calls, {} page faults of the process",
        on.instructions - off.instructions,
        on.system_calls - off.system_calls,
        on.page_faults - off.page_faults
    );
    Ok(())
}

fn count(which: &str) -> Result<Counts, Box<dyn Error>> {
    let process = stepping::start(&["--thread", which])?;
    stepping::wait(process)?;
    // SAFETY: takes numbers.
    if unsafe {
        libc::ptrace(
            libc::PTRACE_SETOPTIONS,
            process,
            0,
            libc::PTRACE_O_TRACECLONE,
        )
    } < 0
    {
        return Err(io::Error::last_os_error().into());
    }
    step(process, libc::PTRACE_CONT, 0)?;
    let mut counts = Counts::default();
    loop {
        let mut status = 0;
        // SAFETY: `status` is valid for the write.
        let thread = unsafe { libc::waitpid(-1, &mut status, libc::__WALL) };
        if thread < 0 {
            return Err(io::Error::last_os_error().into());
        }
        if !libc::WIFSTOPPED(status) {
            if thread == process {
                return Ok(counts);
            }
            continue;
        }
        match libc::WSTOPSIG(status) {
            libc::SIGUSR1 => counts = step_to_end(process, thread)?,
            // A thread begins, or another one made it.
            libc::SIGTRAP | libc::SIGSTOP => step(thread, libc::PTRACE_CONT, 0)?,
            signal => step(thread, libc::PTRACE_CONT, signal)?,
        }
    }
}

fn step_to_end(process: i32, thread: i32) -> Result<Counts, Box<dyn Error>> {
    let before = page_faults(process)?;
    let mut counts = Counts::default();
    loop {
        let code = peek(thread, registers(thread)?.rip);
        counts.system_calls += u64::from(code.starts_with(&[0x0f, 0x05]));
        step(thread, libc::PTRACE_SINGLESTEP, 0)?;
        let mut status = 0;
        // SAFETY: `status` is valid for the write.
        unsafe { libc::waitpid(thread, &mut status, libc::__WALL) };
        counts.page_faults = page_faults(process)? - before;
        if !libc::WIFSTOPPED(status) {
            return Ok(counts);
        }
        counts.instructions += 1;
    }
}

fn page_faults(process: i32) -> Result<i64, Box<dyn Error>> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat"))?;
    let behind_name = stat.rsplit(')').next().unwrap_or_default();
    let field = behind_name.split_whitespace().nth(7);
    Ok(field.ok_or("no such field")?.parse()?)
}
