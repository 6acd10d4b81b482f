//! Steps through a process of its own and counts.

mod candidates;
mod stepping;
mod threads;
mod writer;

use std::error::Error;

use stepping::Counts;

/// Spans of the shorter of two runs. Few enough to fit in a ring that is never drained.
const SPANS: u64 = 100;
const WARM_SPANS: u64 = 40_000;
/// Like `SPANS`, for the writer, whose batches have a constant part.
const WRITER_SPANS: u64 = 1024;

pub fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match arguments.as_slice() {
        ["--candidate", name, spans] => run_candidate(name, spans),
        ["--trace", name] => trace(name),
        ["--thread", which] => threads::run(*which == "on"),
        // `cargo bench` adds `--bench`.
        _ => print_table().and_then(|()| threads::print()),
    };
    if let Err(error) = done {
        eprintln!("error: {error}");
        std::process::exit(1);
    }
}

fn run_candidate(name: &str, spans: &str) -> Result<(), Box<dyn Error>> {
    let spans = spans.parse()?;
    let is_of_writer = name.starts_with(candidates::OF_WRITER);
    candidates::run(name, |work| {
        // Everything is touched before it counts, and the thread has its longest ring.
        work(if is_of_writer { spans } else { WARM_SPANS });
        stepping::mark();
        work(spans);
        stepping::mark();
    })
}

fn print_table() -> Result<(), Box<dyn Error>> {
    println!("{:<48} {:>12} {:>9}", "a span", "instructions", "branches");
    for name in candidates::NAMES {
        let spans = if name.starts_with(candidates::OF_WRITER) {
            WRITER_SPANS
        } else {
            SPANS
        };
        let [few, many] = [spans, 2 * spans].map(|spans| stepping::count(name, spans, |_| ()));
        let (few, many) = (few?, many?);
        let each = |of: fn(&Counts) -> u64| (of(&many) as f64 - of(&few) as f64) / spans as f64;
        println!(
            "{name:<48} {:>12.1} {:>9.1}",
            each(|counts| counts.instructions),
            each(|counts| counts.branches)
        );
    }
    Ok(())
}

fn trace(name: &str) -> Result<(), Box<dyn Error>> {
    let mut addresses = Vec::new();
    stepping::count(name, 8, |address| addresses.push(address))?;
    for address in addresses {
        println!("{address:x}");
    }
    Ok(())
}
