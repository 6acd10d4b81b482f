//! Spans of all documents, and their rows.

use std::collections::HashMap;

use serde_json::{Map, Value};
use trueno_format::run_writer::Text;
use trueno_format::schema::{AnnotationRow, AttributeRow, BrickRow, EdgeRow, ThreadRow};
use xxhash_rust::xxh3::xxh3_64;

use super::document::{self, Document, members_of};
use crate::json_attributes::{MAX_TEXT_BYTES, attribute};
use crate::lanes::Lanes;
use crate::{Error, Import};

/// Edge kinds that our own exporter states for links.
const KINDS: [&str; 5] = ["depends_on", "launches", "joins", "wakes", "spawns"];
const FAILED: i64 = 2;

#[derive(Debug)]
struct Span {
    process: u32,
    thread: Option<u64>,
    /// Hash of the trace and span ids.
    id: u64,
    parent: Option<u64>,
    name: Text,
    start_ns: i64,
    end_ns: i64,
    file: Option<Text>,
    line: Option<u32>,
    attributes: Vec<AttributeRow>,
    events: Vec<AnnotationRow>,
    links: Vec<(u64, Option<Text>)>,
}

#[derive(Debug)]
struct Process {
    attributes: Map<String, Value>,
}

#[derive(Debug, Default)]
pub struct Spans {
    spans: Vec<Span>,
    processes: Vec<Process>,
    numbers: HashMap<String, u32>,
}

#[derive(Clone, Copy, Debug)]
struct Placed {
    thread: u32,
    lane: usize,
    row: u64,
}

impl Spans {
    pub fn take(&mut self, document: Document, import: &mut Import<'_>) {
        for resource in document.resource_spans {
            let process = self.process(members_of(resource.resource.attributes));
            for span in resource.scope_spans.into_iter().flat_map(|of| of.spans) {
                import.notes.read("span");
                match span_of(process, span, import) {
                    Ok(span) => self.spans.push(span),
                    Err(reason) => import.notes.leave_out(reason),
                }
            }
        }
    }

    fn process(&mut self, attributes: Map<String, Value>) -> u32 {
        let key = Value::from(attributes.clone()).to_string();
        let next = self.processes.len() as u32;
        *self.numbers.entry(key).or_insert_with(|| {
            self.processes.push(Process { attributes });
            next
        })
    }

    pub fn write(mut self, import: &mut Import<'_>) -> Result<Option<i64>, Error> {
        // What lies in another comes after it; of equals the parent was begun first.
        self.spans
            .sort_by_key(|span| (span.start_ns, std::cmp::Reverse(span.end_ns)));
        let origin_ns = self.spans.first().map_or(0, |span| span.start_ns);
        let last_ns = self.spans.iter().map(|span| span.end_ns).max();
        self.describe(origin_ns, import);
        let mut by_id: HashMap<u64, usize> = HashMap::new();
        for (at, span) in self.spans.iter().enumerate() {
            if by_id.insert(span.id, at).is_some() {
                import
                    .notes
                    .warn("some spans share an id: references to it mean the last of them");
            }
        }
        let placed = self.place(&by_id, origin_ns, import)?;
        let ends_ns: Vec<i64> = self.spans.iter().map(|span| span.end_ns).collect();
        let texts = [
            "function",
            "task",
            "host",
            "instant",
            "spawns",
            "depends_on",
        ];
        let [function, task, host, instant, spawns, depends_on] =
            texts.map(|text| import.text(text));
        for (at, span) in self.spans.iter_mut().enumerate() {
            let of = placed[at];
            let parent = span.parent.and_then(|id| by_id.get(&id).copied());
            let parent = parent.filter(|parent| *parent != at);
            let around = parent.filter(|parent| is_around(&placed, &ends_ns, *parent, at));
            let row = BrickRow {
                id: of.row,
                parent: around.map(|parent| placed[parent].row),
                kind: if parent.is_some() && around.is_none() {
                    task
                } else {
                    function
                },
                name: span.name,
                thread: of.thread,
                start_ns: span.start_ns - origin_ns,
                dur_ns: span.end_ns - span.start_ns,
                timing: host,
                file: span.file,
                line: span.line,
                ..BrickRow::default()
            };
            import.add(&row)?;
            for attribute in &span.attributes {
                let span = of.row;
                import.add(&AttributeRow { span, ..*attribute })?;
            }
            for event in &span.events {
                let row = AnnotationRow {
                    kind: instant,
                    thread: Some(of.thread),
                    brick: Some(of.row),
                    time_ns: event.time_ns.saturating_sub(origin_ns),
                    ..*event
                };
                import.add(&row)?;
            }
        }
        for (at, span) in self.spans.iter().enumerate() {
            let parent = span.parent.and_then(|id| by_id.get(&id).copied());
            let elsewhere = parent
                .filter(|parent| *parent != at && !is_around(&placed, &ends_ns, *parent, at))
                .map(|parent| (parent, Some(spawns)));
            let links = span
                .links
                .iter()
                .filter_map(|(id, kind)| Some((*by_id.get(id)?, *kind)));
            for (from, kind) in elsewhere.into_iter().chain(links) {
                let source = &self.spans[from];
                if source.start_ns > span.start_ns || from == at {
                    import.notes.skip("link from a span that began later");
                    continue;
                }
                let had_ended = source.end_ns <= span.start_ns;
                let kind = kind.unwrap_or(if had_ended { depends_on } else { spawns });
                let (from, to) = (placed[from].row, placed[at].row);
                import.add(&EdgeRow { from, to, kind })?;
            }
        }
        Ok(last_ns.map(|last_ns| last_ns - origin_ns))
    }

    fn place(
        &self,
        by_id: &HashMap<u64, usize>,
        origin_ns: i64,
        import: &mut Import<'_>,
    ) -> Result<Vec<Placed>, Error> {
        let mut lanes: HashMap<(u32, Option<u64>), Lanes> = HashMap::new();
        let mut threads: HashMap<(u32, Option<u64>, usize), u32> = HashMap::new();
        let mut rows: Vec<u64> = Vec::new();
        let mut placed: Vec<Placed> = Vec::with_capacity(self.spans.len());
        for (at, span) in self.spans.iter().enumerate() {
            let parent = span.parent.and_then(|id| by_id.get(&id).copied());
            let beside = parent.filter(|parent| {
                let of = &self.spans[*parent];
                *parent < at && (of.process, of.thread) == (span.process, span.thread)
            });
            // A thread that is named is the first of its lanes.
            let first = span.thread.map(|_| 0);
            let preferred = beside.map(|parent| placed[parent].lane).or(first);
            let of_thread = lanes.entry((span.process, span.thread)).or_default();
            let lane = of_thread.place(span.start_ns, span.end_ns, preferred);
            let next = threads.len() as u32;
            let thread = *threads
                .entry((span.process, span.thread, lane))
                .or_insert(next);
            if thread == next {
                rows.push(0);
                self.begin_thread(thread, span, lane, origin_ns, import)?;
            }
            let count = &mut rows[thread as usize];
            *count += 1;
            placed.push(Placed {
                thread,
                lane,
                // As the recorder counts: the thread in the upper half, from 1.
                row: (u64::from(thread) + 1) << 32 | *count,
            });
        }
        Ok(placed)
    }

    fn begin_thread(
        &self,
        thread: u32,
        span: &Span,
        lane: usize,
        origin_ns: i64,
        import: &mut Import<'_>,
    ) -> Result<(), Error> {
        let process = &self.processes[span.process as usize];
        let service = process.text("service.name").unwrap_or("service");
        let name = match span.thread {
            Some(_) if lane == 0 => service.to_owned(),
            Some(id) => format!("{service}, thread {id}, lane {}", lane + 1),
            None => format!("{service}, lane {}", lane + 1),
        };
        if span.thread.is_none() {
            import.notes.warn(
                "spans name no thread (thread.id): their lanes are inferred, so that none overlap",
            );
        } else if lane > 0 {
            import.notes.warn(
                "spans of one thread overlap without nesting: some are on additional lanes, which are inferred",
            );
        }
        let row = ThreadRow {
            thread,
            name: Some(import.text(&name)),
            os_id: span.thread,
            start_ns: Some(span.start_ns - origin_ns),
            process: process
                .attributes
                .get("process.pid")
                .and_then(Value::as_u64),
            ..ThreadRow::default()
        };
        import.add(&row)
    }

    fn describe(&self, origin_ns: i64, import: &mut Import<'_>) {
        let path = import.path;
        let run = import.into.run();
        run.clock.source = "imported: otlp".to_owned();
        run.clock.origin_realtime_ns = origin_ns;
        let file = || Some(path.file_name()?.to_string_lossy().into_owned());
        run.label = match &self.processes[..] {
            [only] => only.text("service.name").map(str::to_owned).or_else(file),
            _ => file(),
        };
        let [only] = &self.processes[..] else {
            return;
        };
        run.host.name = only.text("host.name").map(str::to_owned);
        for (key, value) in &only.attributes {
            let text = value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned);
            run.values.insert(key.clone(), text);
        }
    }
}

impl Process {
    fn text(&self, key: &str) -> Option<&str> {
        let text = self.attributes.get(key)?.as_str()?;
        Some(text).filter(|text| !text.is_empty())
    }
}

/// Whether a span is within another, on the same lane and in time. Spans are sorted by start.
fn is_around(placed: &[Placed], ends_ns: &[i64], parent: usize, at: usize) -> bool {
    let is_on_lane = placed[parent].thread == placed[at].thread;
    is_on_lane && parent < at && ends_ns[at] <= ends_ns[parent]
}

/// A hash of the trace and span ids as written in the file.
fn id_of(trace: &str, span: &str) -> Option<u64> {
    let is_none = span.bytes().all(|byte| byte == b'0');
    let key = format!("{trace}/{span}").to_ascii_lowercase();
    (!is_none).then(|| xxh3_64(key.as_bytes()))
}

fn span_of(
    process: u32,
    span: document::Span,
    import: &mut Import<'_>,
) -> Result<Span, &'static str> {
    let time = |number: &Option<document::Number>| {
        let ns = number.as_ref().and_then(document::Number::whole);
        ns.filter(|ns| *ns > 0)
    };
    let start_ns = time(&span.start_time_unix_nano).ok_or("span without a start")?;
    let end_ns = time(&span.end_time_unix_nano).ok_or("span without an end")?;
    if end_ns < start_ns {
        return Err("span that ends before it begins");
    }
    let id = id_of(&span.trace_id, &span.span_id).ok_or("span without an id")?;
    let mut members = members_of(span.attributes);
    let mut first_of = |keys: [&str; 2]| {
        let key = keys.into_iter().find(|key| members.contains_key(*key))?;
        members.remove(key)
    };
    let file = first_of(["code.file.path", "code.filepath"]);
    let file = file
        .as_ref()
        .and_then(Value::as_str)
        .map(|file| import.text(file));
    let line = first_of(["code.line.number", "code.lineno"]);
    let line = line.and_then(|line| u32::try_from(line.as_u64()?).ok());
    let thread = members.get("thread.id");
    // Of our own export.
    let thread = thread.or_else(|| members.get("trueno.thread"));
    let thread = thread.and_then(Value::as_u64);
    if span.status.code.as_ref().is_some_and(is_failed) {
        members.insert("status".to_owned(), "error".into());
        if !span.status.message.is_empty() {
            members.insert("status.message".to_owned(), span.status.message.into());
        }
    }
    let attributes = members.into_iter();
    let attributes =
        attributes.filter_map(|(key, value)| attribute(0, &key, &value, import.into, import.notes));
    let attributes = attributes.collect();
    let events = span.events.into_iter().filter_map(|event| {
        let Some(time_ns) = time(&event.time_unix_nano) else {
            import.notes.leave_out("event without a time");
            return None;
        };
        let members = members_of(event.attributes);
        let arguments = (!members.is_empty()).then(|| Value::Object(members).to_string());
        let arguments = arguments.filter(|text| text.len() <= MAX_TEXT_BYTES);
        Some(AnnotationRow {
            name: import.text(&event.name),
            time_ns,
            arguments: arguments.map(|text| import.text(&text)),
            ..AnnotationRow::default()
        })
    });
    let events = events.collect();
    let links = span.links.into_iter().filter_map(|link| {
        let kind = members_of(link.attributes).remove("trueno.kind");
        let kind = kind.as_ref().and_then(Value::as_str);
        let kind = kind
            .filter(|kind| KINDS.contains(kind))
            .map(|kind| import.text(kind));
        Some((id_of(&link.trace_id, &link.span_id)?, kind))
    });
    let links = links.collect();
    Ok(Span {
        process,
        thread,
        id,
        parent: id_of(&span.trace_id, &span.parent_span_id),
        name: import.text(&span.name),
        start_ns,
        end_ns,
        file,
        line,
        attributes,
        events,
        links,
    })
}

fn is_failed(code: &document::Number) -> bool {
    let is_named = matches!(code, document::Number::Text(text) if text == "STATUS_CODE_ERROR");
    is_named || code.whole() == Some(FAILED)
}
