//! Kernel sources: files beside the tables, each named by its hash.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use trueno_recorder::PtxHash;
use trueno_recorder::rest::Rest;

/// Where a run keeps them.
#[derive(Debug, Default)]
pub(super) struct Sources {
    folder: PathBuf,
    /// What a writer that is gone had not come to write.
    left: BTreeMap<String, String>,
}

impl Sources {
    pub(super) fn of(run: &Path, rest: Option<&Rest>) -> Self {
        Self {
            folder: run.join("ptx"),
            left: rest.map(|rest| rest.sources.clone()).unwrap_or_default(),
        }
    }

    /// The source of that hash; `None`: it is not there, or is not what was recorded.
    pub(super) fn get(&self, hash: &str) -> Option<String> {
        // A hash is a name, never a path.
        if hash.len() != 16 || !hash.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        let on_disk = fs::read_to_string(self.folder.join(format!("{hash}.ptx")));
        let is_it = |source: &String| PtxHash::of(source).to_string() == hash;
        on_disk
            .ok()
            .filter(is_it)
            .or_else(|| self.left.get(hash).cloned().filter(is_it))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_is_what_its_name_says_or_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let ptx = folder.path().join("ptx");
        fs::create_dir(&ptx).unwrap();
        let text = ".version 9.0";
        let hash = PtxHash::of(text).to_string();
        let sources = Sources::of(folder.path(), None);
        assert_eq!(sources.get(&hash), None);
        fs::write(ptx.join(format!("{hash}.ptx")), text).unwrap();
        assert_eq!(sources.get(&hash).as_deref(), Some(text));
        fs::write(ptx.join(format!("{hash}.ptx")), "changed").unwrap();
        assert_eq!(sources.get(&hash), None);
        fs::write(folder.path().join("secret.ptx"), "s").unwrap();
        assert_eq!(sources.get("../secret"), None);
    }
}
