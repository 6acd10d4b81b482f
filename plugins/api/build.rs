//! Says what compiled a plugin: a plugin built for another processor or by
//! another compiler is the first suspect in a bug report.

use std::env::var;
use std::process::Command;

fn main() {
    let rustc = var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    let version = Command::new(rustc).arg("--version").output().ok();
    let version = version
        .and_then(|out| String::from_utf8(out.stdout).ok())
        .unwrap_or_else(|| "rustc ?".to_owned());
    let of = |name: &str| var(name).unwrap_or_else(|_| "?".to_owned());
    println!(
        "cargo::rustc-env=TRUENO_PLUGIN_BUILD={} for {}, opt-level {}, features {}",
        version.trim(),
        of("TARGET"),
        of("OPT_LEVEL"),
        of("CARGO_CFG_TARGET_FEATURE")
    );
    println!("cargo::rerun-if-changed=build.rs");
}
