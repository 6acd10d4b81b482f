//! The terminal as one's own: taken, and given back as it was, also after a panic or a signal.

use std::io::{self, Write};
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Mutex, Once, PoisonError};

use super::terminal_modes;

/// Switches to the alternate screen and hides the cursor; [`LEAVE`] reverts it.
const ENTER: &str = "\x1b[?1049h\x1b[?25l\x1b[2J";
const LEAVE: &str = "\x1b[0m\x1b[2J\x1b[?25h\x1b[?1049l";
const SIGNALS: [i32; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];

/// The signal that was caught; 0 for none.
static SIGNAL: AtomicI32 = AtomicI32::new(0);
static BEFORE: Mutex<Option<libc::termios>> = Mutex::new(None);
static HOOK: Once = Once::new();

pub(super) fn signal() -> Option<i32> {
    Some(SIGNAL.load(Ordering::Relaxed)).filter(|signal| *signal != 0)
}

/// Puts the terminal in raw mode until dropped.
pub(super) struct Screen(#[expect(dead_code, reason = "caught as long as it lives")] CaughtSignals);

impl Screen {
    pub(super) fn take() -> io::Result<Screen> {
        let before = terminal_modes::raw()?;
        *BEFORE.lock().unwrap_or_else(PoisonError::into_inner) = Some(before);
        HOOK.call_once(|| {
            let usual = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |info| {
                // The message is for the screen that stays.
                give_back();
                usual(info);
            }));
        });
        let screen = Screen(CaughtSignals::new());
        let mut out = io::stdout().lock();
        out.write_all(ENTER.as_bytes())?;
        out.flush()?;
        Ok(screen)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back();
    }
}

fn give_back() {
    let before = BEFORE.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(before) = before {
        let mut out = io::stdout();
        // With the terminal gone there is nobody to tell.
        let _ = out.write_all(LEAVE.as_bytes()).and_then(|()| out.flush());
        terminal_modes::restore(&before);
    }
}

/// While this lives, signals that would end the program are only noted.
pub(super) struct CaughtSignals([libc::sighandler_t; SIGNALS.len()]);

impl CaughtSignals {
    pub(super) fn new() -> Self {
        let handler: extern "C" fn(libc::c_int) = note;
        let handler = handler as *const () as libc::sighandler_t;
        Self(SIGNALS.map(|signal| {
            let before = set(signal, handler);
            // A job in the background of a script is started with interrupts ignored: that stays so.
            if before == libc::SIG_IGN {
                set(signal, libc::SIG_IGN);
            }
            before
        }))
    }
}

impl Drop for CaughtSignals {
    fn drop(&mut self) {
        for (signal, before) in SIGNALS.into_iter().zip(self.0) {
            set(signal, before);
        }
    }
}

extern "C" fn note(signal: libc::c_int) {
    SIGNAL.store(signal, Ordering::Relaxed);
}

fn set(signal: libc::c_int, handler: libc::sighandler_t) -> libc::sighandler_t {
    // SAFETY: the handler was there before, or does nothing but store to an atomic.
    unsafe { libc::signal(signal, handler) }
}
