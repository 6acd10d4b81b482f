//! A run's lanes as frames on standard output, for the server that started this process.

use std::io::{self, BufWriter};

use trueno_display_names::DisplayNames;
use trueno_engine::run::Run;
use trueno_engine::timeline::{RunIntervals, curves, intervals};
use trueno_host::plugin::OwnOutput;
use trueno_model::RunFacts;
use trueno_model::timeline;
use trueno_model::units::{self, Unit};
use trueno_model::width::printable;
use trueno_model::{Cell, exit};
use trueno_serve::timeline::{Curve, FrameWriter, Head, Label, LaneHead, Span};

use super::super::runs::Runs;
use crate::cli::ServeLanesArgs;

/// Deepest rows of a lane to show. Deeper ones are counted.
const MAX_DEPTH: u8 = 250;

pub(in super::super) fn lane_frames(args: &ServeLanesArgs, runs: &Runs<'_>) -> anyhow::Result<u8> {
    let run = runs.open(&args.run)?;
    let mut to = FrameWriter::new(BufWriter::with_capacity(1 << 18, OwnOutput::Stdout));
    to.head(&head(&run))?;
    let mut told: io::Result<()> = Ok(());
    let database = run.sql_context()?;
    let of_ranks = !run.ranks().is_empty();
    let found = intervals(&database, of_ranks, MAX_DEPTH, &mut |rows| {
        if told.is_ok() {
            told = to.progress(rows);
        }
    })?;
    told?;
    let spans = found.lanes.iter().map(|lane| lane.intervals.len() as u64);
    let window_ns = (0, run.facts().wall_ns.unwrap_or(0).max(last_ns(&found)));
    let mut curves = curves(&database, of_ranks, spans.sum(), window_ns)?;
    for (lanes, curve) in &mut curves {
        let is_of_device = |name: &str| lanes.as_ref().is_some_and(|of| name.starts_with(of));
        let last = found
            .lanes
            .iter()
            .rposition(|lane| is_of_device(&lane.name));
        curve.after = last.map_or(found.lanes.len(), |at| at + 1);
    }
    to.curves(&curves.iter().map(|(_, of)| frame(of)).collect::<Vec<_>>())?;
    write(&found, &mut to)?;
    Ok(exit::FINE)
}

fn last_ns(found: &RunIntervals) -> i64 {
    let intervals = found.lanes.iter().flat_map(|lane| &lane.intervals);
    intervals.map(|interval| interval.end_ns).max().unwrap_or(0)
}

fn frame(curve: &timeline::Curve) -> Curve {
    Curve {
        name: printable(&curve.name).into_owned(),
        unit: curve
            .unit
            .as_deref()
            .map(|unit| printable(unit).into_owned()),
        after: curve.after,
        slice_ns: curve.slice_ns,
        times_ns: curve.changes.iter().map(|change| change.0).collect(),
        values: curve.changes.iter().map(|change| change.1).collect(),
    }
}

fn head(run: &Run) -> Head {
    let facts = run.facts();
    let count = |rows: u64| units::show(Cell::U64(rows), Unit::None);
    let mut shown = vec![("state", facts.state.as_str().to_owned())];
    shown.extend(facts.run_id.clone().map(|id| ("id", id)));
    shown.extend(facts.host.cpu_model.clone().map(|cpu| ("cpu", cpu)));
    shown.extend(facts.producer.clone().map(|by| ("recorder", by)));
    if !facts.ranks.is_empty() {
        shown.push(("ranks", count(facts.ranks.len() as u64)));
    }
    if !facts.program.argv.is_empty() {
        shown.push(("program", facts.program.argv.join(" ")));
    }
    let rows = facts.tables.iter().filter(|table| table.rows_read > 0);
    let rows = rows.map(|table| format!("{} {}", count(table.rows_read), table.name));
    shown.push(("rows", rows.collect::<Vec<_>>().join(" · ")));
    let plain = |text: &str| printable(text).into_owned();
    let shown = shown.into_iter();
    Head {
        title: plain(facts.title()),
        wall_ns: facts.wall_ns,
        is_complete: facts.complete,
        rows: facts.intervals(),
        facts: shown
            .map(|(name, text)| (name.to_owned(), plain(&text)))
            .collect(),
        doubts: doubts(run, facts),
    }
}

fn doubts(run: &Run, facts: &RunFacts) -> Vec<String> {
    let mut doubts = Vec::new();
    let count = |rows: u64| units::show(Cell::U64(rows), Unit::None);
    if let Some(dropped @ 1..) = facts.dropped {
        doubts.push(format!(
            "{} rows were dropped when it was recorded",
            count(dropped)
        ));
    }
    if facts.rows_lost > 0 {
        doubts.push(format!("{} rows are lost", count(facts.rows_lost)));
    }
    let problems = run.problems().iter();
    let problems = problems.filter(|problem| problem.severity > trueno_model::Level::Info);
    doubts.extend(problems.map(|problem| printable(&problem.text).into_owned()));
    doubts
}

fn write(found: &RunIntervals, to: &mut FrameWriter<impl io::Write>) -> io::Result<()> {
    // A label is a name and its table: few pairs of the many there could be.
    let mut numbers = vec![u32::MAX; found.names.len() * found.tables.len().max(1)];
    let mut used: Vec<(usize, usize)> = Vec::new();
    for interval in found.lanes.iter().flat_map(|lane| &lane.intervals) {
        let (table, name) = (usize::from(interval.table), interval.name as usize);
        let number = &mut numbers[table * found.names.len() + name];
        if *number == u32::MAX {
            *number = used.len() as u32;
            used.push((table, name));
        }
    }
    let names: Vec<String> = found
        .names
        .iter()
        .map(|name| printable(name).into_owned())
        .collect();
    let short = DisplayNames::new(names.iter().map(String::as_str));
    let labels = used.iter().map(|(table, name)| Label {
        table: found.tables[*table].to_owned(),
        name: names[*name].clone(),
        shown: short.shown(&names[*name]).to_owned(),
    });
    to.labels(&labels.collect::<Vec<_>>())?;
    let mut too_deep = 0;
    for lane in &found.lanes {
        let mut depths = Vec::new();
        for depth in lane.depths.iter().filter(|depth| **depth < MAX_DEPTH) {
            if depths.len() <= usize::from(*depth) {
                depths.resize(usize::from(*depth) + 1, 0);
            }
            depths[usize::from(*depth)] += 1;
        }
        to.lane(&LaneHead {
            name: printable(&lane.name).into_owned(),
            is_device: lane.is_device,
            depths,
        })?;
        for (interval, depth) in lane.intervals.iter().zip(&lane.depths) {
            if *depth >= MAX_DEPTH {
                too_deep += 1;
                continue;
            }
            let at = usize::from(interval.table) * found.names.len() + interval.name as usize;
            to.span(Span {
                start_ns: interval.start_ns,
                dur_ns: interval.end_ns - interval.start_ns,
                id: interval.id.cast_unsigned(),
                label: numbers[at],
                depth: *depth,
            })?;
        }
    }
    to.end(too_deep)
}
