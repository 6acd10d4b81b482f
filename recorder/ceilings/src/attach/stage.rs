//! The hidden folder in which the run with its ceilings is put together.

use std::ffi::{CString, OsString};
use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::AttachError;
use super::rows::{CEILINGS, Old, ROWS, Written};
use trueno_format::journal::{JOURNAL, Line};
use trueno_format::link_or_copy::{link_or_copy, next_segment};
const LIVE: &str = "live";
use trueno_format::run_json::{RUN_JSON, RunJson};

/// Names that stand in the new run in other files, or not at all.
const LEFT_OUT: [&str; 4] = [RUN_JSON, NEW_RUN_JSON, JOURNAL, LIVE];
/// `run.json` until it is whole.
const NEW_RUN_JSON: &str = "run.json.tmp";

/// The folder, locked; it is removed with this.
pub(super) struct Stage {
    folder: PathBuf,
    /// Held until the end.
    _lock: Lock,
}

/// A locked folder. It is let go of in so many words: a child that another thread starts meanwhile has it open as well until
/// it runs its program, and one that is only closed here would stay locked for that long.
struct Lock(File);

impl Drop for Lock {
    fn drop(&mut self) {
        // Where that fails the lock goes with the last that has it open.
        let _ = self.0.unlock();
    }
}

impl Stage {
    /// Makes it beside the run; what another process left there when it was stopped is removed.
    pub fn make(run: &Path, run_id: &str, run_json: &[u8]) -> Result<Self, AttachError> {
        let mut hidden = OsString::from(".");
        hidden.push(run.file_name().unwrap_or_default());
        hidden.push(".peaks");
        let folder = run.with_file_name(hidden);
        match fs::create_dir(&folder) {
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {
                clear(&folder, run, run_id, run_json)?
            }
            made => made.map_err(AttachError::io(&folder, "make the folder"))?,
        }
        let lock = lock(&folder, run).inspect_err(|why| {
            // Empty as it is, unless another process has it.
            if !matches!(why, AttachError::Busy(_)) {
                let _ = fs::remove_dir(&folder);
            }
        })?;
        // From here on it goes whatever fails.
        let stage = Self {
            folder,
            _lock: lock,
        };
        let folder = &stage.folder;
        // First: it says whose folder this is.
        stage.write_run_json(run_json)?;
        let permissions = fs::metadata(run).map(|found| found.permissions());
        permissions
            .and_then(|permissions| fs::set_permissions(folder, permissions))
            .map_err(AttachError::io(folder, "set its permissions"))?;
        Ok(stage)
    }

    /// In one step: whenever this is stopped, the folder says whose it is.
    fn write_run_json(&self, run_json: &[u8]) -> Result<(), AttachError> {
        let (new, file) = (self.folder.join(NEW_RUN_JSON), self.folder.join(RUN_JSON));
        write(&new, run_json)?;
        fs::rename(&new, &file).map_err(AttachError::io(&file, "put it there"))
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Everything but `run.json`; gives the names of the new segments.
    pub fn fill(&self, run: &Path, old: &Old, rows: &Written) -> Result<Vec<String>, AttachError> {
        link_or_copy(run, &self.folder, &|name| {
            LEFT_OUT.iter().any(|out| name == *out) || name == CEILINGS && !old.stays()
        })?;
        let to = self.folder.join(CEILINGS);
        fs::create_dir_all(&to).map_err(AttachError::io(&to, "make the folder"))?;
        let first = next_segment(&to)?;
        let mut renamed = Vec::new();
        for number in 0..rows.counts.segments {
            let was = format!("{CEILINGS}/{number:06}.arrow");
            let name = format!("{CEILINGS}/{:06}.arrow", first + number);
            let (from, to) = (self.folder.join(ROWS).join(&was), self.folder.join(&name));
            File::open(&from)
                .and_then(|file| file.sync_all())
                .and_then(|()| fs::rename(&from, &to))
                .map_err(AttachError::io(&to, "put it there"))?;
            renamed.push((was, name));
        }
        self.journal(run, old, &renamed)?;
        let rows = self.folder.join(ROWS);
        fs::remove_dir_all(&rows).map_err(AttachError::io(&rows, "remove it"))?;
        Ok(renamed.into_iter().map(|(_, name)| name).collect())
    }

    /// The lines of the segments that stay as they are, then those of the new ones.
    fn journal(
        &self,
        run: &Path,
        old: &Old,
        renamed: &[(String, String)],
    ) -> Result<(), AttachError> {
        let read = |path: PathBuf| {
            let text = fs::read(&path);
            text.map_err(AttachError::io(&path, "read it"))
        };
        let mut text = Vec::new();
        for line in read(run.join(JOURNAL))?.split_inclusive(|byte| *byte == b'\n') {
            let is_of_ceilings =
                || Line::decode(line).is_some_and(|line| line.segment.starts_with("ceilings/"));
            if old.stays() || !is_of_ceilings() {
                text.extend(line);
            }
        }
        let path = self.folder.join(JOURNAL);
        let added = read(self.folder.join(ROWS).join(JOURNAL))?;
        for mut line in added.split(|byte| *byte == b'\n').filter_map(Line::decode) {
            if let Some((_, name)) = renamed.iter().find(|(was, _)| *was == line.segment) {
                line.segment.clone_from(name);
            }
            let line = line.encode().map_err(io::Error::other);
            text.extend(
                line.map_err(AttachError::io(&path, "write it"))?
                    .into_bytes(),
            );
        }
        write(&path, &text)
    }

    /// The new run takes the place of the old one, which is removed.
    pub fn publish(&self, run: &Path, run_json: &[u8]) -> Result<(), AttachError> {
        self.write_run_json(run_json)?;
        exchange(&self.folder, run).map_err(AttachError::io(run, "put the run there"))?;
        let parent = run.parent().unwrap_or(Path::new("/"));
        File::open(parent)
            .and_then(|folder| folder.sync_all())
            .map_err(AttachError::io(parent, "write it to disk"))
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        // What cannot be removed now is the next time.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn lock(folder: &Path, run: &Path) -> Result<Lock, AttachError> {
    let file = File::open(folder).map_err(AttachError::io(folder, "open it"))?;
    match file.try_lock() {
        // A file system without locks keeps nobody out.
        Ok(()) | Err(TryLockError::Error(_)) => Ok(Lock(file)),
        Err(TryLockError::WouldBlock) => Err(AttachError::Busy(run.to_owned())),
    }
}

/// Empties a folder of ours that is left over.
fn clear(folder: &Path, run: &Path, run_id: &str, run_json: &[u8]) -> Result<(), AttachError> {
    let _lock = lock(folder, run)?;
    let failed = || AttachError::io(folder, "empty it");
    let entries: io::Result<Vec<_>> = fs::read_dir(folder).and_then(Iterator::collect);
    let entries = entries.map_err(failed())?;
    let text = fs::read(folder.join(RUN_JSON)).ok();
    let of = text.and_then(|text| serde_json::from_slice::<RunJson>(&text).ok());
    // Stopped a moment after it was made, or where the disk was full, it holds no more than the
    // beginning of its first file.
    let is_beginning = |entry: &fs::DirEntry| {
        let name = entry.file_name();
        (name == RUN_JSON || name == NEW_RUN_JSON)
            && fs::read(entry.path()).is_ok_and(|text| run_json.starts_with(&text))
    };
    let is_begun = || entries.len() <= 1 && entries.iter().all(is_beginning);
    if !of.map_or_else(is_begun, |of| of.run_id == run_id) {
        return Err(AttachError::InTheWay(folder.to_owned()));
    }
    // `run.json` goes last: with it, what is left says whose it is.
    let (last, first): (Vec<_>, Vec<_>) = entries
        .iter()
        .partition(|entry| entry.file_name() == RUN_JSON);
    for entry in first.into_iter().chain(last) {
        let path = entry.path();
        let done = match path.is_dir() {
            true => fs::remove_dir_all(&path),
            false => fs::remove_file(&path),
        };
        done.map_err(failed())?;
    }
    Ok(())
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), AttachError> {
    let written = File::create(path).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()
    });
    written.map_err(AttachError::io(path, "write it"))
}

fn exchange(a: &Path, b: &Path) -> io::Result<()> {
    let [a, b] = [a, b].map(|path| CString::new(path.as_os_str().as_bytes()));
    let (a, b) = (a?, b?);
    let here = libc::AT_FDCWD;
    // SAFETY: both are texts that end with a zero and outlive the call.
    match unsafe { libc::renameat2(here, a.as_ptr(), here, b.as_ptr(), libc::RENAME_EXCHANGE) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
