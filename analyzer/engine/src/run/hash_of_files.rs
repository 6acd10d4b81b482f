//! A hash of a run's files: of two runs with the same one, all tables are the same.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use trueno_format::journal::JOURNAL;
use trueno_format::regular_file;
use trueno_format::run_json::RUN_JSON;
use xxhash_rust::xxh3::Xxh3;

use super::Run;

impl Run {
    /// A hash of the run's files, of the ceilings given for it, and of its problems.
    ///
    /// For files with hashes in the journal, only their name, their length and the journal are hashed.
    ///
    /// # Errors
    /// A file cannot be read, or a folder cannot be listed.
    pub fn hash_of_files(&self) -> io::Result<u128> {
        let mut hash = Xxh3::new();
        let told = format!("{:?} {:?}", self.given_ceilings, self.problems());
        hash.update(told.as_bytes());
        let files = match &self.ranks {
            None => JobFiles {
                run_json: None,
                ranks: BTreeMap::from([(0, hash_of_folder(self.path())?)]),
            },
            Some(ranks) => match &ranks.others {
                Some(others) => others.files().clone(),
                None => JobFiles::of(self)?,
            },
        };
        hash.update(format!("{files:?}").as_bytes());
        Ok(hash.digest128())
    }
}

/// Hashes of the files of a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct JobFiles {
    /// Of the job's own `run.json`.
    pub(super) run_json: Option<u128>,
    pub(super) ranks: BTreeMap<u32, u128>,
}

impl JobFiles {
    pub(super) fn of(job: &Run) -> io::Result<Self> {
        let ranks = job.ranks().into_iter();
        let ranks = ranks.map(|(rank, run)| Ok((rank, hash_of_folder(run.path())?)));
        Ok(Self {
            run_json: hash_of_run_json(job.path())?,
            ranks: ranks.collect::<io::Result<_>>()?,
        })
    }
}

pub(super) fn hash_of_run_json(job: &Path) -> io::Result<Option<u128>> {
    let file = job.join(RUN_JSON);
    if !file.is_file() {
        return Ok(None);
    }
    let mut hash = Xxh3::new();
    add_content(&file, &mut hash)?;
    Ok(Some(hash.digest128()))
}

/// See [`Run::hash_of_files`].
pub(super) fn hash_of_folder(folder: &Path) -> io::Result<u128> {
    let mut hash = Xxh3::new();
    let has_hashes = folder.join(JOURNAL).exists();
    for file in files(folder)? {
        let name = file.strip_prefix(folder).unwrap_or(&file);
        let name = name.as_os_str().as_encoded_bytes();
        hash.update(&name.len().to_le_bytes());
        hash.update(name);
        hash.update(&fs::metadata(&file)?.len().to_le_bytes());
        let tells = file
            .extension()
            .is_some_and(|kind| kind == "json" || kind == "jsonl");
        if tells || !has_hashes {
            add_content(&file, &mut hash)?;
        }
    }
    Ok(hash.digest128())
}

/// Regular files in a folder and its subfolders, sorted by name.
pub(super) fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut out = Vec::new();
    let mut open = vec![folder.to_path_buf()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            match entry.file_type()? {
                kind if kind.is_dir() => open.push(entry.path()),
                kind if kind.is_file() => out.push(entry.path()),
                _ => {}
            }
        }
    }
    out.sort();
    Ok(out)
}

/// Hashes the content of a file and its length.
///
/// # Errors
/// The file cannot be read.
pub fn add_content(file: &Path, hash: &mut Xxh3) -> io::Result<()> {
    let mut file = regular_file::open(file)?;
    let mut buffer = vec![0; 1 << 20];
    let mut length: u64 = 0;
    loop {
        match file.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => {
                hash.update(&buffer[..read]);
                length += read as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    hash.update(&length.to_le_bytes());
    Ok(())
}
