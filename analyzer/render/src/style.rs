//! Colours by meaning, or none.

use anstyle::{AnsiColor, Style};
use trueno_model::{Level, SectionStatus};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    Heading,
    /// Secondary: units, notes, counts of what is left out.
    Faint,
    Good,
    Info,
    Warning,
    Error,
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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Palette {
    coloured: bool,
}

impl Palette {
    pub fn new(coloured: bool) -> Self {
        Palette { coloured }
    }

    /// Applies the style of `meaning`. Pad before: escape sequences have no width.
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
