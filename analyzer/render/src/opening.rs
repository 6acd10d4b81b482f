//! Opening of a report: the tables of plugin `summary` as the forms show them.

use trueno_model::units::{self, Unit};
use trueno_model::{Cell, Report};
use trueno_plugin::{Column, Table};

pub const PLUGIN: &str = "summary";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Kernels other than communication.
    Computation,
    /// Communication without concurrent computation.
    Communication,
    /// Copies without concurrent computation or communication.
    Copy,
    /// Nothing, between the first and the last work.
    Idle,
    /// Before the first and after the last work.
    Outside,
}

impl Kind {
    pub const ALL: [Self; 5] = [
        Self::Computation,
        Self::Communication,
        Self::Copy,
        Self::Idle,
        Self::Outside,
    ];

    fn column(self) -> &'static str {
        match self {
            Self::Computation => "computation_ns",
            Self::Communication => "communication_ns",
            Self::Copy => "copy_ns",
            Self::Idle => "idle_ns",
            Self::Outside => "outside_ns",
        }
    }

    pub fn class(self) -> &'static str {
        match self {
            Self::Computation => "computation",
            Self::Communication => "communication",
            Self::Copy => "copy",
            Self::Idle => "idle",
            Self::Outside => "outside",
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Computation => "computation",
            Self::Communication => "exposed communication",
            Self::Copy => "exposed copies",
            Self::Idle => "idle",
            Self::Outside => "before and after its work",
        }
    }
}

/// Causes of idle time: column of the table `devices`, and description.
const CAUSES: [(&str, &str); 4] = [
    ("not_queued_ns", "no work queued"),
    ("launching_ns", "being launched"),
    ("not_started_ns", "queued but not started"),
    ("not_known_ns", "cause not known"),
];

/// Smaller shares appear only in the bar.
const MIN_TOLD: f64 = 0.0005;

#[derive(Clone, Debug, PartialEq)]
pub struct Device {
    /// `gpu0 · NVIDIA H100 · peak 2.09 GB of 85 GB`.
    pub title: String,
    pub place: String,
    /// Shares of the run, which add up to 1.
    pub parts: Vec<(Kind, f64)>,
    /// Descriptions of the parts, idle time with its causes. The smallest parts are left out.
    pub words: Vec<(Kind, String)>,
}

impl Device {
    pub fn share(&self, of: Kind) -> f64 {
        let parts = self.parts.iter().filter(|(kind, _)| *kind == of);
        parts.fold(0.0, |sum, (_, share)| sum + share)
    }

    pub fn legend(&self) -> String {
        let words: Vec<&str> = self.words.iter().map(|(_, words)| words.as_str()).collect();
        words.join(" · ")
    }
}

const KERNEL_COLUMNS: [&str; 7] = [
    "kernel",
    "calls",
    "mean_ns",
    "dur_ns",
    "share",
    "launched_by",
    "occupancy",
];

#[derive(Clone, Copy, Debug)]
pub struct Opening<'a> {
    tables: &'a [Table],
}

impl<'a> Opening<'a> {
    /// The section, if its plugin ran and returned a sentence.
    pub fn new(report: &'a Report) -> Option<Self> {
        let section = report.sections.iter().find(|one| one.plugin == PLUGIN)?;
        let opening = Self {
            tables: &section.tables,
        };
        opening.sentence().map(|_| opening)
    }

    fn table(&self, name: &str) -> Option<&'a Table> {
        self.tables.iter().find(|table| table.name() == name)
    }

    /// A cell of the table `headline`, which has one row.
    pub fn headline(&self, column: &str) -> Cell<'a> {
        self.table("headline")
            .map_or(Cell::Null, |table| cell(table, column, 0))
    }

    /// `None` if not measured.
    pub fn shown(&self, column: &str) -> Option<String> {
        match self.headline(column) {
            Cell::Null => None,
            cell => Some(units::show(cell, Unit::from_column(column))),
        }
    }

    pub fn sentence(&self) -> Option<&'a str> {
        match self.headline("sentence") {
            Cell::Text(text) => Some(text),
            _ => None,
        }
    }

    pub fn kernels(&self) -> Option<Table> {
        let table = self.table("kernels").filter(|table| table.rows() > 0)?;
        let columns = KERNEL_COLUMNS.into_iter();
        let is_shown =
            |name: &str, column: &Column| name != "occupancy" || column.null_count() < column.len();
        let columns = columns.filter_map(|name| {
            let column = table.column(name).ok()?;
            is_shown(name, column).then(|| (name.to_owned(), column.clone()))
        });
        Table::from_columns(table.name(), columns.collect()).ok()
    }

    pub fn devices(&self) -> Vec<Device> {
        let Some(table) = self.table("devices") else {
            return Vec::new();
        };
        (0..table.rows()).map(|row| device(table, row)).collect()
    }
}

fn cell<'a>(table: &'a Table, column: &str, row: usize) -> Cell<'a> {
    match table.column(column) {
        Ok(column) if row < table.rows() => Cell::at(column, row),
        _ => Cell::Null,
    }
}

fn text<'a>(table: &'a Table, column: &str, row: usize) -> Option<&'a str> {
    match cell(table, column, row) {
        Cell::Text(text) => Some(text),
        _ => None,
    }
}

fn device(table: &Table, row: usize) -> Device {
    let number = |column: &str| cell(table, column, row).number();
    let place = text(table, "place", row).unwrap_or_default().to_owned();
    let mut title = vec![place.clone()];
    title.extend(text(table, "model", row).map(str::to_owned));
    let bytes = |column: &str| number(column).map(|bytes| units::scaled(bytes, "B"));
    title.extend(bytes("peak_bytes").map(|peak| match bytes("memory_bytes") {
        Some(all) => format!("peak {peak} of {all}"),
        None => format!("peak {peak}"),
    }));
    let ns = |kind: Kind| number(kind.column()).unwrap_or(0.0).max(0.0);
    let whole: f64 = Kind::ALL.into_iter().map(ns).sum();
    let share = |ns: f64| if whole > 0.0 { ns / whole } else { 0.0 };
    let parts: Vec<_> = Kind::ALL
        .into_iter()
        .map(|kind| (kind, share(ns(kind))))
        .filter(|(_, share)| *share > 0.0)
        .collect();
    let causes = CAUSES.iter().filter_map(|(column, words)| {
        let share = share(number(column).filter(|ns| *ns > 0.0)?);
        Some(format!("{words} {}", units::percent(share)))
    });
    let causes: Vec<String> = causes.collect();
    let told = parts.iter().filter(|(_, share)| *share >= MIN_TOLD);
    let words = told.map(|(kind, share)| {
        let text = format!("{} {}", kind.name(), units::percent(*share));
        match kind {
            Kind::Idle if !causes.is_empty() => (*kind, format!("{text} ({})", causes.join(", "))),
            _ => (*kind, text),
        }
    });
    Device {
        words: words.collect(),
        title: title.join(" · "),
        place,
        parts,
    }
}
