//! Texts in UTF-16, as some editors and shells of Windows write them, as UTF-8.

use std::io::{self, Read};

const BUFFER_BYTES: usize = 1 << 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Little,
    Big,
}

impl Order {
    /// Byte order and length of the byte order mark; `None` if the text is not UTF-16. Without a mark, only
    /// what looks like the beginning of JSON is accepted.
    pub fn of(head: &[u8]) -> Option<(Self, usize)> {
        let is_json = |first: u8, second: u8| {
            let is_ascii = matches!(second, b'\t' | b'\n' | b'\r' | b' '..=b'~');
            matches!(first, b'{' | b'[') && is_ascii
        };
        match *head {
            [0xff, 0xfe, ..] => Some((Self::Little, 2)),
            [0xfe, 0xff, ..] => Some((Self::Big, 2)),
            [first, 0, second, 0, ..] if is_json(first, second) => Some((Self::Little, 0)),
            [0, first, 0, second, ..] if is_json(first, second) => Some((Self::Big, 0)),
            _ => None,
        }
    }
}

/// Converts UTF-16 to UTF-8. Unpaired surrogates become U+FFFD and are counted.
pub(super) struct Utf16<R> {
    inner: R,
    order: Order,
    raw: Vec<u8>,
    left: usize,
    text: String,
    at: usize,
    characters: u64,
    replaced: u64,
}

impl<R: Read> Utf16<R> {
    pub fn new(inner: R, order: Order) -> Self {
        Self {
            inner,
            order,
            raw: vec![0; BUFFER_BYTES],
            left: 0,
            text: String::new(),
            at: 0,
            characters: 0,
            replaced: 0,
        }
    }

    pub fn get_ref(&self) -> &R {
        &self.inner
    }

    pub fn into_inner(self) -> R {
        self.inner
    }

    pub fn summary(&self) -> String {
        let order = match self.order {
            Order::Little => "little",
            Order::Big => "big",
        };
        let broken = match self.replaced {
            0 => String::new(),
            count => format!("; {count} invalid ones were replaced by U+FFFD"),
        };
        format!(
            "the file is UTF-16 ({order} endian): {} characters were converted{broken}",
            self.characters
        )
    }

    fn refill(&mut self) -> io::Result<bool> {
        self.at = 0;
        self.text.clear();
        let count = self.inner.read(&mut self.raw[self.left..])?;
        let end = self.left + count;
        let is_last = count == 0;
        if is_last && end == 0 {
            return Ok(false);
        }
        let mut units: Vec<u16> = self.raw[..end]
            .chunks_exact(2)
            .map(|pair| match self.order {
                Order::Little => u16::from_le_bytes([pair[0], pair[1]]),
                Order::Big => u16::from_be_bytes([pair[0], pair[1]]),
            })
            .collect();
        let is_half_a_pair = |unit: &u16| (0xd800..0xdc00).contains(unit);
        if !is_last && units.last().is_some_and(is_half_a_pair) {
            units.pop();
        }
        let used = if is_last { end } else { units.len() * 2 };
        for unit in char::decode_utf16(units) {
            self.characters += 1;
            self.replaced += u64::from(unit.is_err());
            self.text.push(unit.unwrap_or(char::REPLACEMENT_CHARACTER));
        }
        if is_last && end % 2 == 1 {
            self.replaced += 1;
        }
        self.raw.copy_within(used..end, 0);
        self.left = end - used;
        Ok(true)
    }
}

impl<R: Read> Read for Utf16<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if into.is_empty() {
            return Ok(0);
        }
        while self.at == self.text.len() {
            if !self.refill()? {
                return Ok(0);
            }
        }
        let rest = &self.text.as_bytes()[self.at..];
        let count = rest.len().min(into.len());
        into[..count].copy_from_slice(&rest[..count]);
        self.at += count;
        Ok(count)
    }
}
