//! Output of plugins that do not ship, from within this process: a terminal gets it line by line, marked, without what
//! could move its cursor, change its colours or pass for a line of ours.
//!
//! While such a library is loaded or called, standard output and error are a pipe. Its other end is read by a process
//! that was forked for that: so the last words of a plugin that ends the analyzer are there too.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::{Mutex, MutexGuard, PoisonError};

use trueno_model::width::is_hidden;

/// Begins each line that a plugin has written.
const MARK: &[u8] = b"plugin output: ";
/// Standard output and error.
const REDIRECTED: [RawFd; 2] = [libc::STDOUT_FILENO, libc::STDERR_FILENO];
/// Bytes read at once.
const READ_BYTES: usize = 4096;

/// The pipe, and who needs it.
struct Redirection {
    /// Calls that go on.
    calls: usize,
    /// The way to the process that cleans; `None`: none was needed yet.
    pipe: Option<OwnedFd>,
    /// The output and error of the analyzer, while the plugins' are in their places.
    own: Option<[File; 2]>,
}

static REDIRECTION: Mutex<Redirection> = Mutex::new(Redirection {
    calls: 0,
    pipe: None,
    own: None,
});

fn redirection() -> MutexGuard<'static, Redirection> {
    REDIRECTION.lock().unwrap_or_else(PoisonError::into_inner)
}

/// As long as one lives, what is written to standard output and error is taken for that of a plugin.
pub(super) struct ForeignOutput(());

impl ForeignOutput {
    /// Without a pipe or a process to read it, all stays as it is: a plugin runs rather unmarked than not at all.
    pub(super) fn begin() -> ForeignOutput {
        let mut redirection = redirection();
        if redirection.calls == 0 {
            let _ = redirection.start();
        }
        redirection.calls += 1;
        ForeignOutput(())
    }
}

impl Drop for ForeignOutput {
    fn drop(&mut self) {
        let mut redirection = redirection();
        redirection.calls -= 1;
        if redirection.calls == 0 {
            redirection.stop();
        }
    }
}

impl Redirection {
    fn start(&mut self) -> io::Result<()> {
        flush();
        if self.pipe.is_none() {
            self.pipe = Some(start_cleaner()?);
        }
        let own = [duplicate(REDIRECTED[0])?, duplicate(REDIRECTED[1])?];
        if let Some(pipe) = &self.pipe {
            for place in REDIRECTED {
                replace(place, pipe.as_raw_fd())?;
            }
        }
        self.own = Some(own.map(File::from));
        Ok(())
    }

    fn stop(&mut self) {
        flush();
        if let Some(own) = self.own.take() {
            for (place, own) in REDIRECTED.into_iter().zip(&own) {
                // It was there before: there is nothing that could refuse it.
                let _ = replace(place, own.as_raw_fd());
            }
        }
    }
}

/// Writes to the analyzer's own standard error, wherever a plugin's goes now.
///
/// # Errors
/// It cannot be written to.
pub fn write_to_own_stderr(text: &str) -> io::Result<()> {
    match &redirection().own {
        Some([_, own]) => (&*own).write_all(text.as_bytes()),
        None => io::stderr().write_all(text.as_bytes()),
    }
}

/// Writes out all that the C library holds back, of this process or of a plugin.
fn flush() {
    let _ = io::stdout().flush();
    // SAFETY: null means all streams.
    unsafe { libc::fflush(std::ptr::null_mut()) };
}

fn checked(result: libc::c_int) -> io::Result<libc::c_int> {
    match result {
        -1 => Err(io::Error::last_os_error()),
        result => Ok(result),
    }
}

fn duplicate(descriptor: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: a call with numbers.
    let new = checked(unsafe { libc::fcntl(descriptor, libc::F_DUPFD_CLOEXEC, 3) })?;
    // SAFETY: made just now, and nobody else's.
    Ok(unsafe { OwnedFd::from_raw_fd(new) })
}

fn replace(place: RawFd, by: RawFd) -> io::Result<()> {
    // SAFETY: a call with numbers.
    checked(unsafe { libc::dup2(by, place) }).map(drop)
}

/// Forks the process that reads the pipe until nobody can write to it any more; gives the end to write to.
fn start_cleaner() -> io::Result<OwnedFd> {
    let mut ends = [0; 2];
    // SAFETY: room for two numbers.
    checked(unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) })?;
    // SAFETY: made just now, and nobody else's.
    let [read, write] = ends.map(|end| unsafe { OwnedFd::from_raw_fd(end) });
    // SAFETY: the child does nothing but what is safe after a fork of a process with threads: system calls, and sums
    // over its own stack.
    match checked(unsafe { libc::fork() })? {
        0 => clean_to_the_end(read.as_raw_fd()),
        _ => Ok(write),
    }
}

/// The child: no memory is asked for, no lock taken.
fn clean_to_the_end(read: RawFd) -> ! {
    // SAFETY: calls with numbers. What else is open is the analyzer's: locks, and pipes that others wait for the end of.
    unsafe {
        libc::signal(libc::SIGINT, libc::SIG_IGN);
        libc::dup2(read, libc::STDIN_FILENO);
        libc::dup2(libc::STDERR_FILENO, libc::STDOUT_FILENO);
        libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, 0);
    }
    let mut bytes = [0; READ_BYTES];
    let mut held = 0;
    let mut out = Marked::default();
    loop {
        // SAFETY: room for so many bytes behind those that are held.
        let got = unsafe {
            let to = bytes.as_mut_ptr().add(held).cast();
            libc::read(libc::STDIN_FILENO, to, READ_BYTES - held)
        };
        let is_interrupted =
            got < 0 && io::Error::last_os_error().raw_os_error() == Some(libc::EINTR);
        if is_interrupted {
            continue;
        }
        let got = usize::try_from(got).unwrap_or(0);
        let all = bytes.get(..held + got).unwrap_or_default();
        let rest = out.put(all, got == 0);
        let from = all.len() - rest;
        bytes.copy_within(from..from + rest, 0);
        held = rest;
        out.flush();
        if got == 0 {
            // SAFETY: ends this process, and runs nothing of the analyzer's.
            unsafe { libc::_exit(0) };
        }
    }
}

/// Marked lines on their way out.
struct Marked {
    bytes: [u8; 2 * READ_BYTES],
    length: usize,
    is_in_line: bool,
    /// Its destination; `None`: standard output of the child. For tests.
    #[cfg(test)]
    into: Option<Vec<u8>>,
}

impl Default for Marked {
    fn default() -> Self {
        Marked {
            bytes: [0; 2 * READ_BYTES],
            length: 0,
            is_in_line: false,
            #[cfg(test)]
            into: None,
        }
    }
}

impl Marked {
    /// Takes text; gives the number of bytes at its end that are no whole character yet.
    fn put(&mut self, mut text: &[u8], is_end: bool) -> usize {
        loop {
            match std::str::from_utf8(text) {
                Ok(good) => {
                    self.put_text(good);
                    break;
                }
                Err(error) => {
                    let (good, bad) = text.split_at(error.valid_up_to());
                    self.put_text(std::str::from_utf8(good).unwrap_or_default());
                    let length = match error.error_len() {
                        Some(length) => length,
                        None if is_end => bad.len(),
                        None => return bad.len(),
                    };
                    self.put_text("\u{fffd}");
                    text = bad.get(length..).unwrap_or_default();
                }
            }
        }
        if is_end && self.is_in_line {
            self.put_text("\n");
        }
        0
    }

    fn put_text(&mut self, text: &str) {
        use std::fmt::Write;
        for c in text.chars() {
            if !self.is_in_line {
                self.add(MARK);
                self.is_in_line = true;
            }
            // A number is written without asking for memory.
            let _ = match c {
                '\n' => {
                    self.is_in_line = false;
                    self.add(b"\n");
                    Ok(())
                }
                '\t' => self.write_char(' '),
                c if is_hidden(c) && u32::from(c) < 0x100 => {
                    write!(self, "\\x{:02x}", u32::from(c))
                }
                c if is_hidden(c) => write!(self, "\\u{{{:x}}}", u32::from(c)),
                c => self.write_char(c),
            };
        }
    }

    fn add(&mut self, bytes: &[u8]) {
        if self.length + bytes.len() > self.bytes.len() {
            self.flush();
        }
        if let Some(place) = self.bytes.get_mut(self.length..self.length + bytes.len()) {
            place.copy_from_slice(bytes);
            self.length += bytes.len();
        }
    }

    fn flush(&mut self) {
        let mut rest = self.bytes.get(..self.length).unwrap_or_default();
        #[cfg(test)]
        if let Some(into) = &mut self.into {
            into.extend_from_slice(rest);
            rest = &[];
        }
        while !rest.is_empty() {
            // SAFETY: so many bytes are there.
            let wrote =
                unsafe { libc::write(libc::STDOUT_FILENO, rest.as_ptr().cast(), rest.len()) };
            match usize::try_from(wrote) {
                Ok(wrote) => rest = rest.get(wrote..).unwrap_or_default(),
                Err(_) if io::Error::last_os_error().raw_os_error() == Some(libc::EINTR) => {}
                // Nobody reads it.
                Err(_) => break,
            }
        }
        self.length = 0;
    }
}

impl std::fmt::Write for Marked {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        self.add(text.as_bytes());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked(pieces: &[&[u8]]) -> String {
        let mut out = Marked {
            into: Some(Vec::new()),
            ..Marked::default()
        };
        let mut held: Vec<u8> = Vec::new();
        for (at, piece) in pieces.iter().enumerate() {
            held.extend_from_slice(piece);
            let rest = out.put(&held, at + 1 == pieces.len());
            held.drain(..held.len() - rest);
        }
        out.flush();
        String::from_utf8(out.into.unwrap()).unwrap()
    }

    #[test]
    fn lines_are_marked_and_hidden_characters_shown() {
        assert_eq!(marked(&[b""]), "");
        assert_eq!(
            marked(&[b"a\x1b[31mred\r\n\nerror: ", b"fake"]),
            "plugin output: a\\x1b[31mred\\x0d\nplugin output: \nplugin output: error: fake\n"
        );
        let odd = "\u{9b}\u{202e}é\t算".as_bytes();
        let shown = "plugin output: \\x9b\\u{202e}é 算\n";
        for cut in 0..=odd.len() {
            let (begin, end) = odd.split_at(cut);
            assert_eq!(marked(&[begin, end]), shown, "{cut}");
        }
        assert_eq!(
            marked(&[b"\xff\xc3", b"x\xe7"]),
            "plugin output: \u{fffd}\u{fffd}x\u{fffd}\n"
        );
        let long = vec![b'x'; 3 * READ_BYTES];
        assert_eq!(marked(&[&long]).len(), MARK.len() + long.len() + 1);
    }
}
