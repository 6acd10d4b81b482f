//! Timelines of hybrid-parallel training jobs: one JSON list of Chrome events for all ranks, as ByteDance's
//! StragglerAnalysis writes them.
//!
//! | event | row |
//! | --- | --- |
//! | `forward-compute`, `backward-send`, `grads-reduce-scatter`, … | kernels, on a stream for each kind of work |
//! | the same, if it communicates | collectives |
//! | `step` | bricks: an iteration around its operations |
//! | `mb_id`, `seq_id`, `model_chunk` | attributes `micro_batch`, `sequence`, `model_chunk` |
//! | names of processes and threads: `DP rank [1]`, `PP rank 3, TP rank 0, compute` | the rank, and its `parallel.…` values |
//!
//! The file does not state who takes part in a collective. Groups follow Megatron's layout, which the names of the
//! operations come from, and the import says so. In memory are all events of the file.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use trueno_analysis::collectives::Operation;
use trueno_format::schema::{AttributeRow, BrickRow, CollectiveRow, KernelRow, ThreadRow};

use crate::importer::{Head, Import, Importer};
use crate::json::read_list;
use crate::source::Source;
use crate::time::rounded_ns;
use crate::{Error, Part, mended};

pub const IMPORTER: Importer = Importer {
    name: "pipeline-timeline",
    description: "timelines of pipeline-parallel training jobs (StragglerAnalysis)",
    recognises,
    read,
};

fn recognises(head: &Head<'_>) -> bool {
    let is_list = head.behind(&["[", "{"]).is_some();
    let has = |word: &str| head.text().contains(word);
    is_list && has("\"mb_id\"") && (has("\"forward-compute\"") || has("\"backward-compute\""))
}

fn read(mut import: Import<'_>) -> Result<Option<i64>, Error> {
    let format = mended::Document {
        expected: "a list of events",
        remedy: "write it again",
        units: "events",
        count: |events: &Vec<Event>| events.len(),
    };
    let events = format.read(&mut import, |list, from| {
        read_list("a list of events", list, from)
    })?;
    let job = Job::new(&events);
    if job.ranks.is_empty() {
        return Err(import.refused(
            "expected threads with names such as `PP rank 0, TP rank 0, compute`, found none: nothing says which \
             rank an operation is of (hint: write the timeline to its end)",
        ));
    }
    let rank = match &import.options.part {
        None if job.ranks.len() > 1 => {
            let ranks = (0..).zip(&job.ranks).map(|(n, at)| (n, at.label()));
            return Err(Error::Merged {
                path: import.path.to_owned(),
                ranks: ranks.collect(),
            });
        }
        None => 0,
        Some(Part::Rank(label)) => {
            let found = job.ranks.iter().position(|at| at.label() == *label);
            found.ok_or_else(|| import.refused(format!("has no rank {label}")))?
        }
        Some(part) => {
            return Err(import.refused(format!("has ranks, and no {}", part.title())));
        }
    };
    let hash = Source::hash_of(import.path, import.options)?;
    import.into.run().run_id = format!("{:016x}", hash.wrapping_add(rank as u64));
    let import = import.of(import.path);
    Writer { job: &job, import }.write(rank)
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Event {
    name: String,
    ph: String,
    pid: u64,
    tid: u64,
    ts: Option<f64>,
    dur: Option<f64>,
    args: Arguments,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Arguments {
    /// In metadata, the name of the process or thread.
    name: Option<String>,
    step: Option<i64>,
    mb_id: Option<i64>,
    seq_id: Option<i64>,
    model_chunk: Option<i64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Coordinates {
    pipeline: u32,
    data: u32,
    tensor: u32,
}

impl Coordinates {
    fn label(self) -> String {
        format!("PP{}-DP{}-TP{}", self.pipeline, self.data, self.tensor)
    }
}

/// An operation of a rank, in nanoseconds since the first of the job.
struct Operated<'e> {
    event: &'e Event,
    stream: &'e str,
    start_ns: i64,
    end_ns: i64,
}

struct Job<'e> {
    /// By rank number: ordered by pipeline stage, then data, then tensor parallel.
    ranks: Vec<Coordinates>,
    operations: BTreeMap<Coordinates, Vec<Operated<'e>>>,
    /// Each stage holds several chunks of the model, so the last stage sends to the first.
    is_interleaved: bool,
    origin_ns: i64,
    /// Operations on threads without a rank, or without a time.
    lost: u64,
}

/// Parses `PP rank 3, TP rank 0, compute` into the numbers and the rest.
fn thread(name: &str) -> Option<(u32, u32, &str)> {
    let mut parts = name.splitn(3, ", ");
    let mut number = |word: &str| parts.next()?.strip_prefix(word)?.trim().parse().ok();
    Some((number("PP rank ")?, number("TP rank ")?, parts.next()?))
}

fn process(name: &str) -> Option<u32> {
    let number = name.strip_prefix("DP rank")?;
    number.trim_matches([' ', '[', ']']).parse().ok()
}

impl<'e> Job<'e> {
    fn new(events: &'e [Event]) -> Self {
        let metadata = |of: &'static str| {
            let all = events
                .iter()
                .filter(move |event| event.ph == "M" && event.name == of);
            all.filter_map(|event| Some((event, event.args.name.as_deref()?)))
        };
        let data: BTreeMap<u64, u32> = metadata("process_name")
            .filter_map(|(event, name)| Some((event.pid, process(name)?)))
            .collect();
        let threads: BTreeMap<(u64, u64), (Coordinates, &str)> = metadata("thread_name")
            .filter_map(|(event, name)| {
                let (pipeline, tensor, stream) = thread(name)?;
                let data = data.get(&event.pid).copied();
                let data = data.or(u32::try_from(event.pid).ok())?;
                let at = Coordinates {
                    pipeline,
                    data,
                    tensor,
                };
                Some(((event.pid, event.tid), (at, stream)))
            })
            .collect();
        let ns = |us: f64| rounded_ns(us * 1e3);
        let mut out = Self {
            ranks: Vec::new(),
            operations: BTreeMap::new(),
            is_interleaved: events.iter().any(|of| of.args.model_chunk > Some(0)),
            origin_ns: i64::MAX,
            lost: 0,
        };
        for event in events.iter().filter(|event| event.ph == "X") {
            let of_thread = threads.get(&(event.pid, event.tid));
            let times = event
                .ts
                .zip(event.dur)
                .and_then(|(start_us, dur_us)| ns(start_us).zip(ns(start_us + dur_us.max(0.0))));
            let (Some((at, stream)), Some((start_ns, end_ns))) = (of_thread, times) else {
                out.lost += 1;
                continue;
            };
            out.origin_ns = out.origin_ns.min(start_ns);
            out.operations.entry(*at).or_default().push(Operated {
                event,
                stream,
                start_ns,
                end_ns,
            });
        }
        for operations in out.operations.values_mut() {
            operations.sort_by_key(|of| (of.start_ns, of.end_ns));
            for of in operations {
                of.start_ns -= out.origin_ns;
                of.end_ns -= out.origin_ns;
            }
        }
        out.ranks = out.operations.keys().copied().collect();
        out
    }

    fn group(&self, is_member: impl Fn(&Coordinates) -> bool) -> Vec<u32> {
        let all = (0..).zip(&self.ranks);
        all.filter(|(_, at)| is_member(at))
            .map(|(rank, _)| rank)
            .collect()
    }

    fn last_stage(&self) -> u32 {
        self.ranks.iter().map(|at| at.pipeline).max().unwrap_or(0)
    }

    /// The communication of an operation; `None` if there is none or it is unknown.
    fn communication(&self, name: &str, at: Coordinates) -> Option<Communication> {
        let last = self.last_stage();
        let pipeline = |direction: &str, operation: Operation, is_next: bool| {
            // Some recorders list sends that have no receiver.
            let is_wrapped = at.pipeline == if is_next { last } else { 0 };
            if last == 0 || is_wrapped && !self.is_interleaved {
                return None;
            }
            let stage = match (is_next, is_wrapped) {
                (true, true) => 0,
                (true, false) => at.pipeline + 1,
                (false, true) => last,
                (false, false) => at.pipeline - 1,
            };
            let is_peer = |of: &Coordinates| {
                *of == Coordinates {
                    pipeline: stage,
                    ..at
                }
            };
            Some(Communication {
                operation,
                communicator: format!("{direction} of data {} tensor {}", at.data, at.tensor),
                ranks: self.group(|of| (of.data, of.tensor) == (at.data, at.tensor)),
                peer: self.group(is_peer).first().copied(),
            })
        };
        match name {
            "forward-send" => return pipeline("forward", Operation::Send, true),
            "forward-recv" => return pipeline("forward", Operation::Recv, false),
            "backward-send" => return pipeline("backward", Operation::Send, false),
            "backward-recv" => return pipeline("backward", Operation::Recv, true),
            _ => {}
        }
        let operation = match name {
            "optimizer-clip-main-grad" => Operation::AllReduce,
            _ if name.contains("all-reduce") || name.contains("allreduce") => Operation::AllReduce,
            _ if name.contains("all-gather") || name.contains("allgather") => Operation::AllGather,
            _ if name.contains("reduce-scatter") || name.contains("reducescatter") => {
                Operation::ReduceScatter
            }
            _ => return None,
        };
        let (kind, ranks) = if name == "optimizer-clip-main-grad" {
            (name.to_owned(), self.group(|_| true))
        } else if name.starts_with("embedding") {
            let is_member = |of: &Coordinates| {
                (of.data, of.tensor) == (at.data, at.tensor)
                    && (of.pipeline == 0 || of.pipeline == last)
            };
            let kind = format!("{name} of data {} tensor {}", at.data, at.tensor);
            (kind, self.group(is_member))
        } else if name.starts_with("layernorm") || name.starts_with("tp-") {
            let is_member = |of: &Coordinates| (of.pipeline, of.data) == (at.pipeline, at.data);
            let kind = format!("{name} of stage {} data {}", at.pipeline, at.data);
            (kind, self.group(is_member))
        } else {
            let is_member = |of: &Coordinates| (of.pipeline, of.tensor) == (at.pipeline, at.tensor);
            let kind = format!("{name} of stage {} tensor {}", at.pipeline, at.tensor);
            (kind, self.group(is_member))
        };
        // A rank that is alone in its group does not wait.
        (ranks.len() > 1).then_some(Communication {
            operation,
            communicator: kind,
            ranks,
            peer: None,
        })
    }
}

struct Communication {
    operation: Operation,
    communicator: String,
    ranks: Vec<u32>,
    peer: Option<u32>,
}

struct Writer<'w, 'e> {
    job: &'w Job<'e>,
    import: Import<'w>,
}

impl Writer<'_, '_> {
    fn write(&mut self, rank: usize) -> Result<Option<i64>, Error> {
        let job = self.job;
        let at = job.ranks[rank];
        let operations = &job.operations[&at];
        self.facts(at);
        let iterations = self.iterations(operations)?;
        let streams: BTreeSet<&str> = operations.iter().map(|of| of.stream).collect();
        let device = self.import.text("device");
        let mut id = iterations.len() as u64;
        let mut communications: BTreeMap<&str, Option<Communication>> = BTreeMap::new();
        for of in operations {
            self.import.notes.read(&of.event.name);
            id += 1;
            let lane = streams.iter().position(|stream| *stream == of.stream);
            let brick = of
                .event
                .args
                .step
                .and_then(|step| iterations.get(&step).copied());
            let row = KernelRow {
                id,
                brick,
                name: self.import.text(&of.event.name),
                device: Some(0),
                stream: lane.map(|lane| lane as u32),
                start_ns: of.start_ns,
                dur_ns: of.end_ns - of.start_ns,
                timing: device,
                ..KernelRow::default()
            };
            self.import.add(&row)?;
            self.attributes(id, &of.event.args)?;
            let name = of.event.name.as_str();
            let communication = communications
                .entry(name)
                .or_insert_with(|| job.communication(name, at));
            if let Some(communication) = communication {
                self.collective(id, of, communication)?;
            }
        }
        // Once for the file, not for each of its ranks.
        if rank == 0 {
            for _ in 0..job.lost {
                self.import
                    .notes
                    .leave_out("operation on a thread without a rank, or without a time");
            }
            self.import.notes.warn(
                "the file does not state who takes part in a collective: groups follow Megatron's layout, by the names \
                 of operations",
            );
        }
        Ok(operations.iter().map(|of| of.end_ns).max())
    }

    fn facts(&mut self, at: Coordinates) {
        let run = self.import.into.run();
        run.clock.source = "imported: one clock for all ranks".to_owned();
        // One file has one clock: all ranks count from the same moment, whenever that was.
        run.clock.origin_realtime_ns = self.job.origin_ns.max(1);
        let values = [
            ("parallel.pipeline", at.pipeline),
            ("parallel.data", at.data),
            ("parallel.tensor", at.tensor),
        ];
        run.values
            .extend(values.map(|(name, value)| (name.to_owned(), value.to_string())));
    }

    fn iterations(&mut self, operations: &[Operated<'_>]) -> Result<BTreeMap<i64, u64>, Error> {
        let mut steps: BTreeMap<i64, (i64, i64)> = BTreeMap::new();
        for of in operations {
            let Some(step) = of.event.args.step.filter(|step| *step >= 0) else {
                continue;
            };
            let times = steps.entry(step).or_insert((of.start_ns, of.end_ns));
            *times = (times.0.min(of.start_ns), times.1.max(of.end_ns));
        }
        let thread = ThreadRow {
            thread: 0,
            name: Some(self.import.text("steps")),
            ..ThreadRow::default()
        };
        self.import.add(&thread)?;
        let [kind, name, timing] =
            ["iteration", "step", "device"].map(|text| self.import.text(text));
        let mut ids = BTreeMap::new();
        for (id, (step, (start_ns, end_ns))) in (1..).zip(steps) {
            ids.insert(step, id);
            let row = BrickRow {
                id,
                kind,
                name,
                thread: 0,
                start_ns,
                dur_ns: end_ns - start_ns,
                timing,
                iteration: Some(step.unsigned_abs()),
                ..BrickRow::default()
            };
            self.import.add(&row)?;
        }
        Ok(ids)
    }

    fn attributes(&mut self, span: u64, stated: &Arguments) -> Result<(), Error> {
        let values = [
            ("micro_batch", stated.mb_id),
            ("sequence", stated.seq_id),
            ("model_chunk", stated.model_chunk),
        ];
        // The writer states what does not apply as -1.
        for (name, value) in values {
            let Some(value) = value.filter(|value| *value >= 0) else {
                continue;
            };
            let row = AttributeRow {
                span,
                name: self.import.text(name),
                integer: Some(value),
                ..AttributeRow::default()
            };
            self.import.add(&row)?;
        }
        Ok(())
    }

    fn collective(
        &mut self,
        kernel: u64,
        of: &Operated<'_>,
        found: &Communication,
    ) -> Result<(), Error> {
        let ranks: Vec<String> = found.ranks.iter().map(u32::to_string).collect();
        let row = CollectiveRow {
            kernel: Some(kernel),
            time_ns: of.start_ns,
            dur_ns: of.end_ns - of.start_ns,
            communicator: Some(self.import.text(&found.communicator)),
            operation: self.import.text(found.operation.name()),
            group_size: Some(found.ranks.len() as u32),
            group_ranks: Some(self.import.text(&format!("[{}]", ranks.join(",")))),
            peer: found.peer,
            ..CollectiveRow::default()
        };
        self.import.add(&row)
    }
}

#[cfg(test)]
mod tests;
