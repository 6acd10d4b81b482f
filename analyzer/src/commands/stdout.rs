//! Standard output: its colours, its width, and writing to it.

use std::io::{self, Write};

use trueno_host::plugin::OwnOutput;
use trueno_render::style::Palette;
use trueno_render::terminal;

use crate::cli::Color;

/// The palette for `--color`. `auto` respects `NO_COLOR` and `TERM=dumb`.
pub fn palette(color: Color, is_terminal: bool) -> Palette {
    Palette::new(is_coloured(color, is_terminal))
}

pub(super) fn is_coloured(color: Color, is_terminal: bool) -> bool {
    let unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
        || std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    match color {
        Color::Always => true,
        Color::Never => false,
        Color::Auto => is_terminal && !unwanted,
    }
}

pub(super) fn on_terminal() -> bool {
    OwnOutput::Stdout.is_terminal()
}

/// Width of a page: as requested, else of the terminal, else the minimum.
pub(super) fn page_width(asked: Option<u16>) -> usize {
    let fewest = *terminal::WIDTHS.start();
    match asked {
        Some(width) => usize::from(width),
        None if on_terminal() => terminal_size::terminal_size_of(OwnOutput::Stdout)
            .map_or(fewest, |(width, _)| usize::from(width.0))
            .max(fewest),
        None => fewest,
    }
}

/// Writes to standard output at once. A broken pipe is an error, since a report is data.
pub(super) fn to_stdout(bytes: &[u8]) -> io::Result<()> {
    let mut out = OwnOutput::Stdout;
    out.write_all(bytes)?;
    out.flush()
}
