//! Where a report is written to. Files are made before the work starts, so that
//! a wrong path fails at once; what is in them is replaced when there is a report.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;

/// A file or standard output, ready to be written.
pub enum Output {
    /// `-`.
    Stdout,
    /// Opened for writing.
    File {
        /// As given.
        path: PathBuf,
        /// Its content is what it was before.
        file: File,
    },
}

impl Output {
    /// Opens `path`, made if it is not there; `-` is standard output.
    pub fn open(flag: &str, path: &Path) -> anyhow::Result<Output> {
        if path == Path::new("-") {
            return Ok(Output::Stdout);
        }
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .open(path);
        let file = file.with_context(|| format!("{flag} {}: cannot be written", path.display()))?;
        Ok(Output::File {
            path: path.to_path_buf(),
            file,
        })
    }

    /// Whether it is standard output.
    pub fn is_stdout(&self) -> bool {
        matches!(self, Output::Stdout)
    }

    /// Replaces the content by what `write` writes.
    pub fn replace(
        self,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> anyhow::Result<()> {
        match self {
            Output::Stdout => {
                let mut to = BufWriter::new(io::stdout().lock());
                write(&mut to).and_then(|()| to.flush())?;
                Ok(())
            }
            Output::File { path, file } => {
                let done = || -> io::Result<()> {
                    // Devices and pipes have no length to set.
                    if file.metadata()?.is_file() {
                        file.set_len(0)?;
                    }
                    let mut to = BufWriter::new(&file);
                    write(&mut to)?;
                    to.flush()
                };
                done().with_context(|| format!("{}: cannot be written", path.display()))
            }
        }
    }
}

/// A folder for CSV files, made if it is not there.
pub fn folder(flag: &str, path: &Path) -> anyhow::Result<()> {
    let problem = || format!("{flag} {}: no files can be made there", path.display());
    fs::create_dir_all(path).with_context(problem)?;
    // Making a file is the one sure way to know; it is taken away again.
    let probe = path.join(format!(".trueno-analyze-{}", std::process::id()));
    File::create(&probe)
        .and_then(|_| fs::remove_file(&probe))
        .with_context(problem)
}
