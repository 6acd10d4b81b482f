//! Sources in C, in `recorder/testing/fakes`: a driver, a CUPTI, a program.

use std::path::Path;
use std::process::Command;

/// True if there is a C compiler. Prints a message if not.
pub fn has_c_compiler() -> bool {
    let found = Command::new("cc").arg("--version").output().is_ok();
    if !found {
        eprintln!("skipped: there is no cc to build the fakes with");
    }
    found
}

/// Compiles a source of `fakes`. `libraries` are the last arguments.
pub fn compile(source: &str, options: &[&str], into: &Path, libraries: &[&str]) {
    let fakes = Path::new(env!("CARGO_MANIFEST_DIR")).join("fakes");
    let done = Command::new("cc")
        .args(options)
        .arg("-o")
        .arg(into)
        .arg(fakes.join(source))
        .args(libraries)
        .args(["-ldl", "-lpthread"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{said}");
}
