//! Ranks of jobs and their collectives, for people and as tables with exact values for a page.

use trueno_model::Cell;
use trueno_model::units::{self, NOT_MEASURED, Unit};
use trueno_plugin::Table;

use super::page_tables::Part;
use super::wording::signed;
use super::{Grid, Holds, Sheet};
use crate::runs::Comparison;
use crate::runs::jobs::{CollectiveFigures, CollectiveRow, RankFigures, RankRow};

const RANKS: &str = "Ranks that others waited for";
const RANKS_LEAD: &str = "caused: time that others waited for the rank in collectives; waited: time that it \
                          waited for others; only collectives whose last rank is known; means over the runs of a side";
const COLLECTIVES: &str = "Collectives";
const COLLECTIVES_LEAD: &str = "by operation, size and number of ranks; transfer: the shortest time of any rank in it, without \
                                waiting; bus: bandwidth as nccl-tests defines it; means over the runs of a side, the \
                                largest change of all transfers first";

fn shown<F>(figures: &Option<F>, value: impl Fn(&F) -> Option<f64>, column: &str) -> String {
    match figures.as_ref().and_then(value) {
        Some(value) => units::show(Cell::F64(value), Unit::from_column(column)),
        None => NOT_MEASURED.to_owned(),
    }
}

/// The sheets, with `top` rows each; empty if a side is not a job.
pub fn job_sheets(comparison: &Comparison, top: usize) -> Vec<Sheet> {
    let Some(jobs) = &comparison.jobs else {
        return Vec::new();
    };
    let ranks = jobs.ranks.iter().take(top).map(|row| {
        let pair = |value: fn(&RankFigures) -> Option<f64>| {
            [&row.base, &row.run].map(|side| shown(side, value, "caused_ns"))
        };
        let last = |side: &Option<RankFigures>| match side {
            Some(of) => format!("{:.0} of {:.0}", of.last, of.with_last),
            None => NOT_MEASURED.to_owned(),
        };
        let [base, run] = pair(|of| of.caused_ns);
        let waited = pair(|of| of.waited_ns).join(" → ");
        let change = row.change_ns();
        let cells = vec![
            row.rank.to_string(),
            base,
            run,
            change.map_or(NOT_MEASURED.to_owned(), signed),
            format!("{} → {}", last(&row.base), last(&row.run)),
            waited,
        ];
        (cells, None)
    });
    let ranks = Sheet {
        heading: RANKS,
        lead: vec![RANKS_LEAD.to_owned()],
        left_out: jobs.ranks.len().saturating_sub(top),
        grid: Grid {
            columns: vec![
                ("rank", Holds::Names),
                ("base", Holds::Numbers),
                ("run", Holds::Numbers),
                ("change", Holds::Numbers),
                ("last", Holds::MoreNumbers),
                ("waited", Holds::MoreNumbers),
            ],
            rows: ranks.collect(),
        },
    };
    let collectives = jobs.collectives.iter().take(top).map(|row| {
        let pair = |value: fn(&CollectiveFigures) -> Option<f64>, column: &'static str| {
            [&row.base, &row.run].map(|side| shown(side, value, column))
        };
        let [base, run] = pair(|of| of.transfer_ns, "transfer_ns");
        let bytes = row.bytes.map(Cell::U64);
        let bytes = bytes.map_or(NOT_MEASURED.to_owned(), |bytes| {
            units::show(bytes, Unit::from_column("bytes"))
        });
        let cells = vec![
            row.operation.clone(),
            bytes,
            row.ranks.to_string(),
            base,
            run,
            signed(row.change_ns()),
            pair(|of| of.bus_bytes_per_s, "bus_bytes_per_s").join(" → "),
            pair(|of| of.skew_ns, "skew_ns").join(" → "),
            pair(|of| Some(of.collectives), "collectives").join(" → "),
        ];
        (cells, None)
    });
    let collectives = Sheet {
        heading: COLLECTIVES,
        lead: vec![COLLECTIVES_LEAD.to_owned()],
        left_out: jobs.collectives.len().saturating_sub(top),
        grid: Grid {
            columns: vec![
                ("operation", Holds::Names),
                ("bytes", Holds::Numbers),
                ("ranks", Holds::Numbers),
                ("base", Holds::Numbers),
                ("run", Holds::Numbers),
                ("all transfers", Holds::Numbers),
                ("bus", Holds::MoreNumbers),
                ("skew", Holds::MoreNumbers),
                ("collectives", Holds::MoreNumbers),
            ],
            rows: collectives.collect(),
        },
    };
    vec![ranks, collectives]
}

pub fn job_parts(comparison: &Comparison) -> Vec<Part> {
    let Some(jobs) = &comparison.jobs else {
        return Vec::new();
    };
    let parts = [
        rank_table(&jobs.ranks).map(|table| Part {
            id: "ranks",
            word: "ranks",
            heading: RANKS,
            lead: RANKS_LEAD.to_owned(),
            table,
        }),
        collective_table(&jobs.collectives).map(|table| Part {
            id: "collectives",
            word: "collectives",
            heading: COLLECTIVES,
            lead: COLLECTIVES_LEAD.to_owned(),
            table,
        }),
    ];
    parts.into_iter().flatten().collect()
}

fn rank_table(rows: &[RankRow]) -> Option<Table> {
    let base = |value: fn(&RankFigures) -> Option<f64>| {
        rows.iter()
            .map(move |row| row.base.as_ref().and_then(value))
    };
    let run = |value: fn(&RankFigures) -> Option<f64>| {
        rows.iter().map(move |row| row.run.as_ref().and_then(value))
    };
    Table::build("ranks")
        .u64("rank", rows.iter().map(|row| row.rank))
        .f64("base_caused_ns", base(|of| of.caused_ns))
        .f64("run_caused_ns", run(|of| of.caused_ns))
        .f64("change_ns", rows.iter().map(RankRow::change_ns))
        .f64("base_last", base(|of| Some(of.last)))
        .f64("run_last", run(|of| Some(of.last)))
        .f64("base_with_last", base(|of| Some(of.with_last)))
        .f64("run_with_last", run(|of| Some(of.with_last)))
        .f64("base_waited_ns", base(|of| of.waited_ns))
        .f64("run_waited_ns", run(|of| of.waited_ns))
        .finish()
        .ok()
}

fn collective_table(rows: &[CollectiveRow]) -> Option<Table> {
    let base = |value: fn(&CollectiveFigures) -> Option<f64>| {
        rows.iter()
            .map(move |row| row.base.as_ref().and_then(value))
    };
    let run = |value: fn(&CollectiveFigures) -> Option<f64>| {
        rows.iter().map(move |row| row.run.as_ref().and_then(value))
    };
    Table::build("collectives")
        .text("operation", rows.iter().map(|row| row.operation.as_str()))
        .u64("bytes", rows.iter().map(|row| row.bytes))
        .u64("ranks", rows.iter().map(|row| row.ranks))
        .f64("base_transfer_ns", base(|of| of.transfer_ns))
        .f64("run_transfer_ns", run(|of| of.transfer_ns))
        .f64("change_ns", rows.iter().map(CollectiveRow::change_ns))
        .f64("base_bus_bytes_per_s", base(|of| of.bus_bytes_per_s))
        .f64("run_bus_bytes_per_s", run(|of| of.bus_bytes_per_s))
        .f64("base_skew_ns", base(|of| of.skew_ns))
        .f64("run_skew_ns", run(|of| of.skew_ns))
        .f64("base_collectives", base(|of| Some(of.collectives)))
        .f64("run_collectives", run(|of| Some(of.collectives)))
        .finish()
        .ok()
}
