//! Takes two examples out of the sources of aprender-compute, wherever cargo has them.

use std::error::Error;
use std::path::Path;
use std::process::Command;
use std::{env, fs};

const EXAMPLES: [&str; 2] = ["backend_detection", "matrix_operations"];

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    let output = Command::new(env::var("CARGO")?)
        .args(["metadata", "--format-version", "1", "--offline"])
        .args(["--filter-platform", &env::var("TARGET")?])
        .output()?;
    let metadata = String::from_utf8(output.stdout)?;
    let manifests = metadata.split("\"manifest_path\":\"").skip(1);
    let mut manifests = manifests.filter_map(|behind| behind.split('"').next());
    let manifest = manifests
        .find(|path| path.contains("/aprender-compute-"))
        .ok_or_else(|| {
            let said = String::from_utf8_lossy(&output.stderr);
            format!("cargo metadata names no aprender-compute (hint: cargo fetch)\n{said}")
        })?;
    let folder = Path::new(manifest).with_file_name("examples");
    for name in EXAMPLES {
        let file = folder.join(name).with_extension("rs");
        let text = fs::read_to_string(&file).map_err(|e| format!("{}: {e}", file.display()))?;
        // What stands for a whole file cannot be included.
        let lines = text
            .lines()
            .filter(|line| !line.starts_with("//!") && !line.starts_with("#!["));
        let text: Vec<&str> = lines.collect();
        let to = Path::new(&env::var("OUT_DIR")?)
            .join(name)
            .with_extension("rs");
        fs::write(to, text.join("\n"))?;
    }
    Ok(())
}
