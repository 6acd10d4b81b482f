//! Output of plugins that do not ship, from within this process: a terminal gets it line by line, marked, without what
//! could move its cursor, change its colours or pass for a line of ours.
//!
//! From the first such library on, standard output and error are a pipe, to the end of the process: a thread that a
//! plugin has left behind writes whenever it likes. What the analyzer says itself goes by [`OwnOutput`]. The other end of
//! the pipe is read by a process that was forked for that: so the last words of a plugin that ends the analyzer are there
//! too.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::OnceLock;

use trueno_model::width::is_hidden;

use super::own_output::OwnOutput;

const MARK: &[u8] = b"plugin output: ";
const READ_BYTES: usize = 4096;
/// Time to wait for the rest of a line, so that it does not mix with lines of the analyzer.
const LINE_MS: libc::c_int = 200;

/// The original outputs, while descriptors 1 and 2 lead to the marking process.
struct Redirection {
    pipe: OwnedFd,
    stdout: File,
    stderr: File,
}

/// `None` if no pipe or process could be created. Output then stays unmarked, so that plugins still run.
static REDIRECTION: OnceLock<Option<Redirection>> = OnceLock::new();

/// Guard that exists while a library that does not ship is loaded or called.
pub(super) struct ForeignOutput(());

impl ForeignOutput {
    /// Redirects standard output and error on the first call.
    pub(super) fn begin() -> ForeignOutput {
        REDIRECTION.get_or_init(|| Redirection::start().ok());
        ForeignOutput(())
    }
}

impl Drop for ForeignOutput {
    fn drop(&mut self) {
        // So that it stands where it was written.
        flush();
    }
}

impl Redirection {
    fn start() -> io::Result<Redirection> {
        flush();
        let redirection = Redirection {
            pipe: start_cleaner()?,
            stdout: duplicate(libc::STDOUT_FILENO)?.into(),
            stderr: duplicate(libc::STDERR_FILENO)?.into(),
        };
        redirection.to_pipe()?;
        Ok(redirection)
    }

    fn to_pipe(&self) -> io::Result<()> {
        replace(libc::STDOUT_FILENO, self.pipe.as_raw_fd())?;
        replace(libc::STDERR_FILENO, self.pipe.as_raw_fd())
    }
}

/// The analyzer's own output, if its descriptor is redirected for plugins.
pub(super) fn own(output: OwnOutput) -> Option<&'static File> {
    let redirection = REDIRECTION.get()?.as_ref()?;
    Some(match output {
        OwnOutput::Stdout => &redirection.stdout,
        OwnOutput::Stderr => &redirection.stderr,
    })
}

/// While this lives, standard output and error are the analyzer's again, for other code that draws the screen.
pub struct OwnScreen(());

impl OwnScreen {
    pub fn take() -> OwnScreen {
        if let Some(Some(redirection)) = REDIRECTION.get() {
            flush();
            // They were there before: there is nothing that could refuse it.
            let _ = replace(libc::STDOUT_FILENO, redirection.stdout.as_raw_fd());
            let _ = replace(libc::STDERR_FILENO, redirection.stderr.as_raw_fd());
        }
        OwnScreen(())
    }
}

impl Drop for OwnScreen {
    fn drop(&mut self) {
        if let Some(Some(redirection)) = REDIRECTION.get() {
            flush();
            let _ = redirection.to_pipe();
        }
    }
}

/// Flushes the buffers of Rust and of the C library, which may hold output of a plugin.
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

/// Forks the process that marks lines. It reads the pipe until all writers are gone. Returns the write end.
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

/// Runs in the forked child: it must not allocate or take locks.
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
        if out.is_in_line && !is_readable_soon() {
            out.end_line();
            out.flush();
        }
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

fn is_readable_soon() -> bool {
    let mut input = libc::pollfd {
        fd: libc::STDIN_FILENO,
        events: libc::POLLIN,
        revents: 0,
    };
    // SAFETY: one entry, which lives for the call.
    unsafe { libc::poll(&mut input, 1, LINE_MS) != 0 }
}

/// Buffer of marked lines, which are written whole.
struct Marked {
    bytes: [u8; 2 * READ_BYTES],
    length: usize,
    is_in_line: bool,
    /// `None` writes to standard output of the child.
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
    /// Adds text. Returns the number of bytes at its end that are an incomplete character.
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
            self.end_line();
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
                    self.end_line();
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

    /// Adds to a line, and leaves room for the line end.
    fn add(&mut self, bytes: &[u8]) {
        let is_full = |out: &Self| out.length + bytes.len() >= out.bytes.len();
        if is_full(self) {
            self.flush();
        }
        if is_full(self) {
            // All of it is one line: it goes on as another.
            self.end_line();
            self.flush();
            self.push(MARK);
            self.is_in_line = true;
        }
        self.push(bytes);
    }

    /// There is always room: see [`Self::add`].
    fn end_line(&mut self) {
        self.push(b"\n");
        self.is_in_line = false;
    }

    fn push(&mut self, bytes: &[u8]) {
        if let Some(place) = self.bytes.get_mut(self.length..self.length + bytes.len()) {
            place.copy_from_slice(bytes);
            self.length += bytes.len();
        }
    }

    fn flush(&mut self) {
        let all = self.bytes.get(..self.length).unwrap_or_default();
        let end = all.iter().rposition(|byte| *byte == b'\n');
        let end = end.map_or(0, |at| at + 1);
        let mut rest = self.bytes.get(..end).unwrap_or_default();
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
        self.bytes.copy_within(end..self.length, 0);
        self.length -= end;
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
    }

    #[test]
    fn lines_go_out_whole_or_as_several() {
        let mut out = Marked {
            into: Some(Vec::new()),
            ..Marked::default()
        };
        out.put(b"one\ntw", false);
        out.flush();
        assert_eq!(out.into.as_deref().unwrap(), b"plugin output: one\n");
        out.put(b"o\n", false);
        out.flush();
        let both = b"plugin output: one\nplugin output: two\n";
        assert_eq!(out.into.as_deref().unwrap(), both);

        for length in 2 * READ_BYTES - 40..2 * READ_BYTES + 40 {
            for end in ["", "\n", "\u{202e}\n"] {
                let long = "x".repeat(length) + end;
                let shown = marked(&[long.as_bytes()]);
                let lines: Vec<_> = shown.lines().collect();
                assert!(lines.len() <= 2, "{length}");
                let parts = lines
                    .iter()
                    .map(|line| line.strip_prefix("plugin output: "));
                let whole: String = parts.map(|part| part.expect("a mark")).collect();
                assert_eq!(whole, long.trim_end().replace('\u{202e}', "\\u{202e}"));
            }
        }
    }
}
