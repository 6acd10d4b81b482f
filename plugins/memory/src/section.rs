//! The section: its tables and findings, of one rank or of several.
//!
//! No place belongs to two ranks, so that the rows of several ranks are those of each, in the order of places.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use trueno_analysis::producer::Producer;
use trueno_plugin::{Chart, Column, ColumnType, Finding, Result, Run, Table, TableBuilder};

use crate::Options;
use crate::events::{Events, Loaded, Place};
use crate::growth::Ends;
use crate::owners::Owners;
use crate::pools::{Pool, cell};
use crate::{
    availability, churn, findings, fragments, growth, ledger, lifetimes, live, out_of_memory, peak,
    pools,
};

/// Tables of the section in the order in which they are emitted. Each has a column `place`.
pub const TABLES: [&str; 11] = [
    "places",
    "live",
    "peak_owners",
    "growth",
    "lifetimes",
    "fragmentation",
    BY_BRICK,
    "measures",
    "problems",
    "suspects",
    OUT_OF_MEMORY,
];
const OUT_OF_MEMORY: &str = "out_of_memory";
/// All tables but the last, which is about all ranks.
const TABLES_OF_RANK: usize = TABLES.len() - 1;
/// The table whose row limit applies to all places together.
const BY_BRICK: &str = "by_brick";

#[derive(Clone, Debug)]
pub struct PlaceFindings {
    pub place: Place,
    /// The most live bytes; `None`: never above 0.
    pub peak_bytes: Option<i64>,
    pub findings: Vec<Finding>,
}

#[derive(Clone, Debug, Default)]
pub struct Section {
    /// Sorted by place when tables are added.
    pub places: Vec<PlaceFindings>,
    /// In the order of [`TABLES`]; rows are sorted by place.
    pub tables: Vec<Table>,
    pub zero_rows: u64,
    /// Number of rows without a time, without bytes or with an invalid weight.
    pub broken_rows: u64,
    pub dropped: Option<u64>,
    pub producer: Producer,
}

/// Number of dropped rows from input `run`.
///
/// # Errors
/// It lacks the column or has it in another type.
pub fn dropped(of_run: &Table) -> Result<Option<u64>> {
    Ok(of_run.u64("dropped")?.iter().next().flatten())
}

impl Section {
    /// Analyses the rows of input `allocations`.
    ///
    /// # Errors
    /// An input lacks a column or has it in another type; the user wants to stop.
    pub fn from_rows(run: &mut Run, options: &Options) -> Result<Self> {
        let loaded = Loaded::load(run)?;
        let owners = Owners::load(run, loaded.has_ranks)?;
        let ends = Ends::load(run, loaded.has_ranks, loaded.window)?;
        let of_run = run.table("run")?;
        let wall_ns = of_run.i64("wall_ns")?.iter().next().flatten();
        let work = Work {
            owners,
            ends,
            wall_ns: loaded.window.map(|window| window.length_ns()).or(wall_ns),
            options,
            producer: Producer::of_run(&of_run),
        };
        let mut places = Vec::new();
        let mut tables: Vec<Vec<Table>> = vec![Vec::new(); TABLES_OF_RANK];
        let mut allocators = loaded.allocators;
        let mut ranks = loaded.ranks;
        if ranks.is_empty() {
            ranks.push(Events::default());
        }
        for events in ranks {
            let (of_rank, own) = work.of_rank(run, &events)?;
            places.extend(of_rank.into_iter().map(|mut of| {
                let state = allocators.remove(&of.place);
                let unused = state.and_then(|state| findings::unused(&of.place.name(), &state));
                of.findings.extend(unused);
                of
            }));
            for (all, table) in tables.iter_mut().zip(own) {
                all.push(table.finish()?);
            }
        }
        let failed = out_of_memory::table(&loaded.out_of_memory).finish()?;
        tables.extend([vec![failed]]);
        places.extend(allocators.iter().map(|(place, state)| PlaceFindings {
            place: *place,
            peak_bytes: None,
            findings: findings::unused(&place.name(), state).into_iter().collect(),
        }));
        for (place, failed) in &loaded.out_of_memory {
            let finding = out_of_memory::finding(&place.name(), failed);
            match places.iter_mut().find(|of| of.place == *place) {
                Some(of) => of.findings.splice(0..0, finding).for_each(drop),
                None => places.push(PlaceFindings {
                    place: *place,
                    peak_bytes: None,
                    findings: finding.into_iter().collect(),
                }),
            }
        }
        Self {
            places,
            zero_rows: loaded.zero_rows,
            broken_rows: loaded.broken_rows,
            dropped: dropped(&of_run)?,
            producer: work.producer,
            ..Self::default()
        }
        .with_tables(tables, options)
    }

    /// Adds tables, concatenating those of the same name with their rows sorted by place.
    ///
    /// # Errors
    /// Tables of one name differ in their columns.
    pub fn with_tables(mut self, tables: Vec<Vec<Table>>, options: &Options) -> Result<Self> {
        self.places.sort_by_key(|of| of.place);
        // Places of one name follow each other, in every table too.
        let names = self.places.iter().map(|of| of.place.name());
        let order: BTreeMap<String, usize> = names.zip(0..).collect();
        for of_name in tables {
            let limit = match of_name.first().map(Table::name) {
                Some(BY_BRICK) => usize::try_from(options.rows).unwrap_or(usize::MAX),
                _ => usize::MAX,
            };
            self.tables.extend(arranged(of_name, &order, limit)?);
        }
        Ok(self)
    }

    /// Emits tables, findings and charts.
    ///
    /// # Errors
    /// The host refuses a table.
    pub fn emit(self, run: &mut Run) -> Result<()> {
        let has_rows = self.tables.first().is_some_and(|places| places.rows() > 0);
        if !has_rows {
            run.emit(availability::nothing_recorded(self.producer))?;
            let mut tables = self.tables.into_iter();
            if let Some(failed) = tables.find(|of| of.name() == OUT_OF_MEMORY && of.rows() > 0) {
                run.emit(builder(failed))?;
            }
            let mut states = self
                .places
                .into_iter()
                .flat_map(|of| of.findings)
                .peekable();
            let left_out = self.zero_rows.saturating_add(self.broken_rows);
            let nothing = match (left_out, states.peek()) {
                (0, Some(_)) => findings::no_history(self.producer),
                _ => findings::nothing_recorded(left_out, self.producer),
            };
            for finding in states.chain([nothing]) {
                run.finding(finding)?;
            }
            return Ok(());
        }
        for table in self.tables {
            run.emit(builder(table))?;
        }
        // The place with the most bytes leads.
        let mut places = self.places;
        places.sort_by_key(|of| Reverse(of.peak_bytes));
        let of_places = places.into_iter().flat_map(|of| of.findings);
        let missing = findings::rows_missing(self.dropped).into_iter();
        let left_out = findings::left_out(self.zero_rows, self.broken_rows);
        for finding in missing.chain(of_places).chain(left_out) {
            run.finding(finding)?;
        }
        run.chart(
            Chart::line("live bytes", "live", "time_ns", "live_bytes")
                .series("series")
                .axes("time", "live bytes"),
        )
    }
}

pub fn builder(table: Table) -> TableBuilder {
    let start = Table::build(table.name());
    let columns = table.into_columns().into_iter();
    columns.fold(start, |table, (name, column)| table.column(&name, column))
}

struct Work<'a> {
    owners: Owners,
    ends: Ends,
    wall_ns: Option<i64>,
    options: &'a Options,
    producer: Producer,
}

impl Work<'_> {
    /// Findings by place, and [`TABLES`], of one rank.
    fn of_rank(
        &self,
        run: &Run,
        events: &Events,
    ) -> Result<(Vec<PlaceFindings>, [TableBuilder; TABLES_OF_RANK])> {
        let (options, wall_ns) = (self.options, self.wall_ns);
        let mut pools = Vec::with_capacity(events.places.len());
        for place in 0..events.places.len() {
            run.check_cancelled()?;
            pools.push(Pool::from_rows(events, place, &self.ends));
        }
        let churn = churn::rows(events, &self.owners);
        let places = pools.iter().map(|pool| PlaceFindings {
            place: events.places[pool.place],
            peak_bytes: pool.peak.as_ref().map(|peak| cell(peak.bytes)),
            findings: findings::of_place(events, pool, &churn, options),
        });
        let tables = [
            pools::table(events, &pools, wall_ns),
            live::table(events, &pools, wall_ns, options),
            peak::table(events, &pools, &self.owners, options),
            growth::table(events, &pools, options),
            lifetimes::table(events, &pools),
            fragments::table(events, &pools),
            churn::table(events, &churn, options),
            availability::table(events, &pools, wall_ns, self.producer),
            pools::problems(events, &pools),
            ledger::table(events, &pools),
        ];
        Ok((places.collect(), tables))
    }
}

/// Concatenates tables of one name with their rows sorted by place; ties keep their order. `None` if there are no
/// tables.
fn arranged(
    mut tables: Vec<Table>,
    order: &BTreeMap<String, usize>,
    limit: usize,
) -> Result<Option<Table>> {
    let mut rows: Vec<(usize, usize, usize)> = Vec::new();
    for (number, table) in tables.iter().enumerate() {
        for (row, place) in table.text("place")?.iter().enumerate() {
            let place = place.and_then(|place| order.get(place));
            rows.push((place.copied().unwrap_or(usize::MAX), number, row));
        }
    }
    if tables.len() <= 1 && rows.len() <= limit && rows.is_sorted() {
        return Ok(tables.pop());
    }
    rows.sort_unstable();
    rows.truncate(limit);
    let Some(first) = tables.first() else {
        return Ok(None);
    };
    let mut out = Table::build(first.name());
    for (name, column) in first.columns() {
        let columns: Vec<&Column> = tables
            .iter()
            .map(|table| table.column(name))
            .collect::<Result<_>>()?;
        // All are made by one function, so that a column has one type.
        macro_rules! cells {
            ($kind:ident) => {
                rows.iter().map(|(_, number, row)| match columns[*number] {
                    Column::$kind(cells) => cells.get(*row),
                    _ => None,
                })
            };
        }
        out = match column.ty() {
            ColumnType::I64 => out.i64(name, cells!(I64)),
            ColumnType::U64 => out.u64(name, cells!(U64)),
            ColumnType::F64 => out.f64(name, cells!(F64)),
            ColumnType::Bool => out.bool(name, cells!(Bool)),
            ColumnType::Text => out.text(name, cells!(Text)),
        };
    }
    out.finish().map(Some)
}
