//! Parts of ranks kept in a folder, so that other processes can make them and a rerun takes what is there.
//!
//! `KEY/rank=N.arrow` holds the tables one after the other, each an Arrow stream. `KEY/rank=N.json`, written last, says
//! which they are and where, with the hash of each: a part without it is none. The key is a hash of all that the
//! tables depend on: this program, the plugins and their options, the files of the run, the part of it that is looked
//! at. So nothing here is ever out of date, and whoever makes a part makes the same one.

use std::fs::{self, File};
use std::io::{self, Cursor, Write};
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

use polars::prelude::*;
use serde::{Deserialize, Serialize};
use trueno_engine::run::add_content;
use trueno_format::regular_file;
use xxhash_rust::xxh3::{Xxh3, xxh3_128};

use crate::plugin::{FailureKind, Outcome, Plugin};
use crate::rank_parts::{Part, failed};
use crate::request::Request;

const FORMAT: u32 = 2;
const CHANGED: &str = "its bytes have changed since it was written";

/// A folder of cached parts, for one report of one job.
pub struct PartCache {
    folder: PathBuf,
    /// Hash of everything that all parts depend on.
    subject: u128,
    messages: Mutex<Vec<String>>,
}

#[derive(Serialize, Deserialize)]
struct Manifest {
    format: u32,
    rank: u32,
    /// Length of all tables together.
    bytes: u64,
    plugins: Vec<OfPlugin>,
}

#[derive(Serialize, Deserialize)]
struct OfPlugin {
    id: String,
    #[serde(flatten)]
    outcome: CachedPart,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum CachedPart {
    Made {
        tables: Vec<OfTable>,
        wrote: Option<String>,
    },
    /// The plugin reported an error.
    Failed { message: String },
    /// An input was missing.
    Skipped { message: String },
}

/// A table: an Arrow stream starting at byte `from`.
#[derive(Serialize, Deserialize)]
struct OfTable {
    name: String,
    rows: usize,
    from: u64,
    bytes: u64,
    hash: String,
}

impl PartCache {
    /// Creates the folder, and hashes what the parts of a report depend on.
    ///
    /// # Errors
    /// The folder cannot be made; a file that the parts depend on cannot be read.
    pub fn new(folder: &Path, request: &Request<'_>) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        let mut hash = Xxh3::new();
        hash.update(&FORMAT.to_le_bytes());
        // Two builds of one version may differ in what they make.
        hash.update(&build()?.to_le_bytes());
        hash.update(&request.run.hash_of_files()?.to_le_bytes());
        let shown = format!("{:?} {:?}", request.categories, request.window);
        hash.update(shown.as_bytes());
        Ok(Self {
            folder: folder.to_path_buf(),
            subject: hash.digest128(),
            messages: Mutex::default(),
        })
    }

    /// Cache files that were damaged or could not be written, and why.
    pub fn messages(&self) -> Vec<String> {
        self.messages
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    pub(crate) fn say(&self, text: String) {
        self.messages
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(text);
    }

    /// The cache for parts of these plugins, with the options of each.
    ///
    /// # Errors
    /// A library cannot be read.
    pub(crate) fn of<'a>(
        &self,
        plugins: impl Iterator<Item = (&'a Plugin, &'a String)>,
    ) -> io::Result<OfPlugins> {
        let mut hash = Xxh3::new();
        hash.update(&self.subject.to_le_bytes());
        let mut ids = Vec::new();
        for (plugin, options) in plugins {
            let id = &plugin.descriptor.id;
            for text in [id, options] {
                hash.update(&text.len().to_le_bytes());
                hash.update(text.as_bytes());
            }
            // Those of the program are hashed with it.
            if plugin.code.linked.is_none() {
                add_content(&plugin.code.file, &mut hash)?;
            }
            ids.push(id.clone());
        }
        let folder = self.folder.join(format!("{:032x}", hash.digest128()));
        fs::create_dir_all(&folder)?;
        Ok(OfPlugins { folder, ids })
    }
}

pub(crate) struct OfPlugins {
    folder: PathBuf,
    ids: Vec<String>,
}

impl OfPlugins {
    /// Whether parts of a rank are cached, without checking them.
    pub(crate) fn has(&self, rank: u32) -> bool {
        self.folder.join(format!("rank={rank}.json")).is_file()
    }

    /// Reads the parts of a rank, one per plugin; `None` if they are not cached. Those that are not needed are
    /// [`Part::Unread`].
    ///
    /// # Errors
    /// The files are damaged; the text names the file.
    pub(crate) fn read(
        &self,
        rank: u32,
        is_needed: impl Fn(usize) -> bool,
    ) -> Result<Option<Vec<Part>>, String> {
        let place = self.folder.join(format!("rank={rank}.json"));
        let text = match regular_file::read(&place) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(format!("{}: {error}", place.display())),
        };
        let messages = |why: &str| format!("{}: {why}", place.display());
        let manifest: Manifest =
            serde_json::from_slice(&text).map_err(|error| messages(&error.to_string()))?;
        let ids = manifest.plugins.iter().map(|of| &of.id);
        if (manifest.format, manifest.rank) != (FORMAT, rank) || !ids.eq(&self.ids) {
            return Err(messages("it belongs to another rank or to other plugins"));
        }
        let place = self.folder.join(format!("rank={rank}.arrow"));
        let messages = |why: &str| format!("{}: {why}", place.display());
        let file = regular_file::open(&place).map_err(|error| messages(&error.to_string()))?;
        let bytes = file
            .metadata()
            .map_err(|error| messages(&error.to_string()))?;
        if bytes.len() != manifest.bytes {
            return Err(messages(CHANGED));
        }
        let part = |(at, of): (usize, OfPlugin)| -> Result<Part, String> {
            if !is_needed(at) {
                return Ok(Part::Unread);
            }
            Ok(match of.outcome {
                CachedPart::Made { tables, wrote } => {
                    let tables = tables.into_iter().map(|table| {
                        let frame = frame(&file, manifest.bytes, &table);
                        Ok((table.name, frame.map_err(|why| messages(&why))?))
                    });
                    let tables = tables.collect::<Result<Vec<_>, String>>()?;
                    Part::Made { tables, wrote }
                }
                CachedPart::Failed { message } => Part::Missing(failed(message)),
                CachedPart::Skipped { message } => Part::Missing(Outcome::Skipped { message }),
            })
        };
        let plugins = manifest.plugins.into_iter().enumerate();
        plugins.map(part).collect::<Result<_, _>>().map(Some)
    }

    /// Caches the parts of a rank. Parts of a plugin whose process died are not cached: another machine may
    /// have more memory or time.
    ///
    /// # Errors
    /// They could not be written; the text says why.
    pub(crate) fn write(&self, rank: u32, parts: &[Part]) -> Result<(), String> {
        let mut bytes = Vec::new();
        let mut plugins = Vec::new();
        for (id, part) in self.ids.iter().zip(parts) {
            let outcome = match part {
                Part::Made { tables, wrote } => CachedPart::Made {
                    tables: tables
                        .iter()
                        .map(|(name, frame)| add(&mut bytes, name, frame))
                        .collect::<PolarsResult<_>>()
                        .map_err(|error| error.to_string())?,
                    wrote: wrote.clone(),
                },
                Part::Missing(Outcome::Skipped { message }) => CachedPart::Skipped {
                    message: message.clone(),
                },
                Part::Missing(Outcome::Failed { kind, message, .. })
                    if *kind != FailureKind::Ended =>
                {
                    CachedPart::Failed {
                        message: message.clone(),
                    }
                }
                Part::Missing(Outcome::Failed { message, .. }) => {
                    return Err(format!("{id}: {message}"));
                }
                Part::Missing(Outcome::Finished(_)) | Part::Unread => continue,
            };
            plugins.push(OfPlugin {
                id: id.clone(),
                outcome,
            });
        }
        let manifest = Manifest {
            format: FORMAT,
            rank,
            bytes: bytes.len() as u64,
            plugins,
        };
        let text = serde_json::to_vec(&manifest).map_err(|error| error.to_string())?;
        self.replace(&format!("rank={rank}.arrow"), &bytes)?;
        self.replace(&format!("rank={rank}.json"), &text)
    }

    fn replace(&self, name: &str, bytes: &[u8]) -> Result<(), String> {
        replace(&self.folder.join(name), bytes)
    }
}

/// Writes a file that others see complete or not at all.
pub(crate) fn replace(place: &Path, bytes: &[u8]) -> Result<(), String> {
    let write = || -> io::Result<()> {
        let name = place.file_name().unwrap_or_default().to_string_lossy();
        let folder = match place.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let mut file = tempfile::Builder::new()
            .prefix(&format!(".{name}."))
            .permissions(fs::Permissions::from_mode(0o666))
            .tempfile_in(folder)?;
        file.write_all(bytes)?;
        file.as_file().sync_all()?;
        file.persist(place)?;
        Ok(())
    };
    write().map_err(|error| format!("{}: {error}", place.display()))
}

/// Hash of this program.
pub(crate) fn build() -> io::Result<u128> {
    static BUILD: OnceLock<u128> = OnceLock::new();
    if let Some(build) = BUILD.get() {
        return Ok(*build);
    }
    let mut hash = Xxh3::new();
    add_content(&std::env::current_exe()?, &mut hash)?;
    Ok(*BUILD.get_or_init(|| hash.digest128()))
}

pub(crate) fn hash_of(bytes: &[u8]) -> String {
    format!("{:032x}", xxh3_128(bytes))
}

fn add(bytes: &mut Vec<u8>, name: &str, frame: &DataFrame) -> PolarsResult<OfTable> {
    let from = bytes.len();
    let mut frame = frame.clone();
    IpcStreamWriter::new(&mut *bytes)
        .with_compat_level(CompatLevel::oldest())
        .finish(&mut frame)?;
    Ok(OfTable {
        name: name.to_owned(),
        rows: frame.height(),
        from: from as u64,
        bytes: (bytes.len() - from) as u64,
        hash: hash_of(&bytes[from..]),
    })
}

fn frame(file: &File, file_bytes: u64, table: &OfTable) -> Result<DataFrame, String> {
    let until = table.from.checked_add(table.bytes);
    until
        .filter(|until| *until <= file_bytes)
        .ok_or("a table lies beyond its end")?;
    let mut stream = vec![0; usize::try_from(table.bytes).map_err(|error| error.to_string())?];
    file.read_exact_at(&mut stream, table.from)
        .map_err(|error| error.to_string())?;
    if hash_of(&stream) != table.hash {
        return Err(CHANGED.to_owned());
    }
    let frame = IpcStreamReader::new(Cursor::new(stream)).finish();
    let frame = frame.map_err(|error| error.to_string())?;
    if frame.height() == table.rows {
        Ok(frame)
    } else {
        Err(format!("table {} has {} rows", table.name, frame.height()))
    }
}
