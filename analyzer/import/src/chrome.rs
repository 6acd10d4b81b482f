//! Chrome's trace events in JSON, above all as Kineto (the PyTorch profiler) writes them.
//!
//! The file is read once, piece by piece. What must be known of later events before a row can
//! be written (the earliest time, what contains what, which call led to which kernel) is found
//! by sorting small records of fixed size: 56 bytes for an interval of the host, 96 for device
//! work, 32 more for an operator. Beyond 32 MiB they are sorted in a file of the run directory, which is gone in the
//! end. Memory holds besides: names, lanes, iterations, and what has begun and not ended.
//!
//! Times are decimal microseconds and become nanoseconds without rounding on the way;
//! `displayTimeUnit` says how a viewer shows them and changes nothing. Time 0 is the earliest
//! event.
//!
//! | event | row |
//! | --- | --- |
//! | `cpu_op` | bricks, kind brick; its declared flops |
//! | `ProfilerStep#N`, also of category `Operator` | bricks, kind iteration, number N |
//! | other intervals, also `B` with `E` | bricks, kind function |
//! | `b` with `e`, `S` with `F` | bricks, kind task, on a lane of their process and category |
//! | `kernel` | kernels; an `edges` row `launches` from the call of its correlation, or, where that call is not in the file, `spawns` from the one operator of its `External id` |
//! | `cuda_profiler_range` | kernels that are not valid, as their times are not recorded; their metrics are counters, with operations and bytes that follow from them |
//! | arguments `Collective name` and its like | collectives, of the operator; of the kernel where no operator has them |
//! | `gloo:all_reduce` and its like | collectives, of the function |
//! | `gpu_memcpy`, `gpu_memset` | transfers; the same edge |
//! | `cuda_runtime`, `cuda_driver` and the like | calls; syncs as well where it waits and no `cuda_sync` says so |
//! | `cuda_sync` | syncs, at the times that the host's call took; a stream that waits for an event has no thread |
//! | event record a wait refers to | device_events; its time is not known; an `edges` row `joins` to the wait |
//! | flow `s`, `t`, `f` | edges: `depends_on` from what had ended, else `spawns` |
//! | `Sequence number` and `Fwd thread id`, without flows `fwdbwd` | edges `depends_on` from forward to backward operators |
//! | other arguments | attributes of the row; those by which a profiler finds its own records are counted only |
//! | sums of clang's `-ftime-trace`, with `count` and `avg ms` | counters, declared |
//! | rows in which Bazel waits | bricks of category waiting; components of its critical path repeat other rows |
//! | `C` | counters, declared; one that several processes have is named with its process |
//! | `[memory]` | allocations; its totals of a device: counters `gpu0 allocated` and `gpu0 reserved`, measured |
//!
//! A brick's parent is the innermost interval of its thread that contains it whole; its
//! iteration that of its parent, else the one its process was in when it began.
//!
//! A file that an export of a run wrote has [`MARK`] in its `otherData` and is read into the rows
//! that were exported, not by this table. Where the mark stands behind the events it is met at
//! the end only, and the file is read once more.

mod autograd;
mod bazel;
mod category;
mod collectives;
mod collector;
mod decimal;
mod document;
mod event;
mod event_arguments;
mod facts;
pub(crate) mod feed;
mod flows;
mod host_views;
mod lanes;
mod launch_flows;
mod launch_points;
mod layout;
mod linker;
mod merged;
mod open_intervals;
mod orphans;
mod profiler_ranges;
mod profiler_rows;
mod python;
mod record;
mod reimport;
mod row_texts;
mod scanner;
mod shapes;
mod sums_of_calls;
mod sweep;
mod unitrace;
mod unused_arguments;

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use trueno_format::schema::{SignatureRow, TableRow};

use crate::Error;
use crate::doubtful::Memory;
use crate::importer::{Head, Import, Importer};
use crate::mended::Mended;
use crate::source::{Source, hash_of_all};
use collector::Collector;
use decimal::EPOCH_NS;
use document::{Failure, Shape};
use record::NONE;
use reimport::Mark;
pub use reimport::{FORMAT_VERSION, MARK};
use row_texts::RowTexts;
use scanner::Scanner;

use crate::options::Part;
use crate::signatures::Signatures;
use layout::Layout;
pub use merged::ranks_of;

/// Chrome trace events as written by Kineto and many others, compressed or not. With
/// [`partial`](crate::Options::partial), what precedes the damage in a damaged file is kept.
pub const IMPORTER: Importer = Importer {
    name: "kineto",
    description: "Chrome trace events: the PyTorch profiler and many others",
    recognises,
    read,
};

fn recognises(head: &Head<'_>) -> bool {
    let text = head.text();
    // Renacer's JSON says what it is, and strace puts process ids in brackets.
    let is_object = text.starts_with('{') && !text.contains("\"renacer-json");
    is_object || (text.starts_with('[') && !text.starts_with("[pid "))
}

fn read(import: Import<'_>) -> Result<Option<i64>, Error> {
    import_parts(&[import.path], import)
}

/// Reads several traces of one process into one run: a profiler that is stopped and started again writes a file
/// each time.
///
/// # Errors
/// As [`Importer::import`], and if the files count their times from different moments.
pub fn import_parts(paths: &[&Path], mut import: Import<'_>) -> Result<Option<i64>, Error> {
    let before = import.notes.clone();
    let mut pass = Pass {
        texts: Texts::AsTheyStand,
        lines: BTreeSet::new(),
        layout: None,
        labels: None,
        signatures: Signatures::default(),
    };
    let mut first = None;
    let read = loop {
        match import_foreign(paths, &mut pass, &mut import) {
            Ok(Read::Unescaped(error)) if first.is_none() => {
                pass.texts = Texts::Mended;
                first = Some(error);
            }
            Ok(Read::Lines(part)) => {
                pass.lines.insert(part);
            }
            Ok(Read::Layout(layout)) => pass.layout = Some(*layout),
            Ok(Read::Labels(labels)) => pass.labels = Some(labels),
            // The place of the first is one of the file.
            Err(Error::Damaged { .. }) | Ok(Read::Unescaped(_)) if first.is_some() => {
                return Err(first.unwrap_or_else(|| unreachable!("it was just looked at")));
            }
            other => break other?,
        }
        // Rows of signatures are written while the file is read, and each once.
        let table = SignatureRow::TABLE.schema().name;
        let signatures = import.notes.kept.get(table).copied();
        *import.notes = before.clone();
        import
            .notes
            .kept
            .extend(signatures.map(|count| (table, count)));
    };
    match (read, paths) {
        (Read::Run(wall_ns), _) => Ok(wall_ns),
        (Read::Unescaped(error), _) => Err(error),
        (Read::Lines(_) | Read::Layout(_) | Read::Labels(_), _) => Err(Error::format(
            first_of(paths),
            "its shape is still unclear after a second reading",
        )),
        (Read::Export(path, mark), [_]) => {
            *import.notes = before;
            reimport::import(&mark, import.of(&path))
        }
        (Read::Export(path, _), _) => {
            Err(Error::format(&path, "is an export of a run; give it alone"))
        }
    }
}

fn first_of<'p>(paths: &[&'p Path]) -> &'p Path {
    paths.first().copied().unwrap_or(Path::new(""))
}

enum Read {
    Run(Option<i64>),
    /// The file is an export of a run; nothing was written yet.
    Export(PathBuf, Mark),
    /// Not valid JSON, perhaps because texts are not escaped; nothing was written yet.
    Unescaped(Error),
    /// Events of the file with this number stand in no array; nothing was written yet.
    Lines(u64),
    /// Lanes of devices were read as host threads; only signatures were written yet.
    Layout(Box<Layout>),
    /// Ranks of processes by their names, which may follow the events. Nothing was written yet: the file is read again.
    Labels(HashMap<Vec<u8>, String>),
}

/// How one pass reads the files, and what the pass before it found out.
struct Pass {
    texts: Texts,
    /// Numbers of files that have an event a line, without an array around them.
    lines: BTreeSet<u64>,
    layout: Option<Layout>,
    /// Labels of ranks by process.
    labels: Option<HashMap<Vec<u8>, String>>,
    signatures: Signatures,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Texts {
    AsTheyStand,
    Mended,
}

/// Reads traces of programs other than this one.
fn import_foreign(
    paths: &[&Path],
    pass: &mut Pass,
    import: &mut Import<'_>,
) -> Result<Read, Error> {
    let options = import.options;
    let texts = pass.texts;
    let path = first_of(paths);
    let mut collector = Collector::new(path, import.into, import.notes);
    collector.signatures = std::mem::take(&mut pass.signatures);
    collector.memory = Memory::new(options);
    match &options.part {
        Some(Part::Rank(label)) => collector.rank = Some(label.clone()),
        Some(Part::ProcessId(id)) => collector.process = Some(*id),
        Some(Part::Process(_)) | None => {}
    }
    collector.labels = pass.labels.clone();
    collector.is_survey = pass.layout.is_none();
    collector.layout = pass.layout.clone().unwrap_or_default();
    let (mut hashes, mut base_ns, mut bytes_before) = (Vec::new(), None, 0);
    for (path, part) in paths.iter().zip(0..) {
        let mut bytes = 0;
        let mut progress = |read| {
            bytes = read;
            (import.progress)(bytes_before + read);
        };
        let source = Source::open(path, options, &mut progress)?;
        let packing = source.packing();
        let source = match texts {
            Texts::AsTheyStand => Mended::as_it_stands(source),
            Texts::Mended => Mended::new(source),
        };
        let is_of_lines = pass.lines.contains(&part);
        let mut scanner = if is_of_lines {
            Scanner::of_lines(source)
        } else {
            Scanner::new(source)
        };
        scanner.part = part;
        let mut shape = Shape::default();
        match document::read(&mut scanner, &mut shape, &mut collector) {
            Ok(()) | Err(Failure::Enough) => {}
            Err(Failure::Import(error)) => return Err(error),
            Err(Failure::Stop(stop)) => {
                let may_be_mended = !stop.is_cut && stop.io.is_none();
                if texts == Texts::AsTheyStand && may_be_mended {
                    pass.signatures = std::mem::take(&mut collector.signatures);
                    return Ok(Read::Unescaped(shape.refusal(path, stop, packing)));
                }
                let text = shape.stopped(path, stop, packing, options)?;
                collector.notes.problem(collector.into, text);
            }
        }
        if let Some(mark) = collector.mark.take() {
            return Ok(Read::Export(path.to_path_buf(), mark));
        }
        if shape.is_lines && !is_of_lines && shape.has_keys_of_event() {
            pass.signatures = std::mem::take(&mut collector.signatures);
            return Ok(Read::Lines(part));
        }
        shape.has_only_others = collector.has_no_objects();
        if !shape.has_events || shape.has_only_others || collector.has_only_other_objects() {
            return Err(shape.no_trace(path));
        }
        let base = collector.facts.base_ns.take();
        if part == 0 {
            base_ns = base;
        } else if base != base_ns {
            return Err(other_origin(path));
        }
        hashes.push(document::end(scanner, &shape, collector.notes)?);
        bytes_before += bytes;
    }
    if collector.without_rank > 0 {
        pass.signatures = std::mem::take(&mut collector.signatures);
        return Ok(Read::Labels(collector.labels_of_names()));
    }
    collector.facts.base_ns = base_ns;
    collector.end()?;
    collector.believable.turn_off(options);
    collector.check_times()?;
    if collector.rank.is_none() && collector.ranks.is_empty() && collector.process.is_none() {
        collector.ranks = collector.labels_of_names().into_values().collect();
    }
    if collector.rank.is_none() && collector.ranks.len() > 1 {
        return Err(Error::Merged {
            path: path.to_owned(),
            ranks: ranks_of(collector.ranks.iter().map(String::as_str)),
        });
    }
    if collector.is_survey {
        let layout = collector.survey.layout(&collector.lanes, &options.devices);
        if !layout.is_plain() {
            pass.signatures = std::mem::take(&mut collector.signatures);
            return Ok(Read::Layout(Box::new(layout)));
        }
        collector.layout = layout;
    }
    write(collector, hash_of_all(&hashes)).map(Read::Run)
}

fn other_origin(path: &Path) -> Error {
    Error::format(
        path,
        "its baseTimeNanoseconds is not that of the file before, so both cannot be one run; import each alone",
    )
}

fn write(mut collector: Collector<'_>, hash: u64) -> Result<Option<i64>, Error> {
    collector.reach_over_window();
    let end_of_recording = collector.end_of_recording();
    (collector.doubts, collector.reach) = collector
        .believable
        .finish(collector.reach, end_of_recording)?;
    let (origin_ns, last_ns) = collector.reach.unwrap_or_default();
    let texts = RowTexts::new(collector.into);
    let host = collector.host.take()?;
    let used = collector.devices.iter().copied();
    let used = used.filter(|device| *device != NONE);
    collector.renamed_device = collector.facts.rename_only_device(used);
    let used = collector.devices.iter().copied();
    let used = used.filter(|device| *device != NONE);
    if let Some((others, count)) = collector.facts.describe_like_others(used) {
        let noun = if others.len() == 1 {
            "device"
        } else {
            "devices"
        };
        let others: Vec<String> = others.iter().map(u32::to_string).collect();
        collector.notes.warn(format!(
            "the file does not describe {noun} {}: assumed to be like the {count} that it describes, which are all alike",
            others.join(", ")
        ));
    }
    let swept = sweep::sweep(&mut collector, &texts, host, origin_ns)?;
    launch_flows::link(&mut collector)?;
    let links = collector.links.take()?;
    let rows = linker::link(&mut collector, &texts, links, origin_ns)?;
    profiler_rows::write(&mut collector, &texts, rows, origin_ns)?;
    flows::link(&mut collector, &texts, swept.flows)?;
    autograd::link(&mut collector, &texts, swept.nodes)?;
    collector.write_arguments()?;
    collector.write_kernel_counters(origin_ns)?;
    collector.doubts.warn(collector.notes);
    collector.name_tasks();
    let beside_calls = collector.last_beside_calls();
    let last_ns = collector
        .doubts
        .last_ns(last_ns, beside_calls, collector.notes);
    collector.reach = collector.reach.map(|(first_ns, _)| (first_ns, last_ns));
    let Layout {
        warnings,
        unclear,
        accelerators,
        unrecorded,
        maker,
        ..
    } = std::mem::take(&mut collector.layout);
    collector.maker = collector.maker.or(maker);
    collector.facts.name_devices(&accelerators);
    let unclear_rows = unclear
        .iter()
        .map(|text| ("device_unclear", text.clone(), 1));
    let unrecorded = unrecorded.into_iter().map(|(title, count)| {
        let text = format!(
            "{title} holds operators for a device, and no work of that device is in the file"
        );
        ("device_not_recorded", text, count)
    });
    for (code, text, count) in unclear_rows.chain(unrecorded) {
        collector.diagnostic(code, &text, count)?;
    }
    for warning in warnings.into_iter().chain(unclear) {
        collector.notes.warn(warning);
    }
    for (kind, count) in collector.categories.counts() {
        *collector.notes.read.entry(kind).or_default() += count;
    }
    let wall_ns = collector.reach.map(|_| last_ns - origin_ns);
    collector.notes.processes = collector.lanes.numbered_processes();
    let host = collector.host_processes.iter();
    let host = host.filter_map(|process| collector.lanes.process_id(*process).parse().ok());
    collector.notes.host_processes = host.collect();
    let base_ns = collector.facts.base_ns.unwrap_or(0);
    let since_base = |time_ns: i64| time_ns.saturating_add(base_ns);
    let extent = collector
        .reach
        .map(|(first, last)| (since_base(first), since_base(last)));
    collector.notes.extent_ns = extent;
    describe(collector, hash, origin_ns);
    Ok(wall_ns)
}

fn describe(collector: Collector<'_>, hash: u64, origin_ns: i64) {
    if let Some((stated, used)) = collector.renamed_device {
        collector.notes.warn(format!(
            "the file describes one device, number {stated}, and all work has number {used}: taken to be the same device"
        ));
    }
    let maker = match collector.maker {
        _ if collector.categories.are_of_kineto() => "kineto",
        Some(maker) => maker,
        None => "chrome",
    };
    let realtime = match collector.facts.base_ns {
        Some(base_ns) => base_ns.checked_add(origin_ns),
        None => Some(origin_ns).filter(|origin_ns| EPOCH_NS.contains(origin_ns)),
    };
    // One file has one clock: all ranks count from the same moment, whenever that was.
    let realtime = match collector.rank {
        Some(_) => Some(realtime.unwrap_or(origin_ns).max(1)),
        None => realtime,
    };
    let run = collector.into.run();
    run.run_id = format!("{hash:016x}");
    run.host.name = collector.facts.host_name;
    run.clock.source = format!("imported: {maker}");
    if collector.reach.is_some() {
        run.clock.origin_realtime_ns = realtime.unwrap_or(0);
    }
    run.values.extend(collector.facts.values);
}

#[cfg(test)]
mod tests;
