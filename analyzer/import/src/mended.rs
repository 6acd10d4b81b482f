//! JSON whose texts were written without escapes, as JSON.
//!
//! Some writers put names into quotes as they are: `"torch\cuda\__init__.py(219): f"`, `"say "hi""`, `"C:\dir\"`.
//! An importer reads such a file once more through [`Mended`] after it has failed on it as it stands.
//!
//! A quote ends a text if what follows can follow one there: behind a member's value a bracket, or a comma and the next
//! key. Where a comma or colon is missing nothing is mended. A backslash is taken as itself if its text has an escape that JSON does not
//! know, or looks like a path. A text is in memory as a whole, and nothing else of the file.

use std::io::{self, BufReader, Read};

use crate::source::Source;
use crate::{Error, Import};

const BUFFER_BYTES: usize = 1 << 16;
const MAX_DEPTH: usize = 512;
/// How far the end of a text is searched after its first suspicious quote.
const MAX_DOUBTFUL: usize = 1 << 12;
const MAX_TEXT: usize = 1 << 22;
/// Limit for a key searched after a quote, and for white space before it.
const MAX_KEY: usize = 256;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Open {
    Object { expects_key: bool },
    Array,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Key,
    Value,
    Element,
    Document,
}

#[derive(Clone, Copy, Debug)]
struct Found {
    end: usize,
    has_quotes: bool,
    has_unknown_escapes: bool,
}

/// Reads JSON and returns it with its texts escaped or, from [`Mended::as_it_stands`], unchanged.
pub(crate) struct Mended<R> {
    inner: R,
    is_on: bool,
    /// Read but not returned yet, from `at` on.
    window: Vec<u8>,
    at: usize,
    is_end: bool,
    out: Vec<u8>,
    out_at: usize,
    open: Vec<Open>,
    texts: u64,
}

impl<R: Read> Mended<R> {
    pub fn as_it_stands(inner: R) -> Self {
        Self {
            inner,
            is_on: false,
            window: Vec::new(),
            at: 0,
            is_end: false,
            out: Vec::new(),
            out_at: 0,
            open: Vec::new(),
            texts: 0,
        }
    }

    pub fn new(inner: R) -> Self {
        Self {
            is_on: true,
            ..Self::as_it_stands(inner)
        }
    }

    pub fn into_inner(self) -> R {
        self.inner
    }

    pub fn summary(&self) -> Option<String> {
        let texts = match self.texts {
            0 => return None,
            1 => "1 text has".to_owned(),
            count => format!("{count} texts have"),
        };
        Some(format!(
            "{texts} unescaped backslashes, quotes or control characters, which JSON does not allow: read unchanged"
        ))
    }

    /// A byte of the window at this offset; `None` after the end of the file.
    fn byte(&mut self, offset: usize) -> io::Result<Option<u8>> {
        while !self.is_end && self.at + offset >= self.window.len() {
            let from = self.window.len();
            self.window.resize(from + BUFFER_BYTES, 0);
            let read = self.inner.read(&mut self.window[from..]);
            let count = match read {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {
                    self.window.truncate(from);
                    continue;
                }
                Err(error) => {
                    self.window.truncate(from);
                    return Err(error);
                }
                Ok(count) => count,
            };
            self.window.truncate(from + count);
            self.is_end = count == 0;
        }
        Ok(self.window.get(self.at + offset).copied())
    }

    fn solid(&mut self, from: usize) -> io::Result<(usize, Option<u8>)> {
        let mut offset = from;
        loop {
            match self.byte(offset)? {
                Some(b' ' | b'\n' | b'\r' | b'\t') if offset < from + MAX_KEY => offset += 1,
                other => return Ok((offset, other)),
            }
        }
    }

    fn role(&self) -> Role {
        match self.open.last() {
            None => Role::Document,
            Some(Open::Array) => Role::Element,
            Some(Open::Object { expects_key: true }) => Role::Key,
            Some(Open::Object { expects_key: false }) => Role::Value,
        }
    }

    fn may_end(&mut self, quote: usize) -> io::Result<bool> {
        let (at, next) = self.solid(quote + 1)?;
        let Some(next) = next else { return Ok(true) };
        Ok(match (self.role(), next) {
            (Role::Document, _) => true,
            (Role::Key, b':') => {
                let (_, value) = self.solid(at + 1)?;
                value.is_some_and(begins_value)
            }
            (Role::Value, b'}') | (Role::Element, b']') => {
                let (_, behind) = self.solid(at + 1)?;
                matches!(behind, None | Some(b',' | b'}' | b']' | b'{'))
            }
            (Role::Value, b',') => {
                let (key, behind) = self.solid(at + 1)?;
                behind == Some(b'}') || (behind == Some(b'"') && self.is_key(key)?)
            }
            (Role::Element, b',') => {
                let (_, behind) = self.solid(at + 1)?;
                behind.is_some_and(|byte| begins_value(byte) || byte == b']')
            }
            _ => false,
        })
    }

    fn is_key(&mut self, quote: usize) -> io::Result<bool> {
        let mut at = quote + 1;
        while at - quote < MAX_KEY {
            match self.byte(at)? {
                Some(b'"') => return Ok(self.solid(at + 1)?.1 == Some(b':')),
                Some(b'\\') => at += 2,
                Some(_) => at += 1,
                None => break,
            }
        }
        Ok(false)
    }

    /// Whether a quote that does not end a text ends a key followed by its value, so that a comma is missing
    /// before it.
    fn ends_key(&mut self, quote: usize) -> io::Result<bool> {
        let before = self.window[self.at..self.at + quote].iter().rev();
        let word = before.clone().take_while(|byte| is_word(**byte)).count();
        if !(1..MAX_KEY).contains(&word) || before.clone().nth(word) != Some(&b'"') {
            return Ok(false);
        }
        let (at, colon) = self.solid(quote + 1)?;
        if colon != Some(b':') {
            return Ok(false);
        }
        let (_, value) = self.solid(at + 1)?;
        Ok(value.is_some_and(is_surely_value))
    }

    /// Whether a comma, a quoted word and a value follow a quote, so that a colon is missing.
    fn lacks_colon(&mut self, quote: usize) -> io::Result<bool> {
        let (comma, first) = self.solid(quote + 1)?;
        let (mut at, second) = self.solid(comma + 1)?;
        if first != Some(b',') || second != Some(b'"') {
            return Ok(false);
        }
        loop {
            at += 1;
            match self.byte(at)? {
                Some(byte) if is_word(byte) && at - comma < MAX_KEY => {}
                Some(b'"') => break,
                _ => return Ok(false),
            }
        }
        let (_, value) = self.solid(at + 1)?;
        Ok(value.is_some_and(is_surely_value))
    }

    /// Whether a text that continues at this offset reaches a plausible end.
    fn goes_on(&mut self, from: usize) -> io::Result<bool> {
        let mut at = from;
        while at - from < MAX_DOUBTFUL {
            match self.byte(at)? {
                Some(b'"') => return self.may_end(at),
                Some(b'\\') => at += 2,
                Some(_) => at += 1,
                None => break,
            }
        }
        Ok(false)
    }

    /// Finds the end of the text at the front of the window; `None` if there is no plausible one.
    fn find_end(&mut self) -> io::Result<Option<Found>> {
        let mut found = Found {
            end: 1,
            has_quotes: false,
            has_unknown_escapes: false,
        };
        let mut last = MAX_TEXT;
        loop {
            if found.end > last {
                return Ok(None);
            }
            match self.byte(found.end)? {
                None => return Ok(None),
                // Nobody puts quotes into keys: what follows this one is damage.
                Some(b'"') if self.role() == Role::Key || self.may_end(found.end)? => {
                    return Ok(Some(found));
                }
                Some(b'"') => {
                    if self.ends_key(found.end)? || self.lacks_colon(found.end)? {
                        return Ok(None);
                    }
                    found.has_quotes = true;
                    last = last.min(found.end + MAX_DOUBTFUL);
                    found.end += 1;
                }
                Some(b'\\') => match self.byte(found.end + 1)? {
                    None => return Ok(None),
                    // `"C:\dir\"`: an escaped quote, unless the text cannot go on behind it.
                    Some(b'"') => {
                        let quote = found.end + 1;
                        if self.may_end(quote)? && !self.goes_on(quote + 1)? {
                            found.has_unknown_escapes = true;
                            found.end = quote;
                            return Ok(Some(found));
                        }
                        found.end += 2;
                    }
                    Some(letter) => {
                        let is_known = match letter {
                            b'u' => self.is_unicode(found.end + 2)?,
                            letter => b"\\/bfnrt".contains(&letter),
                        };
                        found.has_unknown_escapes |= !is_known;
                        found.end += 2;
                    }
                },
                Some(_) => found.end += 1,
            }
        }
    }

    fn is_unicode(&mut self, digits: usize) -> io::Result<bool> {
        for offset in digits..digits + 4 {
            if !self
                .byte(offset)?
                .is_some_and(|byte| byte.is_ascii_hexdigit())
            {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn step(&mut self) -> io::Result<()> {
        if self.at > BUFFER_BYTES {
            self.window.drain(..self.at);
            self.at = 0;
        }
        match self.byte(0)? {
            None => {}
            Some(b'"') => match self.find_end()? {
                Some(found) => self.give_text(found),
                // No guesses: from here on the file passes unchanged.
                None => self.is_on = false,
            },
            Some(_) => self.give_structure(),
        }
        Ok(())
    }

    fn give_structure(&mut self) {
        let rest = &self.window[self.at..];
        let count = rest.iter().position(|byte| *byte == b'"');
        let count = count.unwrap_or(rest.len());
        for byte in &rest[..count] {
            match byte {
                b'{' => self.open.push(Open::Object { expects_key: true }),
                b'[' => self.open.push(Open::Array),
                b'}' | b']' => drop(self.open.pop()),
                b':' | b',' => {
                    if let Some(Open::Object { expects_key }) = self.open.last_mut() {
                        *expects_key = *byte == b',';
                    }
                }
                _ => {}
            }
        }
        if self.open.len() > MAX_DEPTH {
            self.is_on = false;
        }
        self.out
            .extend_from_slice(&self.window[self.at..self.at + count]);
        self.at += count;
    }

    fn give_text(&mut self, found: Found) {
        let text = &self.window[self.at + 1..self.at + found.end];
        let is_raw = found.has_unknown_escapes || is_path(text);
        let has_controls = text.iter().any(|byte| *byte < 0x20);
        if is_raw || found.has_quotes || has_controls {
            self.texts += 1;
            self.out.push(b'"');
            escape(text, is_raw, &mut self.out);
            self.out.push(b'"');
        } else {
            let all = &self.window[self.at..=self.at + found.end];
            self.out.extend_from_slice(all);
        }
        self.at += found.end + 1;
    }
}

impl<R: Read> Read for Mended<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if into.is_empty() {
            return Ok(0);
        }
        while self.out_at == self.out.len() {
            self.out.clear();
            self.out_at = 0;
            if !self.is_on {
                let rest = &self.window[self.at..];
                if rest.is_empty() {
                    return self.inner.read(into);
                }
                let count = rest.len().min(into.len());
                into[..count].copy_from_slice(&rest[..count]);
                self.at += count;
                return Ok(count);
            }
            self.step()?;
            if self.is_on && self.out.is_empty() {
                return Ok(0);
            }
        }
        let rest = &self.out[self.out_at..];
        let count = rest.len().min(into.len());
        into[..count].copy_from_slice(&rest[..count]);
        self.out_at += count;
        Ok(count)
    }
}

/// Reads a JSON document. If its texts are malformed, reads it again with them mended. If both fail, returns the
/// first error.
fn read_json<T: Default>(
    import: &mut Import<'_>,
    read: impl Fn(&mut T, &mut dyn Read) -> serde_json::Result<()>,
) -> Result<(T, serde_json::Result<()>), Error> {
    let mut attempt = |is_mended: bool| -> Result<_, Error> {
        let source = Source::open(import.path, import.options, import.progress)?;
        let mut from = if is_mended {
            Mended::new(source)
        } else {
            Mended::as_it_stands(source)
        };
        let mut document = T::default();
        let done = read(&mut document, &mut BufReader::new(&mut from));
        if is_mended && done.is_err() {
            return Ok((document, done));
        }
        if let Some(text) = from.summary() {
            import.notes.warn(text);
        }
        from.into_inner().end(import.notes);
        Ok((document, done))
    };
    let first = attempt(false)?;
    if matches!(&first.1, Err(error) if error.is_syntax()) {
        let second = attempt(true)?;
        if second.1.is_ok() {
            return Ok(second);
        }
    }
    Ok(first)
}

/// A JSON document; with `--partial`, what precedes a cut is kept.
pub(crate) struct Document<'a, T> {
    /// What the file should be, such as `JSON of speedscope`.
    pub expected: &'a str,
    /// What the user can do, such as `export it again`.
    pub remedy: &'a str,
    /// What it contains, such as `profiles`.
    pub units: &'a str,
    pub count: fn(&T) -> usize,
}

impl<T: Default> Document<'_, T> {
    pub fn read(
        &self,
        import: &mut Import<'_>,
        read: impl Fn(&mut T, &mut dyn Read) -> serde_json::Result<()>,
    ) -> Result<T, Error> {
        let (document, done) = read_json(import, read)?;
        let count = (self.count)(&document);
        match done {
            Err(error) if count == 0 || !import.options.partial => {
                let remedy = if error.to_string().starts_with("trailing characters") {
                    "another document begins there: give each its own file, or read the first with --partial"
                } else {
                    self.remedy
                };
                Err(import.damaged(
                    format!("line {}, column {}", error.line(), error.column()),
                    format!("expected {}: {error}; {remedy}", self.expected),
                ))
            }
            Err(error) => {
                let units = self.units;
                import.problem(format!(
                    "cut or damaged ({error}): its first {count} {units} were read"
                ));
                Ok(document)
            }
            Ok(()) => Ok(document),
        }
    }
}

/// Excludes words such as `true` and `null`, because texts may begin with the same letters.
fn is_surely_value(byte: u8) -> bool {
    matches!(byte, b'"' | b'{' | b'[' | b'-' | b'0'..=b'9')
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b' ')
}

fn begins_value(byte: u8) -> bool {
    matches!(byte, b'"' | b'{' | b'[' | b'-') || byte.is_ascii_alphanumeric()
}

/// Distinguishes a path from a text with line breaks and tabs: `torch\nn\functional.py(12): f`.
fn is_path(text: &[u8]) -> bool {
    let (mut at, mut last, mut is_sure) = (0, None, false);
    while let Some(offset) = text[at..].iter().position(|byte| *byte == b'\\') {
        let slash = at + offset;
        match text.get(slash + 1) {
            // A writer that escapes these escapes all.
            Some(b'\\' | b'"') => return false,
            Some(b'b' | b'f') => is_sure = true,
            _ => {}
        }
        is_sure |= slash == 2 && text[1] == b':' && text[0].is_ascii_alphabetic();
        last = Some(slash);
        at = (slash + 2).min(text.len());
    }
    let Some(slash) = last else { return false };
    is_sure || names_file(&text[slash + 1..])
}

/// True for `functional.py(12): f` and `kernels.cu`.
fn names_file(text: &[u8]) -> bool {
    let is_word = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let stem = text.iter().take_while(is_word).count();
    let Some((b'.', rest)) = text[stem..].split_first() else {
        return false;
    };
    let ending = rest.iter().take_while(is_word).count();
    let behind = rest.get(ending);
    stem > 0 && (1..=5).contains(&ending) && matches!(behind, None | Some(b'(' | b':'))
}

/// Appends the text with escapes. With `is_raw`, its backslashes are literal characters.
fn escape(text: &[u8], is_raw: bool, out: &mut Vec<u8>) {
    let mut bytes = text.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => match bytes.peek() {
                Some(b'"') => {
                    bytes.next();
                    out.extend_from_slice(b"\\\"");
                }
                Some(next) if !is_raw => {
                    out.extend_from_slice(&[b'\\', *next]);
                    bytes.next();
                }
                _ => out.extend_from_slice(b"\\\\"),
            },
            byte if byte < 0x20 => out.extend_from_slice(format!("\\u{byte:04x}").as_bytes()),
            byte => out.push(byte),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mended(text: &str) -> (String, u64) {
        // Byte by byte, so that each place is a border of what was read.
        struct Slow<'t>(&'t [u8]);
        impl Read for Slow<'_> {
            fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
                let count = self.0.len().min(1);
                into[..count].copy_from_slice(&self.0[..count]);
                self.0 = &self.0[count..];
                Ok(count)
            }
        }
        let mut from = Mended::new(Slow(text.as_bytes()));
        let mut out = String::new();
        from.read_to_string(&mut out).unwrap();
        (out, from.texts)
    }

    #[track_caller]
    fn name_of(text: &str) -> String {
        let (json, _) = mended(text);
        let value: serde_json::Value =
            serde_json::from_str(&json).unwrap_or_else(|error| panic!("{error}\n{text}\n{json}"));
        let event = value.get(0).unwrap_or(&value);
        event["name"].as_str().unwrap().to_owned()
    }

    #[test]
    fn backslashes_and_quotes_stay_what_they_are() {
        for (written, name) in [
            (
                r"torch\cuda\__init__.py(219): f",
                r"torch\cuda\__init__.py(219): f",
            ),
            (r"C:\users\new\table", r"C:\users\new\table"),
            (
                r"torch\nn\functional.py(12): f",
                r"torch\nn\functional.py(12): f",
            ),
            (r"C:\temp\new", r"C:\temp\new"),
            (r"C:\dir\", r"C:\dir\"),
            (r"\\server\share", r"\\server\share"),
            (r"\", r"\"),
            (r#"say "hi" there"#, r#"say "hi" there"#),
            (r#""quoted""#, r#""quoted""#),
            (r#"f("a", "b")"#, r#"f("a", "b")"#),
            (r#"operator""_s"#, r#"operator""_s"#),
            (r#"at "x": lost"#, r#"at "x": lost"#),
            (r#"D:\x\"a" b"#, r#"D:\x"a" b"#),
            (r"\u12", r"\u12"),
            (r"\users\u0041", r"\users\u0041"),
            ("tab\there", "tab\there"),
            (r"line\nbreak", "line\nbreak"),
            (r#"said \"x\", \"y\": z"#, r#"said "x", "y": z"#),
            (r"C:\\dir\\new.py", r"C:\dir\new.py"),
            (r"\u0041\t", "A\t"),
        ] {
            for (before, behind) in [
                ("[{\"ph\": \"X\", \"name\": \"", "\", \"pid\": 50}]"),
                ("[{\"name\":\"", "\"}]"),
                ("[{\"name\" : \"", "\" } , {\"name\":\"b\"}]"),
                ("{\"name\": \"", "\",\n \"args\": {\"a\": [\"x\", \"y\"]}}"),
                ("{\"args\": {\"k\": \"v\"}, \"name\": \"", "\"}\n"),
            ] {
                assert_eq!(
                    name_of(&format!("{before}{written}{behind}")),
                    name,
                    "{before}{written}{behind}"
                );
            }
        }
    }

    #[test]
    fn elements_and_keys_are_mended_too() {
        let (json, count) = mended(r#"{"a\d": ["x\", "y "z"", "\q"], "b": 1}"#);
        assert_eq!(json, r#"{"a\\d": ["x\\", "y \"z\"", "\\q"], "b": 1}"#);
        assert_eq!(count, 4);
    }

    #[test]
    fn good_json_and_doubtful_texts_pass_unchanged() {
        for text in [
            r#"{"traceEvents": [{"name": "a\\b\"c\"", "args": {"json": "{\"a\": [\"b\", 1]}"}}]}"#,
            "[]",
            "",
            "[1, 2.5, true",
            "\"lonely",
            r#"{"a": "never ends, {"b"#,
            r#"[{"name" "a", "ph": "X"}]"#,
            r#"[{"cat": "kernel", "name" "a", "ph": "X"}]"#,
            r#"[{"cat": "kernel", "dur" 10, "ph": "X"}]"#,
            r#"[{"name": "a" "ph": "X", "ts": 1}]"#,
            r#"[{"name": "a" "ts": 1, "ph": "X"}]"#,
        ] {
            assert_eq!(mended(text), (text.to_owned(), 0));
        }
        let quotes = "\"".repeat(1 << 16);
        let (text, _) = mended(&format!("[{quotes}"));
        assert_eq!(text.len(), 1 + (1 << 16));
    }
}
