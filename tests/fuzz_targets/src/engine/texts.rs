//! Texts that people write, and golden files.

use std::ffi::OsString;
use std::path::Path;

use clap::CommandFactory;
use trueno_analyze::cli::Cli;
use trueno_analyze::project::with_project;
use trueno_compare::check::Config;
use trueno_compare::golden::Golden;

use crate::scratch;

pub fn assertions(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return false;
    };
    match Config::parse(Path::new("file.toml"), text) {
        Ok(config) => {
            let is_named = |nth: usize| !config.assertions[nth].name.is_empty();
            assert!(
                (0..config.assertions.len()).all(is_named),
                "one without a name"
            );
            !config.assertions.is_empty()
        }
        Err(error) => {
            assert!(error.to_string().starts_with("file.toml"), "{error}");
            false
        }
    }
}

/// A golden file. Whatever can be read must survive writing and reading again.
pub fn golden(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return false;
    };
    let file = Path::new("file.golden");
    let Ok(golden) = Golden::parse(file, text) else {
        return false;
    };
    let again = Golden::parse(file, &golden.text()).expect("what was written is read");
    assert_eq!(again.names.len(), golden.names.len());
    assert_eq!(again.tensors.len(), golden.tensors.len());
    assert_eq!(again.source.values, golden.source.values);
    true
}

/// A project file, read for a report and for a check.
pub fn project(bytes: &[u8]) -> bool {
    let folder = scratch::folder();
    std::fs::write(folder.path().join("trueno.toml"), bytes).expect("room for the file");
    let mut is_given = false;
    for command in ["report", "check"] {
        let typed = ["trueno-analyze", command, "x.run"].map(OsString::from);
        let arguments = with_project(Cli::command(), typed.to_vec(), folder.path());
        if let Ok(arguments) = arguments {
            let given = arguments.project.flags.len();
            assert!(
                arguments.all.len() == typed.len() + given,
                "flags that nobody gave"
            );
            is_given |= given > 0;
        }
    }
    is_given
}
