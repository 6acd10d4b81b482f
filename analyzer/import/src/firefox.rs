//! Processed profiles of the Firefox Profiler, which samply and Firefox write.
//!
//! Samples become `samples` with `stacks`. Tables of a profile are lists by column; since version 56 all threads share
//! them. In memory is the document, 4 bytes a cell.
//!
//! Format: `docs-developer/processed-profile-format.md` and `src/types/profile.ts` of
//! github.com/firefox-devtools/profiler; tried on `fixtures/other/ls-linux/ls-profile.json` of github.com/mstange/samply
//! at cd249936 (version 41). Version 66, as its crate `fxprof-processed-profile` writes it, is read from its source only.

mod document;

use std::borrow::Cow;

use trueno_format::run_writer::{RunWriter, Text};
use trueno_format::schema::{SampleRow, ThreadRow};
use trueno_format::stacks::{Frame, Stacks};

use crate::function_names::FunctionNames;
use crate::importer::{Head, Import, Importer};
use crate::json::read_object;
use crate::time::rounded_ns;
use crate::{Error, mended};
use document::{Document, NONE, Tables, Thread};

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
    let mut end_ns = 0;
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
        let rows = if own.is_empty() { &shared } else { &own };
        let samples = &thread.samples;
        let event = import.text(samples.weight_type.as_deref().unwrap_or("samples"));
        for (at, time_ms) in times.iter().enumerate() {
            import.notes.read("sample");
            let Some(time_ns) = rounded_ns((time_ms - first_ms) * 1e6) else {
                import.notes.leave_out(FAR);
                continue;
            };
            end_ns = end_ns.max(time_ns);
            let stack = samples.stack.get(at);
            if stack.is_some_and(|stack| rows.get(stack).is_none()) {
                import
                    .notes
                    .leave_out("stack of a sample that the profile does not list: null");
            }
            let row = SampleRow {
                time_ns,
                thread: number,
                stack: stack.and_then(|stack| rows.get(stack).copied().flatten()),
                event,
                period: samples.weight_at(at),
                cpu: None,
            };
            import.add(&row)?;
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
