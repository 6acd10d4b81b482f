//! Packets of a file, one by one.

use std::collections::VecDeque;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use flate2::read::ZlibDecoder;
use prost::Message;
use prost::bytes::Bytes;

use super::messages::TracePacket;
use crate::Error;

/// Tag of a packet in a trace: field 1, length-delimited.
pub const PACKET: u8 = 0x0a;
/// Limit for the bytes of a packet, also after decompression.
const MAX_BYTES: u64 = 256 << 20;

/// The first packet, possibly incomplete, and the rest. `None` if the bytes do not begin with a packet.
pub fn split(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut rest = bytes.strip_prefix(&[PACKET])?;
    let length = prost::decode_length_delimiter(&mut rest).ok()?;
    rest.split_at_checked(length)
}

pub struct Packets<R> {
    path: PathBuf,
    from: BufReader<R>,
    read: u64,
    /// Packets from a compressed packet.
    unpacked: VecDeque<TracePacket>,
}

impl<R: Read> Packets<R> {
    pub fn new(path: &Path, from: R) -> Self {
        Self {
            path: path.to_owned(),
            from: BufReader::new(from),
            read: 0,
            unpacked: VecDeque::new(),
        }
    }

    pub fn next(&mut self) -> Result<Option<TracePacket>, Error> {
        loop {
            if let Some(packet) = self.unpacked.pop_front() {
                return Ok(Some(packet));
            }
            let start = self.read;
            let Some(bytes) = self.bytes()? else {
                return Ok(None);
            };
            let packet = TracePacket::decode(bytes)
                .map_err(|error| self.damaged(start, &format!("a packet, found none: {error}")))?;
            let Some(packed) = &packet.compressed_packets else {
                return Ok(Some(packet));
            };
            let mut bytes = Vec::new();
            ZlibDecoder::new(&packed[..])
                .take(MAX_BYTES)
                .read_to_end(&mut bytes)
                .map_err(|error| self.damaged(start, &format!("packed packets: {error}")))?;
            if bytes.len() as u64 == MAX_BYTES {
                return Err(self.damaged(start, "packed packets of less than 256 MiB"));
            }
            let mut rest = &bytes[..];
            while !rest.is_empty() {
                let Some((packet, behind)) = split(rest) else {
                    return Err(self.damaged(start, "a whole packet among packed ones"));
                };
                let packet = TracePacket::decode(packet)
                    .map_err(|error| self.damaged(start, &format!("packed packets: {error}")))?;
                self.unpacked.push_back(packet);
                rest = behind;
            }
        }
    }

    fn bytes(&mut self) -> Result<Option<Bytes>, Error> {
        const WHOLE: &str = "a whole packet, found the end of the file";
        let start = self.read;
        match self.byte()? {
            None => return Ok(None),
            Some(PACKET) => {}
            Some(_) => return Err(self.damaged(start, "a packet, found something else")),
        }
        let mut length = 0_u64;
        for shift in (0..35).step_by(7) {
            let byte = self.byte()?.ok_or_else(|| self.damaged(start, WHOLE))?;
            length |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                break;
            }
        }
        if length > MAX_BYTES {
            return Err(self.damaged(start, "a packet of at most 256 MiB"));
        }
        let mut bytes = Vec::new();
        let mut from = self.from.by_ref().take(length);
        let got = from.read_to_end(&mut bytes);
        let got = got.map_err(|error| Error::io(&self.path, "read it", error))? as u64;
        self.read += got;
        if got < length {
            return Err(self.damaged(start, WHOLE));
        }
        Ok(Some(bytes.into()))
    }

    fn byte(&mut self) -> Result<Option<u8>, Error> {
        let mut byte = [0];
        let got = self.from.read(&mut byte);
        let got = got.map_err(|error| Error::io(&self.path, "read it", error))?;
        self.read += got as u64;
        Ok((got > 0).then_some(byte[0]))
    }

    fn damaged(&self, start: u64, expected: &str) -> Error {
        Error::damaged(
            &self.path,
            format!("byte {start}"),
            format!(
                "expected {expected}; record it again (hint: `--partial` takes what lies before)"
            ),
        )
    }
}
