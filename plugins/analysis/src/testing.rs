//! Runs written by hand, for tests of plugins that read [`lanes`](crate::lanes): rows in, inputs out.

pub mod simulated_job;
pub mod simulated_pipeline;

use trueno_plugin::{Table, TableBuilder};

/// A row of any table with intervals; what a table does not have is not used.
#[derive(Clone, Debug, Default)]
pub struct Row {
    /// Unique in the run.
    pub id: u64,
    /// Of device work and calls: the brick it names.
    pub brick: Option<u64>,
    /// The thread, row of `threads`.
    pub thread: Option<i64>,
    /// The device of device work.
    pub device: Option<i64>,
    /// Its stream.
    pub stream: Option<i64>,
    /// Start.
    pub start_ns: i64,
    /// Its duration.
    pub dur_ns: i64,
    /// Of bricks: `layer`, `brick`, `task`, …
    pub kind: &'static str,
    /// Name; of waits, tiles and transfers the kind, level and direction.
    pub name: &'static str,
    /// Recorded category of a brick.
    pub category: Option<&'static str>,
    /// Declared elements.
    pub elements: Option<u64>,
    /// Times that only contain the work.
    pub bound: bool,
    /// Kernels marked not valid.
    pub invalid: bool,
}

/// Tables of a run.
#[derive(Clone, Debug, Default)]
pub struct RunFixture {
    /// Length of the run.
    pub wall_ns: Option<i64>,
    /// Number and name.
    pub threads: Vec<(i64, Option<&'static str>)>,
    /// Table `bricks`.
    pub bricks: Vec<Row>,
    /// Table `kernels`.
    pub kernels: Vec<Row>,
    /// Table `tiles`.
    pub tiles: Vec<Row>,
    /// Table `syncs`.
    pub syncs: Vec<Row>,
    /// Table `calls`.
    pub calls: Vec<Row>,
    /// Table `transfers`.
    pub transfers: Vec<Row>,
    /// Name and category.
    pub rules: Vec<(&'static str, &'static str)>,
}

/// An interval on thread 0.
pub fn interval(
    id: u64,
    kind: &'static str,
    name: &'static str,
    start_ns: i64,
    end_ns: i64,
) -> Row {
    Row {
        id,
        kind,
        name,
        start_ns,
        dur_ns: end_ns - start_ns,
        thread: Some(0),
        ..Row::default()
    }
}

impl Row {
    /// The same with a recorded category.
    pub fn category(self, category: &'static str) -> Self {
        Self {
            category: Some(category),
            ..self
        }
    }

    /// The same on another thread.
    pub fn thread(self, thread: i64) -> Self {
        Self {
            thread: Some(thread),
            ..self
        }
    }

    /// The same on a stream of a device.
    pub fn stream(self, device: i64, stream: i64) -> Self {
        Self {
            device: Some(device),
            stream: Some(stream),
            ..self
        }
    }

    /// The same with declared elements.
    pub fn elements(self, elements: u64) -> Self {
        Self {
            elements: Some(elements),
            ..self
        }
    }
}

/// Numbers of texts that are far apart and not in the order of appearance.
fn number(texts: &mut Vec<&'static str>, text: &'static str) -> i64 {
    let at = texts
        .iter()
        .position(|known| *known == text)
        .unwrap_or_else(|| {
            texts.push(text);
            texts.len() - 1
        });
    1_000_000 - 7 * at as i64
}

type TextOf = fn(&Row) -> Option<&'static str>;

/// A table of intervals and the lists of its distinct texts. `numbered` has list, column and text of each.
fn rows(
    table: &'static str,
    rows: &[Row],
    numbered: &[(&'static str, &'static str, TextOf)],
    extra: impl Fn(TableBuilder, &[Row]) -> TableBuilder,
) -> Vec<TableBuilder> {
    let mut built = Table::build(table)
        .u64("id", rows.iter().map(|row| row.id))
        .i64("thread", rows.iter().map(|row| row.thread))
        .i64("start_ns", rows.iter().map(|row| row.start_ns))
        .i64("dur_ns", rows.iter().map(|row| row.dur_ns));
    let mut out = Vec::new();
    for (list, column, of) in numbered {
        let mut texts = Vec::new();
        let numbers: Vec<Option<i64>> = rows
            .iter()
            .map(|row| of(row).map(|text| number(&mut texts, text)))
            .collect();
        built = built.i64(column, numbers);
        let ids: Vec<Option<i64>> = texts
            .clone()
            .iter()
            .map(|text| Some(number(&mut texts, text)))
            .collect();
        // As SELECT DISTINCT does, a null is listed too.
        out.push(
            Table::build(*list)
                .i64("id", ids.into_iter().chain([None]))
                .text("text", texts.iter().copied().map(Some).chain([None])),
        );
    }
    out.push(extra(built, rows));
    out
}

impl RunFixture {
    /// The inputs that reading lanes asks for.
    pub fn inputs(&self) -> Vec<TableBuilder> {
        let device = |table: TableBuilder, rows: &[Row]| {
            table
                .i64("device", rows.iter().map(|row| row.device))
                .i64("stream", rows.iter().map(|row| row.stream))
        };
        let brick = |table: TableBuilder, rows: &[Row]| {
            table.u64("brick", rows.iter().map(|row| row.brick))
        };
        let elements = |table: TableBuilder, rows: &[Row]| {
            table.u64("elements", rows.iter().map(|row| row.elements))
        };
        let bound = |table: TableBuilder, rows: &[Row]| {
            table.bool("is_bound", rows.iter().map(|row| row.bound))
        };
        let valid = |table: TableBuilder, rows: &[Row]| {
            table.bool("valid", rows.iter().map(|row| !row.invalid))
        };
        let name: fn(&Row) -> Option<&'static str> = |row| Some(row.name);
        let mut out = vec![
            Table::build("run").i64("wall_ns", [self.wall_ns]),
            Table::build("threads")
                .i64("thread", self.threads.iter().map(|(thread, _)| *thread))
                .text("name", self.threads.iter().map(|(_, name)| *name)),
        ];
        if !self.rules.is_empty() {
            out.push(
                Table::build("category_rules")
                    .text("name", self.rules.iter().map(|(name, _)| Some(*name)))
                    .text("category", self.rules.iter().map(|(_, to)| Some(*to))),
            );
        }
        out.extend(rows(
            "bricks",
            &self.bricks,
            &[
                ("brick_kinds", "kind_id", |row| Some(row.kind)),
                ("brick_names", "name_id", name),
                ("brick_categories", "category_id", |row| row.category),
            ],
            |table, rows| bound(elements(table, rows), rows),
        ));
        out.extend(rows(
            "kernels",
            &self.kernels,
            &[("kernel_names", "name_id", name)],
            |table, rows| {
                valid(
                    bound(elements(brick(device(table, rows), rows), rows), rows),
                    rows,
                )
            },
        ));
        out.extend(rows(
            "tiles",
            &self.tiles,
            &[("tile_levels", "level_id", name)],
            elements,
        ));
        out.extend(rows(
            "syncs",
            &self.syncs,
            &[("sync_kinds", "kind_id", name)],
            device,
        ));
        out.extend(rows(
            "calls",
            &self.calls,
            &[("call_names", "name_id", name)],
            brick,
        ));
        out.extend(rows(
            "transfers",
            &self.transfers,
            &[("transfer_directions", "direction_id", name)],
            |table, rows| bound(brick(device(table, rows), rows), rows),
        ));
        out
    }
}

/// The cells of these columns, a line a row, as `a | b | c`; null is `-`.
///
/// # Panics
/// The table lacks a column.
pub fn lines(table: &Table, columns: &[&str]) -> Vec<String> {
    lines_with(table, columns, None)
}

/// As [`lines`]; doubles have four digits behind the point.
///
/// # Panics
/// As [`lines`].
pub fn lines_rounded(table: &Table, columns: &[&str]) -> Vec<String> {
    lines_with(table, columns, Some(|value| format!("{value:.4}")))
}

/// As [`lines`]; doubles have four significant digits.
///
/// # Panics
/// As [`lines`].
pub fn lines_significant(table: &Table, columns: &[&str]) -> Vec<String> {
    let significant = |value: f64| {
        let rounded: f64 = format!("{value:.3e}").parse().unwrap_or(f64::NAN);
        rounded.to_string()
    };
    lines_with(table, columns, Some(significant))
}

fn lines_with(table: &Table, columns: &[&str], double: Option<fn(f64) -> String>) -> Vec<String> {
    let cell = |name: &&str, row: usize| {
        let column = table.column(name).expect("the table has the column");
        let Some(text) = column.cell_text(row) else {
            return "-".to_owned();
        };
        match (double, table.f64(name)) {
            (Some(double), Ok(values)) => double(values.value(row)),
            _ => text,
        }
    };
    let line = |row: usize| {
        let cells: Vec<String> = columns.iter().map(|column| cell(column, row)).collect();
        cells.join(" | ")
    };
    (0..table.rows()).map(line).collect()
}
