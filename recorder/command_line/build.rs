//! Finds the commit that is built: `TRUENO_COMMIT` of the environment, else what `cargo package` wrote, else what git says of
//! this checkout, else nothing.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-env-changed=TRUENO_COMMIT");
    println!("cargo::rerun-if-changed=build.rs");
    let stated = std::env::var("TRUENO_COMMIT").ok();
    let commit = stated
        .filter(|commit| !commit.is_empty())
        .or_else(of_package)
        .or_else(of_git);
    println!(
        "cargo::rustc-env=TRUENO_COMMIT={}",
        commit.unwrap_or_default()
    );
}

/// The commit that a package was made from: `{"git": {"sha1": "…"}, …}`.
fn of_package() -> Option<String> {
    let info = std::fs::read_to_string(".cargo_vcs_info.json").ok()?;
    let (_, rest) = info.split_once("\"sha1\": \"")?;
    rest.get(..12).map(str::to_owned)
}

/// The commit of the checkout. `None` without git or outside a checkout; the build works all the same.
fn of_git() -> Option<String> {
    let folder = git(&["rev-parse", "--absolute-git-dir"])?;
    for file in ["HEAD", "logs/HEAD"] {
        let file = Path::new(&folder).join(file);
        // A file that is not there would have this run at each build.
        if file.exists() {
            println!("cargo::rerun-if-changed={}", file.display());
        }
    }
    // A checkout that happens to lie around unpacked sources is not theirs.
    git(&["ls-files", "--error-unmatch", "build.rs"])?;
    git(&["rev-parse", "--short=12", "HEAD"])
}

fn git(arguments: &[&str]) -> Option<String> {
    let done = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(done.stdout).ok()?;
    done.status.success().then(|| text.trim().to_owned())
}
