//! The list of measurements and their names.

use super::Machine;
use super::bandwidth::{Mover, Moving, Operation};
use super::clock::Chain;
use super::cpu_caches::{WorkingSet, working_sets};
use super::flops::{Loop, Registers};
use super::memory::{self, Memory};
use super::repeat::{Repeated, millionths, whole};
use super::threads::Work;
use trueno_format::Source;
use trueno_format::{Ceiling, CeilingKind};

pub(super) struct Step {
    pub threads: u32,
    what: What,
}

enum What {
    Clock,
    Move(Mover, WorkingSet),
    Compute(Loop),
}

pub(super) fn plan(machine: &Machine, notes: &mut Vec<String>) -> Vec<Step> {
    let mut counts = vec![1, machine.threads];
    counts.dedup();
    if machine.caches.is_empty() {
        notes.push(
            "the system does not list its caches: only DRAM is measured, with 1 GiB".to_owned(),
        );
    }
    let allowed = memory::allowed_bytes();
    let mut steps = vec![Step {
        threads: 1,
        what: What::Clock,
    }];
    for &threads in &counts {
        for mut set in working_sets(&machine.caches, threads, machine.threads) {
            let is_memory = set.level == "DRAM";
            if let Some(allowed) = allowed.map(|bytes| bytes / u64::from(threads))
                && set.bytes > allowed
            {
                notes.push(format!(
                    "{} with {threads} threads: {allowed} bytes per thread instead of {}: no more memory is free, \
                     so caches may take part",
                    set.level, set.bytes
                ));
                set.bytes = allowed;
                set.before = set.before.min(allowed);
            }
            let mut operations = vec![Operation::Read, Operation::Copy, Operation::Triad];
            if is_memory {
                operations.push(Operation::CopyStreaming);
            }
            let movers = operations.into_iter().filter_map(Mover::widest);
            steps.extend(movers.map(|mover| Step {
                threads,
                what: What::Move(mover, set),
            }));
        }
    }
    let loops = Loop::all();
    if loops.is_empty() {
        let arch = &machine.arch;
        notes.push(format!("only the machine's name is known for {arch}"));
    }
    for &threads in &counts {
        steps.extend(loops.iter().map(|work| Step {
            threads,
            what: What::Compute(*work),
        }));
    }
    steps
}

impl Step {
    /// The name for people: `L1 read, 1 thread`.
    pub fn name(&self) -> String {
        let what = match &self.what {
            What::Move(mover, set) => format!("{} {}", set.level, mover.operation.name()),
            What::Compute(work) => {
                format!("{} {}", work.instructions, work.lanes.precision())
            }
            What::Clock => "clock".to_owned(),
        };
        let plural = if self.threads == 1 { "" } else { "s" };
        format!("{what}, {} thread{plural}", self.threads)
    }

    pub fn work(&self) -> Box<dyn Work> {
        match self.what {
            What::Clock => Box::new(Chain::default()),
            What::Move(mover, set) => Box::new(moving(mover, set)),
            What::Compute(work) => Box::new(Computing {
                work,
                registers: Box::new(Registers::new(work.lanes)),
            }),
        }
    }

    /// Bytes of each thread.
    pub fn memory_bytes(&self) -> usize {
        match self.what {
            What::Move(mover, set) => moving(mover, set).memory_bytes(),
            What::Clock | What::Compute(_) => 0,
        }
    }

    /// `None`: it limits nothing, it is the clock.
    pub fn ceiling(&self, found: Repeated) -> Option<Ceiling> {
        let (kind, level, precision, operation) = match &self.what {
            What::Clock => return None,
            What::Move(mover, set) => (
                CeilingKind::Bandwidth,
                set.level,
                None,
                mover.operation.name(),
            ),
            What::Compute(work) => (
                CeilingKind::Compute,
                work.instructions,
                Some(work.lanes.precision().into()),
                work.operation,
            ),
        };
        Some(Ceiling {
            level: Some(level.into()),
            precision,
            threads: Some(self.threads),
            operation: Some(operation.into()),
            median: Some(whole(found.median)),
            spread: Some(millionths(found.spread)),
            repetitions: Some(found.repetitions),
            settled: Some(found.is_settled),
            ..Ceiling::new("cpu", kind, whole(found.reached), Source::Measured)
        })
    }
}

fn moving(mover: Mover, set: WorkingSet) -> Moving {
    Moving::new(mover, set.bytes as usize, set.before)
}

impl Work for Moving {
    fn prepare(&mut self, memory: &mut Memory) {
        self.warm(memory);
    }

    fn amount(&self) -> u64 {
        self.bytes_counted()
    }

    fn run(&mut self, memory: &mut Memory, rounds: u64) {
        Moving::run(self, memory, rounds);
    }
}

struct Computing {
    work: Loop,
    registers: Box<Registers>,
}

impl Work for Computing {
    fn amount(&self) -> u64 {
        self.work.operations()
    }

    fn run(&mut self, _: &mut Memory, rounds: u64) {
        self.registers.run(&self.work, rounds);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_that_lists_no_caches_says_so() {
        let machine = Machine {
            caches: Vec::new(),
            threads: 1,
            ..Machine::here()
        };
        let mut notes = Vec::new();
        let steps = plan(&machine, &mut notes);
        assert!(notes[0].contains("only DRAM"), "{notes:?}");
        let moved = steps.iter().filter_map(|step| match &step.what {
            What::Move(mover, set) => Some((set.level, mover.operation.name())),
            What::Clock | What::Compute(_) => None,
        });
        let expected = [
            ("DRAM", "read"),
            ("DRAM", "copy"),
            ("DRAM", "triad"),
            ("DRAM", "copy_nt"),
        ];
        assert!(moved.eq(expected));
    }
}
