//! The file as a whole: an array of events, or an object with one in it.

use std::io::Read;
use std::path::Path;

use super::scanner::{MAX_TEXT, Scanned, Scanner, Stop};
use crate::mended::Mended;
use crate::source::{Packing, Source};
use crate::{Error, Notes, Options};

/// As much of `otherData` is looked at: an export has all facts of its run there.
const MAX_OTHER_DATA: usize = 1 << 22;

/// A file that was not read to its end.
pub(super) enum Failure {
    /// The file is to blame.
    Stop(Stop),
    /// The run is.
    Import(Error),
    /// The sink needs no more of the file.
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

/// Takes what is found.
pub(super) trait Sink {
    /// One is used for all, so that its memory is used again.
    type Event: Default;
    /// Reads an object whose brace comes next.
    fn read<R: Read>(event: &mut Self::Event, from: &mut Scanner<R>) -> Scanned<()>;
    fn event(&mut self, event: &Self::Event) -> Result<(), Error>;
    /// An array ended, or what can be read of it.
    fn end(&mut self, _: &Self::Event) {}
    /// An element of the array that is no object.
    fn no_event(&mut self);
    /// A field beside the events; no value: too long to look at.
    fn fact(&mut self, key: &str, json: Option<&[u8]>) -> Result<(), Failure>;
    fn unclosed_array(&mut self);
}

/// The look of the file, as far as it was read.
#[derive(Debug, Default)]
pub(super) struct Shape {
    /// True if there was an array of events.
    pub has_events: bool,
    /// The first fields of an object without one.
    pub keys: Vec<String>,
    /// Documents behind the first, each on a line of its own.
    pub documents: u64,
    /// Zeros behind the trace.
    pub zeros: u64,
}

/// Reads a file to its end.
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
        Some(_) => Ok(from.unexpected("nothing behind the trace")?),
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
        if shape.keys.len() < 8 {
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
        // The format allows an array without its end, so that a crash leaves a good file.
        let ended = may_stay_open && from.space()?.is_none();
        if ended || !from.more(b']', &mut first)? {
            if ended {
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

/// Reads on to the end of the file, and says what was odd about it; the hash of all its bytes.
pub(super) fn end(
    scanner: Scanner<Mended<Source<'_>>>,
    shape: &Shape,
    path: &Path,
    notes: &mut Notes,
) -> Result<u64, Error> {
    let count = scanner.cut_texts;
    if count > 0 {
        notes.warn(format!("{count} very long texts were cut"));
    }
    if shape.documents > 0 {
        let count = shape.documents + 1;
        notes.warn(format!(
            "{count} documents, one a line, were read as one trace"
        ));
    }
    if shape.zeros > 0 {
        let count = shape.zeros;
        notes.warn(format!("{count} zero bytes behind the trace were ignored"));
    }
    let mended = scanner.into_source();
    if let Some(text) = mended.summary() {
        notes.warn(text);
    }
    let mut source = mended.into_inner();
    source.end(notes);
    let hash = source.hash();
    hash.map_err(|e| Error::io(path, "read it to its end", e))
}

fn place(stop: &Stop, packing: Option<Packing>) -> String {
    let unpacked = packing.map_or("", |_| ", unpacked");
    format!("byte {}{unpacked}", stop.at)
}

impl Shape {
    /// An end before the end: fatal, unless what stands before is wanted; then what to say of it.
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

    /// The error of a file that cannot be read to its end.
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
        Error::Damaged {
            path: path.to_owned(),
            place,
            problem: format!("{}{hint}", stop.problem),
        }
    }

    /// The error of a file without events.
    pub fn no_trace(&self, path: &Path) -> Error {
        let found = if self.has_events {
            "its objects have no ph".to_owned()
        } else if self.keys.is_empty() {
            "found an empty object".to_owned()
        } else {
            format!("found an object with {}", self.keys.join(", "))
        };
        Error::Format {
            path: path.to_owned(),
            problem: format!(
                "JSON, but no Chrome trace: expected an array of events, or an object with one in traceEvents; {found}"
            ),
        }
    }
}
