//! The host's part: ranges become bricks, calls find the range they lie in.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::Value as Json;
use trueno_format::schema::{AnnotationRow, BrickRow, CallRow};

use super::context::Context;
use super::doubtful::{self, Doubtful};
use super::enum_table::EnumTable;
use super::nccl::{self, Nccl};
use super::operator_range::OperatorRange;
use super::payload;
use super::processes::Process;
use super::row::Row;
use super::source::{Scan, Source, Value};
use super::tables::{Found, Kind};
use super::unclosed::{self, Unclosed};
use crate::Error;
use crate::cuda::annotation::Annotation;
use crate::cuda::call_kind::CallKind;
use crate::cuda::iterations::{self, Candidates, Iterations};
use crate::cuda::launches::Launch;
use crate::cuda::open_ranges::OpenRanges;

const RANGES: [&str; 4] = [
    "NvtxPushPopRange",
    "NvtxStartEndRange",
    "NvtxtPushPopRange",
    "NvtxtStartEndRange",
];
/// Ranges that nest on their thread.
const PUSH_POP: [&str; 2] = ["NvtxPushPopRange", "NvtxtPushPopRange"];
const MARKS: [&str; 2] = ["NvtxMark", "NvtxtMark"];
const TYPES: &str = "ENUM_NSYS_EVENT_TYPE";
/// Of the columns of `NVTX_EVENTS`, the one with the type.
const EVENT_TYPE: usize = 3;
const EVENT_TYPES: [(i64, &str); 5] = [
    (34, "NvtxMark"),
    (39, "NvtxThread"),
    (59, "NvtxPushPopRange"),
    (60, "NvtxStartEndRange"),
    (75, "NvtxDomainCreate"),
];

fn is_activity(word: &str) -> bool {
    RANGES.contains(&word) || MARKS.contains(&word)
}

/// Marks which rows of NVTX are activity: ranges and marks. The others create or name something, such as a domain, a
/// thread or a stream, often long before the recorded program begins.
///
/// # Errors
/// The types of events cannot be read.
pub fn find_activity(source: &mut dyn Source, tables: &mut [Found]) -> Result<(), Error> {
    let Some(found) = tables.iter_mut().find(|found| found.kind == Kind::Nvtx) else {
        return Ok(());
    };
    let Some(Some(column)) = found.scan.columns.get(EVENT_TYPE) else {
        return Ok(());
    };
    let types = EnumTable::read(source, TYPES)?;
    let of_all = EVENT_TYPES.iter().filter(|(_, word)| is_activity(word));
    let of_all = of_all.map(|(number, _)| *number);
    let of_all = of_all.filter(|number| types.word(*number).is_none());
    let numbers = types.numbers(is_activity).chain(of_all).collect();
    found.activity = Some((column.clone(), numbers));
    Ok(())
}

/// Reads ranges and calls. Returns how many were left out because of their times.
pub fn read(
    source: &mut dyn Source,
    tables: &[Found],
    doubtful: &Doubtful,
    context: &mut Context<'_>,
) -> Result<u64, Error> {
    let types = EnumTable::read(source, TYPES)?;
    let scans: Vec<Scan> = tables.iter().map(|found| found.scan.clone()).collect();
    let FirstPass {
        iterations,
        unclosed,
        damage: found,
    } = find_iterations(source, tables, doubtful, &types, context)?;
    if let Some(warning) = unclosed.warning() {
        context.notes.warn(warning);
    }
    if let Some(text) = iterations::text(iterations.values()) {
        let values = &mut context.into.run().values;
        values.insert(iterations::VALUE.to_owned(), text);
    }
    let mut host = Host {
        types,
        iterations,
        unclosed,
        ranges: Vec::new(),
        nccl: Nccl::default(),
    };
    let mut far = 0;
    let damage = source.merged(&scans, &mut |number, values| {
        let record = Row {
            scan: &scans[number],
            values,
        };
        if let Some(Value::Int(start_ns)) = values.first()
            && !doubtful.is_near(*start_ns)
        {
            far += 1;
            context.visited(&record.scan.table);
            return left_out(record, doubtful::FAR, context);
        }
        match tables[number].kind {
            Kind::Nvtx => host.nvtx(record, context),
            kind => host.call(record, kind, context),
        }
    })?;
    // What the first pass salvaged the second finds whole.
    let first = found.into_iter().filter(|text| !damage.contains(text));
    let all = first.chain(damage.iter().cloned()).collect();
    context.damaged(all);
    context.launches.sort();
    Ok(far)
}

/// What the names and ends of ranges say together.
#[derive(Default)]
struct FirstPass {
    iterations: BTreeMap<Process, Iterations>,
    unclosed: Unclosed,
    damage: Vec<String>,
}

fn find_iterations(
    source: &mut dyn Source,
    tables: &[Found],
    doubtful: &Doubtful,
    types: &EnumTable,
    context: &Context<'_>,
) -> Result<FirstPass, Error> {
    let ranges = tables.iter().filter(|found| found.kind == Kind::Nvtx);
    // The thread first: rows that are of no rank are counted where the time comes first, once.
    let by_thread = ranges.map(|found| Scan {
        columns: [2, 0, 1, 3, 4, 5]
            .map(|at| found.scan.columns.get(at).cloned().flatten())
            .to_vec(),
        ..found.scan.clone()
    });
    let scans: Vec<Scan> = by_thread.collect();
    if scans.is_empty() {
        return Ok(FirstPass::default());
    }
    let mut candidates: BTreeMap<Process, Candidates> = BTreeMap::new();
    let mut unclosed = unclosed::Candidates::default();
    let damage = source.merged(&scans, &mut |_, values| {
        let [
            Value::Int(thread),
            Value::Int(start),
            Value::Int(end),
            kind,
            text,
            id,
        ] = values
        else {
            return Ok(());
        };
        let word = match kind {
            Value::Int(number) => type_word(types, *number),
            _ => Some(PUSH_POP[0]),
        };
        let is_range = word.is_some_and(|word| RANGES.contains(&word));
        let name = match (text, id) {
            (Value::Text(text), _) => Some(&**text),
            (_, Value::Int(id)) => context.string(Some(*id)),
            _ => None,
        };
        if let Some(name) = name.filter(|_| is_range && doubtful.is_near(*start)) {
            let of_process = candidates.entry(Process::of(*thread)).or_default();
            of_process.add(*thread, *start, *end, name);
            // Others may overlap.
            if word.is_some_and(|word| PUSH_POP.contains(&word)) {
                unclosed.add(*thread, *start, *end, name);
            }
        }
        Ok(())
    })?;
    let unclosed = unclosed.find();
    let chosen = candidates.into_iter().filter_map(|(process, mut all)| {
        all.set_ends(|thread, start, end| unclosed.end(thread, start, end));
        Some((process, all.choose()?))
    });
    Ok(FirstPass {
        iterations: chosen.collect(),
        unclosed,
        damage,
    })
}

fn type_word(types: &EnumTable, number: i64) -> Option<&str> {
    let known = || EVENT_TYPES.iter().find(|(known, _)| *known == number);
    let word = types.word(number);
    word.or_else(|| known().map(|(_, word)| *word))
}

struct Host {
    types: EnumTable,
    iterations: BTreeMap<Process, Iterations>,
    unclosed: Unclosed,
    ranges: Vec<OpenRanges>,
    nccl: Nccl,
}

impl Host {
    fn ranges(&mut self, thread: u32) -> &mut OpenRanges {
        let thread = thread as usize;
        if self.ranges.len() <= thread {
            self.ranges.resize_with(thread + 1, OpenRanges::default);
        }
        &mut self.ranges[thread]
    }

    fn nvtx(&mut self, record: Row<'_>, context: &mut Context<'_>) -> Result<(), Error> {
        context.visited(&record.scan.table);
        let number = record.int(EVENT_TYPE, context.notes);
        let word = number.and_then(|number| type_word(&self.types, number));
        let is_push_pop = word.is_none_or(|word| PUSH_POP.contains(&word));
        match word {
            Some(word) if RANGES.contains(&word) => {}
            Some(word) if MARKS.contains(&word) => return self.mark(record, context),
            // An export without types has only ranges worth the name: those with an end.
            None if number.is_none() => {}
            other => {
                let reason = match (other, number) {
                    (Some(word), _) => format!("NVTX: {word} is not a range"),
                    (None, number) => {
                        format!("NVTX: rows of unknown type {}", number.unwrap_or(0))
                    }
                };
                context.notes.skip(&reason);
                return Ok(());
            }
        }
        if record.values.get(1).is_none_or(|end| *end == Value::Null) {
            context
                .notes
                .leave_out("NVTX: a range that was never ended");
            return Ok(());
        }
        let (start_ns, dur_ns) = match record.interval(context.origin_ns, context.notes) {
            Ok((_, dur_ns)) if dur_ns < 0 => return left_out(record, "end before start", context),
            Ok(interval) => interval,
            Err(reason) => return left_out(record, reason, context),
        };
        let global = record.int(2, context.notes);
        // The times of the file: what was found in the first pass was found by them.
        let origin_ns = context.origin_ns;
        let start = start_ns + origin_ns;
        let stated = start + dur_ns;
        let end = global
            .filter(|_| is_push_pop)
            .map_or(stated, |global| self.unclosed.end(global, start, stated));
        let dur_ns = end - start;
        let text = nvtx_text(record, "range", context);
        let operator = OperatorRange::parse(&text);
        let signature = match &operator {
            Some(operator) => {
                for number in &operator.numbers {
                    context.notes.leave_out_argument(number);
                }
                context.signature(operator.sizes)?
            }
            None => None,
        };
        let annotation = Annotation::parse(&text);
        let shown = annotation.as_ref().map_or(&*text, |parsed| &parsed.name);
        let called = operator.as_ref().map_or(shown, |operator| operator.name);
        let name = context.text(called);
        let kind = match operator {
            Some(_) => "brick",
            None => "function",
        };
        let thread = context.threads.number(global, start_ns);
        context.threads.set_of_program(thread);
        let end_ns = start_ns + dur_ns;
        let own = global.and_then(|global| {
            let of_process = self.iterations.get(&Process::of(global))?;
            Some((
                of_process.of_range(global, start, end),
                of_process.number(start, end),
            ))
        });
        let (of_range, iteration) = own.unwrap_or_default();
        if let Some(number) = of_range {
            self.iteration(number, thread, (start_ns, end_ns), context)?;
        }
        let id = context.id();
        let ranges = self.ranges(thread);
        let parent = ranges.around(start_ns, end_ns);
        ranges.push(id, end_ns);
        let row = BrickRow {
            iteration,
            id,
            parent,
            kind: context.text(kind),
            name,
            thread,
            start_ns,
            dur_ns,
            timing: context.text("host"),
            signature,
            ..BrickRow::default()
        };
        context.reach(start_ns, dur_ns);
        context.add(&row)?;
        let mut members = payload::members(record, context);
        for (key, value) in annotation.iter().flat_map(|parsed| &parsed.values) {
            members.insert((*key).to_owned(), Json::String((*value).to_owned()));
        }
        payload::attributes(id, &members, context)?;
        let range = nccl::Range {
            id,
            name: called,
            thread,
            process: global.map(|global| context.threads.process(global)),
            start_ns,
            dur_ns,
        };
        let nccl = &mut self.nccl;
        match nccl.collective(range, &members, context.into, context.notes) {
            Some(row) => context.add(&row),
            None => Ok(()),
        }
    }

    /// Writes a row around a range that is one of an iteration. The range keeps its own row: what it does is work of the
    /// host, while an iteration only frames.
    fn iteration(
        &mut self,
        number: u64,
        thread: u32,
        (start_ns, end_ns): (i64, i64),
        context: &mut Context<'_>,
    ) -> Result<(), Error> {
        let id = context.id();
        let ranges = self.ranges(thread);
        let parent = ranges.around(start_ns, end_ns);
        ranges.push(id, end_ns);
        let row = BrickRow {
            id,
            parent,
            kind: context.text("iteration"),
            name: context.text("iteration"),
            thread,
            iteration: Some(number),
            start_ns,
            dur_ns: end_ns - start_ns,
            timing: context.text("host"),
            ..BrickRow::default()
        };
        context.add(&row)
    }

    fn mark(&mut self, record: Row<'_>, context: &mut Context<'_>) -> Result<(), Error> {
        let start = record.int(0, context.notes);
        let Some(time_ns) = start.and_then(|start| start.checked_sub(context.origin_ns)) else {
            return left_out(record, "no start, or one beyond 64 bits", context);
        };
        let global = record.int(2, context.notes);
        let thread = context.threads.number(global, time_ns);
        let text = nvtx_text(record, "mark", context);
        let name = context.text(&text);
        let members = payload::members(record, context);
        let arguments = (!members.is_empty()).then(|| Json::Object(members).to_string());
        let row = AnnotationRow {
            arguments: arguments.map(|text| context.text(&text)),
            kind: context.text("instant"),
            name,
            thread: Some(thread),
            brick: self.ranges(thread).around(time_ns, time_ns),
            time_ns,
            ..AnnotationRow::default()
        };
        context.add(&row)
    }

    fn call(
        &mut self,
        record: Row<'_>,
        kind: Kind,
        context: &mut Context<'_>,
    ) -> Result<(), Error> {
        context.visited(&record.scan.table);
        let (start_ns, dur_ns) = match record.interval(context.origin_ns, context.notes) {
            Ok((_, dur_ns)) if dur_ns < 0 => return left_out(record, "end before start", context),
            Ok(interval) => interval,
            Err(reason) => return left_out(record, reason, context),
        };
        let global = record.int(2, context.notes);
        let name_id = record.int(3, context.notes);
        let status = record.int(4, context.notes);
        let thread = context.threads.number(global, start_ns);
        let end_ns = start_ns + dur_ns;
        let brick = self.ranges(thread).around(start_ns, end_ns);
        let name = context.name(name_id, "call");
        let id = context.id();
        let mut key = None;
        if kind == Kind::Api {
            context.threads.set_of_program(thread);
            let correlation = record.u32(5, context.notes);
            key = correlation.and_then(|correlation| context.threads.key(global, correlation));
        }
        if let Some(key) = key {
            let kind = CallKind::from_name(context.into.str(name));
            let brick = brick.unwrap_or(0);
            context.launches.push(Launch {
                key,
                call: id,
                brick,
                start_ns,
                end_ns,
                thread,
                kind,
            });
        }
        context.reach(start_ns, dur_ns);
        context.add(&CallRow {
            id,
            brick,
            name,
            thread,
            start_ns,
            dur_ns,
            correlation: key,
            status,
            ..CallRow::default()
        })
    }
}

/// The text of a range or mark, either in the row or in `StringIds`.
fn nvtx_text<'r>(record: Row<'r>, what: &str, context: &mut Context<'_>) -> Cow<'r, str> {
    if let Some(Value::Text(text)) = record.values.get(4) {
        return Cow::Borrowed(text);
    }
    let id = record.int(5, context.notes);
    let text = context.string(id).map(str::to_owned);
    Cow::Owned(text.unwrap_or_else(|| format!("{what} without a name")))
}

pub fn left_out(record: Row<'_>, reason: &str, context: &mut Context<'_>) -> Result<(), Error> {
    context
        .notes
        .leave_out(&format!("{}: {reason}", record.scan.table));
    Ok(())
}
