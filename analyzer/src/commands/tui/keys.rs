//! Keys typed, from the bytes of a terminal.
//!
//! The parser of the backend panics on a sequence that is cut and on a number above 255, and does not know
//! arrows in application mode (`ESC O A`).

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    Up,
    Down,
    Left,
    Right,
    PageUp,
    PageDown,
    Home,
    End,
    Enter,
    Tab,
    Backspace,
    Esc,
    /// Ctrl-C, or the terminal is gone.
    Quit,
    EndOfInput,
    Char(char),
    Resize(u16, u16),
}

/// Parses keys. Other reports of the terminal, and keys without a meaning, are skipped. A lone escape byte at the
/// end is the Escape key.
pub fn keys(bytes: &[u8]) -> Vec<Key> {
    let mut keys = Vec::new();
    let mut rest = bytes;
    while let Some((key, used)) = key(rest) {
        keys.extend(key);
        rest = &rest[used..];
    }
    keys
}

/// The first key, if it has a meaning, and its length in bytes; `None` at the end.
fn key(bytes: &[u8]) -> Option<(Option<Key>, usize)> {
    let (&first, rest) = bytes.split_first()?;
    Some(match (first, rest) {
        (0x1b, []) => (Some(Key::Esc), 1),
        (0x1b, [b'[' | b'O', ..]) => sequence(bytes),
        // Escape, and then something else; Alt with a key looks the same.
        (0x1b, _) => (Some(Key::Esc), 1),
        (b'\r' | b'\n', _) => (Some(Key::Enter), 1),
        (b'\t', _) => (Some(Key::Tab), 1),
        (0x7f | 0x08, _) => (Some(Key::Backspace), 1),
        (0x03, _) => (Some(Key::Quit), 1),
        (0x04, _) => (Some(Key::EndOfInput), 1),
        (0x00..0x20, _) => (None, 1),
        _ => character(bytes),
    })
}

/// `ESC [ … final` or `ESC O final`.
fn sequence(bytes: &[u8]) -> (Option<Key>, usize) {
    let ends = |byte: &u8| (0x40..=0x7e).contains(byte);
    let Some(end) = bytes[2..].iter().position(ends) else {
        return (None, bytes.len());
    };
    let (parameters, last) = (&bytes[2..2 + end], bytes[2 + end]);
    let number = parameters
        .split(|byte| *byte == b';')
        .next()
        .unwrap_or_default();
    let key = match (last, number) {
        (b'A', _) => Some(Key::Up),
        (b'B', _) => Some(Key::Down),
        (b'C', _) => Some(Key::Right),
        (b'D', _) => Some(Key::Left),
        (b'H', _) | (b'~', b"1" | b"7") => Some(Key::Home),
        (b'F', _) | (b'~', b"4" | b"8") => Some(Key::End),
        (b'~', b"5") => Some(Key::PageUp),
        (b'~', b"6") => Some(Key::PageDown),
        (b'M', _) if bytes[1] == b'O' => Some(Key::Enter),
        _ => None,
    };
    (key, end + 3)
}

fn character(bytes: &[u8]) -> (Option<Key>, usize) {
    for used in 1..=bytes.len().min(4) {
        if let Ok(text) = std::str::from_utf8(&bytes[..used]) {
            return (text.chars().next().map(Key::Char), used);
        }
    }
    (None, 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn keys_are_known_by_their_bytes() {
        assert_eq!(keys(b"\x1b"), [Key::Esc]);
        assert_eq!(
            keys(b"j\x1b[A\x1bOB\x1b[5~\x1b[1;5Cq"),
            [
                Key::Char('j'),
                Key::Up,
                Key::Down,
                Key::PageUp,
                Key::Right,
                Key::Char('q')
            ]
        );
        assert_eq!(
            keys("/é\r\x7f".as_bytes()),
            [Key::Char('/'), Key::Char('é'), Key::Enter, Key::Backspace]
        );
        assert_eq!(keys(b"\x03"), [Key::Quit]);
        assert_eq!(keys(b"\x1b[200~\x01\x1b["), []);
    }

    proptest! {
        #[test]
        fn any_bytes_end(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            prop_assert!(keys(&bytes).len() <= bytes.len());
        }
    }
}
