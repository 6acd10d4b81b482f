//! A view fitted to the width of a terminal.
//!
//! Numbers are never shortened; text columns give way first, down to
//! [`MIN_TEXT`], then columns are left out, from the right. What tells rows
//! apart stays, and so do the first measured column and the one with bars.
//! Sentences are wrapped. What room is left shows bars.

use trueno_model::units::Unit;
use trueno_model::width;

use crate::style::{Meaning, Palette};
use crate::view::View;

const MIN_TEXT: usize = 22;
const MIN_OTHER: usize = 14;
const GAP: usize = 2;
const MIN_BAR: usize = 6;
const MAX_BAR: usize = 24;
/// Columns of sentences. Unlike names, they must not be shortened in the middle.
const SENTENCES: [&str; 12] = [
    "assumption",
    "confidence_why",
    "considered",
    "detail",
    "evidence",
    "expected",
    "hint",
    "how",
    "missing",
    "reason",
    "sentence",
    "suggestion",
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Absent {
    Named,
    /// Not at all: the page says once how to see them.
    Unsaid,
}

impl Absent {
    /// Limit on lines of a row with a sentence.
    fn most_lines(self) -> usize {
        match self {
            Absent::Named => 4,
            Absent::Unsaid => 1,
        }
    }
}

/// Lines of at most `room` columns, without indent.
pub fn lines(view: &View, room: usize, absent: Absent, palette: Palette) -> Vec<String> {
    let mut lines = Vec::new();
    let kept = choose(view, room);
    let widths = widths(view, &kept, room);
    let used: usize = widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1);
    let bar_width = match &view.bars {
        Some(_) if room >= used + GAP + MIN_BAR => (room - used - GAP).min(MAX_BAR),
        _ => 0,
    };

    let row = |cells: &mut dyn Iterator<Item = (usize, &str)>| -> String {
        let padded: Vec<String> = cells
            .map(|(at, cell)| width::pad(cell, widths[at], view.columns[kept[at]].right_aligned))
            .collect();
        padded.join(&" ".repeat(GAP))
    };
    let headings: Vec<_> = kept
        .iter()
        .zip(&widths)
        .map(|(column, wide)| width::shorten(&view.columns[*column].heading, *wide))
        .collect();
    let headings = row(&mut headings.iter().map(|heading| &**heading).enumerate());
    lines.push(palette.paint(Meaning::Faint, headings.trim_end()));
    let columns: Vec<Vec<Vec<String>>> = kept
        .iter()
        .zip(&widths)
        .map(|(column, wide)| fitted(view, *column, (*wide, absent.most_lines())))
        .collect();
    for i in 0..view.rows {
        let cells: Vec<&Vec<String>> = columns.iter().map(|column| &column[i]).collect();
        let deepest = cells.iter().map(|cell| cell.len()).max().unwrap_or(0);
        for depth in 0..deepest {
            let mut line = row(&mut cells
                .iter()
                .map(|cell| cell.get(depth).map_or("", String::as_str))
                .enumerate());
            if let (0, Some((_, ratios)), true) = (depth, &view.bars, bar_width > 0) {
                line.push_str(&" ".repeat(GAP));
                line.push_str(&palette.paint(Meaning::Bar, &width::bar(ratios[i], bar_width)));
            }
            lines.push(line.trim_end().to_owned());
        }
    }
    let left_out: Vec<&str> = (0..view.columns.len())
        .filter(|column| !kept.contains(column))
        .map(|column| view.columns[column].heading.as_str())
        .collect();
    for note in notes(view, &left_out, absent) {
        lines.extend(
            width::wrap(&note, room)
                .iter()
                .map(|line| palette.paint(Meaning::Faint, line)),
        );
    }
    lines
}

fn notes(view: &View, left_out: &[&str], absent: Absent) -> Vec<String> {
    let mut notes: Vec<String> = view.rest.iter().cloned().collect();
    match absent {
        Absent::Named => {
            if !view.not_measured.is_empty() {
                notes.push(format!("not measured: {}", view.not_measured.join(", ")));
            }
            if !left_out.is_empty() {
                notes.push(format!("too wide for here: {}", left_out.join(", ")));
            }
        }
        Absent::Unsaid => {}
    }
    notes
}

fn is_sentence(view: &View, column: usize) -> bool {
    SENTENCES.contains(&view.columns[column].name.as_str())
}

/// The lines of each cell of a column. Sentences are wrapped and cut at their end. Other cells are shortened in the
/// middle, and those that differ look different.
fn fitted(view: &View, column: usize, room: (usize, usize)) -> Vec<Vec<String>> {
    let cells = view.columns[column].cells.iter().take(view.rows);
    let cells: Vec<&str> = cells.map(String::as_str).collect();
    if is_sentence(view, column) {
        return cells.iter().map(|cell| sentence(cell, room)).collect();
    }
    let shown = width::shorten_apart(&cells, room.0);
    shown.into_iter().map(|cell| vec![cell]).collect()
}

fn sentence(cell: &str, (wide, most): (usize, usize)) -> Vec<String> {
    let mut lines = width::wrap(cell, wide);
    if lines.len() > most {
        lines.truncate(most);
        if let Some(last) = lines.last_mut() {
            while !last.is_empty() && width::measure(last) + 1 > wide {
                last.pop();
            }
            last.push('…');
        }
    }
    lines
}

fn natural(view: &View, column: usize) -> usize {
    let column = &view.columns[column];
    column
        .cells
        .iter()
        .map(|cell| width::measure(cell))
        .max()
        .unwrap_or(0)
        .max(width::measure(&column.heading))
}

fn min_width(view: &View, column: usize, key: Option<usize>) -> usize {
    let natural = natural(view, column);
    if view.columns[column].right_aligned {
        return natural;
    }
    let wide = key == Some(column) || is_sentence(view, column);
    let least = if wide { MIN_TEXT } else { MIN_OTHER };
    natural.min(least.max(width::measure(&view.columns[column].heading)))
}

/// The column that identifies rows: names, else the first text, else the first id or position.
fn key(view: &View) -> Option<usize> {
    let find = |is: &dyn Fn(usize) -> bool| (0..view.columns.len()).find(|column| is(*column));
    find(&|column| view.columns[column].name == "name")
        .or_else(|| find(&|column| !view.columns[column].right_aligned))
        .or_else(|| find(&|column| Unit::from_column(&view.columns[column].name) == Unit::Label))
}

/// Whether all shown numbers are equal: such a column says least.
fn is_uniform(view: &View, column: usize) -> bool {
    let column = &view.columns[column];
    let first = column.cells.first();
    column.right_aligned
        && column.cells.len() > 1
        && column.cells.iter().all(|cell| Some(cell) == first)
}

/// Columns that fit at their minimum width. The first column, the one that identifies rows, the first measured one
/// and the one with bars stay. Of the others, columns of equal numbers go first, then the rightmost.
fn choose(view: &View, room: usize) -> Vec<usize> {
    let mut kept: Vec<usize> = (0..view.columns.len()).collect();
    let key = key(view);
    let measured = kept.iter().copied().find(|column| {
        let unit = Unit::from_column(&view.columns[*column].name);
        !matches!(unit, Unit::Label | Unit::None)
    });
    let with_bars = |column: usize| {
        view.bars
            .as_ref()
            .is_some_and(|(name, _)| *name == view.columns[column].name)
    };
    loop {
        let needed: usize = kept
            .iter()
            .map(|column| min_width(view, *column, key) + GAP)
            .sum::<usize>();
        if needed <= room + GAP || kept.len() <= 1 {
            break;
        }
        let free =
            |column: usize| key != Some(column) && measured != Some(column) && !with_bars(column);
        let rightmost = |is: &dyn Fn(usize) -> bool| (1..kept.len()).rev().find(|at| is(kept[*at]));
        let drop = rightmost(&|column| free(column) && is_uniform(view, column))
            .or_else(|| rightmost(&free))
            .or_else(|| rightmost(&|column| key != Some(column) && !with_bars(column)))
            .unwrap_or(kept.len() - 1);
        kept.remove(drop);
    }
    kept
}

/// Minimum widths, plus the remaining room for text columns: first for the one that identifies rows, then from left
/// to right. Sentences come last and share the rest.
fn widths(view: &View, kept: &[usize], room: usize) -> Vec<usize> {
    let key = key(view);
    let mut widths: Vec<usize> = kept
        .iter()
        .map(|column| min_width(view, *column, key))
        .collect();
    let mut left =
        room.saturating_sub(widths.iter().sum::<usize>() + GAP * kept.len().saturating_sub(1));
    let mut order: Vec<usize> = (0..kept.len()).collect();
    order.sort_by_key(|at| (is_sentence(view, kept[*at]), key != Some(kept[*at])));
    for (i, at) in order.iter().copied().enumerate() {
        let share = if is_sentence(view, kept[at]) {
            left / (order.len() - i)
        } else {
            left
        };
        let more = (natural(view, kept[at]) - widths[at]).min(share);
        widths[at] += more;
        left -= more;
    }
    // One column alone may still be wider than the room.
    widths
        .iter_mut()
        .for_each(|width| *width = (*width).min(room));
    widths
}

#[cfg(test)]
#[path = "table_tests.rs"]
mod tests;
