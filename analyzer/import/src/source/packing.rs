//! Packed files: members of gzip and frames of zstd, one after the other, and what lies behind them.

use std::io::{self, BufRead, Read};

use flate2::bufread::GzDecoder;
use zstd::stream::read::Decoder;

use super::tap::Tap;

/// Magic bytes of gzip and the only compression method.
const GZIP: &[u8] = &[0x1f, 0x8b];
const GZIP_MEMBER: &[u8] = &[0x1f, 0x8b, 0x08];
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
/// Magic bytes of frames without data, after a first byte of 0x50 to 0x5f.
const SKIPPABLE: &[u8] = &[0x2a, 0x4d, 0x18];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Packing {
    Gzip,
    Zstd,
}

impl Packing {
    pub fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
        }
    }

    fn of_file(head: &[u8]) -> Option<Self> {
        if head.starts_with(GZIP) {
            Some(Self::Gzip)
        } else if is_frame(head) {
            Some(Self::Zstd)
        } else {
            None
        }
    }

    fn goes_on(self, head: &[u8]) -> bool {
        match self {
            Self::Gzip => head.starts_with(GZIP_MEMBER),
            Self::Zstd => is_frame(head),
        }
    }
}

fn is_frame(head: &[u8]) -> bool {
    let is_skippable =
        |head: &[u8]| (0x50..0x60).contains(&head[0]) && head[1..].starts_with(SKIPPABLE);
    head.starts_with(ZSTD) || (head.len() >= ZSTD.len() && is_skippable(head))
}

pub(super) struct Unpacked<'a> {
    packing: Option<Packing>,
    state: State<'a>,
    /// Bytes after the compressed data, and how many of them are zero.
    behind: (u64, u64),
}

enum State<'a> {
    Plain(Box<Tap<'a>>),
    Gzip(Box<GzDecoder<Tap<'a>>>),
    Zstd(Box<Decoder<'static, Tap<'a>>>),
    Gone,
}

impl<'a> Unpacked<'a> {
    pub fn new(mut tap: Tap<'a>) -> io::Result<Self> {
        let packing = Packing::of_file(tap.peek(ZSTD.len())?);
        let state = match packing {
            None => State::Plain(Box::new(tap)),
            Some(packing) => State::member(packing, tap)?,
        };
        Ok(Self {
            packing,
            state,
            behind: (0, 0),
        })
    }

    pub fn packing(&self) -> Option<Packing> {
        self.packing
    }

    pub fn bytes_read(&self) -> u64 {
        match &self.state {
            State::Plain(tap) => tap.bytes_read(),
            State::Gzip(packed) => packed.get_ref().bytes_read(),
            State::Zstd(packed) => packed.get_ref().bytes_read(),
            State::Gone => 0,
        }
    }

    pub fn trailing(&self) -> Option<String> {
        let packing = self.packing?.name();
        match self.behind {
            (0, _) => None,
            (all, zeros) if all == zeros => Some(format!(
                "{all} zero bytes after the {packing} data were ignored"
            )),
            (all, _) => Some(format!(
                "{all} bytes after the {packing} data are not {packing} and were ignored; check that the file was copied completely"
            )),
        }
    }

    /// Returns the file, to read it to its end.
    pub fn into_tap(self) -> io::Result<Tap<'a>> {
        match self.state {
            State::Plain(tap) => Ok(*tap),
            State::Gzip(packed) => Ok(packed.into_inner()),
            State::Zstd(packed) => Ok(packed.finish()),
            State::Gone => Err(io::Error::other("the packed data could not be read")),
        }
    }

    /// After the end of a member: begins the next, or looks at what follows the last. False at the end of the
    /// file.
    fn next_member(&mut self, packing: Packing) -> io::Result<bool> {
        let mut tap = match std::mem::replace(&mut self.state, State::Gone) {
            State::Plain(tap) => *tap,
            State::Gzip(packed) => packed.into_inner(),
            State::Zstd(packed) => packed.finish(),
            State::Gone => return Ok(false),
        };
        let goes_on = packing.goes_on(tap.peek(ZSTD.len())?);
        if goes_on {
            self.state = State::member(packing, tap)?;
            return Ok(true);
        }
        loop {
            let rest = tap.fill_buf()?;
            let (count, zeros) = (rest.len(), rest.iter().filter(|byte| **byte == 0).count());
            if count == 0 {
                break;
            }
            self.behind.0 += count as u64;
            self.behind.1 += zeros as u64;
            tap.consume(count);
        }
        self.state = State::Plain(Box::new(tap));
        Ok(false)
    }
}

impl<'a> State<'a> {
    fn member(packing: Packing, tap: Tap<'a>) -> io::Result<Self> {
        Ok(match packing {
            Packing::Gzip => Self::Gzip(Box::new(GzDecoder::new(tap))),
            Packing::Zstd => Self::Zstd(Box::new(Decoder::with_buffer(tap)?.single_frame())),
        })
    }
}

impl Read for Unpacked<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if into.is_empty() {
            return Ok(0);
        }
        loop {
            let count = match &mut self.state {
                State::Plain(tap) => return tap.read(into),
                State::Gzip(packed) => packed.read(into)?,
                State::Zstd(packed) => packed.read(into)?,
                State::Gone => return Ok(0),
            };
            let Some(packing) = self.packing.filter(|_| count == 0) else {
                return Ok(count);
            };
            if !self.next_member(packing)? {
                return Ok(0);
            }
        }
    }
}
