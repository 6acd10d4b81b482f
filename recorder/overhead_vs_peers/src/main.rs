//! The cost of a span here and in other recorders: three tables, and the targets.
//!
//! `cargo run --release`; takes less than a minute. Files go to a folder in `TMPDIR`, which is
//! removed at the end.

mod candidates;
mod floor;
mod rounds;
mod spans;
mod sustained;
mod verdict;
mod work;

use std::error::Error;
use std::path::PathBuf;
use std::process::Command;

/// Argument for a build with LTO that measures only its spans.
const SPANS_ONLY: &str = "spans-only";

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [system, threads, folder] = arguments.as_slice() {
        return sustained::child(system, threads.parse()?, &PathBuf::from(folder));
    }
    let spans_only = arguments == [SPANS_ONLY];
    let folder = std::env::temp_dir().join(format!("recorder-peers-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let results = spans::run(&folder).and_then(|spans| {
        let added = work::run(&folder)?;
        if !spans_only {
            sustained::run(&folder)?;
        }
        verdict::print(&spans, &added);
        Ok(())
    });
    // What is left there is of no use to anyone.
    let _ = std::fs::remove_dir_all(&folder);
    results?;
    if spans_only { Ok(()) } else { with_lto() }
}

/// Runs the same with the LTO build beside this one, right after it.
fn with_lto() -> Result<(), Box<dyn Error>> {
    let own = std::env::current_exe()?;
    let targets = own.ancestors().nth(2).ok_or("not in a target folder")?;
    let other = targets.join("release-lto").join("recorder-peers");
    if own == other || !other.exists() {
        println!("\nNo build with LTO beside this one: cargo build --profile release-lto");
        return Ok(());
    }
    println!("\nWith LTO\n");
    let status = Command::new(other).arg(SPANS_ONLY).status()?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("with LTO it ended with {status}").into())
    }
}
