//! Plugins that are linked into the program.
//!
//! The standard plugins are: a program that is moved, or installed by `cargo install`, has them with it. They come last
//! in the search, and are called through the same entry and descriptor as those of libraries, also in the process of an
//! isolated plugin, which is the same program.

use std::path::{Path, PathBuf};

use trueno_plugin::abi;

/// A plugin of the program.
#[derive(Clone, Copy, Debug)]
pub struct Linked {
    pub id: &'static str,
    /// Its entry, which a library would export.
    pub entry: abi::Entry,
}

/// Place of a plugin's code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Code {
    /// The library; of a plugin that is linked the program.
    pub file: PathBuf,
    /// Id of a plugin that is linked.
    pub linked: Option<String>,
}

impl Code {
    pub fn in_library(file: &Path) -> Code {
        Code {
            file: file.to_path_buf(),
            linked: None,
        }
    }

    /// The code of a plugin of this program.
    pub fn in_program(program: &Path, id: &str) -> Code {
        Code {
            file: program.to_path_buf(),
            linked: Some(id.to_owned()),
        }
    }
}
