//! The beginning of a plugin: a folder that builds, passes its test and loads.

mod c;
mod python;
mod rust;
mod sdk;

pub use sdk::Sdk;

use std::path::{Path, PathBuf};
use std::{fs, io};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lang {
    Rust,
    C,
    Python,
}

#[derive(Clone, Debug)]
pub struct NewPlugin {
    pub id: String,
    pub lang: Lang,
    pub dir: PathBuf,
    /// Source of the SDK; only Rust needs one.
    pub sdk: Sdk,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Made {
    pub files: Vec<String>,
    /// Commands that build and test it, run in its folder; empty if there is nothing to build.
    pub steps: &'static [&'static str],
    /// Path of the library that the build makes, or of the Python file, relative to the folder.
    pub library: String,
    /// The surrounding cargo workspace, which the crate becomes part of.
    pub workspace: Option<PathBuf>,
}

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScaffoldError {
    #[error("{name:?} is not a plugin name: expected [a-z][a-z0-9_]* (hint: {})", hint(.name))]
    Name {
        /// The rejected name.
        name: String,
    },
    #[error("{}: exists already (hint: choose another folder with --dir, or remove it)", .dir.display())]
    Exists { dir: PathBuf },
    #[error("{}: {source}", .path.display())]
    Write {
        /// The file or folder.
        path: PathBuf,
        source: io::Error,
    },
}

fn hint(name: &str) -> String {
    let mut better = String::new();
    for c in name.chars() {
        match c {
            'A'..='Z' if better.ends_with(|last: char| last.is_ascii_lowercase()) => {
                better.push('_');
                better.push(c.to_ascii_lowercase());
            }
            'a'..='z' | 'A'..='Z' => better.push(c.to_ascii_lowercase()),
            '0'..='9' if !better.is_empty() => better.push(c),
            _ if !better.is_empty() && !better.ends_with('_') => better.push('_'),
            _ => {}
        }
    }
    let better = better.trim_end_matches('_');
    if better.is_empty() {
        "such as idle_gaps".to_owned()
    } else {
        format!("such as {better}")
    }
}

/// Creates the plugin. Removes a folder that could not be filled.
///
/// # Errors
/// See [`ScaffoldError`].
pub fn create(plugin: &NewPlugin) -> Result<Made, ScaffoldError> {
    check_name(&plugin.id)?;
    let dir = &plugin.dir;
    let at = |path: &Path, source| ScaffoldError::Write {
        path: path.to_path_buf(),
        source,
    };
    if let Some(above) = dir.parent().filter(|above| !above.as_os_str().is_empty()) {
        fs::create_dir_all(above).map_err(|error| at(above, error))?;
    }
    fs::create_dir(dir).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => ScaffoldError::Exists { dir: dir.clone() },
        _ => at(dir, error),
    })?;
    let real = fs::canonicalize(dir).map_err(|error| at(dir, error))?;
    let workspace = match plugin.lang {
        Lang::Rust => rust::workspace_around(&real),
        Lang::C | Lang::Python => None,
    };
    let files = match plugin.lang {
        Lang::Rust => rust::files(&plugin.id, &plugin.sdk, workspace.as_deref()),
        Lang::C => c::files(&plugin.id),
        Lang::Python => python::files(&plugin.id),
    };
    for (name, text) in &files {
        let path = dir.join(name);
        let made = path.parent().map_or(Ok(()), fs::create_dir_all);
        if let Err(error) = made.and_then(|()| fs::write(&path, text)) {
            // Only what was made here is in it.
            let _ = fs::remove_dir_all(dir);
            return Err(at(&path, error));
        }
    }
    let library = format!(
        "{}trueno_plugin_{}{}",
        std::env::consts::DLL_PREFIX,
        plugin.id,
        std::env::consts::DLL_SUFFIX
    );
    let target = || match &workspace {
        Some(root) => root.join("target").display().to_string(),
        None => "target".to_owned(),
    };
    let (steps, library): (&[_], _) = match plugin.lang {
        Lang::Rust => (
            &["cargo build", "cargo test"],
            format!("{}/debug/{library}", target()),
        ),
        Lang::C => (&["make", "make check"], library),
        Lang::Python => (&[], python::file_name(&plugin.id)),
    };
    Ok(Made {
        files: files.into_iter().map(|(name, _)| name).collect(),
        steps,
        library,
        workspace,
    })
}

/// # Errors
/// It cannot be an id.
pub fn check_name(name: &str) -> Result<(), ScaffoldError> {
    if trueno_plugin::is_identifier(name) {
        Ok(())
    } else {
        Err(ScaffoldError::Name {
            name: name.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_name_is_told_with_a_good_one() {
        for (bad, good) in [
            ("my-plugin", "such as my_plugin"),
            ("MyPlugin", "such as my_plugin"),
            ("9lives!", "such as lives"),
            ("ünder", "such as nder"),
            ("", "such as idle_gaps"),
            ("../x", "such as x"),
        ] {
            let message = check_name(bad).unwrap_err().to_string();
            assert!(message.contains(good), "{message}");
        }
        check_name("idle_gaps2").unwrap();
    }

    #[test]
    fn what_is_there_stays_as_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let plugin = NewPlugin {
            id: "mine".into(),
            lang: Lang::C,
            dir: dir.path().join("a/mine"),
            sdk: Sdk::Repository,
        };
        let made = create(&plugin).unwrap();
        for file in &made.files {
            assert!(plugin.dir.join(file).is_file(), "{file}");
        }
        let error = create(&plugin).unwrap_err().to_string();
        assert!(error.contains("exists already"), "{error}");
        fs::write(plugin.dir.join("mine.c"), "edited").unwrap();
        create(&plugin).unwrap_err();
        assert_eq!(
            fs::read_to_string(plugin.dir.join("mine.c")).unwrap(),
            "edited"
        );
    }
}
