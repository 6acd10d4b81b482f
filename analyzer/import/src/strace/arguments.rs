//! Arguments of a call, from their text.

use std::borrow::Cow;

/// No call has more.
const MAX_ARGUMENTS: usize = 8;

/// Splits at commas outside quotes, brackets and names of descriptors.
pub fn split(text: &str) -> Vec<&str> {
    let bytes = text.as_bytes();
    let mut arguments = Vec::new();
    let (mut start, mut at, mut depth) = (0, 0, 0_u32);
    // Once one does not end, no later one is looked for: a line would be read again and again.
    let mut has_names = true;
    while at < bytes.len() && arguments.len() < MAX_ARGUMENTS {
        match bytes[at] {
            b'"' => at = quote_end(bytes, at + 1),
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            b'<' if has_names && at > 0 && bytes[at - 1].is_ascii_alphanumeric() => {
                match name_end(&text[at + 1..]) {
                    Some(end) => at += 1 + end,
                    None => has_names = false,
                }
            }
            b',' if depth == 0 => {
                arguments.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
        at += 1;
    }
    let last = text[start..].trim();
    if arguments.len() < MAX_ARGUMENTS && !last.is_empty() {
        arguments.push(last);
    }
    arguments
}

fn quote_end(bytes: &[u8], mut at: usize) -> usize {
    while at < bytes.len() && bytes[at] != b'"' {
        at += 1 + usize::from(bytes[at] == b'\\');
    }
    at
}

/// Length of a descriptor's name, starting after its `<`. Names nest: `/dev/null<char 1:3>`.
fn name_end(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let first = bytes.first()?;
    if !first.is_ascii_alphabetic() && !matches!(first, b'/' | b'{') {
        return None;
    }
    let mut depth = 0;
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            b'<' => depth += 1,
            // The arrow of `TCP:[127.0.0.1:9->127.0.0.1:80]`.
            b'>' if *first != b'/' && at > 0 && bytes[at - 1] == b'-' => {}
            b'>' if depth == 0 => return Some(at),
            b'>' => depth -= 1,
            _ => {}
        }
    }
    None
}

pub fn quoted(argument: &str) -> Option<String> {
    let inside = argument.strip_prefix('"')?;
    let end = quote_end(inside.as_bytes(), 0).min(inside.len());
    Some(unescape(&inside[..end]))
}

/// The file of a descriptor, from `3</etc/passwd>`: a path, or its kind without the numbers that differ between
/// runs.
pub fn descriptor(argument: &str) -> Option<String> {
    let name = argument.trim_start_matches(|c: char| c.is_ascii_digit());
    let name = name
        .strip_prefix('<')
        .filter(|_| name.len() < argument.len())?;
    let name = &name[..name_end(name)?];
    if name.starts_with('/') {
        let path = name.split_once('<').map_or(name, |(path, _of_device)| path);
        return Some(unescape(path.trim_end_matches(" (deleted)")));
    }
    let kind = match name.split_once(':') {
        Some(("anon_inode", kind)) => kind.trim_matches(['[', ']']),
        Some((kind, _)) => kind,
        // `{eventfd-count=0, eventfd-id=1}`
        None => name
            .trim_start_matches('{')
            .split('-')
            .next()
            .unwrap_or(name),
    };
    Some(kind.to_owned())
}

/// Decodes `\n`, `\303` and `\x41`.
fn unescape(text: &str) -> String {
    if !text.contains('\\') {
        return text.to_owned();
    }
    let mut bytes = text.bytes().peekable();
    let mut plain = Vec::with_capacity(text.len());
    while let Some(byte) = bytes.next() {
        if byte != b'\\' {
            plain.push(byte);
            continue;
        }
        let (radix, max_digits) = match bytes.peek() {
            Some(b'0'..=b'7') => (8, 3),
            Some(b'x') => {
                bytes.next();
                (16, 2)
            }
            _ => {
                plain.extend(bytes.next().map(|byte| match byte {
                    b'n' => b'\n',
                    b't' => b'\t',
                    b'r' => b'\r',
                    b'v' => 0x0b,
                    b'f' => 0x0c,
                    other => other,
                }));
                continue;
            }
        };
        let mut value = 0_u32;
        for _ in 0..max_digits {
            let digit = bytes
                .peek()
                .and_then(|byte| char::from(*byte).to_digit(radix));
            let Some(digit) = digit else { break };
            value = value * radix + digit;
            bytes.next();
        }
        plain.push(value as u8);
    }
    match String::from_utf8_lossy(&plain) {
        Cow::Borrowed(text) => text.to_owned(),
        Cow::Owned(text) => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_in_quotes_brackets_and_names_split_nothing() {
        for (text, expected) in [
            ("", &[][..]),
            ("3, \"a,\\\",(\", 5", &["3", "\"a,\\\",(\"", "5"]),
            ("NULL, {a=1, b=[2, 3]}", &["NULL", "{a=1, b=[2, 3]}"]),
            ("3</tmp/a(b,c>, 1<<20, 7", &["3</tmp/a(b,c>", "1<<20", "7"]),
            (
                "0</dev/null<char 1:3>>, 5<TCP:[1:2->3:4]>",
                &["0</dev/null<char 1:3>>", "5<TCP:[1:2->3:4]>"],
            ),
            ("3<a, 4", &["3<a", "4"]),
        ] {
            assert_eq!(split(text), expected, "{text}");
        }
    }

    #[test]
    fn files_are_named_by_path_or_kind() {
        for (argument, expected) in [
            ("3</etc/passwd>", Some("/etc/passwd")),
            ("12</tmp/a(b>(deleted)", Some("/tmp/a(b")),
            ("1</dev/pts/0<char 136:0>>", Some("/dev/pts/0")),
            ("8<pipe:[78365]>", Some("pipe")),
            ("5<TCP:[127.0.0.1:60261->127.0.0.1:42610]>", Some("TCP")),
            ("11<anon_inode:[eventfd]>", Some("eventfd")),
            ("11<{eventfd-count=3, eventfd-id=2}>", Some("eventfd")),
            ("AT_FDCWD</tmp>", None),
            ("3", None),
            ("-1", None),
        ] {
            assert_eq!(descriptor(argument).as_deref(), expected, "{argument}");
        }
        for (argument, expected) in [
            ("\"a\\\"b\\n\\303\\251\\x41\"", Some("a\"b\né\u{41}")),
            ("\"cut\"...", Some("cut")),
            ("\"open\\", Some("open")),
            ("0x7f", None),
        ] {
            assert_eq!(quoted(argument).as_deref(), expected, "{argument}");
        }
    }
}
