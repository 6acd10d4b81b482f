//! Characters that move, colour or turn what a terminal shows, written as `\u001b`.
//!
//! In JSON that is the same text. Raw CSV and what other programs export pass through it on a terminal only.

use std::io::{self, Write};

use trueno_model::width::is_hidden;

const MAX_CHAR_BYTES: usize = 4;

/// Writes UTF-8 with hidden characters escaped; line ends and tabs stay.
pub struct Escaped<W: Write> {
    to: W,
    /// First bytes of a character that is not complete yet.
    begun: Vec<u8>,
}

impl<W: Write> Escaped<W> {
    pub fn new(to: W) -> Self {
        Self {
            to,
            begun: Vec::with_capacity(MAX_CHAR_BYTES),
        }
    }

    fn text(&mut self, text: &str) -> io::Result<()> {
        let mut shown = 0;
        for (at, c) in text.char_indices() {
            if is_hidden(c) && !matches!(c, '\n' | '\r' | '\t') {
                self.to.write_all(&text.as_bytes()[shown..at])?;
                for unit in c.encode_utf16(&mut [0; 2]) {
                    write!(self.to, "\\u{unit:04x}")?;
                }
                shown = at + c.len_utf8();
            }
        }
        self.to.write_all(&text.as_bytes()[shown..])
    }
}

impl<W: Write> Write for Escaped<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let joined;
        let mut rest = if self.begun.is_empty() {
            bytes
        } else {
            joined = [&std::mem::take(&mut self.begun), bytes].concat();
            &joined
        };
        loop {
            match std::str::from_utf8(rest) {
                Ok(text) => {
                    self.text(text)?;
                    return Ok(bytes.len());
                }
                Err(error) => {
                    let (good, behind) = rest.split_at(error.valid_up_to());
                    self.text(str::from_utf8(good).unwrap_or_default())?;
                    let Some(bad) = error.error_len() else {
                        self.begun = behind.to_vec();
                        return Ok(bytes.len());
                    };
                    // No text: as a terminal shows it.
                    self.to.write_all("\u{fffd}".as_bytes())?;
                    rest = &behind[bad..];
                }
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn escaped(pieces: &[&[u8]]) -> String {
        let mut out = Vec::new();
        let mut to = Escaped::new(&mut out);
        for piece in pieces {
            to.write_all(piece).unwrap();
        }
        to.flush().unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn json_with_hidden_characters_is_the_same_text_without_them() {
        let text = "a\u{9b}31m \u{202e}turned\u{e0041} \u{feff}é 算 \u{7f}";
        let json = serde_json::to_string(text).unwrap();
        let safe = escaped(&[json.as_bytes()]);
        assert!(!safe.chars().any(is_hidden), "{safe}");
        assert_eq!(serde_json::from_str::<String>(&safe).unwrap(), text);
    }

    #[test]
    fn characters_that_come_in_pieces_are_whole() {
        let text = "x\u{202e}é\u{1b}[2J\n\ty\u{9b}";
        let whole = escaped(&[text.as_bytes()]);
        assert_eq!(whole, "x\\u202eé\\u001b[2J\n\ty\\u009b");
        let bytes: Vec<&[u8]> = text.as_bytes().chunks(1).collect();
        assert_eq!(escaped(&bytes), whole);
        assert_eq!(escaped(&[b"a\xffb"]), "a\u{fffd}b");
    }
}
