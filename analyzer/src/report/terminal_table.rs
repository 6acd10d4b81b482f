//! A view fitted to the width of a terminal.
//!
//! Numbers are never shortened; text columns give way first, down to
//! [`LEAST_TEXT`], then columns are left out from the right, and named. What
//! room is left shows bars.

use super::style::{Meaning, Palette};
use super::view::View;
use super::width;

/// Text columns are not made narrower than this.
const LEAST_TEXT: usize = 22;
const GAP: usize = 2;
const LEAST_BAR: usize = 6;
const MOST_BAR: usize = 24;

/// Lines of at most `room` columns, without indent.
pub fn lines(view: &View, room: usize, palette: Palette) -> Vec<String> {
    let mut lines = Vec::new();
    let kept = choose(view, room);
    let widths = widths(view, &kept, room);
    let used: usize = widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1);
    let bar_width = match &view.bars {
        Some(_) if room >= used + GAP + LEAST_BAR => (room - used - GAP).min(MOST_BAR),
        _ => 0,
    };

    let row = |cells: &mut dyn Iterator<Item = (usize, &str)>| -> String {
        let padded: Vec<String> = cells
            .map(|(at, cell)| {
                let text = width::shorten(cell, widths[at]);
                width::pad(&text, widths[at], view.columns[kept[at]].right_aligned)
            })
            .collect();
        padded.join(&" ".repeat(GAP))
    };
    let headings = row(&mut kept
        .iter()
        .enumerate()
        .map(|(at, column)| (at, view.columns[*column].heading.as_str())));
    lines.push(palette.paint(Meaning::Faint, headings.trim_end()));
    for i in 0..view.rows {
        let mut line = row(&mut kept
            .iter()
            .enumerate()
            .map(|(at, column)| (at, view.columns[*column].cells[i].as_str())));
        if let (Some((_, ratios)), true) = (&view.bars, bar_width > 0) {
            line.push_str(&" ".repeat(GAP));
            line.push_str(&palette.paint(Meaning::Bar, &width::bar(ratios[i], bar_width)));
        }
        lines.push(line.trim_end().to_owned());
    }
    let mut note = |text: String| {
        lines.extend(
            width::wrap(&text, room)
                .iter()
                .map(|line| palette.paint(Meaning::Faint, line)),
        )
    };
    if view.rows == 0 {
        note("no rows".to_owned());
    }
    if let Some(rest) = &view.rest {
        note(rest.clone());
    }
    if !view.not_measured.is_empty() {
        note(format!("not measured: {}", view.not_measured.join(", ")));
    }
    let left_out: Vec<&str> = (0..view.columns.len())
        .filter(|column| !kept.contains(column))
        .map(|column| view.columns[column].heading.as_str())
        .collect();
    if !left_out.is_empty() {
        note(format!("too wide for here: {}", left_out.join(", ")));
    }
    lines
}

fn natural(view: &View, column: usize) -> usize {
    let column = &view.columns[column];
    column
        .cells
        .iter()
        .map(|cell| width::of(cell))
        .max()
        .unwrap_or(0)
        .max(width::of(&column.heading))
}

fn least(view: &View, column: usize) -> usize {
    let natural = natural(view, column);
    if view.columns[column].right_aligned {
        natural
    } else {
        natural.min(LEAST_TEXT)
    }
}

/// Columns that fit at their least width. The first stays, and the one with bars.
fn choose(view: &View, room: usize) -> Vec<usize> {
    let mut kept: Vec<usize> = (0..view.columns.len()).collect();
    let with_bars = |column: usize| {
        view.bars
            .as_ref()
            .is_some_and(|(name, _)| *name == view.columns[column].name)
    };
    loop {
        let needed: usize = kept
            .iter()
            .map(|column| least(view, *column) + GAP)
            .sum::<usize>();
        if needed <= room + GAP || kept.len() <= 1 {
            return kept;
        }
        let drop = (1..kept.len())
            .rev()
            .find(|at| !with_bars(kept[*at]))
            .unwrap_or(kept.len() - 1);
        kept.remove(drop);
    }
}

/// Least widths, and what is left for text columns from left to right.
fn widths(view: &View, kept: &[usize], room: usize) -> Vec<usize> {
    let mut widths: Vec<usize> = kept.iter().map(|column| least(view, *column)).collect();
    let mut left =
        room.saturating_sub(widths.iter().sum::<usize>() + GAP * kept.len().saturating_sub(1));
    for (at, column) in kept.iter().enumerate() {
        let more = (natural(view, *column) - widths[at]).min(left);
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
mod tests {
    use super::*;
    use proptest::prelude::*;
    use trueno_plugin::Table;

    fn table(names: &[String], numbers: &[i64], shares: &[Option<f64>], columns: usize) -> Table {
        let rows = names.len();
        let mut table = Table::build("t")
            .text("name", names)
            .f64("wall_share", shares);
        for i in 0..columns {
            table = table.i64(
                &format!("number_{i}_ns"),
                numbers.iter().cycle().skip(i).take(rows),
            );
            table = table.text(
                &format!("text_{i}"),
                names.iter().cycle().skip(i).take(rows),
            );
        }
        table.finish().unwrap()
    }

    proptest! {
        #[test]
        fn no_line_is_wider_than_the_room(
            rows in proptest::collection::vec(("\\PC{0,50}", any::<i64>(), proptest::option::of(-1.0..2.0_f64)), 1..12),
            columns in 0..8_usize,
            room in 76..197_usize,
        ) {
            let names: Vec<String> = rows.iter().map(|row| row.0.clone()).collect();
            let numbers: Vec<i64> = rows.iter().map(|row| row.1).collect();
            let shares: Vec<Option<f64>> = rows.iter().map(|row| row.2).collect();
            let view = View::of(&table(&names, &numbers, &shares, columns), 10);
            let lines = lines(&view, room, Palette::new(false));
            for line in &lines {
                prop_assert!(width::of(line) <= room, "{} > {room}: {line}", width::of(line));
            }
            // Every column is shown or named: nothing disappears.
            let text = lines.join(" ");
            for column in &view.columns {
                let first = column.heading.split(' ').next().unwrap_or_default();
                prop_assert!(text.contains(first), "{} is neither shown nor named", column.heading);
            }
        }
    }

    #[test]
    fn a_narrow_terminal_drops_columns_from_the_right_but_keeps_the_bars() {
        let table = Table::build("t")
            .text("name", ["a_rather_long_name_of_a_kernel", "b"])
            .i64("self_ns", [1_500, 500])
            .f64("wall_share", [0.75, 0.25])
            .i64("extra_one_ns", [1, 2])
            .i64("extra_two_ns", [1, 2])
            .finish()
            .unwrap();
        let shown = lines(&View::of(&table, 5), 56, Palette::new(false));
        assert!(
            shown[0].contains("wall share") && !shown[0].contains("extra two"),
            "{shown:?}"
        );
        assert!(
            shown
                .iter()
                .any(|line| line.contains("too wide for here: extra two")),
            "{shown:?}"
        );
    }
}
