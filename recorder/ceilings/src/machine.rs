//! Identity of a machine: where it differs, ceilings measured before do not hold.

use serde::{Deserialize, Serialize};

use super::cpu_caches::{self, CpuCache};
use super::flops::Loop;
use trueno_format::host;

/// Raised when the loops, or the calculation from their times, change.
const CODE_VERSION: u32 = 3;

/// Everything that ceilings depend on. Cached ceilings of any other key are stale.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// Version of the measuring code.
    pub code_version: u32,
    /// `x86_64`, `aarch64`.
    pub arch: String,
    /// Model as the system names it; null: it does not.
    pub cpu_model: Option<String>,
    /// Of the processor; null: the system does not say.
    pub microcode: Option<String>,
    /// Threads that can run at once in this program.
    pub threads: u32,
    /// Instruction sets that are measured.
    pub instruction_sets: Vec<String>,
    /// Data caches; empty: not known.
    pub caches: Vec<CpuCache>,
}

impl Machine {
    /// This one.
    pub fn here() -> Self {
        let facts = host::facts();
        let mut sets: Vec<String> = Vec::new();
        for work in Loop::all() {
            let name = format!("{} {}", work.instructions, work.lanes.precision());
            sets.push(name);
        }
        Self {
            code_version: CODE_VERSION,
            arch: std::env::consts::ARCH.to_owned(),
            cpu_model: facts.cpu_model,
            microcode: facts.microcode,
            threads: facts.logical_cpus.map_or(1, |n| n.clamp(1, 1 << 16) as u32),
            instruction_sets: sets,
            caches: cpu_caches::caches(),
        }
    }

    /// Names a difference from `other`, in words; `None` if there is none.
    pub fn difference(&self, other: &Self) -> Option<&'static str> {
        let differs = [
            (
                self.code_version != other.code_version,
                "the measuring code",
            ),
            (self.arch != other.arch, "the architecture"),
            (self.cpu_model != other.cpu_model, "the processor"),
            (self.microcode != other.microcode, "the microcode"),
            (self.threads != other.threads, "the number of threads"),
            (
                self.instruction_sets != other.instruction_sets,
                "the instruction sets",
            ),
            (self.caches != other.caches, "the caches"),
        ];
        let mut found = differs.into_iter().filter(|(differs, _)| *differs);
        found.next().map(|(_, name)| name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_counts() {
        let here = Machine::here();
        assert_eq!(here.difference(&Machine::here()), None);
        assert!(here.threads >= 1);
        let with = |change: fn(&mut Machine)| {
            let mut other = here.clone();
            change(&mut other);
            here.difference(&other)
        };
        assert_eq!(with(|m| m.code_version += 1), Some("the measuring code"));
        assert_eq!(with(|m| m.arch.push('x')), Some("the architecture"));
        assert_eq!(
            with(|m| m.cpu_model = Some("x".into())),
            Some("the processor")
        );
        assert_eq!(
            with(|m| m.microcode = Some("x".into())),
            Some("the microcode")
        );
        assert_eq!(with(|m| m.threads += 1), Some("the number of threads"));
        assert_eq!(
            with(|m| m.instruction_sets.push("x".into())),
            Some("the instruction sets")
        );
        assert_eq!(
            with(|m| m.caches.push(CpuCache {
                level: 9,
                bytes: 1,
                shared_by: 1
            })),
            Some("the caches")
        );
    }
}
