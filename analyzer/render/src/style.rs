//! Colours by meaning, or none.

use anstyle::{AnsiColor, Style};
use trueno_model::{Level, SectionStatus};

/// Meaning of a piece of text; never which colour it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    Heading,
    /// Of less weight: units of measure, notes, counts of what is left out.
    Faint,
    /// As it should be.
    Good,
    Info,
    /// Worth acting on.
    Warning,
    /// Must not be so.
    Error,
    /// Part of a chart.
    Bar,
}

impl From<Level> for Meaning {
    fn from(level: Level) -> Self {
        match level {
            Level::Info => Meaning::Info,
            Level::Warning => Meaning::Warning,
            Level::Error => Meaning::Error,
        }
    }
}

impl From<SectionStatus> for Meaning {
    fn from(status: SectionStatus) -> Self {
        match status {
            SectionStatus::Ok => Meaning::Good,
            SectionStatus::Failed => Meaning::Error,
            SectionStatus::Skipped => Meaning::Warning,
        }
    }
}

/// Paints, or leaves text as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Palette {
    coloured: bool,
}

impl Palette {
    /// A palette with or without colours.
    pub fn new(coloured: bool) -> Self {
        Palette { coloured }
    }

    /// `text` in the style of `meaning`. Pad first: escape sequences have no width.
    pub fn paint(self, meaning: Meaning, text: &str) -> String {
        if !self.coloured || text.is_empty() {
            return text.to_owned();
        }
        let colour = |colour: AnsiColor| Style::new().fg_color(Some(colour.into()));
        let style = match meaning {
            Meaning::Heading => Style::new().bold(),
            Meaning::Faint => Style::new().dimmed(),
            Meaning::Good => colour(AnsiColor::Green),
            Meaning::Info => colour(AnsiColor::Blue),
            Meaning::Warning => colour(AnsiColor::Yellow),
            Meaning::Error => colour(AnsiColor::Red).bold(),
            Meaning::Bar => colour(AnsiColor::Cyan),
        };
        format!("{style}{text}{style:#}")
    }
}
