//! Messages from the child: kind, length, hash, and what it says.
//!
//! The plugin shares the process that writes them, so a message is believed
//! only with its hash: stray bytes are noticed before anything decodes them.
//! The hash is XXH3, or CRC-32 where the kind says so: Python's own library has that one.

use std::fs::File;
use std::io::{self, Write};

use xxhash_rust::xxh3::xxh3_64_with_seed;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// The descriptor, as JSON.
    Descriptor = 1,
    /// Why the library is not a plugin, as text.
    Refused = 2,
    /// Length of the name (4 bytes), the name, and the table (see `columns`).
    Table = 3,
    /// A finding, as JSON.
    Finding = 4,
    End = 5,
    Crash = 6,
}

impl Kind {
    fn from(byte: u8) -> Option<Kind> {
        use Kind::{Crash, Descriptor, End, Finding, Refused, Table};
        [Descriptor, Refused, Table, Finding, End, Crash]
            .into_iter()
            .find(|kind| *kind as u8 == byte)
    }
}

/// Set in the kind of a message that is hashed with CRC-32.
const IS_CRC: u8 = 0x40;

/// Length of the header of a message.
pub const HEAD: usize = 17;

/// Builds the header. Does not allocate, because a crash handler calls it.
pub fn head(kind: Kind, says: &[u8]) -> [u8; HEAD] {
    let mut head = [0; HEAD];
    head[0] = kind as u8;
    head[1..9].copy_from_slice(&(says.len() as u64).to_le_bytes());
    head[9..].copy_from_slice(&xxh3_64_with_seed(says, kind as u64).to_le_bytes());
    head
}

/// Sends a message.
///
/// # Errors
/// Nobody listens.
pub fn send(mut to: &File, kind: Kind, says: &[u8]) -> io::Result<()> {
    to.write_all(&head(kind, says))?;
    to.write_all(says)
}

#[derive(Debug, Default)]
pub struct Inbox {
    bytes: Vec<u8>,
    taken: usize,
}

#[derive(Debug, PartialEq, Eq)]
pub struct Garbled;

impl Inbox {
    pub fn put(&mut self, bytes: &[u8]) {
        self.bytes.drain(..self.taken);
        self.taken = 0;
        self.bytes.extend_from_slice(bytes);
    }

    pub fn has_rest(&self) -> bool {
        self.taken < self.bytes.len()
    }

    /// The next message, if it is complete.
    ///
    /// # Errors
    /// There is something else in its place; nothing behind it can be trusted.
    pub fn take(&mut self) -> Result<Option<(Kind, Vec<u8>)>, Garbled> {
        let waiting = &self.bytes[self.taken..];
        let Some(head) = waiting.first_chunk::<HEAD>() else {
            return Ok(None);
        };
        let number = |at: usize| {
            let mut bytes = [0; 8];
            bytes.copy_from_slice(&head[at..at + 8]);
            u64::from_le_bytes(bytes)
        };
        let kind = Kind::from(head[0] & !IS_CRC).ok_or(Garbled)?;
        let length = usize::try_from(number(1)).map_err(|_| Garbled)?;
        let hash = number(9);
        let end = HEAD.checked_add(length).ok_or(Garbled)?;
        let Some(says) = waiting.get(HEAD..end) else {
            return Ok(None);
        };
        let expected = match head[0] & IS_CRC {
            0 => xxh3_64_with_seed(says, kind as u64),
            _ => u64::from(crc_32(says, kind as u32)),
        };
        if expected != hash {
            return Err(Garbled);
        }
        let says = says.to_vec();
        self.taken += end;
        Ok(Some((kind, says)))
    }
}

/// CRC-32 as in zlib and Python's `binascii`, continued from the value `before`.
fn crc_32(bytes: &[u8], before: u32) -> u32 {
    const TABLE: [u32; 256] = {
        let mut table = [0; 256];
        let mut byte = 0;
        while byte < 256 {
            let (mut value, mut bit) = (byte as u32, 0);
            while bit < 8 {
                value = (value >> 1) ^ (0xedb8_8320 & (value & 1).wrapping_neg());
                bit += 1;
            }
            table[byte] = value;
            byte += 1;
        }
        table
    };
    !bytes.iter().fold(!before, |crc, byte| {
        (crc >> 8) ^ TABLE[usize::from(crc as u8 ^ byte)]
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(kind: Kind, says: &[u8]) -> Vec<u8> {
        [&head(kind, says)[..], says].concat()
    }

    #[test]
    fn messages_come_out_as_they_were_however_they_arrive() {
        let all = [message(Kind::Finding, b"{}"), message(Kind::End, b"")].concat();
        for step in 1..all.len() {
            let (mut inbox, mut taken) = (Inbox::default(), Vec::new());
            for bytes in all.chunks(step) {
                inbox.put(bytes);
                while let Some(message) = inbox.take().unwrap() {
                    taken.push(message);
                }
            }
            assert_eq!(
                taken,
                [(Kind::Finding, b"{}".to_vec()), (Kind::End, Vec::new())]
            );
            assert!(!inbox.has_rest());
        }
    }

    #[test]
    fn messages_of_python_have_the_hash_of_its_library() {
        // The check value of the standard, and what binascii.crc32(b"{}", 4) gives.
        assert_eq!(crc_32(b"123456789", 0), 0xcbf4_3926);
        let hash = u64::from(crc_32(b"{}", 4));
        assert_eq!(hash, 0xc7ca_7a47);
        let mut bytes = message(Kind::Finding, b"{}");
        bytes[0] |= IS_CRC;
        let mut inbox = Inbox::default();
        inbox.put(&bytes);
        assert_eq!(inbox.take(), Err(Garbled), "with the other hash");
        bytes[9..HEAD].copy_from_slice(&hash.to_le_bytes());
        let mut inbox = Inbox::default();
        inbox.put(&bytes);
        assert_eq!(inbox.take(), Ok(Some((Kind::Finding, b"{}".to_vec()))));
    }

    #[test]
    fn stray_bytes_are_noticed() {
        let good = message(Kind::Finding, b"{\"code\": 1}");
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 4;
            let mut inbox = Inbox::default();
            inbox.put(&bad);
            // A changed length may still wait for more; it never comes out as a message.
            assert!(!matches!(inbox.take(), Ok(Some(_))), "byte {at}");
        }
    }
}
