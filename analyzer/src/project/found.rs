//! The search for the project file, and its text.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail};
use toml::Table;
use trueno_format::regular_file;

pub const FILE: &str = "trueno.toml";
const MAX_BYTES: u64 = 1 << 20;

/// Finds the nearest file of that name. The search ends at the home folder or the root of a repository, whichever
/// comes first. Outside both, it goes up as long as the user owns the folder.
pub fn nearest(folder: &Path, home: Option<&Path>) -> Option<PathBuf> {
    let home = home.and_then(|home| fs::canonicalize(home).ok());
    let is_end = |above: &&Path| home.as_deref() == Some(above) || above.join(".git").exists();
    let end = folder.ancestors().find(is_end);
    for above in folder.ancestors() {
        if end.is_none() && above != folder && !is_own(above) {
            break;
        }
        let file = above.join(FILE);
        // A link that leads nowhere is one that should not be there: it is found, and refused.
        if fs::symlink_metadata(&file).is_ok() && !file.is_dir() {
            return Some(file);
        }
        if end == Some(above) {
            break;
        }
    }
    None
}

fn is_own(folder: &Path) -> bool {
    fs::metadata(folder).is_ok_and(|found| found.uid() == trueno_trust::user())
}

#[derive(Clone, Debug)]
pub struct ProjectFile {
    pub path: PathBuf,
    pub device: u64,
    pub inode: u64,
    pub text: String,
}

impl ProjectFile {
    pub fn named(path: &Path) -> anyhow::Result<Self> {
        let file = regular_file::open(path)
            .with_context(|| format!("{}: cannot be read", path.display()))?;
        Self::read(path, &file)
    }

    pub fn read(path: &Path, file: &File) -> anyhow::Result<Self> {
        let shown = path.display();
        let cannot = || format!("{shown}: cannot be read");
        let found = file.metadata().with_context(cannot)?;
        let mut text = String::new();
        let mut start = file.take(MAX_BYTES + 1);
        start.read_to_string(&mut text).with_context(cannot)?;
        if text.len() as u64 > MAX_BYTES {
            bail!("{shown}: is larger than {MAX_BYTES} bytes, the limit for project files");
        }
        Ok(Self {
            path: path.to_owned(),
            device: found.dev(),
            inode: found.ino(),
            text,
        })
    }

    pub fn table(&self) -> anyhow::Result<Table> {
        toml::from_str(&self.text).map_err(|error| {
            anyhow!(
                "{}: {} (hint: --no-project does without it)",
                self.path.display(),
                error.to_string().trim_end()
            )
        })
    }
}
