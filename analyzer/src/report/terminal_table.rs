//! A view fitted to the width of a terminal.
//!
//! Numbers are never shortened; text columns give way first, down to
//! [`LEAST_TEXT`], then columns are left out, from the right. What tells rows
//! apart stays, and so do the first measured column and the one with bars.
//! Sentences are wrapped. What room is left shows bars.

use super::style::{Meaning, Palette};
use super::units::Unit;
use super::view::View;
use super::width;

/// The text that tells rows apart is not made narrower than this.
const LEAST_TEXT: usize = 22;
/// Other text is not made narrower than this.
const LEAST_OTHER: usize = 14;
const GAP: usize = 2;
const LEAST_BAR: usize = 6;
const MOST_BAR: usize = 24;
/// Columns that hold sentences and not names: the middle of a sentence must not make way.
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

/// How columns that are not shown are told of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Absent {
    /// By name.
    Named,
    /// How many there are.
    Counted,
}

impl Absent {
    /// Lines of a row with a sentence.
    fn most_lines(self) -> usize {
        match self {
            Absent::Named => 4,
            Absent::Counted => 1,
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
        let cells: Vec<Vec<String>> = kept
            .iter()
            .enumerate()
            .map(|(at, column)| cell_lines(view, *column, i, (widths[at], absent.most_lines())))
            .collect();
        let deepest = cells.iter().map(Vec::len).max().unwrap_or(0);
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

/// What stands below a table: rows and columns that are not shown.
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
        Absent::Counted => {
            let mut counts = Vec::new();
            if !left_out.is_empty() {
                counts.push(format!("{} too wide for here", left_out.len()));
            }
            if !view.not_measured.is_empty() {
                counts.push(format!("{} not measured", view.not_measured.len()));
            }
            if !counts.is_empty() {
                notes.push(format!("columns: {}", counts.join(", ")));
            }
            // One line, where it fits.
            notes = vec![notes.join(" · ")];
            notes.retain(|note| !note.is_empty());
        }
    }
    notes
}

fn is_sentence(view: &View, column: usize) -> bool {
    SENTENCES.contains(&view.columns[column].name.as_str())
}

/// A cell of a sentence is wrapped, and its end makes way; of others the middle does.
fn cell_lines(view: &View, column: usize, row: usize, (wide, most): (usize, usize)) -> Vec<String> {
    let cell = view.columns[column].cells[row].as_str();
    if !is_sentence(view, column) {
        return vec![cell.to_owned()];
    }
    let mut lines = width::wrap(cell, wide);
    if lines.len() > most {
        lines.truncate(most);
        if let Some(last) = lines.last_mut() {
            while !last.is_empty() && width::of(last) + 1 > wide {
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
        .map(|cell| width::of(cell))
        .max()
        .unwrap_or(0)
        .max(width::of(&column.heading))
}

fn least(view: &View, column: usize, key: Option<usize>) -> usize {
    let natural = natural(view, column);
    if view.columns[column].right_aligned {
        return natural;
    }
    let wide = key == Some(column) || is_sentence(view, column);
    let least = if wide { LEAST_TEXT } else { LEAST_OTHER };
    natural.min(least.max(width::of(&view.columns[column].heading)))
}

/// The column that tells rows apart: names, else the first text, else the first id or position.
fn key(view: &View) -> Option<usize> {
    let find = |is: &dyn Fn(usize) -> bool| (0..view.columns.len()).find(|column| is(*column));
    find(&|column| view.columns[column].name == "name")
        .or_else(|| find(&|column| !view.columns[column].right_aligned))
        .or_else(|| find(&|column| Unit::of(&view.columns[column].name) == Unit::Label))
}

/// Whether all shown numbers are the same: such a column tells least.
fn is_uniform(view: &View, column: usize) -> bool {
    let column = &view.columns[column];
    let first = column.cells.first();
    column.right_aligned
        && column.cells.len() > 1
        && column.cells.iter().all(|cell| Some(cell) == first)
}

/// Columns that fit at their least width. The first stays, what tells rows
/// apart, the first measured one and the one with bars; of the others those
/// of one number go first, then the rightmost.
fn choose(view: &View, room: usize) -> Vec<usize> {
    let mut kept: Vec<usize> = (0..view.columns.len()).collect();
    let key = key(view);
    let measured = kept.iter().copied().find(|column| {
        let unit = Unit::of(&view.columns[*column].name);
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
            .map(|column| least(view, *column, key) + GAP)
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

/// Least widths, and what is left for text columns: first for what tells rows
/// apart, then from left to right; sentences come last and share it.
fn widths(view: &View, kept: &[usize], room: usize) -> Vec<usize> {
    let key = key(view);
    let mut widths: Vec<usize> = kept
        .iter()
        .map(|column| least(view, *column, key))
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
            let lines = lines(&view, room, Absent::Named, Palette::new(false));
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
        let shown = lines(&View::of(&table, 5), 56, Absent::Named, Palette::new(false));
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

    fn built(table: trueno_plugin::TableBuilder, room: usize, absent: Absent) -> Vec<String> {
        let view = View::of(&table.finish().unwrap(), 5);
        lines(&view, room, absent, Palette::new(false))
    }

    #[test]
    fn a_narrow_page_keeps_what_tells_rows_apart_and_what_was_measured() {
        let kinds = ["function_of_a_kind", "call_of_some_kind"];
        let table = Table::build("t")
            .text("kind", kinds)
            .text("category", ["uncategorised", "elementwise"])
            .text("name", ["one", "other"])
            .i64("calls", [0, 0])
            .i64("self_ns", [5_000, 4_000])
            .i64("inclusive_ns", [9_000, 8_000]);
        let shown = built(table, 44, Absent::Named);
        assert_eq!(
            shown,
            [
                "kind              category       name   self",
                "function…_a_kind  uncategorised  one    5 µs",
                "call_of_…me_kind  elementwise    other  4 µs",
                "too wide for here: calls, inclusive",
            ]
        );
        // Without a name an id tells rows apart, wherever it stands.
        let table = Table::build("t")
            .i64("work_ns", [1_000, 2_000])
            .i64("a_long_heading_for_a_number", [1, 2])
            .u64("id", [7, 8]);
        let shown = built(table, 30, Absent::Named);
        assert_eq!(shown[0], "work  id");
    }

    #[test]
    fn sentences_are_wrapped_and_not_cut_in_their_middle() {
        let table = Table::build("t")
            .text("check", ["a", "b"])
            .text("detail", ["no allocation has an address", "1 of 2"]);
        let shown = built(table, 29, Absent::Named);
        assert_eq!(
            shown,
            [
                "check  detail",
                "a      no allocation has an",
                "       address",
                "b      1 of 2"
            ]
        );
        let table = Table::build("t")
            .text("check", ["a", "b"])
            .text("detail", ["no allocation has an address", "1 of 2"]);
        let shown = built(table, 29, Absent::Counted);
        assert_eq!(shown[1], "a      no allocation has an…");
    }

    #[test]
    fn a_brief_page_counts_columns_on_one_line() {
        let table = Table::build("t")
            .text("name", ["a"; 7])
            .i64("self_ns", [1_000, 2, 3, 4, 5, 6, 7])
            .f64("tokens_per_s", [None::<f64>; 7])
            .i64("a_number_with_a_long_heading", [1, 2, 3, 4, 5, 6, 7]);
        let shown = built(table, 60, Absent::Counted);
        assert_eq!(
            shown.last().unwrap(),
            "… and 2 more rows · columns: 1 not measured"
        );
    }
}
