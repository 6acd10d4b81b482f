//! Kernel sources: files beside the tables, each named by its hash.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use trueno_format::PtxHash;
use trueno_format::regular_file;
use trueno_format::salvage::Salvaged;

#[derive(Debug, Default)]
pub(super) struct Sources {
    folder: PathBuf,
    /// By hash, those that a killed program had not written yet.
    left: BTreeMap<String, String>,
}

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SourceError {
    #[error("{0}: expected the hash of a kernel source, 16 hex digits")]
    NoHash(String),
    #[error("{}: the source cannot be read: {source}", path.display())]
    Unreadable {
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
}

impl Sources {
    pub(super) fn new(run: &Path, rest: Option<&Salvaged>) -> Self {
        Self {
            folder: run.join("ptx"),
            left: rest.map(|rest| rest.sources.clone()).unwrap_or_default(),
        }
    }

    /// The source with this hash, and whether it still matches the hash.
    pub(super) fn get(&self, hash: &str) -> Result<(String, bool), SourceError> {
        // It becomes part of a path, and comes from a file that anybody may have written.
        if hash.len() != 16 || !hash.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(SourceError::NoHash(hash.to_owned()));
        }
        let same = |text: &str| PtxHash::from_source(text).to_string() == hash;
        // What was left is whole; the file of the same name may be half written.
        if let Some(text) = self.left.get(hash) {
            return Ok((text.clone(), same(text)));
        }
        let path = self.folder.join(format!("{hash}.ptx"));
        let bytes =
            regular_file::read(&path).map_err(|source| SourceError::Unreadable { path, source })?;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let same = same(&text);
        Ok((text, same))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_source_is_what_its_name_says_or_known_to_be_changed() {
        let folder = tempfile::tempdir().unwrap();
        let ptx = folder.path().join("ptx");
        fs::create_dir(&ptx).unwrap();
        let text = ".version 9.0";
        let hash = PtxHash::from_source(text).to_string();
        let sources = Sources::new(folder.path(), None);
        assert!(matches!(
            sources.get(&hash),
            Err(SourceError::Unreadable { .. })
        ));
        fs::write(ptx.join(format!("{hash}.ptx")), text).unwrap();
        assert_eq!(sources.get(&hash).unwrap(), (text.to_owned(), true));
        fs::write(ptx.join(format!("{hash}.ptx")), "changed").unwrap();
        assert_eq!(sources.get(&hash).unwrap(), ("changed".to_owned(), false));
        fs::write(folder.path().join("secret.ptx"), "s").unwrap();
        assert!(matches!(
            sources.get("../secret"),
            Err(SourceError::NoHash(_))
        ));
    }
}
