//! Tables of parts: [`Sums`] of one rank or of several, as rows.

use trueno_analysis::steps::Step;
use trueno_plugin::{Error, Input, Result, Run, Table, TableBuilder};

use crate::Options;
use crate::exposure::{Copies, Kind, KindTimes, SpanTimes};
use crate::idle::{IdleParts, PlaceTimes};
use crate::launch::NameTotals;
use crate::queue::Queue;
use crate::sums::{LongGap, StepTimes, Sums};

/// Inputs of the merging.
pub const MERGE_INPUTS: [Input; 8] = [
    Input::sql("counts", "SELECT * FROM device.counts"),
    Input::sql("scopes", "SELECT * FROM device.scopes"),
    Input::sql("place_times", "SELECT * FROM device.place_times"),
    Input::sql("names", "SELECT * FROM device.names"),
    Input::sql("latencies", "SELECT * FROM device.latencies"),
    Input::sql("long_gaps", "SELECT * FROM device.long_gaps"),
    Input::sql("transfer_sums", "SELECT * FROM device.transfer_sums"),
    Input::sql("step_times", "SELECT * FROM device.step_times"),
];

/// Columns of the times of a kind; in the order of [`Kind::ALL`].
const KIND_COLUMNS: [[&str; 3]; Kind::ALL.len()] = [
    [
        "computation_busy_ns",
        "computation_exposed_ns",
        "computation_split_ns",
    ],
    [
        "communication_busy_ns",
        "communication_exposed_ns",
        "communication_split_ns",
    ],
    ["copy_busy_ns", "copy_exposed_ns", "copy_split_ns"],
];

/// Emits figures as a part.
///
/// # Errors
/// The host refuses a table.
pub fn emit(run: &mut Run, sums: &Sums) -> Result<()> {
    let counts = &sums.counts;
    run.emit(
        Table::build("counts")
            .u64("operations", [counts.operations])
            .u64("left_out", [counts.left_out])
            .u64("before_call", [counts.before_call])
            .u64("not_linked", [counts.not_linked])
            .u64("steps", [counts.steps]),
    )?;
    let scopes = Table::build("scopes").i64("device", sums.scopes.keys().copied());
    run.emit(spans(scopes, &sums.scopes.values().collect::<Vec<_>>()))?;
    run.emit(place_times(sums))?;
    run.emit(names(sums))?;
    run.emit(latencies(sums))?;
    run.emit(long_gaps(sums))?;
    run.emit(transfer_sums(sums))?;
    run.emit(step_times(sums))
}

fn spans(mut table: TableBuilder, times: &[&SpanTimes]) -> TableBuilder {
    table = table
        .i64("span_ns", times.iter().map(|times| times.span_ns))
        .i64("idle_ns", times.iter().map(|times| times.idle_ns));
    for (kind, [busy, exposed, split]) in KIND_COLUMNS.iter().enumerate() {
        let of_kind = || times.iter().map(|times| times.kinds[kind]);
        table = table
            .i64(busy, of_kind().map(|of| of.busy_ns))
            .i64(exposed, of_kind().map(|of| of.exposed_ns))
            .i64(split, of_kind().map(|of| of.split_ns));
    }
    table
}

fn idle_parts(table: TableBuilder, parts: &[IdleParts]) -> TableBuilder {
    table
        .i64("not_asked_ns", parts.iter().map(|of| of.not_asked_ns))
        .i64("launching_ns", parts.iter().map(|of| of.launching_ns))
        .i64("asked_before_ns", parts.iter().map(|of| of.asked_before_ns))
        .i64("not_known_ns", parts.iter().map(|of| of.not_known_ns))
}

fn place_times(sums: &Sums) -> TableBuilder {
    let places = || sums.places.values();
    let mean = |place: &PlaceTimes| place.queue.and_then(|queue| queue.mean);
    let most = |place: &PlaceTimes| place.queue.map(|queue| queue.most);
    let table = Table::build("place_times")
        .i64("device", places().map(|place| place.device))
        .i64("stream", places().map(|place| place.stream))
        .u64("operations", places().map(|place| place.operations))
        .i64("first_ns", places().map(|place| place.first_ns))
        .i64("last_ns", places().map(|place| place.last_ns))
        .i64("busy_ns", places().map(|place| place.busy_ns))
        .u64("gaps", places().map(|place| place.gaps))
        .i64("longest_ns", places().map(|place| place.longest_ns))
        .f64("queue_mean", places().map(mean))
        .u64("queue_max", places().map(most));
    idle_parts(
        table,
        &places().map(|place| place.parts).collect::<Vec<_>>(),
    )
}

fn names(sums: &Sums) -> TableBuilder {
    let (keys, of) = (|| sums.names.keys(), || sums.names.values());
    Table::build("names")
        .text("name", keys().map(|key| &key.0))
        .bool("is_transfer", keys().map(|key| key.1))
        .u64("operations", of().map(|of| of.operations))
        .u64("linked", of().map(|of| of.linked))
        .i64("dur_ns", of().map(|of| of.dur_ns))
        .i64("call_ns", of().map(|of| of.call_ns))
        .i64("queued_ns", of().map(|of| of.queued_ns))
        .u64("shorter", of().map(|of| of.shorter))
}

fn latencies(sums: &Sums) -> TableBuilder {
    let rows = || {
        let names = sums.names.iter();
        names.flat_map(|(key, of)| of.latencies_ns.iter().map(move |value| (key, value)))
    };
    Table::build("latencies")
        .text("name", rows().map(|(key, _)| &key.0))
        .bool("is_transfer", rows().map(|(key, _)| key.1))
        .i64("latency_ns", rows().map(|(_, value)| value.0))
        .u64("operations", rows().map(|(_, value)| value.1))
}

fn long_gaps(sums: &Sums) -> TableBuilder {
    let gaps = &sums.gaps;
    let table = Table::build("long_gaps")
        .i64("device", gaps.iter().map(|gap| gap.device))
        .i64("start_ns", gaps.iter().map(|gap| gap.start_ns))
        .i64("dur_ns", gaps.iter().map(|gap| gap.dur_ns))
        .text("after", gaps.iter().map(|gap| &gap.after))
        .text("next", gaps.iter().map(|gap| &gap.next))
        .u64("id", gaps.iter().map(|gap| gap.id));
    idle_parts(table, &gaps.iter().map(|gap| gap.parts).collect::<Vec<_>>())
}

fn transfer_sums(sums: &Sums) -> TableBuilder {
    let (keys, of) = (|| sums.copies.keys(), || sums.copies.values());
    Table::build("transfer_sums")
        .i64("device", keys().map(|key| key.0))
        .text("direction", keys().map(|key| &key.1))
        .u64("operations", of().map(|of| of.operations))
        .i64("dur_ns", of().map(|of| of.dur_ns))
        .u64("stated", of().map(|of| of.stated))
        .u64("bytes", of().map(|of| of.bytes))
        .i64("stated_ns", of().map(|of| of.stated_ns))
}

/// A row for each iteration and scope.
fn step_times(sums: &Sums) -> TableBuilder {
    let rows = || {
        let steps = sums.steps.iter();
        steps.flat_map(|step| step.scopes.iter().map(move |scope| (step, scope)))
    };
    let steps = || rows().map(|(of, _)| &of.step);
    let table = Table::build("step_times")
        .i64("rank", steps().map(|step| step.rank))
        .u64("number", rows().map(|(of, _)| of.number))
        .text("step", steps().map(|step| &step.name))
        .u64("iteration", steps().map(|step| step.iteration))
        .i64("start_ns", steps().map(|step| step.start_ns))
        .i64("end_ns", steps().map(|step| step.end_ns))
        .i64("device", rows().map(|(_, scope)| scope.0));
    spans(
        table,
        &rows().map(|(_, scope)| &scope.1).collect::<Vec<_>>(),
    )
}

/// A row of a part.
#[derive(Clone, Copy)]
struct Row<'a> {
    table: &'a Table,
    row: usize,
}

impl<'a> Row<'a> {
    fn all(table: &'a Table) -> impl Iterator<Item = Self> {
        (0..table.rows()).map(move |row| Row { table, row })
    }

    fn required<T>(self, column: &str, cell: Option<T>) -> Result<T> {
        let table = self.table.name();
        cell.ok_or_else(|| {
            Error::failed(format!("column `{column}` of part table `{table}` is null"))
        })
    }

    fn ns(self, column: &str) -> Result<i64> {
        self.required(column, self.table.i64(column)?.get(self.row))
    }

    fn count(self, column: &str) -> Result<u64> {
        self.required(column, self.table.u64(column)?.get(self.row))
    }

    fn text(self, column: &str) -> Result<&'a str> {
        self.required(column, self.table.text(column)?.get(self.row))
    }

    fn place(self, column: &str) -> Result<Option<i64>> {
        Ok(self.table.i64(column)?.get(self.row))
    }

    fn span(self) -> Result<SpanTimes> {
        let kind = |[busy, exposed, split]: [&str; 3]| -> Result<KindTimes> {
            Ok(KindTimes {
                busy_ns: self.ns(busy)?,
                exposed_ns: self.ns(exposed)?,
                split_ns: self.ns(split)?,
            })
        };
        let [computation, communication, copy] = KIND_COLUMNS;
        Ok(SpanTimes {
            span_ns: self.ns("span_ns")?,
            kinds: [kind(computation)?, kind(communication)?, kind(copy)?],
            idle_ns: self.ns("idle_ns")?,
        })
    }

    fn idle_parts(self) -> Result<IdleParts> {
        Ok(IdleParts {
            not_asked_ns: self.ns("not_asked_ns")?,
            launching_ns: self.ns("launching_ns")?,
            asked_before_ns: self.ns("asked_before_ns")?,
            not_known_ns: self.ns("not_known_ns")?,
        })
    }
}

/// Reads parts, and merges them.
///
/// # Errors
/// An input lacks a column or has it in another type, or a cell is null that has a value in every part.
pub fn read(run: &mut Run, options: &Options) -> Result<Sums> {
    let mut sums = Sums::default();
    for row in Row::all(&run.table("counts")?) {
        let counts = &mut sums.counts;
        let add = |of: &mut u64, column: &str| -> Result<()> {
            *of = of.saturating_add(row.count(column)?);
            Ok(())
        };
        add(&mut counts.operations, "operations")?;
        add(&mut counts.left_out, "left_out")?;
        add(&mut counts.before_call, "before_call")?;
        add(&mut counts.not_linked, "not_linked")?;
        add(&mut counts.steps, "steps")?;
    }
    for row in Row::all(&run.table("scopes")?) {
        sums.add_scope(row.place("device")?, &row.span()?);
    }
    for row in Row::all(&run.table("place_times")?) {
        let place = read_place(row)?;
        sums.places.insert((place.device, place.stream), place);
    }
    read_names(run, &mut sums)?;
    for row in Row::all(&run.table("long_gaps")?) {
        sums.gaps.push(LongGap {
            device: row.ns("device")?,
            start_ns: row.ns("start_ns")?,
            dur_ns: row.ns("dur_ns")?,
            parts: row.idle_parts()?,
            after: row.text("after")?.to_owned(),
            next: row.text("next")?.to_owned(),
            id: row.count("id")?,
        });
    }
    for row in Row::all(&run.table("transfer_sums")?) {
        let key = (row.ns("device")?, row.text("direction")?.to_owned());
        let of = Copies {
            operations: row.count("operations")?,
            dur_ns: row.ns("dur_ns")?,
            stated: row.count("stated")?,
            bytes: row.count("bytes")?,
            stated_ns: row.ns("stated_ns")?,
        };
        sums.copies.entry(key).or_default().merge(&of);
    }
    read_steps(run, &mut sums)?;
    sums.keep_first(options);
    Ok(sums)
}

fn read_place(row: Row<'_>) -> Result<PlaceTimes> {
    let most = row.table.u64("queue_max")?.get(row.row);
    let mean = row.table.f64("queue_mean")?.get(row.row);
    Ok(PlaceTimes {
        device: row.ns("device")?,
        stream: row.place("stream")?,
        operations: row.count("operations")?,
        first_ns: row.ns("first_ns")?,
        last_ns: row.ns("last_ns")?,
        busy_ns: row.ns("busy_ns")?,
        parts: row.idle_parts()?,
        gaps: row.count("gaps")?,
        longest_ns: row.table.i64("longest_ns")?.get(row.row),
        queue: most.map(|most| Queue { mean, most }),
    })
}

fn read_names(run: &mut Run, sums: &mut Sums) -> Result<()> {
    let names = run.table("names")?;
    let is_transfer = names.bool("is_transfer")?;
    for row in Row::all(&names) {
        let key = (
            row.text("name")?.to_owned(),
            is_transfer.get(row.row) == Some(true),
        );
        let of = NameTotals {
            operations: row.count("operations")?,
            linked: row.count("linked")?,
            dur_ns: row.ns("dur_ns")?,
            call_ns: row.ns("call_ns")?,
            queued_ns: row.ns("queued_ns")?,
            shorter: row.count("shorter")?,
            ..NameTotals::default()
        };
        sums.names.entry(key).or_default().merge(&of);
    }
    let mut batches = run.batches("latencies")?;
    while let Some(batch) = batches.next_batch()? {
        let (name, is_transfer) = (batch.text("name")?, batch.bool("is_transfer")?);
        let (latency, operations) = (batch.i64("latency_ns")?, batch.u64("operations")?);
        // Rows of one name follow each other.
        let mut last: Option<((&str, bool), &mut NameTotals)> = None;
        for row in 0..batch.rows() {
            let (Some(text), Some(latency_ns), Some(count)) =
                (name.get(row), latency.get(row), operations.get(row))
            else {
                continue;
            };
            let key = (text, is_transfer.get(row) == Some(true));
            if last.as_ref().is_none_or(|last| last.0 != key) {
                let owned = (text.to_owned(), key.1);
                last = Some((key, sums.names.entry(owned).or_default()));
            }
            if let Some((_, of)) = &mut last {
                of.latencies_ns.add(latency_ns, count);
            }
        }
    }
    Ok(())
}

/// Iterations, whose rows follow each other.
fn read_steps(run: &mut Run, sums: &mut Sums) -> Result<()> {
    let table = run.table("step_times")?;
    let iteration = table.u64("iteration")?;
    for row in Row::all(&table) {
        let (rank, number) = (row.ns("rank")?, row.count("number")?);
        let scope = (row.place("device")?, row.span()?);
        match sums.steps.last_mut() {
            Some(last) if (last.step.rank, last.number) == (rank, number) => {
                last.scopes.push(scope);
            }
            _ => sums.steps.push(StepTimes {
                step: Step {
                    name: row.text("step")?.to_owned(),
                    iteration: iteration.get(row.row),
                    rank,
                    start_ns: row.ns("start_ns")?,
                    end_ns: row.ns("end_ns")?,
                },
                number,
                scopes: vec![scope],
            }),
        }
    }
    Ok(())
}
