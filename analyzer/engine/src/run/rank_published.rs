//! The tables that tell of the run itself, where it holds ranks.

use polars::prelude::{Column, DataFrame, IntoColumn, NamedFrom, PolarsResult, Series};
use trueno_format::schema;
use trueno_model::{Coordinates, Problem, RunFacts, TableInfo};

use super::rank_tables::RANK;
use super::ranks::{Member, Ranks};
use crate::catalog::{self, RANKS};
use crate::run::segment::Segment;
use crate::run::tables;

/// Tables of the format first, then those about the run, then others.
pub(super) fn tables(ranks: &Ranks, problems: &[Problem]) -> Vec<TableInfo> {
    let event = |name: &str, doc: &str| {
        let table = ranks.tables.get(name)?;
        Some(TableInfo {
            name: name.to_owned(),
            doc: doc.to_owned(),
            columns: table.columns.clone(),
            rows: Some(table.rows),
        })
    };
    let known = schema::TABLES.iter().filter_map(|t| event(t.name, t.doc));
    let own = catalog::RUN_TABLES.into_iter().chain([RANKS]).map(|name| {
        let mut columns = catalog::run_table_columns(name);
        if matches!(name, "segments" | "problems") {
            columns.insert(0, catalog::rank_column(name == "problems"));
        }
        TableInfo {
            name: name.to_owned(),
            doc: catalog::run_table_doc(name).to_owned(),
            columns,
            rows: Some(match name {
                "segments" => ranks.segments() as u64,
                "problems" => problems.len() as u64,
                RANKS => ranks.numbers().len() as u64,
                _ => 1,
            }),
        }
    });
    let unknown = ranks.tables.keys().filter(|n| schema::table(n).is_none());
    let unknown = unknown.filter_map(|name| event(name, "not a table this program knows"));
    known.chain(own).chain(unknown).collect()
}

/// With their ranks, and names relative to the job's folder.
fn all_segments(members: &[Member]) -> Vec<(u64, Segment)> {
    let of = |member: &Member| {
        let rank = member.rank;
        let renamed = member.run.segments().iter().map(move |segment| {
            let mut segment = segment.clone();
            segment.name = format!("rank={rank}/{}", segment.name);
            (u64::from(rank), segment)
        });
        renamed.collect::<Vec<_>>()
    };
    members.iter().flat_map(of).collect()
}

pub(super) fn segments(members: &[Member]) -> PolarsResult<DataFrame> {
    let (numbers, segments): (Vec<u64>, Vec<Segment>) = all_segments(members).into_iter().unzip();
    with_ranks(
        tables::segments(&segments)?,
        Series::new(RANK.into(), numbers),
    )
}

/// `None` in `whose` is a problem of the whole job.
pub(super) fn problems(whose: &[Option<u32>], problems: &[Problem]) -> PolarsResult<DataFrame> {
    let whose = whose.iter().map(|rank| rank.map(u64::from));
    let whose: Vec<Option<u64>> = whose.collect();
    with_ranks(tables::problems(problems)?, Series::new(RANK.into(), whose))
}

fn with_ranks(frame: DataFrame, ranks: Series) -> PolarsResult<DataFrame> {
    let mut columns = vec![ranks.into_column()];
    columns.extend(frame.columns().iter().cloned());
    DataFrame::new(frame.height(), columns)
}

pub(super) fn ranks(facts: &RunFacts) -> PolarsResult<DataFrame> {
    let all = &facts.ranks;
    let column = |series: Series| -> Column { series.into_column() };
    let texts = |name: &str, values: Vec<Option<&str>>| column(Series::new(name.into(), values));
    let place = |name: &str, of: fn(&Coordinates) -> Option<u64>| {
        let values = all.iter().map(|rank| of(&rank.coordinates));
        column(Series::new(name.into(), values.collect::<Vec<_>>()))
    };
    let columns = vec![
        column(Series::new(
            RANK.into(),
            all.iter().map(|r| u64::from(r.rank)).collect::<Vec<_>>(),
        )),
        texts("run_id", all.iter().map(|r| r.run_id.as_deref()).collect()),
        texts(
            "state",
            all.iter().map(|r| Some(r.state.as_str())).collect(),
        ),
        column(Series::new(
            "complete".into(),
            all.iter().map(|r| r.complete).collect::<Vec<_>>(),
        )),
        column(Series::new(
            "offset_ns".into(),
            all.iter().map(|r| r.offset_ns).collect::<Vec<_>>(),
        )),
        column(Series::new(
            "origin_realtime_ns".into(),
            all.iter().map(|r| r.origin_realtime_ns).collect::<Vec<_>>(),
        )),
        column(Series::new(
            "wall_ns".into(),
            all.iter().map(|r| r.wall_ns).collect::<Vec<_>>(),
        )),
        column(Series::new(
            "rows".into(),
            all.iter().map(|r| r.rows).collect::<Vec<_>>(),
        )),
        column(Series::new(
            "dropped".into(),
            all.iter().map(|r| r.dropped).collect::<Vec<_>>(),
        )),
        texts(
            "host_name",
            all.iter().map(|r| r.host_name.as_deref()).collect(),
        ),
        place("pipeline", |of| of.pipeline),
        place("data", |of| of.data),
        place("tensor", |of| of.tensor),
    ];
    DataFrame::new(all.len(), columns)
}
