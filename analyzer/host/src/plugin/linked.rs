//! Plugins that are linked into the program.
//!
//! The standard plugins are: a program that is moved, or installed by `cargo install`, has them with it. They come last
//! in the search, and are called through the same entry and descriptor as those of libraries, also in the process of an
//! isolated plugin, which is the same program.

use std::path::{Path, PathBuf};

use trueno_plugin::abi;

#[derive(Clone, Copy, Debug)]
pub struct Linked {
    pub id: &'static str,
    pub entry: abi::Entry,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Code {
    /// The library; for a linked plugin, the program.
    pub file: PathBuf,
    pub linked: Option<String>,
}

impl Code {
    pub fn in_library(file: &Path) -> Code {
        Code {
            file: file.to_path_buf(),
            linked: None,
        }
    }

    pub fn in_program(program: &Path, id: &str) -> Code {
        Code {
            file: program.to_path_buf(),
            linked: Some(id.to_owned()),
        }
    }
}
