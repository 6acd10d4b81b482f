//! The project files that the user trusts: a list in the folder of their settings.

use std::fs::{self, DirBuilder};
use std::io::Write;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail};
use serde::{Deserialize, Serialize};

use super::found::ProjectFile;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    Trusted,
    /// Listed, but with other content.
    Changed,
    Unknown,
}

/// A trusted file with its whole text: it is short, and no other text equals it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Entry {
    path: PathBuf,
    device: u64,
    inode: u64,
    text: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrustedFiles {
    files: Vec<Entry>,
}

/// `$XDG_CONFIG_HOME/trueno-analyze/trusted.json`, else in `~/.config`.
pub fn list_file() -> Option<PathBuf> {
    let named = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from);
    let settings = named
        .filter(|path| path.is_absolute())
        .or_else(|| Some(std::env::home_dir()?.join(".config")))
        .filter(|path| path.is_absolute())?;
    Some(settings.join("trueno-analyze/trusted.json"))
}

impl TrustedFiles {
    /// Reads the list. A missing list is empty.
    ///
    /// # Errors
    /// Another user could have written it, or it is damaged.
    pub fn read(list: &Path) -> anyhow::Result<Self> {
        if fs::symlink_metadata(list).is_err() {
            return Ok(Self::default());
        }
        let shown = list.display();
        let file = trueno_trust::open_file(list).map_err(|distrust| {
            let remedy = distrust.remedy();
            anyhow!("{shown}: the list of trusted files is not used: {distrust} (hint: {remedy})")
        })?;
        serde_json::from_reader(std::io::BufReader::new(file)).with_context(|| {
            format!("{shown}: is not a list of trusted files (hint: remove it, and trust the files again)")
        })
    }

    /// Writes the list, readable by the user only.
    pub fn write(&self, list: &Path) -> anyhow::Result<()> {
        let shown = list.display();
        let cannot = || format!("{shown}: cannot be written");
        let folder = list.parent().unwrap_or(Path::new("/"));
        let mut maker = DirBuilder::new();
        maker.recursive(true).mode(0o700);
        maker.create(folder).with_context(cannot)?;
        trueno_trust::check_folder(folder).map_err(|distrust| {
            let remedy = distrust.remedy();
            anyhow!("{shown}: is not written: {distrust} (hint: {remedy})")
        })?;
        // With a name nobody can guess, and readable by the user alone.
        let mut file = tempfile::NamedTempFile::new_in(folder).with_context(cannot)?;
        serde_json::to_writer_pretty(&mut file, self)?;
        file.write_all(b"\n").with_context(cannot)?;
        file.persist(list).with_context(cannot)?;
        Ok(())
    }

    pub fn standing(&self, file: &ProjectFile) -> Standing {
        let Some(entry) = self.files.iter().find(|entry| entry.path == file.path) else {
            return Standing::Unknown;
        };
        if *entry == Entry::of(file) {
            Standing::Trusted
        } else {
            Standing::Changed
        }
    }

    pub fn add(&mut self, file: &ProjectFile) -> anyhow::Result<()> {
        if file.path.to_str().is_none() {
            bail!(
                "{}: its path is not UTF-8, so it cannot be listed (hint: name it with --project)",
                file.path.display()
            );
        }
        self.remove(&file.path);
        self.files.push(Entry::of(file));
        self.files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(())
    }

    pub fn remove(&mut self, path: &Path) -> bool {
        let before = self.files.len();
        self.files.retain(|entry| entry.path != path);
        self.files.len() < before
    }

    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.files.iter().map(|entry| entry.path.as_path())
    }
}

impl Entry {
    fn of(file: &ProjectFile) -> Self {
        Self {
            path: file.path.clone(),
            device: file.device,
            inode: file.inode,
            text: file.text.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn project(folder: &Path, text: &str) -> ProjectFile {
        let path = folder.join("trueno.toml");
        fs::write(&path, text).unwrap();
        ProjectFile::named(&path).unwrap()
    }

    #[test]
    fn trust_ends_when_the_file_changes() {
        let folder = tempfile::tempdir().unwrap();
        let list = folder.path().join("settings/trusted.json");
        let file = project(folder.path(), "[report]\n");
        let mut trusted = TrustedFiles::read(&list).unwrap();
        assert_eq!(trusted.standing(&file), Standing::Unknown);
        trusted.add(&file).unwrap();
        trusted.write(&list).unwrap();
        let mode = fs::metadata(&list).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);

        let again = TrustedFiles::read(&list).unwrap();
        assert_eq!(again, trusted);
        assert_eq!(again.standing(&file), Standing::Trusted);
        let changed = project(folder.path(), "[report]\nhtml = \"x\"\n");
        assert_eq!(again.standing(&changed), Standing::Changed);
        let other = ProjectFile {
            inode: file.inode + 1,
            ..file.clone()
        };
        assert_eq!(again.standing(&other), Standing::Changed, "another file");
        let back = project(folder.path(), "[report]\n");
        assert_eq!(again.standing(&back), Standing::Trusted);

        assert!(trusted.remove(&file.path) && !trusted.remove(&file.path));
        assert_eq!(trusted.standing(&file), Standing::Unknown);
    }

    #[test]
    fn a_list_that_others_could_write_is_not_believed() {
        let folder = tempfile::tempdir().unwrap();
        let list = folder.path().join("trusted.json");
        TrustedFiles::default().write(&list).unwrap();
        let open = fs::Permissions::from_mode(0o777);
        fs::set_permissions(folder.path(), open).unwrap();
        for error in [
            TrustedFiles::read(&list).unwrap_err(),
            TrustedFiles::default().write(&list).unwrap_err(),
        ] {
            let text = error.to_string();
            assert!(text.contains("can be written by everyone"), "{text}");
        }
        let own = fs::Permissions::from_mode(0o700);
        fs::set_permissions(folder.path(), own).unwrap();
        fs::write(&list, "[").unwrap();
        let text = TrustedFiles::read(&list).unwrap_err().to_string();
        assert!(text.contains("is not a list of trusted files"), "{text}");
    }
}
