//! Threads of the host: bricks that nest, operations that the host ran, calls of drivers, instants.

use std::cmp::Reverse;

use trueno_format::run_writer::Text;
use trueno_format::schema::{AnnotationRow, BrickRow, CallRow, KernelRow};

use super::flows::{Key, Placed, consumed};
use super::messages::XPlane;
use super::plane::{Event, Kind};
use super::rows::Rows;
use super::stats::{Value, name_of};
use crate::Error;
use crate::lanes::Lanes;

#[derive(Clone, Copy)]
struct Open {
    placed: Placed,
    iteration: Option<u64>,
}

struct Lane {
    thread: u32,
    open: Vec<Open>,
    operation_end_ns: i64,
    /// Flows that ended at markers after which no row has begun yet. Thread pools mark in this way that they
    /// start work requested by another thread.
    marks: Vec<Key>,
}

pub fn write(mut events: Vec<Event<'_>>, rows: &mut Rows<'_>) -> Result<(), Error> {
    // What lies in another comes after it.
    events.sort_by_key(|event| (event.start_ns, Reverse(event.end_ns)));
    let mut lanes = Lanes::default();
    let mut places: Vec<Lane> = Vec::new();
    for (at, event) in events.iter().enumerate() {
        let is_instant = event.event.duration_ps == 0;
        let lane = if is_instant && !places.is_empty() {
            0
        } else {
            lanes.place(event.start_ns, event.end_ns, Some(0))
        };
        if lane > 0 {
            rows.import.notes.warn(
                "events of one thread overlap without nesting: some are on additional lanes, which are inferred",
            );
        }
        while places.len() <= lane {
            let thread = thread(event, places.len(), rows)?;
            places.push(Lane {
                thread,
                open: Vec::new(),
                operation_end_ns: i64::MIN,
                marks: Vec::new(),
            });
        }
        let place = &mut places[lane];
        while place.open.last().is_some_and(|open| {
            open.placed.end_ns < event.start_ns
                || open.placed.end_ns == event.start_ns && !is_instant
        }) {
            place.open.pop();
        }
        let around = place.open.last().copied();
        // What lies in an operation, such as the mark of its end, is no work beside it.
        if is_instant || event.end_ns <= place.operation_end_ns {
            // Who asks says so by a mark in what it does.
            if let Some(around) = around {
                rows.flows.produced(event, around.placed);
            }
            place.marks.extend(consumed(event));
            instant(event, place.thread, around, rows)?;
            continue;
        }
        let is_operation = |event: &Event<'_>| event.stat("hlo_op").is_some();
        let next = events.get(at + 1..).unwrap_or_default();
        let mut inside = next.iter().take_while(|next| next.start_ns < event.end_ns);
        let is_leaf = is_operation(event) && !inside.any(is_operation);
        let row = rows.new_row(place.thread);
        let placed = Placed {
            row,
            thread: place.thread,
            start_ns: event.start_ns,
            end_ns: event.end_ns,
        };
        rows.flows.take(event, placed);
        rows.flows.take_marks(&mut place.marks, placed);
        match event.kind {
            Kind::Calls => call(event, placed, around, rows)?,
            _ if is_leaf => {
                operation(event, placed, around, rows)?;
                place.operation_end_ns = event.end_ns;
            }
            _ => {
                let iteration = brick(event, placed, around, rows)?;
                place.open.push(Open { placed, iteration });
            }
        }
    }
    for _ in places.iter().flat_map(|place| &place.marks) {
        rows.import
            .notes
            .skip("flow to a mark after which nothing ran");
    }
    Ok(())
}

fn thread(event: &Event<'_>, lane: usize, rows: &mut Rows<'_>) -> Result<u32, Error> {
    let line = event.line;
    let name = if line.display_name.is_empty() {
        &line.name
    } else {
        &line.display_name
    };
    let mut name = String::from_utf8_lossy(name).into_owned();
    if event.is_python() {
        name += ", functions";
    }
    if lane > 0 {
        name += &format!(", lane {}", lane + 1);
    }
    let os_id = u64::try_from(line.id).ok();
    rows.thread(&name, os_id, process(event.plane), event.start_ns)
}

fn process(plane: &XPlane) -> Option<u64> {
    let mut stats = plane.stats.iter();
    let stat = stats.find(|stat| name_of(plane, stat) == b"process_id")?;
    Value::new(plane, stat)?.unsigned()
}

fn instant(
    event: &Event<'_>,
    thread: u32,
    around: Option<Open>,
    rows: &mut Rows<'_>,
) -> Result<(), Error> {
    let row = AnnotationRow {
        kind: rows.import.text("instant"),
        name: rows.import.text(&event.name()),
        thread: Some(thread),
        brick: around.map(|open| open.placed.row),
        time_ns: event.start_ns - rows.origin_ns,
        dur_ns: (event.event.duration_ps > 0).then_some(event.end_ns - event.start_ns),
        ..AnnotationRow::default()
    };
    rows.import.add(&row)
}

fn call(
    event: &Event<'_>,
    placed: Placed,
    around: Option<Open>,
    rows: &mut Rows<'_>,
) -> Result<(), Error> {
    let row = CallRow {
        id: placed.row,
        brick: around.map(|open| open.placed.row),
        name: rows.import.text(&event.name()),
        thread: placed.thread,
        start_ns: event.start_ns - rows.origin_ns,
        dur_ns: event.end_ns - event.start_ns,
        correlation: event.stat("correlation_id").and_then(Value::unsigned),
        ..CallRow::default()
    };
    rows.import.add(&row)?;
    rows.attributes(placed.row, event.stats(), &["correlation_id"])
}

fn operation(
    event: &Event<'_>,
    placed: Placed,
    around: Option<Open>,
    rows: &mut Rows<'_>,
) -> Result<(), Error> {
    let (flops, bytes) = work(event);
    let declared = (flops.is_some() || bytes.is_some()).then(|| rows.import.text("declared"));
    let row = KernelRow {
        id: placed.row,
        brick: around.map(|open| open.placed.row),
        name: rows.import.text(&event.name()),
        backend: Some(rows.import.text("xla")),
        thread: Some(placed.thread),
        start_ns: event.start_ns - rows.origin_ns,
        dur_ns: event.end_ns - event.start_ns,
        timing: rows.import.text("host"),
        flops,
        bytes,
        work_source: declared,
        ..KernelRow::default()
    };
    rows.import.add(&row)?;
    rows.attributes(placed.row, event.all_stats(), &["flops", "bytes_accessed"])
}

/// Work by XLA's cost model: floating-point operations, and bytes read and written.
pub fn work(event: &Event<'_>) -> (Option<u64>, Option<u64>) {
    let stat = |name| event.stat(name).and_then(Value::unsigned);
    (stat("flops"), stat("bytes_accessed"))
}

fn brick(
    event: &Event<'_>,
    placed: Placed,
    around: Option<Open>,
    rows: &mut Rows<'_>,
) -> Result<Option<u64>, Error> {
    let step = event.stat("step_num").and_then(Value::unsigned);
    let iteration = step.or(around.and_then(|open| open.iteration));
    let name = event.name();
    let (name, place) = source(event, &name);
    let row = BrickRow {
        id: placed.row,
        parent: around.map(|open| open.placed.row),
        kind: rows.import.text(match step {
            Some(_) => "iteration",
            None => "function",
        }),
        name: rows.import.text(name),
        thread: placed.thread,
        start_ns: event.start_ns - rows.origin_ns,
        dur_ns: event.end_ns - event.start_ns,
        timing: rows.import.text("host"),
        iteration,
        file: place
            .as_ref()
            .map(|(file, _)| -> Text { rows.import.text(file) }),
        line: place.and_then(|(_, line)| line),
        ..BrickRow::default()
    };
    rows.import.add(&row)?;
    rows.attributes(placed.row, event.stats(), &["step_num"])?;
    Ok(iteration)
}

/// The name without its prefix, and the source location: for a Python function from the name (`$file.py:12 name`),
/// for others from XLA (`_src`).
fn source<'n>(event: &Event<'_>, name: &'n str) -> (&'n str, Option<(String, Option<u32>)>) {
    if let Some(function) = name.strip_prefix('$') {
        let place = function.split_once(' ').and_then(|(place, _)| {
            let (file, line) = place.rsplit_once(':')?;
            Some((file.to_owned(), Some(line.parse().ok()?)))
        });
        return (function, place);
    }
    let file = event.stat("_src").and_then(Value::text);
    let file = file.map(|file| (String::from_utf8_lossy(file).into_owned(), None));
    (name, file)
}
