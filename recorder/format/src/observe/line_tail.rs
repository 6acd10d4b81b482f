//! Whole lines that are appended to a file.

use std::fs::File;
use std::io::Read;
use std::path::PathBuf;

use crate::regular_file;

const STEP_BYTES: usize = 1 << 16;
/// Lines longer than this are skipped as damaged.
const MAX_LINE_BYTES: usize = 64 << 20;

pub(super) struct LineTail {
    path: PathBuf,
    file: Option<File>,
    cut: Vec<u8>,
}

impl LineTail {
    /// From the beginning of the file, which need not be there yet.
    pub fn new(path: PathBuf) -> Self {
        Self {
            path,
            file: None,
            cut: Vec::new(),
        }
    }

    /// Gives the lines that are new, each with its newline. What cannot be read is tried again the next time.
    pub fn lines(&mut self, mut take: impl FnMut(&[u8])) {
        if self.file.is_none() {
            self.file = regular_file::open(&self.path).ok();
        }
        let Some(file) = &mut self.file else { return };
        let mut step = vec![0; STEP_BYTES];
        while let Ok(read @ 1..) = file.read(&mut step) {
            for part in step[..read].split_inclusive(|byte| *byte == b'\n') {
                if !part.ends_with(b"\n") {
                    self.cut.extend_from_slice(part);
                } else if self.cut.is_empty() {
                    take(part);
                } else {
                    self.cut.extend_from_slice(part);
                    take(&self.cut);
                    self.cut.clear();
                }
            }
            if self.cut.len() > MAX_LINE_BYTES {
                self.cut = Vec::new();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn lines_come_once_and_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lines");
        let mut tail = LineTail::new(path.clone());
        let mut read = || {
            let mut lines = Vec::new();
            tail.lines(|line| lines.push(String::from_utf8(line.to_vec()).unwrap()));
            lines
        };
        assert!(read().is_empty(), "not there yet");
        let mut file = File::create(&path).unwrap();
        file.write_all(b"a\nb").unwrap();
        assert_eq!(read(), ["a\n"]);
        file.write_all(b"c").unwrap();
        assert!(read().is_empty());
        let long = "d".repeat(3 * STEP_BYTES);
        file.write_all(format!("\n{long}\ne\n").as_bytes()).unwrap();
        assert_eq!(
            read(),
            ["bc\n".to_owned(), format!("{long}\n"), "e\n".to_owned()]
        );
        assert!(read().is_empty());
    }
}
