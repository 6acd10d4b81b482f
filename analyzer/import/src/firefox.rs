//! Processed profiles of the Firefox Profiler, which samply and Firefox write.
//!
//! Samples become `samples` with `stacks`: where the profile states the CPU time of threads, only those in which a thread
//! ran, one row for each interval of it; waits between them become `syncs`. Tables of a profile are lists by column; since version 56 all threads share
//! them. In memory is the document, 4 bytes a cell.
//!
//! Format: `docs-developer/processed-profile-format.md` and `src/types/profile.ts` of
//! github.com/firefox-devtools/profiler; tried on `fixtures/other/ls-linux/ls-profile.json` of github.com/mstange/samply
//! at cd249936 (version 41). Version 66, as its crate `fxprof-processed-profile` writes it, is read from its source only.

mod document;

use std::borrow::Cow;
use std::collections::BTreeMap;

use trueno_format::run_writer::{RunWriter, Text};
use trueno_format::schema::{SampleRow, SyncRow, ThreadRow};
use trueno_format::stacks::{Frame, Stacks};

use crate::function_names::FunctionNames;
use crate::importer::{Head, Import, Importer};
use crate::json::read_object;
use crate::time::rounded_ns;
use crate::{Error, mended};
use document::{Document, NONE, Samples, Tables, Thread};

pub const IMPORTER: Importer = Importer {
    name: "firefox-profile",
    description: "JSON of the Firefox Profiler, as samply writes it",
    recognises,
    read,
};

fn recognises(head: &Head<'_>) -> bool {
    let text = head.text();
    let has = |word: &str| text.contains(word);
    let has_stacks = has("\"stackTable\"") && has("\"frameTable\"");
    let is_recorded = has("\"interval\"") && has("\"processType\"");
    text.starts_with('{')
        && !has("\"traceEvents\"")
        && (has("\"preprocessedProfileVersion\"") || has_stacks || is_recorded)
}

fn read(mut import: Import<'_>) -> Result<Option<i64>, Error> {
    let format = mended::Document {
        expected: "a profile of the Firefox Profiler",
        remedy: "save it again",
        units: "threads",
        count: |of: &Document| of.threads.len(),
    };
    let document = format.read(&mut import, |document, from| read_object(document, from))?;
    let has_samples = |thread: &Thread| !thread.samples.times_ms().is_empty();
    if !document.threads.iter().any(has_samples) {
        let problem = if document.threads.iter().any(Thread::is_raw) {
            "is a profile of Firefox as it records it (hint: open it in profiler.firefox.com and download it from \
             there)"
        } else {
            "expected threads with samples, found none; record samples and save the profile again"
        };
        return Err(import.refused(problem));
    }
    write(&document, &mut import)
}

const FAR: &str = "sample with an impossible time";
const NO_CPU_TIME: &str = "sample without the CPU time of its thread";
const NOT_RUNNING: &str =
    "sample of a thread that used no CPU time since the sample before: a wait, off the CPU";

fn write(document: &Document, import: &mut Import<'_>) -> Result<Option<i64>, Error> {
    let times: Vec<Vec<f64>> = document
        .threads
        .iter()
        .map(|thread| thread.samples.times_ms())
        .collect();
    let first_ms = times.iter().flatten().copied().reduce(f64::min);
    let first_ms = first_ms.unwrap_or(0.0);
    let clock = &mut import.into.run().clock;
    clock.source = "firefox-profile".to_owned();
    if let Some(start_ms) = document.meta.start_time {
        clock.origin_realtime_ns = rounded_ns((start_ms + first_ms) * 1e6).unwrap_or(0);
    }
    if document.meta.symbolicated == Some(false) {
        import.notes.warn(
            "the profile has addresses instead of names of functions (hint: open it in profiler.firefox.com with \
             `samply load FILE` and download it from there)",
        );
    }
    let mut stacks = Stacks::default();
    let mut names = FunctionNames::default();
    document.shared.add_names(&mut names);
    for thread in &document.threads {
        thread.tables.add_names(&mut names);
    }
    let about = About {
        libs: &document.libs,
        names: &names,
    };
    let shared = stack_rows(&document.shared, about, &mut stacks, import)?;
    let (mut end_ns, mut next_id) = (0, 1);
    let weights_of_rows = weights_of_rows(&document.threads);
    let cpu_times = CpuTimes::of(document);
    for ((thread, times), number) in document.threads.iter().zip(&times).zip(0..) {
        let row = ThreadRow {
            thread: number,
            name: thread.name.as_ref().map(|name| import.text(name)),
            os_id: thread.tid(),
            start_ns: None,
            process: thread.pid(),
            ..ThreadRow::default()
        };
        import.add(&row)?;
        if thread.markers.length > 0 {
            import
                .notes
                .skip_many("marker: has no place in a run", thread.markers.length);
        }
        let own = stack_rows(&thread.tables, about, &mut stacks, import)?;
        let stack_rows = if own.is_empty() { &shared } else { &own };
        let of_thread = OfThread {
            number,
            samples: &thread.samples,
            times_ns: times_ns(times, first_ms, import),
            stack_rows,
        };
        let last_ns = of_thread.times_ns.iter().flatten().copied().max();
        end_ns = end_ns.max(last_ns.unwrap_or(0));
        let cpu_times = cpu_times.as_ref();
        match cpu_times.filter(|_| thread.samples.has_cpu_times()) {
            Some(unit) => of_thread.by_cpu_time(*unit, &mut next_id, import)?,
            None => of_thread.by_weight(&weights_of_rows, import)?,
        }
    }
    if !document.counters.is_empty() {
        import.notes.skip_many(
            "counter: has no place in a run",
            document.counters.len() as u64,
        );
    }
    import.count_stacks();
    Ok(Some(end_ns))
}

fn times_ns(times_ms: &[f64], first_ms: f64, import: &mut Import<'_>) -> Vec<Option<i64>> {
    let time_ns = |time_ms: &f64| {
        import.notes.read("sample");
        let time_ns = rounded_ns((time_ms - first_ms) * 1e6);
        if time_ns.is_none() {
            import.notes.leave_out(FAR);
        }
        time_ns
    };
    times_ms.iter().map(time_ns).collect()
}

/// The type of weights that are numbers of samples.
const SAMPLES: &str = "samples";

/// Most rows that a sample becomes, on average: whatever a file states, its run is not much larger.
const MAX_ROWS: f64 = 16.0;

/// How the profile states the time that threads ran, and for how much of it one row stands.
#[derive(Clone, Copy, Debug)]
struct CpuTimes {
    event: &'static str,
    /// Nanoseconds, or cycles, in a unit of the profile.
    unit: f64,
    /// Nanoseconds or cycles.
    of_row: f64,
}

impl CpuTimes {
    /// `None` if the profile states none.
    fn of(document: &Document) -> Option<Self> {
        let samples = document.threads.iter().map(|thread| &thread.samples);
        let ran = samples.flat_map(|samples| {
            let deltas = (0..samples.stack.0.len()).map(|at| samples.cpu_delta_at(at));
            deltas.flatten().filter(|delta| *delta > 0.0)
        });
        let (count, sum) = ran.fold((0_u64, 0.0), |(count, sum), delta| (count + 1, sum + delta));
        if count == 0 {
            return None;
        }
        let mean = sum / count as f64;
        Some(match document.meta.cpu_unit_ns() {
            Some(unit) => Self {
                event: "task-clock",
                unit,
                of_row: document.meta.interval_ns().max(mean * unit / MAX_ROWS),
            },
            // An interval has no fixed number of cycles.
            None => Self {
                event: "cycles",
                unit: 1.0,
                of_row: mean,
            },
        })
    }
}

/// For how much weight one row stands, by the type of weights. Threads without weights count each sample once.
fn weights_of_rows(threads: &[Thread]) -> BTreeMap<&str, f64> {
    let mut all: BTreeMap<&str, Weights> = BTreeMap::new();
    for samples in threads.iter().map(|thread| &thread.samples) {
        let of_type = all.entry(samples.weight_type()).or_default();
        let places = 0..samples.stack.0.len();
        for weight in places.filter_map(|at| samples.weight_at(at)) {
            of_type.add(weight);
        }
    }
    let all = all.into_iter();
    all.filter_map(|(of, weights)| Some((of, weights.of_row(of)?)))
        .collect()
}

#[derive(Debug)]
struct Weights {
    count: f64,
    sum: f64,
    least: f64,
    /// Of those above 0.
    least_positive: f64,
    most: f64,
}

impl Default for Weights {
    fn default() -> Self {
        Self {
            count: 0.0,
            sum: 0.0,
            least: f64::INFINITY,
            least_positive: f64::INFINITY,
            most: 0.0,
        }
    }
}

impl Weights {
    fn add(&mut self, weight: f64) {
        self.count += 1.0;
        self.sum += weight;
        self.least = self.least.min(weight);
        self.most = self.most.max(weight);
        if weight > 0.0 {
            self.least_positive = self.least_positive.min(weight);
        }
    }

    /// `None` if all are alike, or may be negative, as of memory that was released.
    fn of_row(&self, weight_type: &str) -> Option<f64> {
        if self.least < 0.0 || self.least >= self.most {
            return None;
        }
        Some(match weight_type {
            // A weight is a number of samples with one stack.
            SAMPLES => self.least_positive.max(self.sum / (self.count * MAX_ROWS)),
            // As many rows as there are samples: more would look like more evidence.
            _ => self.sum / self.count,
        })
    }
}

/// Turns the weights of a thread into equal rows, one in each stretch of `of_row`. Where in its stretch a row falls is a
/// hash of its number: with even distances, a program in step with them would show one of its functions only.
struct Rows {
    thread: u32,
    of_row: f64,
    /// Weight so far, in rows.
    passed: f64,
    count: u64,
}

impl Rows {
    fn new(thread: u32, of_row: f64) -> Self {
        Self {
            thread,
            of_row,
            passed: 0.0,
            count: 0,
        }
    }

    fn next(&mut self, weight: f64) -> u64 {
        self.passed += weight / self.of_row;
        let before = self.count;
        while self.count as f64 + self.place() < self.passed {
            self.count += 1;
        }
        self.count - before
    }

    /// Place of the next row in its stretch, from 0 to 1 (the finaliser of SplitMix64).
    fn place(&self) -> f64 {
        let seed = (u64::from(self.thread) << 40) ^ self.count;
        let mixed = seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// The samples of a thread.
struct OfThread<'d> {
    number: u32,
    samples: &'d Samples,
    times_ns: Vec<Option<i64>>,
    stack_rows: &'d [Option<u64>],
}

impl OfThread<'_> {
    fn stack(&self, at: usize, import: &mut Import<'_>) -> Option<u64> {
        let row = self.stack_rows.get(self.samples.stack.get(at)?);
        if row.is_none() {
            import
                .notes
                .leave_out("stack of a sample that the profile does not list: null");
        }
        row.copied().flatten()
    }

    /// Samples in which the thread ran, each as often as its CPU time has the profile's interval. Where it used none since
    /// the sample before, it was off the CPU.
    fn by_cpu_time(
        &self,
        times: CpuTimes,
        next_id: &mut u64,
        import: &mut Import<'_>,
    ) -> Result<(), Error> {
        let (event, off_cpu) = (import.text(times.event), import.text("off_cpu"));
        let period = rounded_count(times.of_row);
        let mut rows = Rows::new(self.number, times.of_row);
        let mut before_ns = None;
        for (at, time_ns) in self.times_ns.iter().enumerate() {
            let Some(time_ns) = *time_ns else { continue };
            let since_ns = before_ns.replace(time_ns);
            let Some(ran) = self.samples.cpu_delta_at(at) else {
                import.notes.skip(NO_CPU_TIME);
                continue;
            };
            let stack = self.stack(at, import);
            if ran > 0.0 {
                for _ in 0..rows.next(ran * times.unit) {
                    self.add(time_ns, stack, (event, period), import)?;
                }
                continue;
            }
            import.notes.repeat(NOT_RUNNING);
            if let Some(start_ns) = since_ns.filter(|since_ns| *since_ns < time_ns) {
                import.add(&SyncRow {
                    id: *next_id,
                    kind: off_cpu,
                    thread: Some(self.number),
                    start_ns,
                    dur_ns: time_ns - start_ns,
                    stack,
                    ..SyncRow::default()
                })?;
                *next_id += 1;
            }
        }
        Ok(())
    }

    fn by_weight(
        &self,
        weights_of_rows: &BTreeMap<&str, f64>,
        import: &mut Import<'_>,
    ) -> Result<(), Error> {
        let weight_type = self.samples.weight_type();
        let event = import.text(weight_type);
        let of_row = weights_of_rows.get(weight_type);
        let mut rows = of_row.map(|of_row| Rows::new(self.number, *of_row));
        for (at, time_ns) in self.times_ns.iter().enumerate() {
            let Some(time_ns) = *time_ns else { continue };
            let stack = self.stack(at, import);
            let weight = self.samples.weight_at(at);
            let (count, period) = match (&mut rows, weight) {
                (Some(rows), Some(weight)) => (rows.next(weight), rounded_count(rows.of_row)),
                (_, weight) => (1, weight.and_then(rounded_count)),
            };
            for _ in 0..count {
                self.add(time_ns, stack, (event, period), import)?;
            }
        }
        Ok(())
    }

    fn add(
        &self,
        time_ns: i64,
        stack: Option<u64>,
        (event, period): (Text, Option<u64>),
        import: &mut Import<'_>,
    ) -> Result<(), Error> {
        import.add(&SampleRow {
            time_ns,
            thread: self.number,
            stack,
            event,
            period,
            cpu: None,
        })
    }
}

fn rounded_count(weight: f64) -> Option<u64> {
    (weight >= 0.0).then(|| weight.round() as u64)
}

/// What tables of all threads share.
#[derive(Clone, Copy)]
struct About<'d> {
    libs: &'d [document::Lib],
    names: &'d FunctionNames<'d>,
}

fn stack_rows(
    tables: &Tables,
    about: About<'_>,
    stacks: &mut Stacks,
    import: &mut Import<'_>,
) -> Result<Vec<Option<u64>>, Error> {
    let texts: Vec<Text> = tables
        .texts
        .iter()
        .map(|text| import.text(text.as_deref().unwrap_or_default()))
        .collect();
    let mut rows: Vec<Option<u64>> = Vec::with_capacity(tables.stack_table.frame.0.len());
    for (at, frame) in tables.stack_table.frame.0.iter().enumerate() {
        let caller = match tables.stack_table.prefix.0.get(at) {
            None | Some(&NONE) => None,
            Some(caller) => match rows.get(*caller as usize) {
                Some(row) => *row,
                // Callers stand before what they call.
                None => {
                    import
                        .notes
                        .leave_out("caller that the profile does not list: null");
                    None
                }
            },
        };
        let frame = tables.frame(*frame, about, &texts, import.into);
        rows.push(Some(stacks.row(import.into, caller, frame)?));
    }
    Ok(rows)
}

impl Tables {
    fn text(&self, number: Option<usize>) -> Option<&str> {
        self.texts.get(number?)?.as_deref()
    }

    fn file_of(&self, func: usize) -> Option<usize> {
        let funcs = &self.func_table;
        let source = || self.sources.filename.get(funcs.source.get(func)?);
        funcs.file_name.get(func).or_else(source)
    }

    fn add_names<'d>(&'d self, names: &mut FunctionNames<'d>) {
        for func in 0..self.func_table.name.0.len() {
            if let Some(name) = self.text(self.func_table.name.get(func)) {
                names.add(name, self.text(self.file_of(func)), None);
            }
        }
    }

    fn frame(&self, number: u32, about: About<'_>, texts: &[Text], into: &mut RunWriter) -> Frame {
        let frames = &self.frame_table;
        let at = number as usize;
        let Some(func) = frames.func.get(at) else {
            return Frame::default();
        };
        let text = |number: Option<usize>| texts.get(number?).copied();
        let funcs = &self.func_table;
        let name = funcs.name.get(func);
        let address = frames.address.get(at).map(|address| address as u64);
        // samply writes the address as a name if it knows none.
        let printed = self.text(name).unwrap_or_default();
        let has_name = !printed.is_empty() && !printed.starts_with("0x");
        let lib = funcs
            .resource
            .get(func)
            .and_then(|resource| self.resource_table.lib.get(resource))
            .and_then(|lib| about.libs.get(lib).or_else(|| self.libs.get(lib)));
        let file = self.file_of(func);
        let function = match about.names.name(printed, self.text(file), None) {
            Cow::Owned(with_place) => Some(into.text(&with_place)),
            Cow::Borrowed(_) => text(name),
        };
        Frame {
            function: function.filter(|_| has_name || address.is_none()),
            module: lib.map(|lib| into.text(lib.name())),
            address: address.filter(|_| !has_name),
            file: text(file),
            line: frames
                .line
                .get(at)
                .or_else(|| funcs.line_number.get(func))
                .and_then(|line| u32::try_from(line).ok()),
            inlined: frames.inline_depth.get(at).map(|depth| depth > 0),
        }
    }
}

#[cfg(test)]
mod tests;
