//! Texts in columns.

use trueno_model::width;
use trueno_render::markdown;
use trueno_render::style::{Meaning, Palette};

const GAP: usize = 2;
const MIN_WIDTH: usize = 12;

/// Content of a column, which decides how it shrinks on a narrow page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// Shortened in the middle.
    Names,
    Sentences,
    Numbers,
    /// Left out if there is no room, and listed below the table.
    MoreNumbers,
}

impl Holds {
    fn right_aligned(self) -> bool {
        matches!(self, Holds::Numbers | Holds::MoreNumbers)
    }
}

pub struct Grid {
    pub columns: Vec<(&'static str, Holds)>,
    /// One cell per column, and the row's meaning for colours.
    pub rows: Vec<(Vec<String>, Option<Meaning>)>,
}

impl Grid {
    /// Lines of at most `room` columns, if the numbers leave enough room for texts. Empty without rows.
    pub fn lines(&self, room: usize, palette: Palette) -> Vec<String> {
        if self.rows.is_empty() {
            return Vec::new();
        }
        let (kept, left_out) = self.fitting(room);
        let widths = self.widths(&kept, room);
        let places = || kept.iter().copied().zip(widths.iter().copied());
        let headings = places().map(|(at, wide)| self.fitted(at, wide, &[self.columns[at].0]));
        let headings: Vec<Vec<Vec<String>>> = headings.collect();
        let mut lines: Vec<String> = self
            .row(&kept, &widths, &headings, 0)
            .iter()
            .map(|line| palette.paint(Meaning::Faint, line))
            .collect();
        let columns = places().map(|(at, wide)| {
            let cells = self.rows.iter();
            let cells: Vec<_> = cells
                .map(|(cells, _)| width::printable(&cells[at]))
                .collect();
            let cells: Vec<&str> = cells.iter().map(|cell| &**cell).collect();
            self.fitted(at, wide, &cells)
        });
        let columns: Vec<Vec<Vec<String>>> = columns.collect();
        for (number, (_, meaning)) in self.rows.iter().enumerate() {
            let row = self.row(&kept, &widths, &columns, number);
            lines.extend(row.into_iter().map(|line| match meaning {
                Some(meaning) => palette.paint(*meaning, &line),
                None => line,
            }));
        }
        if !left_out.is_empty() {
            let note = format!("too wide for here: {}", left_out.join(", "));
            let note = width::wrap(&note, room);
            lines.extend(note.iter().map(|line| palette.paint(Meaning::Faint, line)));
        }
        lines
    }

    /// The lines of each cell of a column. Names that differ look different.
    fn fitted(&self, at: usize, wide: usize, cells: &[&str]) -> Vec<Vec<String>> {
        if self.columns[at].1 == Holds::Sentences {
            return cells.iter().map(|cell| width::wrap(cell, wide)).collect();
        }
        let shown = width::shorten_apart(cells, wide).into_iter();
        shown.map(|cell| vec![cell]).collect()
    }

    /// A row of columns whose cells are fitted.
    fn row(
        &self,
        kept: &[usize],
        widths: &[usize],
        columns: &[Vec<Vec<String>>],
        number: usize,
    ) -> Vec<String> {
        let cells: Vec<&Vec<String>> = columns.iter().map(|column| &column[number]).collect();
        let deepest = cells.iter().map(|cell| cell.len()).max().unwrap_or(0);
        let line = |depth: usize| {
            let padded = cells.iter().zip(kept.iter().zip(widths));
            let padded = padded.map(|(cell, (at, wide))| {
                let text = cell.get(depth).map_or("", String::as_str);
                width::pad(text, *wide, self.columns[*at].1.right_aligned())
            });
            let line = padded.collect::<Vec<_>>().join(&" ".repeat(GAP));
            line.trim_end().to_owned()
        };
        (0..deepest).map(line).collect()
    }

    fn natural(&self, at: usize) -> usize {
        let cells = self
            .rows
            .iter()
            .map(|(cells, _)| width::measure(&width::printable(&cells[at])));
        cells
            .max()
            .unwrap_or(0)
            .max(width::measure(self.columns[at].0))
    }

    /// Columns that fit if texts shrink, and the headings of those left out. The rightmost is left out first.
    fn fitting(&self, room: usize) -> (Vec<usize>, Vec<&'static str>) {
        let mut kept: Vec<usize> = (0..self.columns.len()).collect();
        let mut left_out = Vec::new();
        let least = |at: usize| {
            if self.columns[at].1.right_aligned() {
                self.natural(at)
            } else {
                self.natural(at).min(MIN_WIDTH)
            }
        };
        while kept.iter().map(|at| least(*at) + GAP).sum::<usize>() > room + GAP {
            let more = |at: &usize| self.columns[*at].1 == Holds::MoreNumbers;
            let Some(place) = kept.iter().rposition(more) else {
                break;
            };
            left_out.insert(0, self.columns[kept.remove(place)].0);
        }
        (kept, left_out)
    }

    /// Natural widths. Texts shrink, the widest first.
    fn widths(&self, kept: &[usize], room: usize) -> Vec<usize> {
        let mut widths: Vec<usize> = kept.iter().map(|at| self.natural(*at)).collect();
        let gaps = GAP * widths.len().saturating_sub(1);
        while widths.iter().sum::<usize>() + gaps > room {
            let gives = |at: &usize| !self.columns[kept[*at]].1.right_aligned();
            let texts = (0..widths.len()).filter(|at| gives(at) && widths[*at] > MIN_WIDTH);
            let Some(widest) = texts.max_by_key(|at| widths[*at]) else {
                break;
            };
            widths[widest] -= 1;
        }
        widths
    }

    /// Empty if there are no rows.
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
        let rule = |holds: Holds| if holds.right_aligned() { "---:" } else { "---" }.to_owned();
        out.push_str(&line(
            self.columns.iter().map(|(_, holds)| rule(*holds)).collect(),
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
    use super::Holds::{MoreNumbers, Names, Numbers, Sentences};
    use super::*;
    use proptest::prelude::*;

    fn grid(columns: &[(&'static str, Holds)], cells: &[&str]) -> Grid {
        Grid {
            columns: columns.to_vec(),
            rows: vec![(cells.iter().map(|cell| (*cell).to_owned()).collect(), None)],
        }
    }

    #[test]
    fn long_names_make_way_and_cannot_break_a_table() {
        let columns = [("name", Names), ("median", Numbers)];
        let grid = grid(&columns, &["a|very long name of a kernel", "12.5 ms"]);
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

    #[test]
    fn names_that_differ_in_their_middle_look_different() {
        let mut grid = grid(&[("name", Names)], &["gemm_of_a_kind_128x64_and_more"]);
        let other = vec!["gemm_of_a_kind_256x64_and_more".to_owned()];
        grid.rows.push((other, None));
        let lines = grid.lines(20, Palette::new(false));
        assert_eq!(lines[1..], ["gemm_…128x64_an…more", "gemm_…256x64_an…more"]);
    }

    #[test]
    fn sentences_are_wrapped_and_numbers_that_do_not_fit_are_named() {
        let columns = [
            ("why", Sentences),
            ("base", Numbers),
            ("delta", MoreNumbers),
            ("samples", MoreNumbers),
        ];
        let cells = ["too little evidence", "1.25 ms", "+0.25", "1000+1000"];
        let grid = grid(&columns, &cells);
        assert_eq!(
            grid.lines(28, Palette::new(false)),
            [
                "why              base  delta",
                "too little    1.25 ms  +0.25",
                "evidence",
                "too wide for here: samples"
            ]
        );
        let wide = grid.lines(60, Palette::new(false));
        assert_eq!(wide.len(), 2, "{wide:?}");
        assert!(wide[1].ends_with("1000+1000"), "{wide:?}");
    }

    proptest! {
        #[test]
        fn no_line_is_wider_than_the_room(
            rows in proptest::collection::vec(("\\PC{0,90}", "\\PC{0,90}", "[0-9]{0,12}"), 1..6),
            room in 60..200_usize,
        ) {
            let columns = vec![
                ("name", Names),
                ("base", Numbers),
                ("run", Numbers),
                ("delta", MoreNumbers),
                ("samples", MoreNumbers),
                ("why", Sentences),
            ];
            let rows = rows.into_iter().map(|(name, why, number)| {
                let number = || number.clone();
                (vec![name, number(), number(), number(), number(), why], None)
            });
            let grid = Grid { columns, rows: rows.collect() };
            for line in grid.lines(room, Palette::new(false)) {
                prop_assert!(width::measure(&line) <= room, "{} > {room}: {line}", width::measure(&line));
            }
        }
    }
}
