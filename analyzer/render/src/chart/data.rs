//! The columns of a chart's table as numbers and texts.

use trueno_model::Cell;
use trueno_model::units::{self, Unit};
use trueno_plugin::{Chart, Column, Table};

use crate::view::{display_names, heading};

#[derive(Clone, Copy)]
pub struct Data<'a> {
    pub chart: &'a Chart,
    pub table: &'a Table,
    pub lines: Option<&'a Table>,
}

impl<'a> Data<'a> {
    pub fn find(chart: &'a Chart, tables: &'a [Table]) -> Option<Self> {
        let table = |name: &str| tables.iter().find(|table| table.name() == name);
        let lines = chart.lines.as_ref().and_then(|lines| table(&lines.table));
        Some(Self {
            chart,
            table: table(&chart.table)?,
            lines,
        })
    }

    /// Numbers of a column; `None` for cells that are missing or not finite.
    pub fn numbers(&self, column: &str) -> Vec<Option<f64>> {
        numbers(self.table, column)
    }

    /// Values as people read them; null becomes an empty text.
    pub fn texts(&self, column: &str) -> Vec<String> {
        texts(self.table, column)
    }

    pub fn texts_of(&self, column: &Option<String>) -> Option<Vec<String>> {
        column.as_deref().map(|column| self.texts(column))
    }

    pub fn x_title(&self) -> String {
        let title = self.chart.x_title.as_deref();
        title.map_or_else(|| heading(&self.chart.x), str::to_owned)
    }

    pub fn y_title(&self) -> String {
        let title = self.chart.y_title.as_deref();
        title.map_or_else(|| heading(&self.chart.y), str::to_owned)
    }
}

pub fn numbers(table: &Table, column: &str) -> Vec<Option<f64>> {
    let Ok(column) = table.column(column) else {
        return Vec::new();
    };
    (0..table.rows())
        .map(|row| Cell::at(column, row).number())
        .collect()
}

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

/// The distinct texts in order of first appearance, and each row's index among them.
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

pub fn show(value: f64, unit: Unit) -> String {
    units::show(Cell::F64(value), unit)
}
