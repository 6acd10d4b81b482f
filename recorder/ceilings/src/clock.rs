//! The core's clock rate, by counting: an addition that needs the one before takes one
//! cycle on every processor this is built for.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::memory::Memory;
use super::repeat::{Effort, Found, whole};
use super::threads::{Team, Visited, Work};

/// The clock while ceilings were measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CoreClock {
    /// Best of the repetitions on one thread, in cycles a second; null: not measured.
    pub hz: Option<f64>,
    /// Highest the system says it may be; null: it says nothing.
    pub highest_hz: Option<f64>,
    /// Who sets it (`performance`, `schedutil`, ...); null: the system says nothing.
    pub governor: Option<String>,
}

impl CoreClock {
    pub(super) fn here() -> Self {
        Self::said(Path::new("/sys/devices/system/cpu/cpu0/cpufreq"))
    }

    fn said(folder: &Path) -> Self {
        let text = |name| {
            let text = fs::read_to_string(folder.join(name)).ok()?;
            let text = text.trim().to_owned();
            (!text.is_empty()).then_some(text)
        };
        let khz = text("cpuinfo_max_freq").and_then(|khz| khz.parse::<u64>().ok());
        Self {
            hz: None,
            highest_hz: khz.filter(|khz| *khz > 0).map(|khz| khz as f64 * 1e3),
            governor: text("scaling_governor"),
        }
    }
}

/// Cycles a second of one thread, at best; at one moment.
pub fn measure(effort: &Effort) -> Option<f64> {
    let team = Team::new(vec![Memory::new(0).ok()?]);
    let mut chain = Visited::new(vec![Box::new(Chain::default())]);
    let mut found = Found::default();
    found.add(&team.visit(&mut chain, effort.repetitions.max(1), effort.repetition)?);
    reached(&found)
}

/// The clock rate that repetitions of [`Chain`] show.
pub(super) fn reached(found: &Found) -> Option<f64> {
    let is_known = cfg!(any(target_arch = "x86_64", target_arch = "aarch64"));
    let reached = found.repeated()?.reached;
    is_known.then_some(whole(reached))
}

#[derive(Default)]
pub(super) struct Chain {
    sum: u64,
}

const ADDITIONS: u64 = 64;

impl Work for Chain {
    fn amount(&self) -> u64 {
        ADDITIONS
    }

    fn run(&mut self, _: &mut Memory, rounds: u64) {
        if rounds > 0 {
            self.sum = chain(self.sum, 3, rounds);
        }
    }
}

/// Adds `term` 64 times per round. The term is in a register because some processors execute additions of small
/// constants in the renamer, which takes no cycle.
#[cfg(target_arch = "x86_64")]
fn chain(mut sum: u64, term: u64, rounds: u64) -> u64 {
    // SAFETY: registers only.
    unsafe {
        std::arch::asm!(
            ".p2align 5",
            "2:",
            ".rept 64",
            "add {sum}, {term}",
            ".endr",
            "dec {rounds}",
            "jnz 2b",
            sum = inout(reg) sum,
            term = in(reg) term,
            rounds = inout(reg) rounds => _,
            options(nomem, nostack),
        );
    }
    sum
}

#[cfg(target_arch = "aarch64")]
fn chain(mut sum: u64, term: u64, rounds: u64) -> u64 {
    // SAFETY: registers only.
    unsafe {
        std::arch::asm!(
            "2:",
            ".rept 64",
            "add {sum}, {sum}, {term}",
            ".endr",
            "subs {rounds}, {rounds}, #1",
            "b.ne 2b",
            sum = inout(reg) sum,
            term = in(reg) term,
            rounds = inout(reg) rounds => _,
            options(nomem, nostack),
        );
    }
    sum
}

/// How many cycles this takes is unknown; the result is not used.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn chain(sum: u64, term: u64, rounds: u64) -> u64 {
    sum.wrapping_add(term.wrapping_mul(ADDITIONS * rounds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_addition_is_done() {
        for rounds in [1, 2, 1000] {
            assert_eq!(chain(5, 3, rounds), 5 + 3 * ADDITIONS * rounds);
        }
    }

    #[test]
    fn what_the_system_says() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(CoreClock::said(folder.path()), CoreClock::default());
        fs::write(folder.path().join("cpuinfo_max_freq"), "3500000\n").unwrap();
        fs::write(folder.path().join("scaling_governor"), "schedutil\n").unwrap();
        let said = CoreClock::said(folder.path());
        assert_eq!(said.highest_hz, Some(3.5e9));
        assert_eq!(said.governor.as_deref(), Some("schedutil"));
        fs::write(folder.path().join("cpuinfo_max_freq"), "0\n").unwrap();
        assert_eq!(CoreClock::said(folder.path()).highest_hz, None);
    }
}
