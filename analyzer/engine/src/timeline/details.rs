//! Words about intervals, and which led to which, of runs of which every interval is kept.

use std::collections::HashMap;

use polars::prelude::DataFrame;
use trueno_model::timeline::{Link, Timeline};
use trueno_model::{shapes, width};

use super::read::ask;
use crate::attributes::Attributes;
use crate::frame::{i64_at, text_at};
use crate::query::{Database, QueryError};

/// Reads details of the intervals and the links between them.
///
/// An interval is linked to another by an edge, by the correlation of a call and its work or, for work without a
/// recorded call, by its row of `bricks`.
pub(super) fn add(database: &Database, made: &mut Timeline) -> Result<(), QueryError> {
    let mut details = Details::new(made);
    let signatures = signatures(database);
    details.each(database, BRICKS, |row| {
        [
            row.text("backend").map(str::to_owned),
            row.text("category")
                .map(|name| format!("category {name}, as recorded")),
            row.number("signature")
                .and_then(|id| signatures.get(&id).cloned()),
        ]
    })?;
    details.each(database, KERNELS, |row| {
        let grid = ["grid_x", "grid_y", "grid_z"];
        let block = ["block_x", "block_y", "block_z"];
        let shared = row
            .number("smem")
            .or_else(|| row.sum(["smem_static", "smem_dynamic"]));
        [
            row.text("backend")
                .filter(|name| *name != "cuda")
                .map(str::to_owned),
            row.extent(grid).map(|size| format!("grid {size}")),
            row.extent(block).map(|size| format!("block {size}")),
            row.number("registers")
                .map(|count| format!("{count} registers")),
            shared.map(|bytes| format!("{bytes} B shared")),
        ]
    })?;
    details.each(database, TRANSFERS, |row| {
        let kinds = row.text("src_kind").zip(row.text("dst_kind"));
        [
            row.number("bytes").map(|bytes| format!("{bytes} B")),
            kinds.map(|(from, to)| format!("{from} to {to}")),
        ]
    })?;
    details.each(database, SYNCS, |row| {
        [row.text("kind").map(|kind| format!("waits for: {kind}"))]
    })?;
    details.attributes(&Attributes::read(database)?);
    details.made.links = links(database, &details.places)?;
    Ok(())
}

/// Limit for the characters of a row's attributes, because a page contains those of all rows.
const MAX_ATTRIBUTES: usize = 200;

const BRICKS: &str = "SELECT id, backend, category, signature FROM bricks";
const KERNELS: &str = "SELECT id, backend, grid_x, grid_y, grid_z, block_x, block_y, block_z, registers, smem, \
     smem_static, smem_dynamic FROM kernels";
const TRANSFERS: &str = "SELECT id, bytes, src_kind, dst_kind FROM transfers";
const SYNCS: &str = "SELECT id, kind FROM syncs";

type Places = HashMap<i64, u32>;

struct Details<'t> {
    made: &'t mut Timeline,
    places: Places,
    /// For each interval, its row of the timeline and index there.
    at: Vec<(u32, u32)>,
    numbers: HashMap<String, u32>,
}

impl<'t> Details<'t> {
    fn new(made: &'t mut Timeline) -> Self {
        let mut places = Places::new();
        let mut at = Vec::new();
        for (row, of) in made.rows.iter().enumerate() {
            for (place, span) in of.spans.iter().enumerate() {
                places.insert(span.id, at.len() as u32);
                at.push((row as u32, place as u32));
            }
        }
        made.details = vec![String::new()];
        Self {
            made,
            places,
            at,
            numbers: HashMap::from([(String::new(), 0)]),
        }
    }

    fn each<const N: usize>(
        &mut self,
        database: &Database,
        sql: &str,
        say: impl Fn(Row<'_>) -> [Option<String>; N],
    ) -> Result<(), QueryError> {
        let frame = ask(database, sql)?;
        for row in 0..frame.height() {
            let row = Row { frame: &frame, row };
            let Some(place) = row.number("id").and_then(|id| self.places.get(&id)) else {
                continue;
            };
            let said: Vec<String> = say(row).into_iter().flatten().collect();
            let (row, place) = self.at[*place as usize];
            let detail = self.number(said.join(" · "));
            self.made.rows[row as usize].spans[place as usize].detail = detail;
        }
        Ok(())
    }

    /// Appends the program's attributes to the details of rows.
    fn attributes(&mut self, attributes: &Attributes) {
        if attributes.is_empty() {
            return;
        }
        for at in 0..self.at.len() {
            let (row, place) = self.at[at];
            let span = self.made.rows[row as usize].spans[place as usize];
            let said = attributes.text(span.id.cast_unsigned());
            let said = width::shorten(&said, MAX_ATTRIBUTES);
            if said.is_empty() {
                continue;
            }
            let before = &self.made.details[span.detail as usize];
            let both = if before.is_empty() {
                said.into_owned()
            } else {
                format!("{before} · {said}")
            };
            let detail = self.number(both);
            self.made.rows[row as usize].spans[place as usize].detail = detail;
        }
    }

    fn number(&mut self, text: String) -> u32 {
        let next = self.made.details.len() as u32;
        let details = &mut self.made.details;
        *self.numbers.entry(text).or_insert_with_key(|text| {
            details.push(text.clone());
            next
        })
    }
}

#[derive(Clone, Copy)]
struct Row<'f> {
    frame: &'f DataFrame,
    row: usize,
}

impl<'f> Row<'f> {
    fn text(self, column: &str) -> Option<&'f str> {
        text_at(self.frame, column, self.row).filter(|text| !text.is_empty())
    }

    fn number(self, column: &str) -> Option<i64> {
        i64_at(self.frame, column, self.row)
    }

    fn sum(self, columns: [&str; 2]) -> Option<i64> {
        let there = columns.into_iter().filter_map(|column| self.number(column));
        there.reduce(i64::saturating_add)
    }

    /// Formats `128×4×1`.
    fn extent(self, columns: [&str; 3]) -> Option<String> {
        let sizes = columns.map(|column| self.number(column));
        let [Some(x), Some(y), Some(z)] = sizes else {
            return None;
        };
        Some(format!("{x}×{y}×{z}"))
    }
}

/// Dimensions by id; empty if the run was written by a version without them.
fn signatures(database: &Database) -> HashMap<i64, String> {
    let sql = "SELECT id, input_dims FROM signatures";
    let Ok(frame) = ask(database, sql) else {
        return HashMap::new();
    };
    let rows = (0..frame.height()).map(|row| Row { frame: &frame, row });
    let each = rows.filter_map(|row| {
        let dims = row.text("input_dims")?;
        let shown = shapes::short(dims).unwrap_or_else(|| dims.to_owned());
        Some((row.number("id")?, shown))
    });
    each.collect()
}

fn links(database: &Database, places: &Places) -> Result<Vec<Link>, QueryError> {
    let mut links = Vec::new();
    let mut link = |from: Option<i64>, to: Option<i64>| {
        let place = |id: Option<i64>| places.get(&id?).copied();
        if let (Some(from), Some(to)) = (place(from), place(to))
            && from != to
        {
            links.push(Link { from, to });
        }
    };
    let edges = ask(database, "SELECT \"from\", \"to\" FROM edges")?;
    for row in 0..edges.height() {
        link(i64_at(&edges, "from", row), i64_at(&edges, "to", row));
    }
    let sql = "SELECT id, correlation FROM calls WHERE correlation IS NOT NULL";
    let frame = ask(database, sql)?;
    let calls = (0..frame.height()).filter_map(|row| {
        let correlation = i64_at(&frame, "correlation", row)?;
        Some((correlation, i64_at(&frame, "id", row)?))
    });
    let calls: HashMap<i64, i64> = calls.collect();
    for table in ["kernels", "transfers"] {
        let sql = format!("SELECT id, brick, correlation FROM {table} WHERE device IS NOT NULL");
        let frame = ask(database, &sql)?;
        for row in 0..frame.height() {
            let correlation = i64_at(&frame, "correlation", row);
            let call = correlation.and_then(|number| calls.get(&number)).copied();
            link(
                call.or(i64_at(&frame, "brick", row)),
                i64_at(&frame, "id", row),
            );
        }
    }
    links.sort_unstable();
    links.dedup();
    Ok(links)
}
