//! The file as a whole: an array of events, or an object with one in it.

use std::io::Read;

use super::own::Mark;
use super::scanner::{MOST_TEXT, Scanned, Scanner, Stop};
use crate::Error;

/// As much of `otherData` is looked at: an export has all facts of its run there.
const MOST_OTHER_DATA: usize = 1 << 22;

/// Why a file was not read to its end.
pub(super) enum Failure {
    /// The file is to blame.
    Stop(Stop),
    /// The run is.
    Import(Error),
    /// It is an export of a run, which is read in another way.
    Own(Mark),
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
    /// An element of the array that is no object.
    fn no_event(&mut self);
    /// A field beside the events; no value: too long to look at.
    fn fact(&mut self, key: &str, json: Option<&[u8]>) -> Result<(), Failure>;
    fn unclosed_array(&mut self);
}

/// What the file looked like, as far as it was read.
#[derive(Debug, Default)]
pub(super) struct Shape {
    /// There was an array of events.
    pub has_events: bool,
    /// The first fields of an object without one.
    pub keys: Vec<String>,
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
    match from.space()? {
        Some(b'[') => events(from, shape, sink, true)?,
        Some(b'{') => object(from, shape, sink)?,
        _ => return Ok(from.unexpected("an object or an array of trace events")?),
    }
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
            b"otherData" => MOST_OTHER_DATA,
            _ => MOST_TEXT,
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
    let (mut event, mut first) = (S::Event::default(), true);
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
                S::read(&mut event, from)?;
                sink.event(&event)?;
            }
            None if may_stay_open => {}
            _ => {
                from.skip()?;
                sink.no_event();
            }
        }
    }
}
