//! Choice of the plugins that are isolated, and limits of each.
//!
//! The memory limit is address space (`RLIMIT_AS`) beyond that of the fresh process: it needs no rights, and the
//! allocation that would go beyond it fails there and then.

use std::path::PathBuf;
use std::time::Duration;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Which {
    #[default]
    None,
    /// Those outside the executable's folder and `../lib/trueno-analyze`.
    Outside,
    All,
}

#[derive(Clone, Debug, Default)]
pub struct Isolation {
    pub which: Which,
    pub limits: Limits,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The program with the hidden command `plugin-host`: the analyzer itself.
    pub program: PathBuf,
    /// Wall time from start to end; `None` derives it from the size of the inputs.
    pub time: Option<Duration>,
    /// Processor time of all threads; `None` uses the wall time.
    pub cpu_time: Option<Duration>,
    /// Address space beyond that of the fresh process, including its copy of the inputs.
    pub memory_bytes: u64,
}

/// Default time limit without inputs. A busy machine takes long to start a process.
const TIME: Duration = Duration::from_secs(60);
/// Time added per byte of input. Our plugins take a hundredth of it.
const TIME_PER_BYTE: Duration = Duration::from_micros(1);

/// Limit for loading a library or checking its options. A slower one is broken.
const MAX_LOADING_TIME: Duration = Duration::from_secs(60);
/// Minimum for that, even if the limit of a run is shorter: a busy machine takes long to start a process.
const MIN_LOADING_TIME: Duration = Duration::from_secs(10);
/// Minimum processor time for that, far more than a large library takes.
const MIN_LOADING_CPU_TIME: Duration = Duration::from_secs(1);

impl Limits {
    fn loading_cpu_time(&self) -> Duration {
        let asked = self.cpu_time.or(self.time).unwrap_or(MAX_LOADING_TIME);
        asked.clamp(MIN_LOADING_CPU_TIME, MAX_LOADING_TIME)
    }

    /// Time limit for loading and for checking options, which normally take milliseconds.
    pub fn loading_time(&self) -> Duration {
        let asked = self.time.unwrap_or(MAX_LOADING_TIME);
        asked.clamp(MIN_LOADING_TIME, MAX_LOADING_TIME)
    }

    /// Limit on bytes of results. The analyzer holds them more than once while it reads them.
    pub fn results_bytes(&self) -> u64 {
        self.memory_bytes / 4
    }

    pub fn of_loading(&self) -> Limits {
        Limits {
            time: Some(self.loading_time()),
            // A busy machine makes no more work of it.
            cpu_time: Some(self.loading_cpu_time()),
            ..self.clone()
        }
    }

    pub fn cpu_time_for(&self, inputs_bytes: u64) -> Duration {
        self.cpu_time.unwrap_or_else(|| self.time_for(inputs_bytes))
    }

    pub fn time_for(&self, inputs_bytes: u64) -> Duration {
        let more_us = u128::from(inputs_bytes) * TIME_PER_BYTE.as_micros();
        let more = Duration::from_micros(u64::try_from(more_us).unwrap_or(u64::MAX));
        self.time.unwrap_or_else(|| TIME.saturating_add(more))
    }
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            // The image that runs, even where its file has been replaced since.
            program: PathBuf::from("/proc/self/exe"),
            time: None,
            cpu_time: None,
            memory_bytes: memory_of_this_machine() / 4 * 3,
        }
    }
}

/// Memory of the machine, or of the control group if that is less; 4 GiB if neither is known.
pub fn memory_of_this_machine() -> u64 {
    let number =
        |file: &str| -> Option<u64> { std::fs::read_to_string(file).ok()?.trim().parse().ok() };
    let machine = std::fs::read_to_string("/proc/meminfo")
        .ok()
        .and_then(|text| {
            let line = text.lines().find(|line| line.starts_with("MemTotal:"))?;
            let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
            Some(kib << 10)
        });
    let groups = [
        number("/sys/fs/cgroup/memory.max"),
        number("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
    ];
    let known = groups.into_iter().flatten().chain(machine);
    known.min().unwrap_or(4 << 30)
}

/// Parses a number of bytes, such as `512MB`, `2G` or `1073741824`.
///
/// # Errors
/// The expected form.
pub fn size(text: &str) -> Result<u64, String> {
    const EXPECTED: &str = "expected a size such as 512M, 2G, 1.5GB or 1073741824 (bytes)";
    let text = text.trim().to_ascii_lowercase();
    let units = [
        ("kib", 1 << 10),
        ("mib", 1 << 20),
        ("gib", 1 << 30),
        ("kb", 1_000),
        ("mb", 1_000_000),
        ("gb", 1_000_000_000),
        ("k", 1 << 10),
        ("m", 1 << 20),
        ("g", 1_u64 << 30),
        ("b", 1),
    ];
    let (number, factor) = units
        .iter()
        .find_map(|(unit, factor)| Some((text.strip_suffix(unit)?, *factor)))
        .unwrap_or((&text, 1));
    let number: f64 = number.trim().parse().map_err(|_| EXPECTED)?;
    let bytes = (number * factor as f64).round();
    if bytes.is_finite() && (1.0..1e18).contains(&bytes) {
        Ok(bytes as u64)
    } else {
        Err(EXPECTED.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        let parsed = ["512M", "2G", "1.5GB", "7", "3 KiB", "40b"].map(|text| size(text).unwrap());
        assert_eq!(parsed, [512 << 20, 2 << 30, 1_500_000_000, 7, 3 << 10, 40]);
        for wrong in ["", "M", "-1G", "0", "NaN", "inf", "1T"] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn more_input_has_more_time() {
        let limits = Limits::default();
        assert_eq!(limits.time_for(0), Duration::from_secs(60));
        assert_eq!(limits.time_for(540_000_000), Duration::from_secs(600));
        assert!(limits.time_for(u64::MAX) > Duration::from_secs(1 << 40));
        assert_eq!(limits.cpu_time_for(540_000_000), Duration::from_secs(600));
        let limits = Limits {
            time: Some(Duration::from_secs(5)),
            ..limits
        };
        assert_eq!(limits.time_for(1 << 40), Duration::from_secs(5));
        assert_eq!(limits.cpu_time_for(1 << 40), Duration::from_secs(5));
        let limits = Limits {
            cpu_time: Some(Duration::from_secs(7)),
            ..limits
        };
        assert_eq!(limits.time_for(1 << 40), Duration::from_secs(5));
        assert_eq!(limits.cpu_time_for(0), Duration::from_secs(7));
    }

    #[test]
    fn a_machine_has_memory() {
        assert!(memory_of_this_machine() > 64 << 20);
    }
}
