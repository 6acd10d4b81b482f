//! Texts in columns.

use crate::report::style::{Meaning, Palette};
use crate::report::{markdown, width};

const GAP: usize = 2;
/// Texts at the left are not made narrower than this.
const LEAST: usize = 16;

/// Rows of texts.
pub struct Grid {
    /// Headings; true: aligned at the right, and never shortened.
    pub columns: Vec<(&'static str, bool)>,
    /// As many cells as there are columns, and what the row means.
    pub rows: Vec<(Vec<String>, Option<Meaning>)>,
}

impl Grid {
    /// Lines of at most `room` columns, as long as the numbers leave room for the texts at all. None without rows.
    pub fn lines(&self, room: usize, palette: Palette) -> Vec<String> {
        if self.rows.is_empty() {
            return Vec::new();
        }
        let widths = self.widths(room);
        let line = |cells: &mut dyn Iterator<Item = &str>| {
            let cells = cells.zip(&widths).zip(&self.columns);
            let cells = cells.map(|((cell, width), (_, right))| {
                let cell = width::printable(cell).into_owned();
                width::pad(&width::shorten(&cell, *width), *width, *right)
            });
            cells.collect::<Vec<_>>().join(&" ".repeat(GAP))
        };
        let headings = line(&mut self.columns.iter().map(|(heading, _)| *heading));
        let mut lines = vec![palette.paint(Meaning::Faint, headings.trim_end())];
        for (cells, meaning) in &self.rows {
            let text = line(&mut cells.iter().map(String::as_str));
            let text = text.trim_end();
            lines.push(match meaning {
                Some(meaning) => palette.paint(*meaning, text),
                None => text.to_owned(),
            });
        }
        lines
    }

    /// Natural widths; texts give way, the widest first.
    fn widths(&self, room: usize) -> Vec<usize> {
        let natural = |at: usize| {
            let cells = self
                .rows
                .iter()
                .map(|(cells, _)| width::of(&width::printable(&cells[at])));
            cells.max().unwrap_or(0).max(width::of(self.columns[at].0))
        };
        let mut widths: Vec<usize> = (0..self.columns.len()).map(natural).collect();
        let gaps = GAP * widths.len().saturating_sub(1);
        while widths.iter().sum::<usize>() + gaps > room {
            let texts = (0..widths.len()).filter(|at| !self.columns[*at].1 && widths[*at] > LEAST);
            let Some(widest) = texts.max_by_key(|at| widths[*at]) else {
                break;
            };
            widths[widest] -= 1;
        }
        widths
    }

    /// As a table of Markdown; nothing without rows.
    pub fn markdown(&self) -> String {
        if self.rows.is_empty() {
            return String::new();
        }
        let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        let mut out = line(
            self.columns
                .iter()
                .map(|(heading, _)| (*heading).to_owned())
                .collect(),
        );
        let rule = |right: bool| if right { "---:" } else { "---" }.to_owned();
        out.push_str(&line(
            self.columns.iter().map(|(_, right)| rule(*right)).collect(),
        ));
        for (cells, _) in &self.rows {
            out.push_str(&line(
                cells.iter().map(|cell| markdown::text(cell)).collect(),
            ));
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_make_way_and_names_cannot_break_a_table() {
        let grid = Grid {
            columns: vec![("name", false), ("median", true)],
            rows: vec![(
                vec!["a|very long name of a kernel".into(), "12.5 ms".into()],
                None,
            )],
        };
        let lines = grid.lines(26, Palette::new(false));
        assert_eq!(
            lines,
            ["name                median", "a|very l…a kernel  12.5 ms"]
        );
        assert!(
            grid.markdown().contains("| a\\|very long"),
            "{}",
            grid.markdown()
        );
    }
}
