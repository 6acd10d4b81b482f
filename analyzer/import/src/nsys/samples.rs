//! CPU samples: moments at which a thread ran, and the functions on its stack.
//!
//! Both tables are read in order of the sample's id, each sample before its functions, and these from the outermost
//! inwards.

use trueno_analysis::wording;
use trueno_format::run_writer::Text;
use trueno_format::schema::SampleRow;
use trueno_format::stacks::{Frame, Stacks};

use super::context::Context;
use super::doubtful::{self, Doubtful};
use super::enum_table::EnumTable;
use super::facts::each;
use super::host::left_out;
use super::row::Row;
use super::source::{Scan, Source, Value};
use super::tables::{Found, Kind};
use crate::Error;

const STATES: [&str; 11] = [
    "Unknown",
    "Running",
    "Interruptible",
    "Uninterruptible",
    "Stopped",
    "Terminated",
    "Unscheduled",
    "Waiting",
    "OSRuntime",
    "Initialized",
    "Transition",
];

/// How the profiler sampled, as far as the export states it. Exports before 2023.3 do not.
#[derive(Debug, Default)]
pub struct Capture {
    period: Option<u64>,
    trigger: Option<Trigger>,
    /// Processes that the program did not start are sampled as well.
    pub is_system_wide: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trigger {
    /// The processor counts cycles.
    Hardware,
    /// The kernel's timer of CPU time. The period is in nanoseconds.
    Software,
}

impl Capture {
    pub fn read(source: &mut dyn Source, context: &mut Context<'_>) -> Result<Self, Error> {
        let mut capture = Self::default();
        let columns = ["name", "value"];
        each(
            source,
            "META_DATA_CAPTURE",
            &columns,
            context,
            &mut |_, values| {
                if let [Value::Text(name), Value::Text(value)] = values {
                    capture.set(name, value);
                }
                Ok(())
            },
        )?;
        Ok(capture)
    }

    fn set(&mut self, name: &str, value: &str) {
        match name {
            "LINUX_PERF_OPTIONS:SAMPLING_PERIOD" => {
                self.period = value.parse().ok().filter(|period| *period > 0);
            }
            "LINUX_PERF_OPTIONS:CPU_IP_TRIGGER_TYPE" => {
                self.trigger = match value {
                    "Hardware" => Some(Trigger::Hardware),
                    "Software" => Some(Trigger::Software),
                    _ => None,
                };
            }
            "LINUX_PERF_OPTIONS:COLLECTION_MODE" => {
                self.is_system_wide |= value != "ProcessTree";
            }
            "SAMPLE_ALL_TASKS" => self.is_system_wide |= value == "true",
            _ => {}
        }
    }

    fn event(&self) -> &'static str {
        match (self.trigger, self.period) {
            (Some(Trigger::Software), _) => "cpu-clock",
            (Some(Trigger::Hardware), _) | (None, Some(_)) => "cycles",
            (None, None) => "time",
        }
    }
}

/// Reads samples and their stacks. Returns how many were left out because of their times.
pub fn read(
    source: &mut dyn Source,
    tables: &[Found],
    doubtful: &Doubtful,
    capture: &Capture,
    context: &mut Context<'_>,
) -> Result<u64, Error> {
    let scans: Vec<Scan> = tables.iter().map(by_id).collect();
    let mut samples = Samples {
        states: EnumTable::read(source, "ENUM_SAMPLING_THREAD_STATE")?,
        event: context.text(capture.event()),
        period: capture.period,
        is_filtered: capture.is_system_wide && !context.threads.pids.is_empty(),
        stacks: Stacks::default(),
        last: None,
        open: None,
        counts: Counts::default(),
    };
    let damage = source.merged(&scans, &mut |number, values| {
        let record = Row {
            scan: &scans[number],
            values,
        };
        context.visited(&record.scan.table);
        match tables[number].kind {
            Kind::Sample => samples.sample(record, doubtful, context),
            _ => samples.function(record, context),
        }
    })?;
    context.damaged(damage);
    samples.close(context)?;
    context.notes.count_stacks(context.into);
    samples.counts.warn(context);
    Ok(samples.counts.far)
}

fn by_id(found: &Found) -> Scan {
    if found.kind != Kind::Sample {
        return found.scan.clone();
    }
    let [start, _, thread, id, cpu, state] =
        std::array::from_fn(|at| found.scan.columns.get(at).cloned().flatten());
    Scan {
        columns: vec![id, start, thread, cpu, state],
        ..found.scan.clone()
    }
}

/// What became of the sample that was read last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Kept,
    LeftOut,
    /// Its id is not unique, so that its functions are not known.
    Ambiguous,
}

/// A sample whose functions are being read.
struct Open {
    row: SampleRow,
    /// Depth of the function read last; the innermost has 0.
    depth: Option<i64>,
    functions: u64,
    is_cut: bool,
}

#[derive(Debug, Default)]
struct Counts {
    kept: u64,
    far: u64,
    /// Samples with one function and none of its callers.
    without_callers: u64,
    /// Samples whose outermost functions are missing.
    cut: u64,
}

impl Counts {
    fn warn(&self, context: &mut Context<'_>) {
        let kept = self.kept;
        let is_much = |part: u64| part > kept / 10;
        if is_much(self.without_callers) {
            context.notes.warn(format!(
                "{} of {} CPU samples have no callers: only the function that ran is known (hint: `nsys profile \
                 --samples-per-backtrace=1` records the callers of each)",
                wording::count(self.without_callers),
                wording::count(kept)
            ));
        }
        if is_much(self.cut) {
            context.notes.warn(format!(
                "{} of {} CPU samples lack the outermost functions of their stack, so the inclusive time of such \
                 functions is too low",
                wording::count(self.cut),
                wording::count(kept)
            ));
        }
    }
}

struct Samples {
    states: EnumTable,
    event: Text,
    period: Option<u64>,
    /// Only samples of processes that have other rows are kept.
    is_filtered: bool,
    stacks: Stacks,
    last: Option<(i64, Fate)>,
    open: Option<Open>,
    counts: Counts,
}

impl Samples {
    fn sample(
        &mut self,
        record: Row<'_>,
        doubtful: &Doubtful,
        context: &mut Context<'_>,
    ) -> Result<(), Error> {
        self.close(context)?;
        let id = record.int(0, context.notes);
        let is_twice = self.last.is_some_and(|(last, _)| Some(last) == id);
        let row = self.row(record, doubtful, context)?;
        let fate = match row {
            _ if is_twice => Fate::Ambiguous,
            Some(_) => Fate::Kept,
            None => Fate::LeftOut,
        };
        self.last = id.map(|id| (id, fate));
        self.open = row.map(|row| Open {
            row,
            depth: None,
            functions: 0,
            is_cut: false,
        });
        Ok(())
    }

    /// The sample without its stack; `None` if it was left out.
    fn row(
        &mut self,
        record: Row<'_>,
        doubtful: &Doubtful,
        context: &mut Context<'_>,
    ) -> Result<Option<SampleRow>, Error> {
        let leave_out = |reason: &str, context: &mut Context<'_>| {
            left_out(record, reason, context)?;
            Ok(None)
        };
        let start = record.int(1, context.notes);
        let Some((start, time_ns)) =
            start.and_then(|start| Some((start, start.checked_sub(context.origin_ns)?)))
        else {
            return leave_out("no start, or one beyond 64 bits", context);
        };
        let global = record.int(2, context.notes);
        if self.is_filtered && !global.is_some_and(|global| context.threads.has_process(global)) {
            return leave_out("sample of a process that has no other row", context);
        }
        if !doubtful.is_near(start) {
            self.counts.far += 1;
            return leave_out(doubtful::FAR, context);
        }
        if self.is_filtered && time_ns < 0 {
            return leave_out("sample from before all other rows", context);
        }
        let state = record.int(4, context.notes);
        if !state.is_none_or(|state| self.may_run(state)) {
            let reason = format!("{}: the thread did not run", record.scan.table);
            context.notes.skip(&reason);
            return Ok(None);
        }
        context.reach(time_ns, 0);
        Ok(Some(SampleRow {
            time_ns,
            thread: context.threads.number(global, time_ns),
            stack: None,
            event: self.event,
            period: self.period,
            cpu: record.u32(3, context.notes),
        }))
    }

    /// False only for a thread that surely did not run.
    fn may_run(&self, state: i64) -> bool {
        let known = || STATES.get(usize::try_from(state).ok()?).copied();
        let word = self.states.word(state).or_else(known);
        word.is_none_or(|word| matches!(word, "Running" | "Unknown"))
    }

    fn function(&mut self, record: Row<'_>, context: &mut Context<'_>) -> Result<(), Error> {
        let id = record.int(0, context.notes);
        let last = self.last.filter(|(last, _)| Some(*last) == id);
        let open = match (last, &mut self.open) {
            (Some((_, Fate::Kept)), Some(open)) => open,
            (Some((_, Fate::Ambiguous)), _) => {
                return left_out(record, "function of two samples with the same id", context);
            }
            (Some(_), _) => {
                let reason = format!("{}: function of a sample left out", record.scan.table);
                context.notes.skip(&reason);
                return Ok(());
            }
            (None, _) => return left_out(record, "function without its sample", context),
        };
        let depth = record.int(1, context.notes);
        let Some(depth) = depth.filter(|depth| *depth >= 0) else {
            return left_out(record, "function without a depth in its stack", context);
        };
        match open.depth.replace(depth) {
            Some(last) if last == depth => {
                return left_out(record, "second function at one depth of a stack", context);
            }
            Some(last) if last - 1 != depth => {
                open.row.stack = None;
                open.is_cut = true;
                let reason = "gap in a stack: callers beyond it are not known";
                left_out(record, reason, context)?;
            }
            _ => {}
        }
        let symbol = record.int(2, context.notes);
        let module = record.int(3, context.notes);
        let address = record.int(5, context.notes);
        let is_special = record.int(7, context.notes).is_some_and(|flag| flag != 0);
        if is_special || address.is_none() && is_mark(symbol, module, context) {
            open.is_cut = true;
            let reason = format!("{}: mark of a stack that is cut", record.scan.table);
            context.notes.skip(&reason);
            return Ok(());
        }
        let function = match record.int(4, context.notes) {
            None | Some(0) => name(record, symbol, context)?,
            Some(_) => None,
        };
        let is_of_kernel = record.int(6, context.notes).is_some_and(|flag| flag != 0);
        let frame = Frame {
            function,
            module: file(module, is_of_kernel, context),
            // With it, each instruction of a function would be a row of its own.
            address: address
                .map(i64::cast_unsigned)
                .filter(|_| function.is_none()),
            ..Frame::default()
        };
        let row = self.stacks.row(context.into, open.row.stack, frame)?;
        open.row.stack = Some(row);
        open.functions += 1;
        Ok(())
    }

    fn close(&mut self, context: &mut Context<'_>) -> Result<(), Error> {
        let Some(mut open) = self.open.take() else {
            return Ok(());
        };
        if open.depth.is_some_and(|depth| depth > 0) {
            open.row.stack = None;
            context
                .notes
                .leave_out("SAMPLING_CALLCHAINS: stack without its innermost function: null");
        }
        let counts = &mut self.counts;
        counts.kept += 1;
        counts.cut += u64::from(open.is_cut);
        counts.without_callers += u64::from(open.functions == 1 && !open.is_cut);
        context.add(&open.row)
    }
}

/// True for texts such as `[Max depth]`, which stand where the outermost functions would be.
fn is_mark(symbol: Option<i64>, module: Option<i64>, context: &Context<'_>) -> bool {
    let symbol = context.string(symbol);
    symbol.is_some_and(|symbol| symbol.starts_with('[') && context.string(module) == Some(symbol))
}

fn name(
    record: Row<'_>,
    symbol: Option<i64>,
    context: &mut Context<'_>,
) -> Result<Option<Text>, Error> {
    let Some(id) = symbol else {
        return Ok(None);
    };
    match context.string(symbol) {
        None => {
            left_out(record, "symbol that StringIds lacks: null", context)?;
            Ok(None)
        }
        Some("" | "[Unknown]") => Ok(None),
        Some(symbol) if symbol.starts_with("0x") => Ok(None),
        Some(_) => Ok(context.string_text(id)),
    }
}

fn file(module: Option<i64>, is_of_kernel: bool, context: &mut Context<'_>) -> Option<Text> {
    match context.string(module) {
        Some("[kernel.kallsyms]" | "[kernel.vmlinux]") => Some(context.text("[kernel]")),
        None | Some("" | "[Unknown]") => is_of_kernel.then(|| context.text("[kernel]")),
        Some(_) => context.string_text(module?),
    }
}
