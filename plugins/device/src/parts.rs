//! Tables of parts: [`Sums`] of one rank or of several, as rows.

use trueno_analysis::steps::Step;
use trueno_plugin::{Input, Result, Run, Table, table_row};

use crate::Options;
use crate::exposure::{Copies, KindTimes, SpanTimes};
use crate::idle::{IdleParts, PlaceTimes};
use crate::kernels::{self, Model, Shape, Totals};
use crate::launch::NameTotals;
use crate::queue::Queue;
use crate::sums::{LongGap, StepTimes, Sums};

pub const MERGE_INPUTS: [Input; 9] = [
    Input::sql("counts", "SELECT * FROM device.counts"),
    Input::sql("scopes", "SELECT * FROM device.scopes"),
    Input::sql("place_times", "SELECT * FROM device.place_times"),
    Input::sql("names", "SELECT * FROM device.names"),
    Input::sql("kernel_sums", "SELECT * FROM device.kernel_sums"),
    Input::sql("latencies", "SELECT * FROM device.latencies"),
    Input::sql("long_gaps", "SELECT * FROM device.long_gaps"),
    Input::sql("transfer_sums", "SELECT * FROM device.transfer_sums"),
    Input::sql("step_times", "SELECT * FROM device.step_times"),
];

table_row! {
    struct CountsRow {
        operations: u64,
        left_out: u64,
        before_call: u64,
        not_linked: u64,
        steps: u64,
    }
}
table_row! {
    struct SpanRow {
        span_ns: i64,
        idle_ns: i64,
        computation_busy_ns: i64,
        computation_exposed_ns: i64,
        computation_split_ns: i64,
        communication_busy_ns: i64,
        communication_exposed_ns: i64,
        communication_split_ns: i64,
        copy_busy_ns: i64,
        copy_exposed_ns: i64,
        copy_split_ns: i64,
    }
}
table_row! {
    struct IdleRow {
        not_queued_ns: i64,
        launching_ns: i64,
        not_started_ns: i64,
        not_known_ns: i64,
    }
}
table_row! {
    struct ScopeRow {
        /// None: all devices.
        device: Option<i64>,
    }
}
table_row! {
    struct PlaceRow {
        device: i64,
        stream: Option<i64>,
        operations: u64,
        first_ns: i64,
        last_ns: i64,
        busy_ns: i64,
        dur_ns: i64,
        gaps: u64,
        longest_ns: Option<i64>,
        queue_mean: Option<f64>,
        queue_max: Option<u64>,
    }
}
table_row! {
    struct NameRow<'a> {
        name: &'a str,
        is_transfer: bool,
        operations: u64,
        linked: u64,
        dur_ns: i64,
        call_ns: i64,
        queued_ns: i64,
        shorter: u64,
    }
}
table_row! {
    struct KernelRow<'a> {
        name: &'a str,
        blocks: Option<u64>,
        threads: Option<u64>,
        registers: Option<u64>,
        shared_bytes: Option<u64>,
        multiprocessors: Option<u64>,
        compute_capability: Option<&'a str>,
        launches: u64,
        dur_ns: i64,
        min_ns: i64,
        max_ns: i64,
    }
}
table_row! {
    struct LatencyRow<'a> {
        name: &'a str,
        is_transfer: bool,
        latency_ns: i64,
        operations: u64,
    }
}
table_row! {
    struct GapRow<'a> {
        device: i64,
        start_ns: i64,
        dur_ns: i64,
        after: &'a str,
        next: &'a str,
        id: u64,
    }
}
table_row! {
    struct CopyRow<'a> {
        device: i64,
        direction: &'a str,
        operations: u64,
        dur_ns: i64,
        stated: u64,
        bytes: u64,
        stated_ns: i64,
    }
}
table_row! {
    /// One for each iteration and scope; those of an iteration follow each other.
    struct StepRow<'a> {
        rank: i64,
        number: u64,
        step: &'a str,
        iteration: Option<u64>,
        start_ns: i64,
        end_ns: i64,
        device: Option<i64>,
    }
}

impl From<&SpanTimes> for SpanRow {
    fn from(times: &SpanTimes) -> Self {
        let [computation, communication, copy] = times.kinds;
        Self {
            span_ns: times.span_ns,
            idle_ns: times.idle_ns,
            computation_busy_ns: computation.busy_ns,
            computation_exposed_ns: computation.exposed_ns,
            computation_split_ns: computation.split_ns,
            communication_busy_ns: communication.busy_ns,
            communication_exposed_ns: communication.exposed_ns,
            communication_split_ns: communication.split_ns,
            copy_busy_ns: copy.busy_ns,
            copy_exposed_ns: copy.exposed_ns,
            copy_split_ns: copy.split_ns,
        }
    }
}

impl From<SpanRow> for SpanTimes {
    fn from(row: SpanRow) -> Self {
        let times = |busy_ns, exposed_ns, split_ns| KindTimes {
            busy_ns,
            exposed_ns,
            split_ns,
        };
        Self {
            span_ns: row.span_ns,
            kinds: [
                times(
                    row.computation_busy_ns,
                    row.computation_exposed_ns,
                    row.computation_split_ns,
                ),
                times(
                    row.communication_busy_ns,
                    row.communication_exposed_ns,
                    row.communication_split_ns,
                ),
                times(row.copy_busy_ns, row.copy_exposed_ns, row.copy_split_ns),
            ],
            idle_ns: row.idle_ns,
        }
    }
}

impl From<IdleParts> for IdleRow {
    fn from(parts: IdleParts) -> Self {
        Self {
            not_queued_ns: parts.not_queued_ns,
            launching_ns: parts.launching_ns,
            not_started_ns: parts.not_started_ns,
            not_known_ns: parts.not_known_ns,
        }
    }
}

impl From<IdleRow> for IdleParts {
    fn from(row: IdleRow) -> Self {
        Self {
            not_queued_ns: row.not_queued_ns,
            launching_ns: row.launching_ns,
            not_started_ns: row.not_started_ns,
            not_known_ns: row.not_known_ns,
        }
    }
}

/// Emits figures as a part.
///
/// # Errors
/// The host refuses a table.
pub fn emit(run: &mut Run, sums: &Sums) -> Result<()> {
    let counts = CountsRow {
        operations: sums.counts.operations,
        left_out: sums.counts.left_out,
        before_call: sums.counts.before_call,
        not_linked: sums.counts.not_linked,
        steps: sums.counts.steps,
    };
    run.emit(Table::build("counts").rows([counts]))?;
    let scopes = sums
        .scopes
        .keys()
        .map(|device| ScopeRow { device: *device });
    let times = sums.scopes.values().map(SpanRow::from);
    run.emit(Table::build("scopes").rows(scopes).rows(times))?;
    let places = sums.places.values().map(|place| PlaceRow {
        device: place.device,
        stream: place.stream,
        operations: place.operations,
        first_ns: place.first_ns,
        last_ns: place.last_ns,
        busy_ns: place.busy_ns,
        dur_ns: place.dur_ns,
        gaps: place.gaps,
        longest_ns: place.longest_ns,
        queue_mean: place.queue.and_then(|queue| queue.mean),
        queue_max: place.queue.map(|queue| queue.most),
    });
    let idle = sums.places.values().map(|place| IdleRow::from(place.parts));
    run.emit(Table::build("place_times").rows(places).rows(idle))?;
    let names = sums.names.iter().map(|(key, of)| NameRow {
        name: &key.0,
        is_transfer: key.1,
        operations: of.operations,
        linked: of.linked,
        dur_ns: of.dur_ns,
        call_ns: of.call_ns,
        queued_ns: of.queued_ns,
        shorter: of.shorter,
    });
    run.emit(Table::build("names").rows(names))?;
    let kernels = sums.kernels.iter().map(|((name, shape), of)| KernelRow {
        name,
        blocks: shape.blocks,
        threads: shape.threads,
        registers: shape.registers,
        shared_bytes: shape.shared_bytes,
        multiprocessors: shape.model.multiprocessors,
        compute_capability: shape.model.compute_capability.as_deref(),
        launches: of.launches,
        dur_ns: of.dur_ns,
        min_ns: of.min_ns,
        max_ns: of.max_ns,
    });
    run.emit(Table::build("kernel_sums").rows(kernels))?;
    let latencies = sums.names.iter().flat_map(|(key, of)| {
        let values = of.latencies_ns.iter();
        values.map(move |(latency_ns, operations)| LatencyRow {
            name: &key.0,
            is_transfer: key.1,
            latency_ns,
            operations,
        })
    });
    run.emit(Table::build("latencies").rows(latencies))?;
    let gaps = sums.gaps.iter().map(|gap| GapRow {
        device: gap.device,
        start_ns: gap.start_ns,
        dur_ns: gap.dur_ns,
        after: &gap.after,
        next: &gap.next,
        id: gap.id,
    });
    let idle = sums.gaps.iter().map(|gap| IdleRow::from(gap.parts));
    run.emit(Table::build("long_gaps").rows(gaps).rows(idle))?;
    let copies = sums.copies.iter().map(|(key, of)| CopyRow {
        device: key.0,
        direction: &key.1,
        operations: of.operations,
        dur_ns: of.dur_ns,
        stated: of.stated,
        bytes: of.bytes,
        stated_ns: of.stated_ns,
    });
    run.emit(Table::build("transfer_sums").rows(copies))?;
    let scopes = || {
        let steps = sums.steps.iter();
        steps.flat_map(|of| of.scopes.iter().map(move |scope| (of, scope)))
    };
    let steps = scopes().map(|(of, scope)| StepRow {
        rank: of.step.rank,
        number: of.number,
        step: &of.step.name,
        iteration: of.step.iteration,
        start_ns: of.step.start_ns,
        end_ns: of.step.end_ns,
        device: scope.0,
    });
    let times = scopes().map(|(_, scope)| SpanRow::from(&scope.1));
    run.emit(Table::build("step_times").rows(steps).rows(times))
}

/// Reads parts, and merges them.
///
/// # Errors
/// An input lacks a column or has it in another type, or a cell is null that has a value in every part.
pub fn read(run: &mut Run, options: &Options) -> Result<Sums> {
    let mut sums = Sums::default();
    for row in run.table("counts")?.read::<CountsRow>()? {
        let row = row?;
        let counts = &mut sums.counts;
        for (sum, more) in [
            (&mut counts.operations, row.operations),
            (&mut counts.left_out, row.left_out),
            (&mut counts.before_call, row.before_call),
            (&mut counts.not_linked, row.not_linked),
            (&mut counts.steps, row.steps),
        ] {
            *sum = sum.saturating_add(more);
        }
    }
    let table = run.table("scopes")?;
    for (scope, times) in table.read::<ScopeRow>()?.zip(table.read::<SpanRow>()?) {
        sums.add_scope(scope?.device, &times?.into());
    }
    let table = run.table("place_times")?;
    for (place, idle) in table.read::<PlaceRow>()?.zip(table.read::<IdleRow>()?) {
        let row = place?;
        let mean = row.queue_mean;
        let place = PlaceTimes {
            device: row.device,
            stream: row.stream,
            operations: row.operations,
            first_ns: row.first_ns,
            last_ns: row.last_ns,
            busy_ns: row.busy_ns,
            dur_ns: row.dur_ns,
            parts: idle?.into(),
            gaps: row.gaps,
            longest_ns: row.longest_ns,
            queue: row.queue_max.map(|most| Queue { mean, most }),
        };
        sums.places.insert((row.device, row.stream), place);
    }
    for row in run.table("names")?.read::<NameRow>()? {
        let row = row?;
        let of = NameTotals {
            operations: row.operations,
            linked: row.linked,
            dur_ns: row.dur_ns,
            call_ns: row.call_ns,
            queued_ns: row.queued_ns,
            shorter: row.shorter,
            ..NameTotals::default()
        };
        let key = (row.name.to_owned(), row.is_transfer);
        sums.names.entry(key).or_default().merge(&of);
    }
    for row in run.table("kernel_sums")?.read::<KernelRow>()? {
        let row = row?;
        let shape = Shape {
            blocks: row.blocks,
            threads: row.threads,
            registers: row.registers,
            shared_bytes: row.shared_bytes,
            model: Model {
                multiprocessors: row.multiprocessors,
                compute_capability: row.compute_capability.map(str::to_owned),
            },
        };
        let of = Totals {
            launches: row.launches,
            dur_ns: row.dur_ns,
            min_ns: row.min_ns,
            max_ns: row.max_ns,
        };
        kernels::add(&mut sums.kernels, (row.name.to_owned(), shape), of);
    }
    read_latencies(run, &mut sums)?;
    let table = run.table("long_gaps")?;
    for (gap, idle) in table.read::<GapRow>()?.zip(table.read::<IdleRow>()?) {
        let row = gap?;
        sums.gaps.push(LongGap {
            device: row.device,
            start_ns: row.start_ns,
            dur_ns: row.dur_ns,
            parts: idle?.into(),
            after: row.after.to_owned(),
            next: row.next.to_owned(),
            id: row.id,
        });
    }
    for row in run.table("transfer_sums")?.read::<CopyRow>()? {
        let row = row?;
        let of = Copies {
            operations: row.operations,
            dur_ns: row.dur_ns,
            stated: row.stated,
            bytes: row.bytes,
            stated_ns: row.stated_ns,
        };
        let key = (row.device, row.direction.to_owned());
        sums.copies.entry(key).or_default().merge(&of);
    }
    let table = run.table("step_times")?;
    for (step, times) in table.read::<StepRow>()?.zip(table.read::<SpanRow>()?) {
        let row = step?;
        let scope = (row.device, times?.into());
        match sums.steps.last_mut() {
            Some(last) if (last.step.rank, last.number) == (row.rank, row.number) => {
                last.scopes.push(scope);
            }
            _ => sums.steps.push(StepTimes {
                step: Step {
                    name: row.step.to_owned(),
                    iteration: row.iteration,
                    rank: row.rank,
                    start_ns: row.start_ns,
                    end_ns: row.end_ns,
                },
                number: row.number,
                scopes: vec![scope],
            }),
        }
    }
    sums.keep_first(options);
    Ok(sums)
}

/// Streams the rows, since there may be millions. Rows of one name are adjacent.
fn read_latencies(run: &mut Run, sums: &mut Sums) -> Result<()> {
    let mut batches = run.batches("latencies")?;
    while let Some(batch) = batches.next_batch()? {
        let (name, is_transfer) = (batch.text("name")?, batch.bool("is_transfer")?);
        let (latency, operations) = (batch.i64("latency_ns")?, batch.u64("operations")?);
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
