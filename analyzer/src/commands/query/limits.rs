//! Limits of a query: a text of a line can ask for more time and memory than there is.

use std::io::Write;
use std::os::fd::AsRawFd;
use std::time::Duration;

use trueno_host::plugin::OwnOutput;
use trueno_host::plugin::isolate::memory_of_this_machine;
use trueno_model::exit;

/// Default time limit, far above what sums over a hundred million rows take.
pub(super) const DEFAULT_TIME: Duration = Duration::from_secs(600);

pub(super) fn end_after(time: Duration) {
    let wait = move || {
        std::thread::sleep(time);
        let _ = writeln!(
            OwnOutput::Stderr,
            "error: the query was stopped after {time:?}, its time limit (hint: --timeout TIME)"
        );
        std::process::exit(exit::CANNOT_ANALYSE.into());
    };
    // Where no thread can be had there is no limit.
    let _ = std::thread::Builder::new()
        .name("limit".to_owned())
        .spawn(wait);
}

/// Limits the process to this much more address space, by default three quarters of the machine's memory. Exceeding
/// it ends the command with an error.
pub(super) fn limit_memory(bytes: Option<u64>) {
    const WORDS: &[u8] =
        b"error: the query needs more memory than it may take (hint: --memory SIZE)\n";
    let bytes = bytes.unwrap_or_else(|| memory_of_this_machine() / 4 * 3);
    let taken = taken_bytes().unwrap_or(0);
    let limit = libc::rlimit {
        rlim_cur: taken.saturating_add(bytes),
        rlim_max: libc::RLIM_INFINITY,
    };
    let end = || {
        // SAFETY: both calls are allowed in signal handlers, and the text lives for ever.
        unsafe {
            libc::write(
                OwnOutput::Stderr.as_raw_fd(),
                WORDS.as_ptr().cast(),
                WORDS.len(),
            );
            libc::_exit(i32::from(exit::CANNOT_ANALYSE));
        }
    };
    // SAFETY: the struct lives for the call; a soft limit that cannot be set stays as it was. The action does only what
    // signal handlers may: the standard library aborts where an allocation fails.
    unsafe {
        libc::setrlimit(libc::RLIMIT_AS, &raw const limit);
        let _ = signal_hook::low_level::register(libc::SIGABRT, end);
    }
}

fn taken_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = text.split_whitespace().next()?.parse().ok()?;
    // SAFETY: asks for a number.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    pages.checked_mul(u64::try_from(page).ok()?)
}
