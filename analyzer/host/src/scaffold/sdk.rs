//! Source of the SDK for a new crate.

use std::fs;
use std::path::{Path, PathBuf};

use trueno_trust::check_file;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sdk {
    Folder(PathBuf),
    Git {
        url: String,
        rev: Option<String>,
    },
    /// The repository of the analyzer, in the analyzer's version.
    Repository,
}

const IN_CHECKOUT: &str = "plugins/api";

impl Sdk {
    /// Parses a folder, or the URL of a git repository with an optional commit after `#`.
    ///
    /// # Errors
    /// The folder is none of the SDK's; the address is none that cargo takes.
    pub fn given(text: &str) -> Result<Sdk, String> {
        if Path::new(text).is_dir() || !is_address(text) {
            return Sdk::folder(Path::new(text));
        }
        let (url, rev) = match text.split_once('#') {
            Some((url, rev)) => (url, Some(rev.to_owned())),
            None => (text, None),
        };
        if let Some(("", rest)) = url.split_once("git@") {
            let better = rest.replacen(':', "/", 1);
            return Err(format!(
                "{text}: cargo takes no address of this form (hint: ssh://git@{better})"
            ));
        }
        if rev.as_deref() == Some("") {
            return Err(format!("{text}: there is no commit behind #"));
        }
        Ok(Sdk::Git {
            url: url.to_owned(),
            rev,
        })
    }

    pub fn hint(&self) -> String {
        match self {
            Sdk::Folder(dir) => format!("the SDK is that of {}", dir.display()),
            Sdk::Git { url, rev } => {
                let rev = rev
                    .as_ref()
                    .map_or(String::new(), |rev| format!(" at {rev}"));
                format!("the SDK is that of {url}{rev}, which cargo fetches when it builds")
            }
            Sdk::Repository => format!(
                "the SDK was not found on this machine: cargo fetches it from {} when it builds\n  \
                 (with a checkout of the analyzer, or a repository of your own, instead: --sdk DIR or --sdk URL)",
                env!("CARGO_PKG_REPOSITORY")
            ),
        }
    }

    /// The SDK in a folder, which is the crate's or a checkout's.
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

    /// The SDK of the checkout that contains one of these places, else the repository. A checkout that other
    /// users can write is skipped: it was found, not named.
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
            // What it holds is built into the plugin.
            .filter(|dir| check_file(&dir.join("Cargo.toml")).is_ok())
            .map_or(Sdk::Repository, Sdk::Folder)
    }

    /// The line in Cargo.toml, with a comment for the reader.
    pub fn dependency(&self) -> String {
        match self {
            Sdk::Folder(dir) => {
                let path = quoted(&dir.display().to_string());
                format!(
                    "# The SDK of the checkout that this was made with. To build it elsewhere:\n\
                     # trueno-plugin = {{ git = \"{}\", version = \"{}\" }}\n\
                     trueno-plugin = {{ path = {path} }}\n",
                    env!("CARGO_PKG_REPOSITORY"),
                    env!("CARGO_PKG_VERSION"),
                )
            }
            Sdk::Git { url, rev } => {
                let rev = rev.as_ref().map_or(String::new(), |rev| {
                    // Cargo finds a commit by `rev`, and branches and tags by it as well.
                    format!(", rev = {}", quoted(rev))
                });
                format!("trueno-plugin = {{ git = {}{rev} }}\n", quoted(url))
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

fn quoted(text: &str) -> String {
    // Every escape of JSON is one of TOML.
    serde_json::Value::from(text).to_string()
}

fn is_address(text: &str) -> bool {
    text.contains("://") || text.starts_with("git@")
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
    fn an_address_is_told_from_a_folder() {
        let git = |url: &str, rev: Option<&str>| Sdk::Git {
            url: url.into(),
            rev: rev.map(Into::into),
        };
        let url = "https://example.org/a.git";
        assert_eq!(Sdk::given(url), Ok(git(url, None)));
        let of_commit = Sdk::given(&format!("{url}#v1\"")).unwrap();
        assert_eq!(of_commit, git(url, Some("v1\"")));
        let parsed: toml::Table = toml::from_str(&of_commit.dependency()).unwrap();
        assert_eq!(parsed["trueno-plugin"]["git"].as_str(), Some(url));
        assert_eq!(parsed["trueno-plugin"]["rev"].as_str(), Some("v1\""));
        let error = Sdk::given("git@example.org:a/b.git").unwrap_err();
        assert!(error.contains("ssh://git@example.org/a/b.git"), "{error}");
        assert!(
            Sdk::given(&format!("{url}#"))
                .unwrap_err()
                .contains("no commit")
        );
        assert!(Sdk::given("no/such").unwrap_err().contains("plugins/api"));
        assert!(Sdk::Repository.hint().contains("--sdk DIR"));
    }

    #[test]
    fn a_checkout_is_found_from_below_and_nothing_else_is_taken_for_one() {
        let checkout = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let api = fs::canonicalize(checkout.join(IN_CHECKOUT)).unwrap();
        let below = checkout.join("analyzer/src");
        assert_eq!(Sdk::around(&[below]), Sdk::Folder(api.clone()));
        assert_eq!(Sdk::folder(&checkout), Ok(Sdk::Folder(api.clone())));
        assert_eq!(Sdk::folder(&api), Ok(Sdk::Folder(api)));
        let elsewhere = tempfile::tempdir().unwrap();
        assert_eq!(Sdk::around(&[elsewhere.path().into()]), Sdk::Repository);
        assert!(
            Sdk::folder(elsewhere.path())
                .unwrap_err()
                .contains("trueno-plugin")
        );
        let planted = elsewhere.path().canonicalize().unwrap().join(IN_CHECKOUT);
        fs::create_dir_all(&planted).unwrap();
        fs::write(planted.join("Cargo.toml"), "name = \"trueno-plugin\"\n").unwrap();
        let found = Sdk::around(&[elsewhere.path().into()]);
        assert_eq!(found, Sdk::Folder(planted.clone()));
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o777);
        fs::set_permissions(&planted, open).unwrap();
        assert_eq!(Sdk::around(&[elsewhere.path().into()]), Sdk::Repository);
    }
}
