//! The columns of a chart's table as numbers and texts.

use trueno_model::Cell;
use trueno_model::units::{self, Unit};
use trueno_plugin::{Chart, Column, Table};

use crate::view::{display_names, heading};

/// A chart, its table, and the table of its lines.
#[derive(Clone, Copy)]
pub struct Data<'a> {
    /// Chart that is asked for.
    pub chart: &'a Chart,
    pub table: &'a Table,
    /// Lines behind the marks.
    pub lines: Option<&'a Table>,
}

impl<'a> Data<'a> {
    /// Finds the tables of a chart among those of its plugin.
    pub fn find(chart: &'a Chart, tables: &'a [Table]) -> Option<Self> {
        let table = |name: &str| tables.iter().find(|table| table.name() == name);
        let lines = chart.lines.as_ref().and_then(|lines| table(&lines.table));
        Some(Self {
            chart,
            table: table(&chart.table)?,
            lines,
        })
    }

    /// Numbers of a column; `None` where there is none, or one that is not finite.
    pub fn numbers(&self, column: &str) -> Vec<Option<f64>> {
        numbers(self.table, column)
    }

    /// A column as people read it; empty where it is null.
    pub fn texts(&self, column: &str) -> Vec<String> {
        texts(self.table, column)
    }

    /// The texts of a column that may not be asked for.
    pub fn texts_of(&self, column: &Option<String>) -> Option<Vec<String>> {
        column.as_deref().map(|column| self.texts(column))
    }

    /// Title of the horizontal axis.
    pub fn x_title(&self) -> String {
        let title = self.chart.x_title.as_deref();
        title.map_or_else(|| heading(&self.chart.x), str::to_owned)
    }

    /// Title of the vertical axis.
    pub fn y_title(&self) -> String {
        let title = self.chart.y_title.as_deref();
        title.map_or_else(|| heading(&self.chart.y), str::to_owned)
    }
}

/// Numbers of a column; see [`Data::numbers`].
pub fn numbers(table: &Table, column: &str) -> Vec<Option<f64>> {
    let Ok(column) = table.column(column) else {
        return Vec::new();
    };
    (0..table.rows())
        .map(|row| Cell::at(column, row).number())
        .collect()
}

/// Texts of a column; see [`Data::texts`].
pub fn texts(table: &Table, name: &str) -> Vec<String> {
    let Ok(column) = table.column(name) else {
        return Vec::new();
    };
    let unit = Unit::from_column(name);
    let short = display_names(column);
    let shown = |row| match (column, Cell::at(column, row)) {
        (_, Cell::Null) => String::new(),
        (Column::I64(_) | Column::U64(_), cell) if unit == Unit::None => {
            units::show(cell, Unit::Label)
        }
        (_, Cell::Text(text)) => units::show(Cell::Text(short.shown(text)), unit),
        (_, cell) => units::show(cell, unit),
    };
    (0..table.rows()).map(shown).collect()
}

/// The different texts, in order of first appearance, and which of them each row has.
pub fn kinds(texts: &[String]) -> (Vec<String>, Vec<usize>) {
    let mut known: std::collections::HashMap<&str, usize> = std::collections::HashMap::new();
    let mut names = Vec::new();
    let of = texts.iter().map(|text| {
        *known.entry(text).or_insert_with(|| {
            names.push(text.clone());
            names.len() - 1
        })
    });
    let of = of.collect();
    (names, of)
}

/// A number as people read it.
pub fn show(value: f64, unit: Unit) -> String {
    units::show(Cell::F64(value), unit)
}
