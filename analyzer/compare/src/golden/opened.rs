//! A golden file wherever a run to compare with may stand.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::Context;
use trueno_engine::run::Run;

use trueno_host::name_tables;
use trueno_model::name_groups::{NameCounts, NameGroups};

use super::SUFFIX;
use super::file::{FORMAT, Golden};
use crate::runs::{Member, Options};

pub struct Opened {
    run: Run,
    golden: Option<Golden>,
    // Goes away after the run.
    _folder: Option<Folder>,
}

impl Opened {
    /// Opens a run directory or a golden file. Of a golden file, tensors are in tables and names come from
    /// [`Opened::complete`].
    ///
    /// # Errors
    /// It is neither, or the run made of a golden file cannot be written to the folder for temporary files.
    pub fn open(path: &Path) -> anyhow::Result<Self> {
        if !path.is_file() {
            return Ok(Self {
                run: Run::open(path)?,
                golden: None,
                _folder: None,
            });
        }
        let golden = Golden::read(path)?;
        let folder = Folder::new()?;
        let place = folder.0.join("golden.run");
        golden.restore(&place)?;
        Ok(Self {
            run: Run::open(&place)?,
            golden: Some(golden),
            _folder: Some(folder),
        })
    }

    /// Opens several runs as one. Each row has the rank of its run.
    ///
    /// # Errors
    /// One of them is no run, or a golden file, which holds no rows to put beside others.
    pub fn together(paths: &[PathBuf]) -> anyhow::Result<Self> {
        Ok(Self {
            run: Run::open_together(paths)?,
            golden: None,
            _folder: None,
        })
    }

    pub fn run(&self) -> &Run {
        &self.run
    }

    pub fn is_golden(&self) -> bool {
        self.golden.is_some()
    }

    pub fn is_of_incomplete(&self) -> bool {
        let golden = self.golden.as_ref();
        golden.is_some_and(|golden| golden.source.complete == Some(false))
    }

    /// Groups of its names that contain ids.
    ///
    /// # Errors
    /// Its names cannot be read.
    pub fn name_groups(&self) -> anyhow::Result<NameGroups> {
        let Some(golden) = &self.golden else {
            return Ok(name_tables::learn(&self.run.sql_context()?)?);
        };
        let mut counts = NameCounts::default();
        for row in &golden.names {
            counts.add(&row.name.name, row.count);
        }
        Ok(counts.groups())
    }

    /// Replaces what was read of the restored run by what the golden file says.
    pub fn complete(&self, member: &mut Member, options: &Options) {
        if let Some(golden) = &self.golden {
            member.names = golden.samples(options);
            member.backends = golden.backends.iter().cloned().collect();
            member.totals.clear();
            member.spans = 0;
            member.missing = self
                .is_of_incomplete()
                .then(|| "the run that was saved was not complete".to_owned());
        }
    }
}

impl From<Run> for Opened {
    fn from(run: Run) -> Self {
        Self {
            run,
            golden: None,
            _folder: None,
        }
    }
}

/// Recognises a golden file by its name or its first bytes.
pub fn is_golden(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let mut head = Vec::new();
    let file = fs::File::open(path);
    let read = file.and_then(|file| file.take(1 << 10).read_to_end(&mut head));
    let begins = read.is_ok() && String::from_utf8_lossy(&head).contains(FORMAT);
    name.ends_with(SUFFIX) || begins
}

/// A private temporary folder, removed when dropped.
struct Folder(PathBuf);

impl Folder {
    fn new() -> anyhow::Result<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let base = std::env::temp_dir();
        for _ in 0..1000 {
            let nth = COUNT.fetch_add(1, Ordering::Relaxed);
            let path = base.join(format!("trueno-golden-{}-{nth}", std::process::id()));
            let mut builder = fs::DirBuilder::new();
            #[cfg(unix)]
            std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
            match builder.create(&path) {
                Ok(()) => return Ok(Self(path)),
                // Left by a process that had our number, or somebody else's.
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => {
                    return Err(error).with_context(|| {
                        format!("{}: cannot be created (hint: set TMPDIR)", path.display())
                    });
                }
            }
        }
        anyhow::bail!("{}: no folder can be created there", base.display())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What cannot be removed is left to whoever cleans that place.
        let _ = fs::remove_dir_all(&self.0);
    }
}
