//! Output of a report. Files are opened before the work starts, so that a wrong path
//! fails at once. What is written lies beside its place until it is whole: a full disk or an
//! interrupt leaves the file that was there.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use trueno_engine::run::is_run;
use trueno_host::plugin::OwnOutput;
use trueno_render::style::Palette;

use super::escaped::Escaped;
use super::interrupt::RemovedOnInterrupt;
use super::leftovers;
use super::stderr::Stderr;
use super::stdout::on_terminal;

const WRITE_BYTES: usize = 1 << 17;

/// The files that a command reads and writes. The same file must not appear twice.
pub struct Files {
    named: Vec<(String, PathBuf)>,
}

impl Files {
    pub fn read<'a>(inputs: impl IntoIterator<Item = (&'a str, Option<&'a Path>)>) -> Files {
        let given = inputs.into_iter().filter_map(|(flag, path)| {
            let place = place(path?).ok()?;
            Some((flag.to_owned(), place))
        });
        Files {
            named: given.collect(),
        }
    }

    /// Opens `path` for writing; `-` is standard output.
    pub fn write(&mut self, flag: &str, path: &Path) -> anyhow::Result<Output> {
        if path == Path::new("-") {
            return Ok(Output::Stdout);
        }
        let shown = path.display();
        let cannot = || format!("{flag} {shown}: cannot be written");
        let place = place(path).with_context(cannot)?;
        let kind = fs::metadata(&place).map(|metadata| metadata.file_type());
        if kind.as_ref().is_ok_and(|kind| !kind.is_file()) {
            // Devices and pipes are nobody's only copy; a folder is refused by the system.
            let file = OpenOptions::new().write(true).open(&place);
            let file = file.with_context(cannot)?;
            return Ok(Output::InPlace {
                path: path.to_owned(),
                file,
            });
        }
        not_in_a_run(flag, path, &place)?;
        if let Some((other, _)) = self.named.iter().find(|(_, named)| *named == place) {
            bail!("{flag} {shown}: is the file of {other} too (hint: choose another path)");
        }
        self.named.push((flag.to_owned(), place.clone()));
        Beside::open(path, place, kind.is_ok()).with_context(cannot)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Raw {
    Never,
    /// Hidden characters become JSON escapes, which mean the same.
    Json,
    /// The bytes are written unchanged for another program. On a terminal they are escaped.
    Data,
}

pub enum Output {
    Stdout,
    /// A device, a pipe, or a file in a folder where no other file can be created.
    InPlace {
        path: PathBuf,
        /// Its old content is still there.
        file: File,
    },
    Beside(Beside),
}

/// A temporary file next to its target, removed if it is dropped before it is complete.
pub struct Beside {
    path: PathBuf,
    place: PathBuf,
    work: PathBuf,
    file: File,
    on_interrupt: Option<RemovedOnInterrupt>,
}

impl Beside {
    fn open(path: &Path, place: PathBuf, is_there: bool) -> io::Result<Output> {
        let in_place = || OpenOptions::new().write(true).open(&place);
        if is_there {
            // Who may not write the file may not replace it either.
            in_place()?;
        }
        let work = leftovers::beside(&place, "writing");
        let on_interrupt = Some(RemovedOnInterrupt::new(&work));
        let path = path.to_owned();
        match File::create_new(&work) {
            Ok(file) => {
                if let (true, Ok(metadata)) = (is_there, fs::metadata(&place)) {
                    // Where that fails the file has the permissions of a new one.
                    let _ = file.set_permissions(metadata.permissions());
                }
                Ok(Output::Beside(Beside {
                    path,
                    place,
                    work,
                    file,
                    on_interrupt,
                }))
            }
            Err(_) if is_there => Ok(Output::InPlace {
                path,
                file: in_place()?,
            }),
            Err(error) => Err(error),
        }
    }

    fn replace(&mut self, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
        let mut to = BufWriter::with_capacity(WRITE_BYTES, &self.file);
        write(&mut to)?;
        to.flush()?;
        drop(to);
        fs::rename(&self.work, &self.place)
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        // Once it is in its place there is none; what cannot be removed has a name that says what it is.
        let _ = fs::remove_file(&self.work);
        self.on_interrupt = None;
    }
}

impl Output {
    pub fn open(path: Option<&Path>) -> anyhow::Result<Output> {
        path.map_or(Ok(Output::Stdout), |path| Files::read([]).write("-o", path))
    }

    /// The palette for this output: colours on standard output only.
    pub fn palette(&self, on_stdout: Palette) -> Palette {
        if self.is_stdout() {
            on_stdout
        } else {
            Palette::new(false)
        }
    }

    pub fn text(self, text: &str, stderr: &Stderr) -> anyhow::Result<()> {
        self.replace(stderr, |to| to.write_all(text.as_bytes()))
    }

    /// Replaces the content by a result: JSON with hidden characters escaped, or text that is already safe.
    pub fn result(self, text: &str, is_json: bool, stderr: &Stderr) -> anyhow::Result<()> {
        let is_raw = if is_json { Raw::Json } else { Raw::Never };
        self.replace_raw(stderr, is_raw, |to| to.write_all(text.as_bytes()))
    }

    /// Like [`Self::replace`], for content that may hold any character.
    pub fn replace_raw(
        self,
        stderr: &Stderr,
        raw: Raw,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> anyhow::Result<()> {
        let is_escaped = match raw {
            Raw::Never => false,
            Raw::Json => true,
            Raw::Data => self.is_stdout() && on_terminal(),
        };
        if !is_escaped {
            return self.replace(stderr, write);
        }
        self.replace(stderr, |to| {
            let mut to = Escaped::new(to);
            write(&mut to)?;
            to.flush()
        })
    }

    pub fn is_stdout(&self) -> bool {
        matches!(self, Output::Stdout)
    }

    /// Replaces the content by what `write` writes, and confirms it on standard error.
    pub fn replace(
        self,
        stderr: &Stderr,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> anyhow::Result<()> {
        let cannot = |path: &Path| format!("{}: cannot be written", path.display());
        match self {
            Output::Stdout => {
                let mut to = BufWriter::new(OwnOutput::Stdout);
                write(&mut to).and_then(|()| to.flush())?;
                Ok(())
            }
            Output::InPlace { path, file } => {
                let done = || -> io::Result<()> {
                    // Devices and pipes have no length to set.
                    if file.metadata()?.is_file() {
                        file.set_len(0)?;
                    }
                    let mut to = BufWriter::new(&file);
                    write(&mut to)?;
                    to.flush()
                };
                done().with_context(|| cannot(&path))?;
                if file.metadata().is_ok_and(|metadata| metadata.is_file()) {
                    stderr.wrote(&path);
                }
                Ok(())
            }
            Output::Beside(mut beside) => {
                let done = beside.replace(write);
                done.with_context(|| cannot(&beside.path))?;
                stderr.wrote(&beside.path);
                Ok(())
            }
        }
    }
}

/// The real path; for a new file, the path that it will have.
fn place(path: &Path) -> io::Result<PathBuf> {
    match fs::canonicalize(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let Some(name) = path.file_name() else {
                return Err(error);
            };
            let folder = match path.parent() {
                Some(folder) if folder != Path::new("") => folder,
                _ => Path::new("."),
            };
            Ok(fs::canonicalize(folder)?.join(name))
        }
        found => found,
    }
}

/// A run holds only recorded files. Writing into one would damage it, or add a file that is mistaken for a part of
/// it.
fn not_in_a_run(flag: &str, path: &Path, place: &Path) -> anyhow::Result<()> {
    match place.ancestors().skip(1).find(|folder| is_run(folder)) {
        Some(run) => bail!(
            "{flag} {}: lies in the run {} (hint: choose a path outside of it)",
            path.display(),
            run.display()
        ),
        None => Ok(()),
    }
}

pub fn folder(flag: &str, path: &Path) -> anyhow::Result<()> {
    if let Ok(place) = place(path) {
        not_in_a_run(flag, path, &place.join("file"))?;
    }
    let problem = || format!("{flag} {}: no files can be made there", path.display());
    fs::create_dir_all(path).with_context(problem)?;
    // Making a file is the one sure way to know. It goes again, and its name is random: nobody can have put a link there.
    tempfile::tempfile_in(path).map(drop).with_context(problem)
}
