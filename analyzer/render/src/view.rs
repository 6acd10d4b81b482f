//! A table as text for people: the first rows, headings, what is left out.

use trueno_display_names::DisplayNames;
use trueno_model::Cell;
use trueno_model::units::{self, Unit};
use trueno_plugin::{Column, Table};

use super::share;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Names {
    Short,
    Recorded,
}

impl Names {
    fn display_names(self, column: &Column) -> DisplayNames {
        match self {
            Names::Short => display_names(column),
            Names::Recorded => DisplayNames::default(),
        }
    }
}

/// Shortened names of a column. They depend on all rows, so that they do not change with the number of shown rows.
pub(crate) fn display_names(column: &Column) -> DisplayNames {
    match column {
        Column::Text(texts) => DisplayNames::new(texts.iter().flatten()),
        _ => DisplayNames::default(),
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct ViewColumn {
    pub name: String,
    pub heading: String,
    pub right_aligned: bool,
    pub cells: Vec<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct View {
    pub columns: Vec<ViewColumn>,
    /// Text columns with one value in all rows, as `lane kind: host`.
    pub constant: Vec<String>,
    /// Columns without a value in any row.
    pub not_measured: Vec<String>,
    pub bars: Option<(String, Vec<Option<f64>>)>,
    pub rest: Option<String>,
    pub rows: usize,
}

impl View {
    pub fn new(table: &Table, top: usize) -> View {
        Self::with_names(table, top, Names::Short)
    }

    pub fn with_names(table: &Table, top: usize, names: Names) -> View {
        let rows = table.rows().min(top);
        let mut view = View {
            columns: Vec::new(),
            constant: Vec::new(),
            not_measured: Vec::new(),
            bars: None,
            rest: share::rest(table, rows),
            rows,
        };
        for (name, column) in table.columns() {
            if table.rows() > 0 && column.null_count() == table.rows() {
                view.not_measured.push(heading(name));
            } else if let Some(value) = constant(column) {
                let short = names.display_names(column);
                let value = short.shown(value);
                view.constant.push(format!(
                    "{}: {}",
                    heading(name),
                    units::show(Cell::Text(value), Unit::None)
                ));
            } else {
                view.columns.push(view_column(name, column, rows, names));
            }
        }
        if let Some(name) = share::column(table)
            && let Ok(column) = table.column(name)
            && view.columns.iter().any(|shown| shown.name == name)
        {
            view.bars = Some((
                name.to_owned(),
                (0..rows)
                    .map(|row| Cell::at(column, row).number())
                    .collect(),
            ));
        }
        view
    }
}

fn view_column(name: &str, column: &Column, rows: usize, names: Names) -> ViewColumn {
    let unit = Unit::from_column(name);
    let cells = if is_position(name) {
        positions(column, rows)
    } else {
        let short = names.display_names(column);
        let cell = |row| match Cell::at(column, row) {
            Cell::Text(text) => units::show(Cell::Text(short.shown(text)), unit),
            cell => units::show(cell, unit),
        };
        (0..rows).map(cell).collect()
    };
    let right_aligned = !matches!(column, Column::Text(_) | Column::Bool(_));
    ViewColumn {
        name: name.to_owned(),
        heading: heading(name),
        right_aligned,
        cells,
    }
}

/// The value of a text column that is equal in all of several rows.
fn constant(column: &Column) -> Option<&str> {
    let Column::Text(column) = column else {
        return None;
    };
    let first = column.iter().next()??;
    (column.len() > 1 && column.iter().all(|value| value == Some(first))).then_some(first)
}

/// Points in time, which would look equal with three digits.
fn is_position(name: &str) -> bool {
    ["start_ns", "end_ns", "time_ns"]
        .iter()
        .any(|end| name == *end || name.ends_with(&format!("_{end}")))
}

/// All in one unit, so that they can be compared.
fn positions(column: &Column, rows: usize) -> Vec<String> {
    let at = |row: usize| Cell::at(column, row).number();
    let largest = (0..rows)
        .filter_map(at)
        .fold(0.0, |largest: f64, value| largest.max(value.abs()));
    let (divisor, unit, decimals) = match largest {
        below if below < 1e3 => (1.0, "ns", 0),
        below if below < 1e6 => (1e3, "µs", 3),
        below if below < 1e9 => (1e6, "ms", 3),
        _ => (1e9, "s", 6),
    };
    let show = |value: f64| format!("{:.decimals$} {unit}", value / divisor);
    (0..rows)
        .map(|row| at(row).map_or(units::NOT_MEASURED.to_owned(), show))
        .collect()
}

/// A column's heading: words without the unit, which is in the cells.
pub fn heading(name: &str) -> String {
    let name = trueno_model::width::printable(name);
    if let Some(gain) = name.strip_prefix("gain_").and_then(gain_heading) {
        return gain;
    }
    let (stem, end) = match (name.strip_suffix("_per_s"), name.strip_suffix("_ns")) {
        (Some(stem), _) => (stem, "/s"),
        (None, Some(stem)) => (stem, ""),
        (None, None) => (&*name, ""),
    };
    format!("{}{end}", stem.replace('_', " "))
}

/// The heading of `10pct_ns`, the gain if a name took 10 % less time, is `if 10 % faster`.
fn gain_heading(rest: &str) -> Option<String> {
    let (percent, kind) = rest.split_once("pct_")?;
    let condition = match percent {
        "100" => "if free".to_owned(),
        _ => format!("if {percent} % faster"),
    };
    match kind {
        "ns" => Some(condition),
        "share" => Some(format!("{condition}, share")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_heading_has_words_and_no_unit() {
        for (column, expected) in [
            ("self_ns", "self"),
            ("elements_per_s", "elements/s"),
            ("gain_10pct_ns", "if 10 % faster"),
            ("gain_100pct_share", "if free, share"),
            ("pct_busy", "pct busy"),
        ] {
            assert_eq!(heading(column), expected);
        }
    }

    #[test]
    fn a_view_says_what_it_leaves_out() {
        let table = Table::build("t")
            .text("lane_kind", ["host", "host", "host"])
            .text("name", ["a", "b", "c"])
            .i64("self_ns", [3_000, 2_000, 1_000])
            .f64("elements_per_s", [None::<f64>, None, None])
            .f64("wall_share", [Some(0.5), None, Some(0.1)])
            .finish()
            .unwrap();
        let view = View::new(&table, 2);
        assert_eq!(view.constant, ["lane kind: host"]);
        assert_eq!(view.not_measured, ["elements/s"]);
        let headings: Vec<&str> = view
            .columns
            .iter()
            .map(|column| column.heading.as_str())
            .collect();
        assert_eq!(headings, ["name", "self", "wall share"]);
        assert_eq!(view.columns[2].cells, ["50.0 %", "–"]);
        assert_eq!(
            view.bars,
            Some(("wall_share".into(), vec![Some(0.5), None]))
        );
        assert_eq!(
            view.rest.as_deref(),
            Some("… and 1 more row, 10.0 % of wall")
        );
    }

    #[test]
    fn kernels_have_short_names_that_differ() {
        let names = [
            "void a::fill<float, 4>(float*)",
            "void b::fill<float, 4>(float*)",
            "void c::copy_kernel<c::Half>(c::Half*)",
            "copy (all)",
        ];
        let table = Table::build("t").text("name", names).finish().unwrap();
        let shown = View::new(&table, 3).columns[0].cells.clone();
        assert_eq!(
            shown,
            ["a::fill<float, 4>", "b::fill<float, 4>", "copy<Half>"]
        );
        let full = View::with_names(&table, 4, Names::Recorded);
        assert_eq!(full.columns[0].cells, names);
    }

    #[test]
    fn points_in_time_share_a_unit_and_stay_apart() {
        let table = Table::build("t")
            .i64("start_ns", [1_000_000_000, 1_000_001_000, 5])
            .finish()
            .unwrap();
        assert_eq!(
            View::new(&table, 9).columns[0].cells,
            ["1.000000 s", "1.000001 s", "0.000000 s"]
        );
    }

    #[test]
    fn an_empty_table_keeps_its_headings() {
        let table = Table::build("t")
            .i64("self_ns", Vec::<i64>::new())
            .text("name", Vec::<&str>::new())
            .finish()
            .unwrap();
        let view = View::new(&table, 5);
        assert_eq!(view.columns.len(), 2);
        assert_eq!((view.rows, view.rest), (0, None));
    }
}
