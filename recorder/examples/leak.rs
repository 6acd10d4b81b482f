//! A server of requests that forgets to give memory back, or, without `--leak`, does not.
//!
//!     cargo run --release --features alloc --example leak -- leak.run --leak
//!     trueno-analyze report leak.run --only memory
//!
//! Each request parses its text into words, answers from a cache that is full after a while, and
//! logs a line. With `--leak` it keeps each answer in a list that nobody reads. Nothing in it
//! says what it allocates: the program's allocator does. `--sample BYTES` records one allocation
//! in BYTES bytes on average instead of all.

use std::alloc::System;
use std::collections::HashMap;
use std::error::Error;

use trueno_recorder::alloc::{Allocations, Recording};
use trueno_recorder::{Overflow, Recorder, Source};

#[global_allocator]
static MEMORY: Recording<System> = Recording(System);

const REQUESTS: u64 = 400;
const CACHED: u64 = 50;

struct Server {
    cache: HashMap<u64, Vec<String>>,
    /// Data that nobody reads: the leak.
    kept: Vec<Vec<String>>,
    leaks: bool,
}

impl Server {
    fn answer(&mut self, rec: &Recorder, number: u64) -> usize {
        let words: Vec<String> = {
            let _brick = rec.brick("parse");
            let text = format!("request {number} of {REQUESTS} wants an answer of some length");
            text.split(' ').map(str::to_owned).collect()
        };
        let answer = {
            let _brick = rec.brick("answer");
            let answer: Vec<String> = words.iter().rev().map(|word| word.repeat(20)).collect();
            self.cache.insert(number % CACHED, answer.clone());
            answer
        };
        let _brick = rec.brick("log");
        let length = answer.iter().map(String::len).sum();
        if self.leaks {
            self.kept.push(answer);
        }
        length
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (mut path, mut leaks, mut which) = (None, false, Allocations::Every);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--leak" => leaks = true,
            "--sample" => {
                let mean_bytes = arguments.next().ok_or("--sample needs a number of bytes")?;
                let mean_bytes = mean_bytes.parse()?;
                which = Allocations::Sampled { mean_bytes };
            }
            _ => path = Some(argument),
        }
    }
    let rec = Recorder::builder(path.as_deref().unwrap_or("leak.run"))
        .overflow(Overflow::Grow)
        .overwrite(true)
        .allocations(which)
        .create()?;
    let mut server = Server {
        cache: HashMap::new(),
        kept: Vec::new(),
        leaks,
    };
    let mut bytes = 0;
    for number in 0..REQUESTS {
        let _iteration = rec.iteration(number);
        rec.counter("samples", 1.0, "request", Source::Declared);
        bytes += server.answer(&rec, number);
    }
    let summary = rec.finish()?;
    println!(
        "{bytes} bytes of answers, {} rows in {}",
        summary.rows,
        summary.path.display()
    );
    Ok(())
}
