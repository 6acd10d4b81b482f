//! Rows of a whole profile.

use std::collections::{BTreeMap, BTreeSet};

use trueno_analysis::vendors::{XlaFramework, device_of_process};
use trueno_format::schema::{AttributeRow, ThreadRow};

use super::flows::Flows;
use super::merged_calls;
use super::messages::XSpace;
use super::plane::{Event, Kind, events, kind_of};
use super::stats::{Value, attribute, name_of};
use crate::{Error, Import, Notes};

/// Later times (from 2001 on) are Unix times. Others count from the beginning of the profile.
const EPOCH_NS: i64 = 1_000_000_000_000_000_000;
/// A function that spends this share of its time in starting or stopping the profiler does nothing else.
const PROFILER_SHARE: f64 = 0.95;
/// Limits for the values of one file, and for the length of each.
const MAX_VALUES: usize = 512;
const MAX_VALUE_BYTES: usize = 1 << 10;

/// Host events by line id, with those of the Python tracer separate.
pub type Threads<'p> = BTreeMap<(i64, bool), Vec<Event<'p>>>;

pub struct Rows<'a> {
    pub origin_ns: i64,
    /// Number of rows per thread and, after them, per device stream.
    counts: Vec<u64>,
    pub flows: Flows,
    pub import: Import<'a>,
}

impl Rows<'_> {
    pub fn new_place(&mut self) -> u32 {
        self.counts.push(0);
        self.counts.len() as u32 - 1
    }

    /// A new row id, numbered as the recorder does: the thread in the upper half, counting from 1.
    pub fn new_row(&mut self, place: u32) -> u64 {
        let count = &mut self.counts[place as usize];
        *count += 1;
        (u64::from(place) + 1) << 32 | *count
    }

    pub fn thread(
        &mut self,
        name: &str,
        os_id: Option<u64>,
        process: Option<u64>,
        start_ns: i64,
    ) -> Result<u32, Error> {
        let thread = self.new_place();
        let row = ThreadRow {
            thread,
            name: Some(self.import.text(name)),
            os_id,
            start_ns: Some(start_ns - self.origin_ns),
            process,
            ..ThreadRow::default()
        };
        self.import.add(&row)?;
        Ok(thread)
    }

    /// Writes stats as attributes of a row, except those with a column.
    pub fn attributes<'p>(
        &mut self,
        span: u64,
        stats: impl Iterator<Item = (&'p [u8], Value<'p>)>,
        columns: &[&str],
    ) -> Result<(), Error> {
        // Names of XLA's own that are no facts of the program: links, marks of roots.
        let own = ["_p", "_pt", "_c", "_ct", "_r", "_a", "_src"];
        for (name, value) in stats {
            let is = |names: &[&str]| names.iter().any(|other| other.as_bytes() == name);
            if name.is_empty() || is(&own) || is(columns) {
                continue;
            }
            let row: Option<AttributeRow> =
                attribute(span, name, value, self.import.into, self.import.notes);
            if let Some(row) = row {
                self.import.add(&row)?;
            }
        }
        Ok(())
    }
}

pub fn write(space: &XSpace, mut import: Import<'_>) -> Result<Option<i64>, Error> {
    // Lines of one number are one thread, also those of other planes. Functions of Python stand on a lane beside: an
    // annotation begins in one function, `__enter__`, and ends in another.
    let mut threads = Threads::new();
    let mut devices = Vec::new();
    for plane in &space.planes {
        let mut lines = Vec::new();
        for line in &plane.lines {
            let events = events(plane, line, import.notes);
            match kind_of(plane) {
                Kind::Device => lines.push((line, events)),
                Kind::Host | Kind::Calls => {
                    for event in events {
                        let key = (line.id, event.is_python());
                        threads.entry(key).or_default().push(event);
                    }
                }
            }
        }
        if kind_of(plane) == Kind::Device {
            devices.push((plane, lines));
        }
    }
    leave_out_profiler(&mut threads, import.notes);
    merged_calls::place(&mut threads, import.notes);
    let on_devices = devices
        .iter()
        .flat_map(|(_, lines)| lines.iter().map(|(_, events)| events));
    let all = || threads.values().chain(on_devices.clone()).flatten();
    let origin_ns = all().map(|event| event.start_ns).min().unwrap_or(0);
    let last_ns = all().map(|event| event.end_ns).max();
    describe(space, origin_ns, &mut import);
    let mut rows = Rows {
        origin_ns,
        counts: Vec::new(),
        flows: Flows::default(),
        import,
    };
    for events in threads.into_values() {
        super::host::write(events, &mut rows)?;
    }
    let mut taken = BTreeSet::new();
    for (plane, lines) in devices {
        let stated = device_of_process(&String::from_utf8_lossy(&plane.name));
        let stated = stated.and_then(|device| device.number);
        let is_free = |number: &u32| !taken.contains(number);
        let number = stated.filter(is_free).or((0..).find(is_free)).unwrap_or(0);
        taken.insert(number);
        super::device::write(number, plane, lines, &mut rows)?;
    }
    rows.flows.write(&mut rows.import)?;
    Ok(last_ns.map(|last_ns| last_ns - origin_ns))
}

/// Leaves out the starting and stopping of the profiler, everything inside it, and functions that do little else
/// (`trace`, `__exit__`), because it is not the program's time.
fn leave_out_profiler(threads: &mut Threads<'_>, notes: &mut Notes) {
    let mut own: BTreeMap<i64, Vec<(i64, i64)>> = BTreeMap::new();
    let times = |event: &Event<'_>| (event.start_ns, event.end_ns);
    for ((line, _), events) in &*threads {
        let profiler = events.iter().filter(|event| event.is_profiler());
        let profiler: Vec<(i64, i64)> = profiler.map(times).collect();
        let is_around = |event: &&Event<'_>| {
            let (start_ns, end_ns) = times(event);
            let mut profiler = profiler.iter();
            profiler.any(|(from, until)| {
                let share = (until - from) as f64 / (end_ns - start_ns).max(1) as f64;
                start_ns <= *from && *until <= end_ns && share >= PROFILER_SHARE
            })
        };
        let own = own.entry(*line).or_default();
        if !profiler.is_empty() {
            let python = events.iter().filter(|event| event.is_python());
            own.extend(python.filter(is_around).map(times));
        }
    }
    for ((line, _), events) in threads {
        let own = &own[line];
        events.retain(|event| {
            let mut around = own.iter();
            let is_own =
                around.any(|(from, until)| event.start_ns >= *from && event.end_ns <= *until);
            if is_own {
                notes.skip("work of the profiler, which starts or stops");
            }
            !is_own
        });
    }
}

fn describe(space: &XSpace, origin_ns: i64, import: &mut Import<'_>) {
    let path = import.path;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let mut values = BTreeMap::new();
    let mut begin_ns = None;
    for plane in &space.planes {
        let has_program = |stat| name_of(plane, stat) == b"Hlo Proto";
        for metadata in plane.event_metadata.values() {
            if metadata.stats.iter().any(has_program) {
                import.notes.skip("program of XLA (Hlo Proto)");
            }
        }
        for stat in &plane.stats {
            let name = text(name_of(plane, stat));
            let Some(value) = Value::new(plane, stat) else {
                import.notes.leave_out_argument(&name);
                continue;
            };
            if name == "profile_start_time" {
                begin_ns = value.unsigned().and_then(|ns| i64::try_from(ns).ok());
            }
            let shown = value.shown();
            let is_text = !shown.chars().any(char::is_control);
            if values.len() < MAX_VALUES && shown.len() <= MAX_VALUE_BYTES && is_text {
                values.insert(format!("xplane.{}.{name}", text(&plane.name)), shown);
            } else {
                import.notes.leave_out_argument(&name);
            }
        }
    }
    let said = [("error", &space.errors), ("warning", &space.warnings)];
    for (kind, texts) in said {
        for each in texts {
            import
                .notes
                .warn(format!("{kind} of the profiler: {}", text(each)));
        }
    }
    let run = import.into.run();
    run.values.extend(values);
    let maker = if is_of_tensorflow(space) {
        "tensorflow xplane"
    } else {
        "xplane"
    };
    run.clock.source = format!("imported: {maker}");
    run.clock.origin_realtime_ns = match (origin_ns >= EPOCH_NS, begin_ns) {
        (true, _) => origin_ns,
        (false, Some(begin_ns)) => begin_ns.saturating_add(origin_ns),
        (false, None) => 0,
    };
    run.host.name = space.hostnames.first().map(|name| text(name));
    run.label = path
        .file_name()
        .map(|name| name.to_string_lossy().into_owned());
}

/// TensorFlow ran its own functions, and JAX none.
fn is_of_tensorflow(space: &XSpace) -> bool {
    let planes = space.planes.iter();
    let names = planes.flat_map(|plane| plane.event_metadata.values());
    let frameworks = names.map(|of| XlaFramework::of_row(&String::from_utf8_lossy(&of.name)));
    let found: Vec<XlaFramework> = frameworks.flatten().collect();
    !found.is_empty() && !found.contains(&XlaFramework::Jax)
}
