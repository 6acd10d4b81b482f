//! Standard output and error of a plugin, which should stay empty.

/// Bytes kept of the beginning, and as many of the end.
const KEPT: usize = 2048;
const SHOWN: usize = 160;

#[derive(Debug, Default)]
pub struct CapturedOutput {
    bytes: u64,
    first: Vec<u8>,
    last: Vec<u8>,
}

impl CapturedOutput {
    pub fn put(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        let room = KEPT - self.first.len().min(KEPT);
        self.first
            .extend_from_slice(&bytes[..room.min(bytes.len())]);
        self.last
            .extend_from_slice(&bytes[bytes.len().saturating_sub(KEPT)..]);
        let over = self.last.len().saturating_sub(KEPT);
        self.last.drain(..over);
    }

    pub fn last_line(&self) -> Option<String> {
        line(String::from_utf8_lossy(&self.last).lines().rev())
    }

    pub fn tells_of_memory(&self) -> bool {
        let last = String::from_utf8_lossy(&self.last);
        ["memory allocation of", "bad_alloc", "out of memory"]
            .iter()
            .any(|words| last.contains(words))
    }

    /// Whether the last bytes contain Rust's message about a stack overflow.
    pub fn tells_of_the_stack(&self) -> bool {
        String::from_utf8_lossy(&self.last).contains("overflowed its stack")
    }

    /// `None` if nothing was written.
    pub fn note(&self) -> Option<String> {
        let first = match line(String::from_utf8_lossy(&self.first).lines()) {
            Some(line) => format!(", beginning with {line:?}"),
            None => String::new(),
        };
        (self.bytes > 0).then(|| {
            format!(
                "it wrote {} bytes to standard output or error, which are left out{first} (hint: plugins print nothing)",
                self.bytes
            )
        })
    }
}

fn line<'a>(mut lines: impl Iterator<Item = &'a str>) -> Option<String> {
    let line = lines.find(|line| !line.trim().is_empty())?.trim();
    Some(match line.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beginning_and_end_are_kept() {
        let mut wrote = CapturedOutput::default();
        assert_eq!((wrote.note(), wrote.last_line()), (None, None));
        for number in 0..10_000 {
            wrote.put(format!("line {number}\n").as_bytes());
        }
        let note = wrote.note().unwrap();
        assert!(
            note.contains("wrote 98890 bytes") && note.contains("\"line 0\""),
            "{note}"
        );
        assert_eq!(wrote.last_line().unwrap(), "line 9999");
        wrote.put(&[0xff; 5000]);
        wrote.put(b"\n\n");
        assert_eq!(wrote.last_line().unwrap().chars().count(), SHOWN + 1);
        assert!(!wrote.tells_of_memory());
        wrote.put(b"memory allocation of 8 bytes failed\n");
        assert!(wrote.tells_of_memory());
    }
}
