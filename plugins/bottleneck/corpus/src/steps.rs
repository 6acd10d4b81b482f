//! Parts of the programs of all corpora: steps, bricks that work, pseudo-random numbers.

use std::path::Path;

use trueno_recorder::Recorder;

use super::host::{recorder, work};
use super::simulated::{Machine, Speed};

pub fn steps(path: &Path, number: u64, mut step: impl FnMut(&Recorder, u64)) {
    let rec = recorder(path);
    for iteration in 0..number {
        let _iteration = rec.iteration(iteration);
        step(&rec, iteration);
    }
    rec.finish().expect("the recording ends");
}

pub fn brick(rec: &Recorder, name: &'static str, micros: u64) {
    let _b = rec.brick(name);
    work(micros);
}

/// A simulated program of `steps` device steps with one wait at the end, as a Kineto trace.
pub fn device_steps(speed: Speed, steps: usize, step: impl Fn(&mut Machine, usize)) -> String {
    let mut machine = Machine::new(speed);
    for number in 0..steps {
        step(&mut machine, number);
    }
    machine.wait();
    machine.trace()
}

/// Pseudo-random numbers (xorshift), the same in each run.
pub struct Chance(pub u64);

impl Chance {
    pub fn below(&mut self, below: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % below
    }
}
