//! The file as a whole: an array of events, or an object with one in it.

use std::io::Read;
use std::path::Path;

use super::scanner::{MAX_TEXT, Scanned, Scanner, Stop};
use crate::mended::Mended;
use crate::source::{Packing, Source};
use crate::{Error, Notes, Options};

/// Limit for `otherData`, in which an export stores all facts of its run.
const MAX_OTHER_DATA: usize = 1 << 22;

pub(super) enum Failure {
    Stop(Stop),
    Import(Error),
    /// The sink needs nothing more from the file.
    Enough,
}

impl From<Stop> for Failure {
    fn from(stop: Stop) -> Self {
        Self::Stop(stop)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Import(error)
    }
}

pub(super) trait Sink {
    /// One value is reused for all events to reuse its memory.
    type Event: Default;
    /// Reads an object; its opening brace comes next.
    fn read<R: Read>(event: &mut Self::Event, from: &mut Scanner<R>) -> Scanned<()>;
    fn event(&mut self, event: &Self::Event) -> Result<(), Error>;
    /// Called at the end of the array, or of its readable part.
    fn end(&mut self, _: &Self::Event) {}
    fn no_event(&mut self);
    /// A field beside the events. `None` if the value is too long.
    fn fact(&mut self, key: &str, json: Option<&[u8]>) -> Result<(), Failure>;
    fn unclosed_array(&mut self);
}

#[derive(Debug, Default)]
pub(super) struct Shape {
    pub has_events: bool,
    /// No element of the array is an object.
    pub has_only_others: bool,
    /// The first fields of an object without an event array.
    pub keys: Vec<String>,
    /// Several objects without events follow one another, as in a log.
    pub is_lines: bool,
    /// Further documents after the first, each on its own line.
    pub documents: u64,
    pub zeros: u64,
}

pub(super) fn read<R: Read>(
    from: &mut Scanner<R>,
    shape: &mut Shape,
    sink: &mut impl Sink,
) -> Result<(), Failure> {
    // A byte order mark, which some editors leave.
    for byte in *b"\xef\xbb\xbf" {
        if from.peek()? == Some(byte) {
            from.take();
        }
    }
    loop {
        match from.space()? {
            Some(b'[') => events(from, shape, sink, true)?,
            Some(b'{') => object(from, shape, sink)?,
            _ => return Ok(from.unexpected("an object or an array of trace events")?),
        }
        // Proton once wrote a document a stream, one a line.
        let is_end_of_line = matches!(from.peek()?, Some(b'\n' | b'\r'));
        if !is_end_of_line || !shape.has_events || from.space()? != Some(b'{') {
            break;
        }
        shape.documents += 1;
    }
    from.space()?;
    shape.zeros = from.zeros()?;
    match from.space()? {
        None => Ok(()),
        Some(b'{') if !shape.has_events => {
            shape.is_lines = true;
            Ok(())
        }
        Some(_) => Ok(from.unexpected("nothing after the trace")?),
    }
}

fn object<R: Read>(
    from: &mut Scanner<R>,
    shape: &mut Shape,
    sink: &mut impl Sink,
) -> Result<(), Failure> {
    from.expect(b'{')?;
    let (mut key, mut json, mut first) = (Vec::new(), Vec::new(), true);
    while from.more(b'}', &mut first)? {
        from.text(&mut key)?;
        from.expect(b':')?;
        if key == b"traceEvents" && from.space()? == Some(b'[') {
            events(from, shape, sink, false)?;
            continue;
        }
        let most = match key.as_slice() {
            b"otherData" => MAX_OTHER_DATA,
            _ => MAX_TEXT,
        };
        from.copy(&mut json, most)?;
        let key = String::from_utf8_lossy(&key).into_owned();
        sink.fact(&key, (json.len() <= most).then_some(json.as_slice()))?;
        if shape.keys.len() < 16 {
            shape.keys.push(key);
        }
    }
    Ok(())
}

fn events<R: Read, S: Sink>(
    from: &mut Scanner<R>,
    shape: &mut Shape,
    sink: &mut S,
    may_stay_open: bool,
) -> Result<(), Failure> {
    shape.has_events = true;
    from.expect(b'[')?;
    let mut event = S::Event::default();
    let done = elements(from, &mut event, sink, may_stay_open);
    sink.end(&event);
    done
}

fn elements<R: Read, S: Sink>(
    from: &mut Scanner<R>,
    event: &mut S::Event,
    sink: &mut S,
    may_stay_open: bool,
) -> Result<(), Failure> {
    let mut first = true;
    loop {
        let next = from.space()?;
        // The format allows an array without its end, so that a crash leaves a good file.
        let ended = may_stay_open && next.is_none();
        // dftracer writes one event a line, and no commas.
        let is_next_line = !first && next == Some(b'{');
        if ended || !is_next_line && !from.more(b']', &mut first)? {
            if ended && !from.is_of_lines {
                sink.unclosed_array();
            }
            return Ok(());
        }
        match from.peek()? {
            Some(b'{') => {
                S::read(event, from)?;
                sink.event(event)?;
            }
            None if may_stay_open => {}
            _ => {
                from.skip()?;
                sink.no_event();
            }
        }
    }
}

/// Reads to the end of the file and warns of anything unusual. Returns the hash of all bytes.
pub(super) fn end(
    scanner: Scanner<Mended<Source<'_>>>,
    shape: &Shape,
    notes: &mut Notes,
) -> Result<u64, Error> {
    let count = scanner.cut_texts;
    if count > 0 {
        notes.warn(format!("{count} very long texts were cut"));
    }
    if shape.documents > 0 {
        let count = shape.documents + 1;
        notes.warn(format!(
            "{count} documents, one per line, were read as one trace"
        ));
    }
    if shape.zeros > 0 {
        let count = shape.zeros;
        notes.warn(format!("{count} zero bytes after the trace were ignored"));
    }
    let mended = scanner.into_source();
    if let Some(text) = mended.summary() {
        notes.warn(text);
    }
    let mut source = mended.into_inner();
    source.end(notes);
    source.hash()
}

fn place(stop: &Stop, packing: Option<Packing>) -> String {
    let unpacked = packing.map_or("", |_| ", unpacked");
    format!("byte {}{unpacked}", stop.at)
}

impl Shape {
    /// Handles an early end of the file: an error, or a warning if a partial result is wanted.
    pub fn stopped(
        &self,
        path: &Path,
        stop: Stop,
        packing: Option<Packing>,
        options: &Options,
    ) -> Result<String, Error> {
        let is_of_system = stop.io.is_some() && packing.is_none();
        if is_of_system || !options.partial || !self.has_events {
            return Err(self.refusal(path, stop, packing));
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        Ok(format!(
            "{name} was imported only up to {}: {}",
            place(&stop, packing),
            stop.problem
        ))
    }

    pub fn refusal(&self, path: &Path, stop: Stop, packing: Option<Packing>) -> Error {
        let place = place(&stop, packing);
        if let Some(error) = stop.io.filter(|_| packing.is_none()) {
            return Error::io(path, "read it", error);
        }
        let hint = if self.has_events {
            "; --partial keeps everything before that"
        } else {
            ""
        };
        Error::damaged(path, place, format!("{}{hint}", stop.problem))
    }

    pub fn has_keys_of_event(&self) -> bool {
        let has = |key: &str| self.keys.iter().any(|of| of == key);
        has("ph") && has("name")
    }

    pub fn no_trace(&self, path: &Path) -> Error {
        let known = crate::foreign::known_by_keys(&self.keys);
        if let Some(problem) = known.filter(|_| !self.has_events) {
            return Error::format(path, problem);
        }
        let found = if self.has_events && self.has_only_others {
            "its elements are not objects, as in the memory timelines that PyTorch exports (hint: give the snapshot that \
             `torch.cuda.memory._dump_snapshot(\"snapshot.pickle\")` writes)"
                .to_owned()
        } else if self.has_events {
            "its objects have no ph".to_owned()
        } else if self.is_lines {
            format!(
                "found JSON lines, as in a log, the first with {}",
                self.keys.join(", ")
            )
        } else if self.keys.is_empty() {
            "found an empty object".to_owned()
        } else {
            format!("found an object with {}", self.keys.join(", "))
        };
        Error::format(
            path,
            format!(
                "JSON, but no Chrome trace: expected an array of events, or an object with one in traceEvents; {found}"
            ),
        )
    }
}
