//! A local folder that has the files of a folder of a store, and in `.trueno-mirror` what they are.
//!
//! `index.jsonl` has a line a file, added once the file is in its place: killed at any moment, a mirror goes on from
//! there. `source.json` says where it is from, and of which version once it is whole.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use serde::{Deserialize, Serialize};

use trueno_store::source::{FOLDER, READERS, Source};

use crate::listing::{Listing, Object};

const INDEX: &str = "index.jsonl";

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Entry {
    name: String,
    bytes: u64,
    tag: String,
    modified_ns: i128,
}

/// A mirror, locked against changes by others.
pub struct Mirror {
    folder: PathBuf,
    index: BTreeMap<String, Entry>,
    /// The index, open for appending once something changes.
    log: Option<File>,
    source: Source,
    _lock: File,
    /// Lock against readers, held while something changes.
    _readers: Option<File>,
}

impl Mirror {
    /// Opens or creates the mirror of a place. Waits for processes that change it.
    ///
    /// # Errors
    /// The folder has something else in it; it cannot be written.
    pub fn open(folder: &Path, mut source: Source) -> anyhow::Result<Self> {
        let own = folder.join(FOLDER);
        if !own.is_dir() {
            let is_empty = match fs::read_dir(folder) {
                Ok(mut entries) => entries.next().is_none(),
                Err(error) if error.kind() == ErrorKind::NotFound => true,
                Err(error) => return Err(error.into()),
            };
            // Another may begin it at the same time.
            ensure!(
                is_empty || own.is_dir(),
                "it has files, and is not a mirror (hint: name an empty or new folder)"
            );
        }
        fs::create_dir_all(&own)?;
        let lock = File::create(own.join("lock"))?;
        lock.lock()?;
        if let Some(before) = Source::read(folder)? {
            let is_same = before.uri == source.uri && before.endpoint == source.endpoint;
            ensure!(
                is_same,
                "it is the mirror of {}{} (hint: name another folder)",
                before.uri,
                before
                    .endpoint
                    .map(|of| format!(" of {of}"))
                    .unwrap_or_default()
            );
            source.version = before.version;
        }
        Ok(Self {
            folder: folder.to_owned(),
            index: read_index(&own.join(INDEX))?,
            log: None,
            source,
            _lock: lock,
            _readers: None,
        })
    }

    /// Number and total bytes of the mirrored files.
    pub fn size(&self) -> (usize, u64) {
        let bytes = self.index.values().map(|entry| entry.bytes);
        (self.index.len(), bytes.fold(0, u64::saturating_add))
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Whether the mirror is complete and of this version, and no file was modified since.
    pub fn is_whole(&self, version: &str) -> bool {
        self.source.version.as_deref() == Some(version)
            && self.index.values().all(|entry| self.is_in_place(entry))
    }

    /// Whether the file of an object is up to date.
    pub fn has(&self, name: &str, object: &Object) -> bool {
        let entry = self.index.get(name);
        entry.is_some_and(|entry| {
            entry.bytes == object.bytes && entry.tag == object.tag && self.is_in_place(entry)
        })
    }

    fn is_in_place(&self, entry: &Entry) -> bool {
        let found = fs::symlink_metadata(self.folder.join(&entry.name));
        found.is_ok_and(|found| {
            found.is_file()
                && found.len() == entry.bytes
                && modified_ns(&found) == entry.modified_ns
        })
    }

    /// Waits for readers of the mirror, and marks it as incomplete before the first change.
    pub fn begin(mut self) -> anyhow::Result<Self> {
        let readers = File::create(self.folder.join(FOLDER).join(READERS))?;
        readers.lock()?;
        self._readers = Some(readers);
        self.source.version = None;
        self.write_source()?;
        self.write_index()?;
        Ok(self)
    }

    fn write_index(&mut self) -> anyhow::Result<()> {
        let file = self.folder.join(FOLDER).join(INDEX);
        let lines: Vec<String> = self.index.values().map(line).collect::<Result<_, _>>()?;
        write_whole(&file, lines.concat().as_bytes())?;
        self.log = Some(OpenOptions::new().append(true).open(file)?);
        Ok(())
    }

    pub fn finish(&mut self, version: &str) -> anyhow::Result<()> {
        self.source.version = Some(version.to_owned());
        self.write_source()
    }

    pub fn remove_unlisted(&mut self, listing: &Listing) -> anyhow::Result<usize> {
        let gone = self
            .index
            .keys()
            .filter(|name| !listing.0.contains_key(*name));
        let gone: Vec<String> = gone.cloned().collect();
        for name in &gone {
            let file = self.folder.join(name);
            match fs::remove_file(&file) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    return Err(error).with_context(|| file.display().to_string());
                }
                _ => {}
            }
            // Of folders those that are empty now.
            let above = file
                .ancestors()
                .skip(1)
                .take_while(|above| *above != self.folder);
            let _ = above.map(fs::remove_dir).take_while(Result::is_ok).count();
            self.index.remove(name);
        }
        if !gone.is_empty() {
            self.write_index()?;
        }
        Ok(gone.len())
    }

    pub fn partial(&self, name: &str, object: &Object) -> PathBuf {
        let key = Listing([(name.to_owned(), object.clone())].into()).version();
        self.folder.join(FOLDER).join(format!("{key}.partial"))
    }

    /// Moves a complete file to its place.
    ///
    /// # Errors
    /// It cannot be put there: something else lies in its way, such as a link.
    pub fn place(&mut self, name: &str, object: &Object, partial: &Path) -> anyhow::Result<()> {
        let to = self.folder.join(name);
        let above = to.parent().unwrap_or(&self.folder);
        self.make_folders(above)?;
        fs::rename(partial, &to).with_context(|| to.display().to_string())?;
        let entry = Entry {
            name: name.to_owned(),
            bytes: object.bytes,
            tag: object.tag.clone(),
            modified_ns: modified_ns(&fs::symlink_metadata(&to)?),
        };
        let log = self.log.as_mut().context("nothing had to change")?;
        log.write_all(line(&entry)?.as_bytes())?;
        self.index.insert(name.to_owned(), entry);
        Ok(())
    }

    /// Creates folders. None may be a link, which could point elsewhere.
    fn make_folders(&self, folder: &Path) -> anyhow::Result<()> {
        let below = folder.strip_prefix(&self.folder)?;
        let mut at = self.folder.clone();
        for part in below {
            at.push(part);
            match fs::symlink_metadata(&at) {
                Ok(found) if found.is_dir() => {}
                Ok(_) => bail!("{}: it is not a folder", at.display()),
                Err(error) if error.kind() == ErrorKind::NotFound => fs::create_dir(&at)?,
                Err(error) => return Err(error).with_context(|| at.display().to_string()),
            }
        }
        Ok(())
    }

    pub fn remove_partials(&self) -> anyhow::Result<()> {
        for entry in fs::read_dir(self.folder.join(FOLDER))? {
            let file = entry?.path();
            if file.extension().is_some_and(|ending| ending == "partial") {
                fs::remove_file(file)?;
            }
        }
        Ok(())
    }

    fn write_source(&self) -> anyhow::Result<()> {
        let file = self.folder.join(FOLDER).join("source.json");
        Ok(write_whole(&file, &serde_json::to_vec(&self.source)?)?)
    }
}

fn line(entry: &Entry) -> serde_json::Result<String> {
    Ok(format!("{}\n", serde_json::to_string(entry)?))
}

/// Reads the index; the last line of each file counts. A torn line is ignored, so its file is downloaded again.
fn read_index(file: &Path) -> io::Result<BTreeMap<String, Entry>> {
    let text = match fs::read(file) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(error),
    };
    let lines = text.split(|byte| *byte == b'\n');
    let entries = lines.filter_map(|line| serde_json::from_slice::<Entry>(line).ok());
    Ok(entries.map(|entry| (entry.name.clone(), entry)).collect())
}

fn write_whole(file: &Path, bytes: &[u8]) -> io::Result<()> {
    let other = file.with_extension("new");
    fs::write(&other, bytes)?;
    fs::rename(other, file)
}

fn modified_ns(found: &fs::Metadata) -> i128 {
    i128::from(found.mtime()) * 1_000_000_000 + i128::from(found.mtime_nsec())
}
