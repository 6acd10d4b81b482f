//! Parts of the programs of all corpora: steps, bricks that work, pseudo-random numbers.

use std::path::Path;

use trueno_recorder::Recorder;

use super::host::{recorder, work};
use super::simulated::{Machine, Speed};

/// Records a program of `number` iterations.
pub fn steps(path: &Path, number: u64, mut step: impl FnMut(&Recorder, u64)) {
    let rec = recorder(path);
    for iteration in 0..number {
        let _iteration = rec.iteration(iteration);
        step(&rec, iteration);
    }
    rec.finish().expect("the recording ends");
}

/// A brick that works so long.
pub fn brick(rec: &Recorder, name: &'static str, micros: u64) {
    let _b = rec.brick(name);
    work(micros);
}

/// The trace of a program of `steps` steps with a device, and a wait at its end.
pub fn device_steps(speed: Speed, steps: usize, step: impl Fn(&mut Machine, usize)) -> String {
    let mut machine = Machine::new(speed);
    for number in 0..steps {
        step(&mut machine, number);
    }
    machine.wait();
    machine.trace()
}

/// Numbers as if by chance, the same each time.
pub struct Chance(pub u64);

impl Chance {
    /// One of `0..below`.
    pub fn below(&mut self, below: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % below
    }
}
