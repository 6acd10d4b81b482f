//! All ceilings, one after the other.

use std::time::{SystemTime, UNIX_EPOCH};

use super::bandwidth::{Mover, Moving, Operation};
use super::caches::{WorkingSet, working_sets};
use super::flops::{Loop, Registers};
use super::repeat::{Effort, Repeated, millionths, whole};
use super::threads::{self, Work};
use super::{CoreClock, Machine, Peaks, memory};
use crate::event::Source;
use crate::roofline::{Ceiling, CeilingKind};

/// How far a measurement has come.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    /// Measurements done.
    pub done: usize,
    /// Measurements in all; two for each ceiling.
    pub all: usize,
    /// What is measured now.
    pub now: &'a str,
}

/// Measures all ceilings of this machine; `progress` hears of each before it is measured.
///
/// What cannot be measured is named in the notes and has no ceiling.
pub fn measure(effort: &Effort, mut progress: impl FnMut(Progress<'_>)) -> Peaks {
    let effort = Effort {
        repetitions: effort.repetitions.max(1),
        ..*effort
    };
    let machine = Machine::here();
    let mut notes = Vec::new();
    let plan = plan(&machine, &mut notes);
    let processors = threads::processors();
    progress(Progress {
        done: 0,
        all: 2 * plan.len(),
        now: "clock",
    });
    let mut clock = CoreClock::measured(&effort);
    let mut found: Vec<std::io::Result<Vec<f64>>> = plan.iter().map(|_| Ok(Vec::new())).collect();
    // What disturbs a ceiling for all of its repetitions is gone when its turn comes again.
    // Few repetitions are not worth touching the memory again.
    let half = match effort.repetitions {
        few if few < FEW => 0,
        repetitions => repetitions / 2,
    };
    for (round, repetitions) in [effort.repetitions - half, half].into_iter().enumerate() {
        let effort = Effort {
            repetitions,
            ..effort
        };
        for (at, (step, found)) in plan.iter().zip(&mut found).enumerate() {
            progress(Progress {
                done: round * plan.len() + at,
                all: 2 * plan.len(),
                now: &step.name(),
            });
            if let (Ok(rates), true) = (&mut *found, repetitions > 0) {
                match step.rates(&processors, &effort) {
                    Ok(more) => rates.extend(more),
                    Err(error) => *found = Err(error),
                }
            }
        }
    }
    let mut ceilings = Vec::new();
    for (step, rates) in plan.iter().zip(found) {
        let why = match rates.map(|rates| Repeated::of(&rates)) {
            Ok(Some(repeated)) => {
                ceilings.push(step.ceiling(repeated));
                continue;
            }
            Ok(None) => "a thread could not start".to_owned(),
            Err(error) => error.to_string(),
        };
        notes.push(format!("{}: not measured: {why}", step.name()));
    }
    clock.measure_again(&effort);
    Peaks {
        machine,
        measured_at_s: SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |since| since.as_secs()),
        clock,
        notes,
        ceilings,
    }
}

/// Fewer repetitions are done at one time.
const FEW: u32 = 8;

/// One ceiling to measure.
struct Step {
    threads: u32,
    what: What,
}

enum What {
    Move(Mover, WorkingSet),
    Compute(Loop),
}

fn plan(machine: &Machine, notes: &mut Vec<String>) -> Vec<Step> {
    let mut counts = vec![1, machine.threads];
    counts.dedup();
    if machine.caches.is_empty() {
        notes.push(
            "the system does not list its caches: only DRAM is measured, with 1 GiB".to_owned(),
        );
    }
    let allowed = memory::allowed_bytes();
    let mut steps = Vec::new();
    for &threads in &counts {
        for mut set in working_sets(&machine.caches, threads, machine.threads) {
            let is_memory = set.level == "DRAM";
            if let Some(allowed) = allowed.map(|bytes| bytes / u64::from(threads))
                && set.bytes > allowed
            {
                notes.push(format!(
                    "{} with {threads} threads: {allowed} bytes a thread instead of {}: no more memory is free, \
                     so caches may take part",
                    set.level, set.bytes
                ));
                set.bytes = allowed;
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
        notes.push(format!("nothing but the machine's name is known of {arch}"));
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
    /// For people: `L1 read, 1 thread`.
    fn name(&self) -> String {
        let what = match &self.what {
            What::Move(mover, set) => format!("{} {}", set.level, mover.operation.name()),
            What::Compute(work) => {
                format!("{} {}", work.instructions, work.lanes.precision())
            }
        };
        let plural = if self.threads == 1 { "" } else { "s" };
        format!("{what}, {} thread{plural}", self.threads)
    }

    fn rates(&self, processors: &[usize], effort: &Effort) -> std::io::Result<Vec<f64>> {
        let threads = 0..self.threads;
        match self.what {
            What::Move(mover, set) => {
                let works = threads.map(|_| Moving::new(mover, set.bytes as usize));
                let works: Vec<Moving> = works.collect::<Result<_, _>>()?;
                Ok(threads::rates(works, processors, effort))
            }
            What::Compute(work) => {
                let works = threads.map(|_| Computing {
                    work,
                    registers: Box::new(Registers::new(work.lanes)),
                });
                Ok(threads::rates(works.collect(), processors, effort))
            }
        }
    }

    fn ceiling(&self, found: Repeated) -> Ceiling {
        let (kind, level, precision, operation) = match &self.what {
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
        Ceiling {
            level: Some(level.into()),
            precision,
            threads: Some(self.threads),
            operation: Some(operation.into()),
            median: Some(whole(found.median)),
            spread: Some(millionths(found.spread)),
            repetitions: Some(found.repetitions),
            ..Ceiling::new("cpu", kind, whole(found.best), Source::Measured)
        }
    }
}

impl Work for Moving {
    fn prepare(&mut self) {
        self.touch();
    }

    fn amount(&self) -> u64 {
        self.bytes_counted()
    }

    fn run(&mut self, rounds: u64) {
        Moving::run(self, rounds);
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

    fn run(&mut self, rounds: u64) {
        self.registers.run(&self.work, rounds);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use std::time::Duration;

    /// No figure is compared with another one: that could fail on a busy machine.
    #[test]
    fn everything_planned_is_measured_and_finite() {
        let effort = Effort {
            repetitions: 2,
            repetition: Duration::from_micros(200),
        };
        let mut told = Vec::new();
        let peaks = measure(&effort, |at| told.push((at.done, at.all)));
        assert!(!peaks.ceilings.is_empty(), "{:?}", peaks.notes);
        let all = told[0].1;
        assert_eq!(told.len(), all + 1);
        assert_eq!(told.last(), Some(&(all - 1, all)));
        assert_eq!(2 * peaks.ceilings.len(), all, "{:?}", peaks.notes);
        let mut seen = HashSet::new();
        for c in &peaks.ceilings {
            assert!(c.value.is_finite() && c.value > 0.0, "{c:?}");
            assert!(c.median.unwrap() > 0.0 && c.median.unwrap() <= c.value);
            assert!(c.spread.unwrap() >= 0.0 && c.spread.unwrap().is_finite());
            assert_eq!((c.repetitions, c.source), (Some(2), Source::Measured));
            assert_eq!(c.precision.is_some(), c.kind == CeilingKind::Compute);
            let key = (
                c.level.clone(),
                c.precision.clone(),
                c.threads,
                c.operation.clone(),
            );
            assert!(seen.insert(key), "twice: {c:?}");
        }
        let levels: HashSet<_> = peaks
            .ceilings
            .iter()
            .flat_map(|c| c.level.as_deref())
            .collect();
        assert!(levels.contains("DRAM"));
        let is_x86 = cfg!(target_arch = "x86_64");
        assert!(!is_x86 || (levels.contains("scalar") && levels.contains("sse2")));
    }

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
            What::Compute(_) => None,
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
