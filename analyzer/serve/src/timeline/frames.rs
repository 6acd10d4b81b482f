//! Words of the process that reads a run: a letter, a length, and so many bytes.

use std::io::{self, BufReader, Read, Write};

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{Curve, Head, Label, LaneHead};

/// Size limit of a frame, which may hold all names of a run.
const MAX_BYTES: u32 = 1 << 30;
const SPAN_BYTES: usize = 29;
const SPANS: usize = 1 << 13;

#[derive(Clone, Debug, PartialEq)]
pub enum Frame {
    Head(Head),
    Progress(u64),
    Labels(Vec<Label>),
    /// Following intervals are on this lane.
    Lane(LaneHead),
    /// Intervals of a lane, sorted by time within each depth.
    Spans(Vec<Span>),
    Curves(Vec<Curve>),
    /// Intervals left out because they are nested too deeply.
    TooDeep(u64),
    End,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    pub start_ns: i64,
    pub dur_ns: i64,
    pub id: u64,
    pub label: u32,
    /// Nesting depth, 0 for the outermost.
    pub depth: u8,
}

#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    #[error("it ended before all was read")]
    Cut,
    #[error("the rows were received out of order: {0}")]
    Broken(&'static str),
    #[error("it cannot be read: {0}")]
    Io(#[from] io::Error),
}

pub struct FrameWriter<W: Write> {
    to: W,
    spans: Vec<u8>,
}

impl<W: Write> FrameWriter<W> {
    pub fn new(to: W) -> Self {
        Self {
            to,
            spans: Vec::new(),
        }
    }

    fn frame(&mut self, letter: u8, bytes: &[u8]) -> io::Result<()> {
        let length = u32::try_from(bytes.len()).map_err(io::Error::other)?;
        self.to.write_all(&[letter])?;
        self.to.write_all(&length.to_le_bytes())?;
        self.to.write_all(bytes)
    }

    fn json(&mut self, letter: u8, value: &impl Serialize) -> io::Result<()> {
        let text = serde_json::to_vec(value)?;
        self.frame(letter, &text)
    }

    /// Writes the facts of the run, without buffering.
    ///
    /// # Errors
    /// Those of the pipe, here and below.
    pub fn head(&mut self, head: &Head) -> io::Result<()> {
        self.json(b'H', head)?;
        self.to.flush()
    }

    /// Writes the number of rows read so far, without buffering.
    pub fn progress(&mut self, rows: u64) -> io::Result<()> {
        self.frame(b'P', &rows.to_le_bytes())?;
        self.to.flush()
    }

    pub fn labels(&mut self, labels: &[Label]) -> io::Result<()> {
        self.json(b'N', &labels)
    }

    pub fn lane(&mut self, lane: &LaneHead) -> io::Result<()> {
        self.flush_spans()?;
        self.json(b'L', lane)
    }

    pub fn span(&mut self, span: Span) -> io::Result<()> {
        self.spans.extend(span.start_ns.to_le_bytes());
        self.spans.extend(span.dur_ns.to_le_bytes());
        self.spans.extend(span.id.to_le_bytes());
        self.spans.extend(span.label.to_le_bytes());
        self.spans.push(span.depth);
        if self.spans.len() < SPANS * SPAN_BYTES {
            Ok(())
        } else {
            self.flush_spans()
        }
    }

    fn flush_spans(&mut self) -> io::Result<()> {
        let spans = std::mem::take(&mut self.spans);
        if !spans.is_empty() {
            self.frame(b'S', &spans)?;
        }
        self.spans = spans;
        self.spans.clear();
        Ok(())
    }

    pub fn curves(&mut self, curves: &[Curve]) -> io::Result<()> {
        self.flush_spans()?;
        self.json(b'C', &curves)
    }

    /// Ends the frames. `too_deep` is the number of intervals left out.
    pub fn end(&mut self, too_deep: u64) -> io::Result<()> {
        self.flush_spans()?;
        self.frame(b'D', &too_deep.to_le_bytes())?;
        self.frame(b'E', &[])?;
        self.to.flush()
    }
}

pub fn frames(from: impl Read) -> impl Iterator<Item = Result<Frame, FrameError>> {
    let mut from = BufReader::with_capacity(1 << 18, from);
    let mut bytes = Vec::new();
    std::iter::from_fn(move || next(&mut from, &mut bytes).transpose())
}

fn next(from: &mut impl Read, bytes: &mut Vec<u8>) -> Result<Option<Frame>, FrameError> {
    let mut start = [0; 5];
    match from.read_exact(&mut start) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        Err(error) => return Err(error.into()),
    }
    let [letter, length @ ..] = start;
    let length = u32::from_le_bytes(length);
    if length > MAX_BYTES {
        return Err(FrameError::Broken("a frame is too long"));
    }
    bytes.clear();
    let read = from.by_ref().take(length.into()).read_to_end(bytes)?;
    if read < length as usize {
        return Err(FrameError::Cut);
    }
    let frame = match letter {
        b'H' => Frame::Head(parsed(bytes)?),
        b'P' => Frame::Progress(number(bytes)?),
        b'N' => Frame::Labels(parsed(bytes)?),
        b'L' => Frame::Lane(parsed(bytes)?),
        b'S' => {
            let (spans, rest) = bytes.as_chunks::<SPAN_BYTES>();
            if !rest.is_empty() {
                return Err(FrameError::Broken("a part of a span"));
            }
            Frame::Spans(spans.iter().map(span).collect())
        }
        b'C' => Frame::Curves(parsed(bytes)?),
        b'D' => Frame::TooDeep(number(bytes)?),
        b'E' => Frame::End,
        _ => return Err(FrameError::Broken("an unknown frame")),
    };
    Ok(Some(frame))
}

fn parsed<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, FrameError> {
    serde_json::from_slice(bytes).map_err(|_| FrameError::Broken("no JSON"))
}

fn number(bytes: &[u8]) -> Result<u64, FrameError> {
    let bytes = bytes.try_into();
    let bytes = bytes.map_err(|_| FrameError::Broken("no number"))?;
    Ok(u64::from_le_bytes(bytes))
}

fn span(bytes: &[u8; SPAN_BYTES]) -> Span {
    let eight = |at: usize| {
        let mut eight = [0; 8];
        eight.copy_from_slice(&bytes[at..at + 8]);
        eight
    };
    let mut label = [0; 4];
    label.copy_from_slice(&bytes[24..28]);
    Span {
        start_ns: i64::from_le_bytes(eight(0)),
        dur_ns: i64::from_le_bytes(eight(8)),
        id: u64::from_le_bytes(eight(16)),
        label: u32::from_le_bytes(label),
        depth: bytes[28],
    }
}
