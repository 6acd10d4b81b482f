//! A pull reader for JSON with fixed memory: nothing recurses, nothing is kept.

use std::fmt::Display;
use std::io::{self, Read};

const BUFFER_BYTES: usize = 1 << 18;
/// Real traces nest less deeply.
const MAX_DEPTH: usize = 512;
/// Longer texts are cut to this many bytes; names are much shorter.
pub(super) const MAX_TEXT: usize = 1 << 14;
/// A longer number or word is an error.
const MAX_DIGITS: usize = 512;

#[derive(Debug)]
pub(super) struct Stop {
    /// Byte offset in the uncompressed text.
    pub at: u64,
    pub problem: String,
    /// An error of the operating system or of decompression.
    pub io: Option<io::Error>,
    /// The file ended between two texts, so it is truncated, however texts are read.
    pub is_cut: bool,
}

pub(super) type Scanned<T> = Result<T, Stop>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Value {
    Text,
    Number,
    /// `true`, `false`, `null`, or non-JSON numbers that some writers emit: NaN, inf.
    Word,
    Nested,
}

pub(super) struct Scanner<R> {
    source: R,
    buffer: Vec<u8>,
    at: usize,
    end: usize,
    before: u64,
    most_text: usize,
    pub cut_texts: u64,
    pub part: u64,
    /// See [`Self::of_lines`].
    pub is_of_lines: bool,
}

impl Scanner<io::Empty> {
    pub fn over(text: Vec<u8>) -> Self {
        Self {
            source: io::empty(),
            at: 0,
            end: text.len(),
            buffer: text,
            before: 0,
            most_text: MAX_TEXT,
            cut_texts: 0,
            part: 0,
            is_of_lines: false,
        }
    }
}

impl<R: Read> Scanner<R> {
    pub fn new(source: R) -> Self {
        Self {
            source,
            buffer: vec![0; BUFFER_BYTES],
            at: 0,
            end: 0,
            before: 0,
            most_text: MAX_TEXT,
            cut_texts: 0,
            part: 0,
            is_of_lines: false,
        }
    }

    /// The same for a file of events alone, one a line: as if they stood in an array.
    pub fn of_lines(source: R) -> Self {
        let mut scanner = Self::new(source);
        scanner.buffer[0] = b'[';
        scanner.end = 1;
        scanner.is_of_lines = true;
        scanner
    }

    pub fn into_buffer(self) -> Vec<u8> {
        self.buffer
    }

    pub fn into_source(self) -> R {
        self.source
    }

    pub fn place(&self) -> u64 {
        let place = self.before + self.at as u64;
        place - u64::from(self.is_of_lines && place > 0)
    }

    pub fn stop<T>(&self, problem: impl Into<String>) -> Scanned<T> {
        Err(Stop {
            at: self.place(),
            problem: problem.into(),
            io: None,
            is_cut: false,
        })
    }

    fn unclosed_text<T>(&self) -> Scanned<T> {
        self.stop("expected the end of a text, found the end of the file, which may be truncated")
    }

    pub fn unexpected<T>(&mut self, expected: impl Display) -> Scanned<T> {
        let (found, is_cut) = match self.peek()? {
            Some(byte) => (format!("'{}'", byte.escape_ascii()), false),
            None => (
                "the end of the file, which may be truncated".to_owned(),
                true,
            ),
        };
        Err(Stop {
            at: self.place(),
            problem: format!("expected {expected}, found {found}"),
            io: None,
            is_cut,
        })
    }

    #[cold]
    fn fill(&mut self) -> Scanned<bool> {
        self.before += self.end as u64;
        (self.at, self.end) = (0, 0);
        loop {
            match self.source.read(&mut self.buffer) {
                Ok(count) => {
                    self.end = count;
                    return Ok(count > 0);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    return Err(Stop {
                        at: self.before,
                        problem: format!("cannot be decompressed further: {error}"),
                        io: Some(error),
                        is_cut: false,
                    });
                }
            }
        }
    }

    /// The next byte, without consuming it.
    #[inline]
    pub fn peek(&mut self) -> Scanned<Option<u8>> {
        if self.at == self.end && !self.fill()? {
            return Ok(None);
        }
        Ok(Some(self.buffer[self.at]))
    }

    #[inline]
    pub fn take(&mut self) {
        self.at += 1;
    }

    /// Skips white space and peeks at the next byte.
    #[inline]
    pub fn space(&mut self) -> Scanned<Option<u8>> {
        loop {
            match self.peek()? {
                Some(b' ' | b'\n' | b'\r' | b'\t') => self.at += 1,
                other => return Ok(other),
            }
        }
    }

    /// Skips zero bytes, with which some storage systems pad files. Returns their number.
    pub fn zeros(&mut self) -> Scanned<u64> {
        let mut count = 0;
        while self.peek()? == Some(0) {
            self.take();
            count += 1;
        }
        Ok(count)
    }

    pub fn expect(&mut self, byte: u8) -> Scanned<()> {
        if self.space()? != Some(byte) {
            return self.unexpected(format_args!("'{}'", byte.escape_ascii()));
        }
        self.take();
        Ok(())
    }

    /// True if another value comes before the closing bracket; otherwise consumes the bracket. A comma right
    /// before the bracket is accepted, because some writers leave one.
    pub fn more(&mut self, close: u8, first: &mut bool) -> Scanned<bool> {
        let first = std::mem::take(first);
        let mut next = self.space()?;
        if !first && next != Some(close) {
            self.expect(b',')?;
            next = self.space()?;
        }
        if next == Some(close) {
            self.take();
            return Ok(false);
        }
        Ok(true)
    }

    /// Reads an object, whose opening brace comes next. `each` reads the value of every key. `key` is a buffer
    /// for reuse.
    pub fn members(
        &mut self,
        key: &mut Vec<u8>,
        mut each: impl FnMut(&[u8], &mut Self) -> Scanned<()>,
    ) -> Scanned<()> {
        self.expect(b'{')?;
        let mut first = true;
        while self.more(b'}', &mut first)? {
            self.text(key)?;
            self.expect(b':')?;
            each(key, self)?;
        }
        Ok(())
    }

    /// Reads a number or a text into `into`, because times and ids come as either. Anything else leaves it
    /// empty.
    pub fn plain(&mut self, into: &mut Vec<u8>) -> Scanned<()> {
        if matches!(self.value(into)?, Value::Word | Value::Nested) {
            into.clear();
        }
        Ok(())
    }

    /// Reads a text into `into`, replacing its content.
    pub fn text(&mut self, into: &mut Vec<u8>) -> Scanned<()> {
        into.clear();
        self.expect(b'"')?;
        loop {
            let from = self.at;
            let rest = &self.buffer[from..self.end];
            let run = rest.iter().position(|b| matches!(b, b'"' | b'\\'));
            let run = run.unwrap_or(rest.len());
            self.at += run;
            keep_most(into, &self.buffer[from..from + run], self.most_text);
            match self.peek()? {
                Some(b'"') => {
                    self.take();
                    if into.len() > self.most_text {
                        into.truncate(self.most_text);
                        self.cut_texts += 1;
                    }
                    return Ok(());
                }
                Some(b'\\') => {
                    self.take();
                    self.escape(into)?;
                }
                Some(_) => {}
                None => return self.unclosed_text(),
            }
        }
    }

    /// Reads the rest of an escape sequence, after the backslash.
    fn escape(&mut self, into: &mut Vec<u8>) -> Scanned<()> {
        let Some(byte) = self.peek()? else {
            return self.unexpected("the rest of an escape");
        };
        let plain = match byte {
            b'"' | b'\\' | b'/' => byte,
            b'b' => 8,
            b'f' => 12,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'u' => {
                self.take();
                return self.unicode(into);
            }
            _ => return self.unexpected("an escape such as \\n"),
        };
        self.take();
        keep_most(into, &[plain], self.most_text);
        Ok(())
    }

    /// Reads the rest of an escape sequence after `\u`. Unpaired surrogates become U+FFFD.
    fn unicode(&mut self, into: &mut Vec<u8>) -> Scanned<()> {
        let mut unit = self.hex4()?;
        if (0xd800..0xdc00).contains(&unit) && self.peek()? == Some(b'\\') {
            self.take();
            if self.peek()? != Some(b'u') {
                keep_most(into, "\u{fffd}".as_bytes(), self.most_text);
                return self.escape(into);
            }
            self.take();
            let low = self.hex4()?;
            if (0xdc00..0xe000).contains(&low) {
                unit = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
            } else {
                keep_most(into, "\u{fffd}".as_bytes(), self.most_text);
                unit = low;
            }
        }
        let char = char::from_u32(unit).unwrap_or('\u{fffd}');
        keep_most(
            into,
            char.encode_utf8(&mut [0; 4]).as_bytes(),
            self.most_text,
        );
        Ok(())
    }

    fn hex4(&mut self) -> Scanned<u32> {
        let mut unit = 0;
        for _ in 0..4 {
            let digit = self.peek()?.and_then(|b| char::from(b).to_digit(16));
            let Some(digit) = digit else {
                return self.unexpected("four hexadecimal digits");
            };
            unit = unit << 4 | digit;
            self.take();
        }
        Ok(unit)
    }

    /// Reads a value. Scalars are stored in `into`.
    pub fn value(&mut self, into: &mut Vec<u8>) -> Scanned<Value> {
        match self.space()? {
            Some(b'"') => self.text(into).map(|()| Value::Text),
            Some(b'{' | b'[') => {
                into.clear();
                self.skip().map(|()| Value::Nested)
            }
            Some(b'-' | b'0'..=b'9') => {
                self.bare(into)?;
                // -inf, 1.#INF and their like.
                let is_number =
                    |b: &u8| matches!(b, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E');
                Ok(if into.iter().all(is_number) {
                    Value::Number
                } else {
                    Value::Word
                })
            }
            Some(b'a'..=b'z' | b'A'..=b'Z') => self.bare(into).map(|()| Value::Word),
            _ => self.unexpected("a value"),
        }
    }

    /// As [`Self::value`], with a text limit of `most` bytes.
    pub fn long_value(&mut self, into: &mut Vec<u8>, most: usize) -> Scanned<Value> {
        self.most_text = most;
        let value = self.value(into);
        self.most_text = MAX_TEXT;
        value
    }

    fn bare(&mut self, into: &mut Vec<u8>) -> Scanned<()> {
        into.clear();
        while let Some(byte) = self.peek()? {
            if !is_bare(byte) {
                break;
            }
            if into.len() == MAX_DIGITS {
                return self.unexpected("a shorter number");
            }
            into.push(byte);
            self.take();
        }
        Ok(())
    }

    pub fn skip(&mut self) -> Scanned<()> {
        self.pass(None)
    }

    /// Copies a value unparsed into `into`, replacing its content. A length of `most` + 1 means that it was
    /// cut.
    pub fn copy(&mut self, into: &mut Vec<u8>, most: usize) -> Scanned<()> {
        into.clear();
        self.pass(Some(Copy { into, most }))
    }

    fn pass(&mut self, mut copy: Option<Copy<'_>>) -> Scanned<()> {
        // The brackets that are open.
        let mut open = Vec::new();
        let mut scratch = Vec::new();
        self.space()?;
        loop {
            let Some(byte) = self.peek()? else {
                return self.unexpected("the rest of a value");
            };
            let start = self.at;
            match byte {
                b'"' => {
                    self.pass_text(copy.as_mut())?;
                }
                b'{' | b'[' => {
                    if open.len() == MAX_DEPTH {
                        return self.stop(format!("values nest deeper than {MAX_DEPTH}"));
                    }
                    open.push(byte + 2);
                    self.take();
                }
                b'}' | b']' => {
                    if open.pop() != Some(byte) {
                        return self.unexpected("another bracket");
                    }
                    self.take();
                }
                b' ' | b'\n' | b'\r' | b'\t' => self.take(),
                b',' | b':' if !open.is_empty() => self.take(),
                byte if is_bare(byte) => {
                    self.bare(&mut scratch)?;
                    if let Some(copy) = &mut copy {
                        copy.keep(&scratch);
                    }
                }
                _ => return self.unexpected("a value"),
            }
            if let Some(copy) = &mut copy
                && byte != b'"'
                && !is_bare(byte)
            {
                copy.keep(&self.buffer[start..self.at]);
            }
            if open.is_empty() {
                return Ok(());
            }
        }
    }

    fn pass_text(&mut self, mut copy: Option<&mut Copy<'_>>) -> Scanned<()> {
        self.take();
        let mut put = |bytes: &[u8]| {
            if let Some(copy) = copy.as_deref_mut() {
                copy.keep(bytes);
            }
        };
        put(b"\"");
        loop {
            let from = self.at;
            let rest = &self.buffer[from..self.end];
            let run = rest.iter().position(|b| matches!(b, b'"' | b'\\'));
            let run = run.unwrap_or(rest.len());
            self.at += run;
            put(&self.buffer[from..from + run]);
            match self.peek()? {
                Some(b'"') => {
                    self.take();
                    put(b"\"");
                    return Ok(());
                }
                Some(b'\\') => {
                    self.take();
                    let Some(next) = self.peek()? else { continue };
                    self.take();
                    put(&[b'\\', next]);
                }
                Some(_) => {}
                None => return self.unclosed_text(),
            }
        }
    }
}

fn is_bare(byte: u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' | b'+' | b'-' | b'.' | b'#' | b'_')
}

struct Copy<'a> {
    into: &'a mut Vec<u8>,
    most: usize,
}

impl Copy<'_> {
    fn keep(&mut self, bytes: &[u8]) {
        keep_most(self.into, bytes, self.most);
    }
}

/// Appends until the length is `most` + 1, which means that it was cut.
fn keep_most(into: &mut Vec<u8>, bytes: &[u8], most: usize) {
    let room = (most + 1).saturating_sub(into.len());
    into.extend_from_slice(&bytes[..bytes.len().min(room)]);
}
