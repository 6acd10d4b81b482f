//! The terminal itself: drawn on, and read.
//!
//! It is drawn by termion, and keys are read by ourselves: crossterm asks for features of `mio` and `rustix`, which
//! polars shares and would be built again for. tui-tree-widget is not used: it wants all items of a tree at once,
//! and rows here are made when they are opened.

use std::io;

use ratatui::Terminal;
use ratatui::backend::TermionBackend;

use super::draw::{Looks, draw};
use super::keys::{Key, keys};
use super::state::{Model, State};
use super::update::update;
use crate::commands::screen::{self, Screen};
use crate::commands::terminal_modes;

/// Wait for a key before checking the terminal size again.
const WAIT_MS: i32 = 200;

pub struct Shown {
    _screen: Screen,
    terminal: Terminal<TermionBackend<io::Stdout>>,
    looks: Looks,
}

pub enum Outcome {
    Quit,
    Signal,
    WantsPath,
}

impl Shown {
    pub fn open(looks: Looks) -> io::Result<Shown> {
        Ok(Shown {
            _screen: Screen::take()?,
            terminal: Terminal::new(TermionBackend::new(io::stdout()))?,
            looks,
        })
    }

    pub fn show(
        &mut self,
        model: &Model<'_>,
        state: Option<State>,
    ) -> io::Result<(State, Outcome)> {
        let size = self.terminal.size()?;
        let mut state = match state {
            Some(state) => state.with_path(model),
            None => State::new(model, (size.width, size.height)),
        };
        // Of a large run a picture takes some work: it is made when there is something new.
        let mut is_new = true;
        while !state.quit && screen::signal().is_none() {
            if is_new {
                let looks = self.looks;
                self.terminal
                    .draw(|frame| draw(frame, &state, model, looks))?;
            }
            if state.wants_path {
                return Ok((state, Outcome::WantsPath));
            }
            let mut keys = next()?;
            let size = self.terminal.size()?;
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
        let outcome = match screen::signal() {
            Some(_) => Outcome::Signal,
            None => Outcome::Quit,
        };
        Ok((state, outcome))
    }
}

fn next() -> io::Result<Vec<Key>> {
    let typed = terminal_modes::typed(WAIT_MS)?;
    Ok(typed.map_or_else(|| vec![Key::Quit], |bytes| keys(&bytes)))
}
