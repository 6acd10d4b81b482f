//! Where a new crate has the SDK from.

use std::fs;
use std::path::{Path, PathBuf};

/// Where the crate `trueno-plugin` is had from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sdk {
    /// Its folder on this machine.
    Folder(PathBuf),
    /// The repository of the analyzer, in the version of this analyzer.
    Repository,
}

/// Where it lies in a checkout.
const IN_CHECKOUT: &str = "plugins/api";

impl Sdk {
    /// The SDK in a folder: that of the crate, or of a checkout.
    ///
    /// # Errors
    /// It lies in neither place.
    pub fn folder(dir: &Path) -> Result<Sdk, String> {
        let found = [dir.to_path_buf(), dir.join(IN_CHECKOUT)]
            .into_iter()
            .find(|dir| is_sdk(dir));
        let found = found.and_then(|dir| fs::canonicalize(dir).ok());
        found.map(Sdk::Folder).ok_or_else(|| {
            format!(
                "{}: the crate trueno-plugin is neither there nor in {IN_CHECKOUT} below it",
                dir.display()
            )
        })
    }

    /// That of the checkout in which one of these places lies, else the repository.
    pub fn around(places: &[PathBuf]) -> Sdk {
        places
            .iter()
            .filter_map(|place| fs::canonicalize(place).ok())
            .find_map(|place| {
                place
                    .ancestors()
                    .map(|dir| dir.join(IN_CHECKOUT))
                    .find(|dir| is_sdk(dir))
            })
            .map_or(Sdk::Repository, Sdk::Folder)
    }

    /// The line of a Cargo.toml, with what a reader should know.
    pub fn dependency(&self) -> String {
        match self {
            Sdk::Folder(dir) => {
                let dir = dir.display().to_string();
                let quoted = dir.replace('\\', "\\\\").replace('"', "\\\"");
                format!(
                    "# The SDK of the checkout that this was made with. To build it elsewhere:\n\
                     # trueno-plugin = {{ git = \"{}\", version = \"{}\" }}\n\
                     trueno-plugin = {{ path = \"{quoted}\" }}\n",
                    env!("CARGO_PKG_REPOSITORY"),
                    env!("CARGO_PKG_VERSION"),
                )
            }
            Sdk::Repository => format!(
                "# From a folder on this machine instead: trueno-plugin = {{ path = \"…/plugins/api\" }}\n\
                 trueno-plugin = {{ git = \"{}\", version = \"{}\" }}\n",
                env!("CARGO_PKG_REPOSITORY"),
                env!("CARGO_PKG_VERSION"),
            ),
        }
    }
}

fn is_sdk(dir: &Path) -> bool {
    let manifest = fs::read_to_string(dir.join("Cargo.toml")).unwrap_or_default();
    manifest
        .lines()
        .any(|line| line.split_whitespace().collect::<String>() == "name=\"trueno-plugin\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checkout_is_found_from_below_and_nothing_else_is_taken_for_one() {
        let checkout = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let api = fs::canonicalize(checkout.join(IN_CHECKOUT)).unwrap();
        let below = checkout.join("analyzer/src");
        assert_eq!(Sdk::around(&[below]), Sdk::Folder(api.clone()));
        assert_eq!(Sdk::folder(checkout), Ok(Sdk::Folder(api.clone())));
        assert_eq!(Sdk::folder(&api), Ok(Sdk::Folder(api)));
        let elsewhere = tempfile::tempdir().unwrap();
        assert_eq!(Sdk::around(&[elsewhere.path().into()]), Sdk::Repository);
        assert!(
            Sdk::folder(elsewhere.path())
                .unwrap_err()
                .contains("trueno-plugin")
        );
    }
}
