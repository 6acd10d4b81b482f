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

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [system, threads, folder] = arguments.as_slice() {
        return sustained::child(system, threads.parse()?, &PathBuf::from(folder));
    }
    let folder = std::env::temp_dir().join(format!("recorder-peers-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let results = spans::run(&folder).and_then(|spans| {
        let added = work::run(&folder)?;
        sustained::run(&folder)?;
        verdict::print(&spans, &added);
        Ok(())
    });
    // What is left there is of no use to anyone.
    let _ = std::fs::remove_dir_all(&folder);
    results
}
