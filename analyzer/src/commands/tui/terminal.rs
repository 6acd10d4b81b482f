//! The terminal itself: taken, read, and given back as it was, also after a panic.
//!
//! It is drawn by termion, and keys are read by ourselves: crossterm asks for features of `mio` and `rustix`, which
//! polars shares and would be built again for. tui-tree-widget is not used: it wants all items of a tree at once,
//! and rows here are made when they are opened.

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, Once, PoisonError};

use ratatui::Terminal;
use ratatui::backend::TermionBackend;

use super::draw::{Looks, draw};
use super::keys::{Key, keys};
use super::state::{Model, State};
use super::update::update;
use crate::commands::terminal_modes;

/// Time to wait for a key before looking at the size again.
const WAIT_MS: i32 = 200;
/// Other screen, no cursor; and back.
const ENTER: &str = "\x1b[?1049h\x1b[?25l\x1b[2J";
const LEAVE: &str = "\x1b[0m\x1b[2J\x1b[?25h\x1b[?1049l";

static STOPPED: AtomicBool = AtomicBool::new(false);
/// State of the terminal before it was taken.
static BEFORE: Mutex<Option<libc::termios>> = Mutex::new(None);
static HOOK: Once = Once::new();

/// Shows the state until a key or a signal ends it. `true`: a signal.
pub fn show(model: &Model<'_>, looks: Looks) -> io::Result<bool> {
    let taken = Taken::take()?;
    let mut terminal = Terminal::new(TermionBackend::new(io::stdout()))?;
    let size = terminal.size()?;
    let mut state = State::new(model, (size.width, size.height));
    // Of a large run a picture takes some work: it is made when there is something new.
    let mut is_new = true;
    while !state.quit && !STOPPED.load(Ordering::Relaxed) {
        if is_new {
            terminal.draw(|frame| draw(frame, &state, model, looks))?;
        }
        let mut keys = next()?;
        let size = terminal.size()?;
        if (size.width, size.height) != state.size {
            keys.push(Key::Resize(size.width, size.height));
        }
        is_new = !keys.is_empty();
        for key in keys {
            state = update(state, key, model);
            if state.quit {
                break;
            }
        }
    }
    drop(taken);
    Ok(STOPPED.load(Ordering::Relaxed))
}

/// Reads the keys typed within [`WAIT_MS`].
fn next() -> io::Result<Vec<Key>> {
    let typed = terminal_modes::typed(WAIT_MS)?;
    Ok(typed.map_or_else(|| vec![Key::Quit], |bytes| keys(&bytes)))
}

/// The terminal while it is ours.
struct Taken;

impl Taken {
    fn take() -> io::Result<Taken> {
        let before = terminal_modes::raw()?;
        *BEFORE.lock().unwrap_or_else(PoisonError::into_inner) = Some(before);
        HOOK.call_once(|| {
            let usual = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |info| {
                // The message is for the screen that stays.
                give_back();
                usual(info);
            }));
            on_signals();
        });
        let taken = Taken;
        let mut out = io::stdout().lock();
        out.write_all(ENTER.as_bytes())?;
        out.flush()?;
        Ok(taken)
    }
}

impl Drop for Taken {
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

extern "C" fn stop(_: libc::c_int) {
    STOPPED.store(true, Ordering::Relaxed);
}

/// A signal that would end the program ends it by way of giving the terminal back.
fn on_signals() {
    let handler: extern "C" fn(libc::c_int) = stop;
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        // SAFETY: the handler does nothing but store to an atomic.
        unsafe { libc::signal(signal, handler as *const () as libc::sighandler_t) };
    }
}
