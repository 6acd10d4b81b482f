//! `tui`, `watch`, and queries typed, on a real pseudo terminal.

use std::ffi::{CStr, OsStr};
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::harness::Dir;
use crate::watch::Watched;

/// Far longer than needed, so that a slow machine does not fail the test.
const PATIENCE: Duration = Duration::from_secs(600);

struct Pty {
    ours: File,
    theirs: File,
    /// Modes of the terminal before the child changed them.
    before: [u32; 4],
    child: Child,
    /// Bytes of a character that is not complete yet.
    cut: Vec<u8>,
    seen: String,
    screen: Screen,
}

/// A terminal emulator with just the features that the tests need.
struct Screen {
    lines: Vec<Vec<char>>,
    at: (usize, usize),
    /// An escape sequence that is not complete yet.
    sequence: Option<String>,
}

impl Screen {
    fn new() -> Screen {
        Screen {
            lines: vec![vec![' '; 200]; 60],
            at: (0, 0),
            sequence: None,
        }
    }

    fn take(&mut self, text: &str) {
        for c in text.chars() {
            match (self.sequence.take(), c) {
                (None, '\x1b') => self.sequence = Some(String::new()),
                (None, c) if c.is_control() => {}
                (None, c) => {
                    if let Some(cell) = self
                        .lines
                        .get_mut(self.at.0)
                        .and_then(|l| l.get_mut(self.at.1))
                    {
                        *cell = c;
                    }
                    self.at.1 += 1;
                }
                (Some(sequence), '@'..='~') if sequence.starts_with('[') => {
                    self.control(&sequence[1..], c)
                }
                (Some(mut sequence), c) => {
                    sequence.push(c);
                    self.sequence = Some(sequence);
                }
            }
        }
    }

    fn control(&mut self, parameters: &str, last: char) {
        match last {
            'H' => {
                let mut numbers = parameters.split(';').map(|n| n.parse().unwrap_or(1_usize));
                let (line, column) = (numbers.next().unwrap_or(1), numbers.next().unwrap_or(1));
                self.at = (line - 1, column - 1);
            }
            'J' => self.lines.iter_mut().for_each(|line| line.fill(' ')),
            _ => {}
        }
    }

    fn text(&self) -> String {
        let lines: Vec<String> = self
            .lines
            .iter()
            .map(|line| line.iter().collect::<String>().trim_end().to_owned())
            .collect();
        lines.join("\n").trim_end().to_owned()
    }
}

fn resize(fd: i32, columns: u16, lines: u16) {
    let size = libc::winsize {
        ws_row: lines,
        ws_col: columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    // SAFETY: the structure is ours and of the kind this request reads.
    let done = unsafe { libc::ioctl(fd, libc::TIOCSWINSZ, &size) };
    assert_eq!(done, 0);
}

fn modes(fd: i32) -> [u32; 4] {
    // SAFETY: all zeroes is a value of this plain structure.
    let mut modes: libc::termios = unsafe { std::mem::zeroed() };
    // SAFETY: the structure is ours.
    assert_eq!(unsafe { libc::tcgetattr(fd, &mut modes) }, 0);
    [modes.c_iflag, modes.c_oflag, modes.c_cflag, modes.c_lflag]
}

/// Both ends of a pseudo terminal. `openpty` would leave them open in the children of other tests.
fn pair() -> (File, File) {
    let open = |path: &Path, flags: i32| {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(libc::O_NOCTTY | flags)
            .open(path);
        file.expect("a pseudo terminal")
    };
    let ours = open(Path::new("/dev/ptmx"), libc::O_NONBLOCK);
    let mut name = [0; 64];
    // SAFETY: a descriptor of ours; the name is as long as said.
    let made = unsafe {
        libc::grantpt(ours.as_raw_fd())
            | libc::unlockpt(ours.as_raw_fd())
            | libc::ptsname_r(ours.as_raw_fd(), name.as_mut_ptr(), name.len())
    };
    assert_eq!(made, 0, "the other end of a pseudo terminal");
    // SAFETY: the system ended the name with a zero.
    let name = unsafe { CStr::from_ptr(name.as_ptr()) };
    let theirs = open(Path::new(OsStr::from_bytes(name.to_bytes())), 0);
    (ours, theirs)
}

impl Pty {
    fn start(dir: &Dir) -> Pty {
        Pty::of(dir, &["tui", "--no-path"])
    }

    /// A command with a run as last argument.
    fn of(dir: &Dir, args: &[&str]) -> Pty {
        let run = Path::new(env!("CARGO_MANIFEST_DIR")).join("../datasets/decode/simd.run");
        Pty::on(dir, args, &run)
    }

    /// As `of`, with this run.
    fn on(dir: &Dir, args: &[&str], run: &Path) -> Pty {
        let (ours, theirs) = pair();
        resize(ours.as_raw_fd(), 80, 24);
        let before = modes(theirs.as_raw_fd());
        let side = || Stdio::from(theirs.try_clone().expect("a second descriptor"));
        let child = Command::new(env!("CARGO_BIN_EXE_trueno-analyze"))
            .args(args)
            .arg(run)
            .env("TERM", "xterm-256color")
            .env("XDG_CACHE_HOME", dir.join("cache"))
            .env_remove("NO_COLOR")
            .current_dir(dir.path())
            .stdin(side())
            .stdout(side())
            .stderr(side())
            .spawn()
            .expect("the command starts");
        Pty {
            ours,
            theirs,
            before,
            child,
            cut: Vec::new(),
            seen: String::new(),
            screen: Screen::new(),
        }
    }

    fn read(&mut self) {
        let mut part = [0; 4096];
        match self.ours.read(&mut part) {
            Ok(read) => {
                self.cut.extend_from_slice(&part[..read]);
                // The rest of a character that is cut in two comes next.
                let whole = match std::str::from_utf8(&self.cut) {
                    Err(error) if error.error_len().is_none() => error.valid_up_to(),
                    _ => self.cut.len(),
                };
                let text: Vec<u8> = self.cut.drain(..whole).collect();
                let text = String::from_utf8_lossy(&text);
                self.screen.take(&text);
                self.seen.push_str(&text);
            }
            Err(_) => std::thread::sleep(Duration::from_millis(10)),
        }
    }

    /// Waits until `text` is on the screen, or no longer is.
    #[track_caller]
    fn shows(&mut self, text: &str, wanted: bool) {
        let end = Instant::now() + PATIENCE;
        while self.screen.text().contains(text) != wanted {
            assert!(
                Instant::now() < end,
                "{text:?}, {wanted}:\n{}",
                self.screen.text()
            );
            self.read();
        }
    }

    /// Waits until the program has written `text`.
    #[track_caller]
    fn until(&mut self, text: &str) {
        let end = Instant::now() + PATIENCE;
        while !self.seen.contains(text) {
            assert!(
                Instant::now() < end,
                "never saw {text:?} in {:?}",
                self.seen
            );
            self.read();
        }
    }

    /// Types keys, and forgets the output seen before.
    fn types(&mut self, keys: &[u8]) {
        self.seen.clear();
        self.ours.write_all(keys).expect("the terminal takes keys");
    }

    fn end(&mut self) -> Option<i32> {
        let end = Instant::now() + PATIENCE;
        loop {
            self.read();
            if let Some(status) = self.child.try_wait().expect("a status") {
                return status.code();
            }
            assert!(Instant::now() < end, "it does not end: {:?}", self.seen);
        }
    }
}

impl Drop for Pty {
    /// Otherwise the child of a failed test would wait for keys for ever.
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn keys_move_it_and_the_terminal_is_given_back() {
    for (keys, code) in [(&b"q"[..], 0), (b"\x03", 0), (b"\x1b", 0)] {
        let dir = Dir::new();
        let mut pty = Pty::start(&dir);
        let before = pty.before;
        pty.until("\x1b[?1049h");
        pty.shows("▸ iteration ×16", true);
        assert_ne!(
            modes(pty.theirs.as_raw_fd()),
            before,
            "keys come one by one"
        );
        pty.types(b"?");
        pty.shows("one row per name, or each row separately", true);
        pty.types(b"\x1b");
        pty.shows("▸ iteration ×16", true);
        resize(pty.ours.as_raw_fd(), 120, 40);
        pty.shows("│thread 0 main", true);
        pty.types(b"/LmHead\r");
        pty.shows("LmHead ×16", true);
        pty.shows("make weights", false);
        pty.types(b"\x1b");
        pty.shows("make weights", true);
        pty.types(b"\x1b[B");
        pty.shows("iteration × 16", true);
        pty.types(keys);
        assert_eq!(pty.end(), Some(code), "{keys:?}");
        pty.until("\x1b[?1049l");
        assert_eq!(modes(pty.theirs.as_raw_fd()), before, "{keys:?}");
    }
}

#[test]
fn a_signal_gives_the_terminal_back() {
    let dir = Dir::new();
    let mut pty = Pty::start(&dir);
    let before = pty.before;
    pty.shows("▸ iteration ×16", true);
    // SAFETY: a child of ours that was not waited for.
    unsafe { libc::kill(pty.child.id() as i32, libc::SIGTERM) };
    assert_eq!(pty.end(), Some(2));
    pty.until("\x1b[?1049l");
    pty.until("stopped by a signal");
    assert_eq!(modes(pty.theirs.as_raw_fd()), before);
}

#[test]
fn without_a_terminal_it_says_what_to_use() {
    let dir = Dir::new();
    let run = Path::new(env!("CARGO_MANIFEST_DIR")).join("../datasets/decode/simd.run");
    dir.command(&["tui", run.to_str().unwrap()])
        .exits(2)
        .stderr_has("tui needs a terminal")
        .stderr_has("`trueno-analyze tree RUN`");
}

#[test]
fn queries_are_typed_one_after_another() {
    let dir = Dir::new();
    let mut pty = Pty::of(&dir, &["query"]);
    let before = pty.before;
    pty.until("sql> ");
    // A word is completed, a statement may take several lines, and an error ends nothing.
    pty.types(b"SELECT COUNT(*) + 4200 AS n\r");
    pty.until("...> ");
    pty.types(b"FROM clock_p\t;\r");
    pty.until("4202");
    pty.types(b"SELECT nothing FROM bricks;\r");
    pty.until("nothing");
    pty.until("sql> ");
    pty.types(b".columns threads\r");
    pty.until("thread  ");
    pty.types(b"SELECT wrong\x03");
    pty.until("^C");
    pty.types(b"\x1b[A\r");
    pty.until("thread  ");
    pty.types(b"\x04");
    assert_eq!(pty.end(), Some(0));
    assert_eq!(modes(pty.theirs.as_raw_fd()), before);
    let history = dir.read("cache/trueno-analyze/query_history");
    assert!(
        history.ends_with("SELECT nothing FROM bricks;\n.columns threads\n"),
        "{history}"
    );
}

#[test]
fn a_running_program_is_shown_until_keys_or_its_end_give_the_terminal_back() {
    for keys in [&b"q"[..], b"\x03", b"\x1b"] {
        let dir = Dir::new();
        let program = Watched::recording(&dir);
        let mut pty = Pty::on(&dir, &["watch"], &program.run);
        let before = pty.before;
        pty.until("\x1b[?1049h");
        pty.shows("Attention", true);
        pty.shows("q leaves", true);
        pty.types(keys);
        assert_eq!(pty.end(), Some(0), "{keys:?}");
        pty.until("\x1b[?1049l");
        assert_eq!(modes(pty.theirs.as_raw_fd()), before, "{keys:?}");
    }

    let dir = Dir::new();
    let mut program = Watched::recording(&dir);
    let mut pty = Pty::on(&dir, &["watch", "--color", "never"], &program.run);
    let before = pty.before;
    pty.shows("recording", true);
    program.end();
    assert_eq!(pty.end(), Some(0));
    assert_eq!(modes(pty.theirs.as_raw_fd()), before);
    // What it wrote last may be read after its end.
    pty.until("\x1b[?1049l");
    let args = ["report", program.run.to_str().expect("UTF-8"), "-q"];
    let head = dir.command(&args).exits(0).stdout.replace('\n', "\r\n");
    pty.until(&head);
    assert!(pty.seen.rfind("\x1b[?1049l") < pty.seen.rfind(&head));
}

#[test]
fn a_graph_follows_the_pictures_of_a_running_program() {
    let dir = Dir::new();
    let mut program = Watched::recording(&dir);
    let mut pty = Pty::on(&dir, &["tui", "--no-path", "--follow"], &program.run);
    pty.shows("q leaves", true);
    pty.shows("Attention", true);
    program.end();
    pty.shows("▸ iteration ×", true);
    pty.types(b"q");
    assert_eq!(pty.end(), Some(0));
}
