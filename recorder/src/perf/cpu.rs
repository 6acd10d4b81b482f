//! Counters and the events of this CPU that make them up.
//!
//! FLOPs have no generic event. Known are, by the makers' event lists as Linux has them
//! (`tools/perf/pmu-events/arch/x86/*/floating-point.json`):
//!
//! - Intel, event 0xC7 `FP_ARITH_INST_RETIRED`, from Broadwell on (Intel SDM vol. 3B, "Performance Monitoring Events"):
//!   instructions by precision and width; times the lanes of the width they are FLOPs, as FMA counts twice.
//! - AMD, event 0x03 `Retired SSE/AVX FLOPs` (PMCx003 in the Processor Programming References): FLOPs, multiply-add
//!   counts as two. By precision in family 17h models 00h to 2Fh (Zen, Zen+), not in later ones.
//!
//! Neither counts x87. CPUs with two kinds of cores are left out: an event number means different things on them.
//!
//! The kernel's generic `cache-references` and `cache-misses` are of L3 on Intel, of L2 on AMD and of L1 on Arm
//! (`arch/*/events`), so that they are not asked for. By the same lists:
//!
//! - Intel, event 0x24 `L2_RQSTS`: `REFERENCES` (0xFF), `MISS` (0x3F), prefetches included; event 0x2E
//!   `LONGEST_LAT_CACHE`, which is architectural: `REFERENCE` (0x4F), `MISS` (0x41).
//! - AMD, event 0x64 `L2 Cache Request Status` (PMCx064): hits (0xF6) and misses (0x09) of instruction and data cache
//!   requests. L3 is counted by core complex, for all of its cores together.

use std::sync::OnceLock;

use super::PerfEvent;
use super::group::MAX;
use trueno_format::host::field;

const HARDWARE: u32 = 0;
const SOFTWARE: u32 = 1;
const RAW: u32 = 4;

/// FLOPs are counted either together or by precision, so that adding them up never counts any twice.
const BY_PRECISION: &str = "this CPU counts them by precision (hint: flops_f32, flops_f64)";

const OF_ALL_CORES: &str = "this CPU counts them for all cores of a complex together";

/// One event as the kernel is asked for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// `perf_event_attr.type`.
    pub kind: u32,
    /// `perf_event_attr.config`.
    pub config: u64,
    /// Weight of one count.
    pub weight: u32,
}

/// An event by its number in the vendor's documentation.
fn raw(umask: u64, number: u64, weight: u32) -> Part {
    Part {
        kind: RAW,
        config: umask << 8 | number,
        weight,
    }
}

/// Events that go into one group, since they belong together and fit the counters together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum GroupOf {
    /// Cycles and instructions.
    Hardware,
    /// Accesses and misses of one cache.
    Cache(u8),
    /// Counted by the kernel itself, never multiplexed.
    Software,
    /// FLOPs of one kind.
    Flops(PerfEvent),
}

/// The CPU as /proc/cpuinfo has it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cpu {
    vendor: String,
    family: u32,
    model: u32,
    has_avx512: bool,
}

impl Cpu {
    /// Of this machine; read once, as the file is long where cores are many.
    pub fn here() -> &'static Self {
        static HERE: OnceLock<Cpu> = OnceLock::new();
        HERE.get_or_init(|| {
            Self::parse(&std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default())
        })
    }

    fn parse(cpuinfo: &str) -> Self {
        let number = |key| {
            field(cpuinfo, key)
                .and_then(|text| text.parse().ok())
                .unwrap_or(0)
        };
        let flags = field(cpuinfo, "flags").unwrap_or_default();
        Self {
            vendor: field(cpuinfo, "vendor_id").unwrap_or_default().to_owned(),
            family: number("cpu family"),
            model: number("model"),
            has_avx512: flags.split_whitespace().any(|flag| flag == "avx512f"),
        }
    }

    /// Gives the events to ask for, or the reason why there are none.
    pub fn parts(&self, event: PerfEvent) -> Result<(GroupOf, Vec<Part>), String> {
        let one = |kind, config| {
            vec![Part {
                kind,
                config,
                weight: 1,
            }]
        };
        Ok(match event {
            PerfEvent::Cycles => (GroupOf::Hardware, one(HARDWARE, 0)),
            PerfEvent::Instructions => (GroupOf::Hardware, one(HARDWARE, 1)),
            PerfEvent::L2Accesses => (GroupOf::Cache(2), vec![self.cache(2, false)?]),
            PerfEvent::L2Misses => (GroupOf::Cache(2), vec![self.cache(2, true)?]),
            PerfEvent::L3Accesses => (GroupOf::Cache(3), vec![self.cache(3, false)?]),
            PerfEvent::L3Misses => (GroupOf::Cache(3), vec![self.cache(3, true)?]),
            PerfEvent::TaskClock => (GroupOf::Software, one(SOFTWARE, 1)),
            PerfEvent::PageFaults => (GroupOf::Software, one(SOFTWARE, 2)),
            PerfEvent::Flops | PerfEvent::FlopsF32 | PerfEvent::FlopsF64 => {
                (GroupOf::Flops(event), self.flops(event)?)
            }
        })
    }

    fn cache(&self, level: u8, is_miss: bool) -> Result<Part, String> {
        let (umask, number) = match (self.vendor.as_str(), self.family, level, is_miss) {
            ("GenuineIntel", 6, ..) if !self.is_known_intel() => (0, 0),
            ("GenuineIntel", 6, 2, false) => (0xff, 0x24),
            ("GenuineIntel", 6, 2, true) => (0x3f, 0x24),
            ("GenuineIntel", 6, 3, false) => (0x4f, 0x2e),
            ("GenuineIntel", 6, 3, true) => (0x41, 0x2e),
            ("AuthenticAMD", 0x17 | 0x19 | 0x1a, 2, false) => (0xff, 0x64),
            ("AuthenticAMD", 0x17 | 0x19 | 0x1a, 2, true) => (0x09, 0x64),
            ("AuthenticAMD", 0x17 | 0x19 | 0x1a, ..) => return Err(OF_ALL_CORES.to_owned()),
            _ => (0, 0),
        };
        match number {
            0 => Err(self.unknown(&format!("L{level}"))),
            _ => Ok(raw(umask, number, 1)),
        }
    }

    fn unknown(&self, what: &str) -> String {
        let vendor = match self.vendor.as_str() {
            "" => "unknown",
            vendor => vendor,
        };
        let (family, model) = (self.family, self.model);
        format!(
            "no event for {what} is known for this CPU ({vendor} family {family} model {model})"
        )
    }

    fn flops(&self, event: PerfEvent) -> Result<Vec<Part>, String> {
        match (self.vendor.as_str(), self.family, event) {
            ("GenuineIntel", 6, PerfEvent::Flops) if self.is_known_intel() => {
                Err(BY_PRECISION.to_owned())
            }
            ("GenuineIntel", 6, _) if self.is_known_intel() => {
                // Scalar, 128, 256 and 512 bits.
                let (umasks, lanes) = match event {
                    PerfEvent::FlopsF32 => ([0x02, 0x08, 0x20, 0x80], [1, 4, 8, 16]),
                    _ => ([0x01, 0x04, 0x10, 0x40], [1, 2, 4, 8]),
                };
                let widths = if self.has_avx512 { MAX } else { MAX - 1 };
                let parts = umasks.iter().zip(lanes).take(widths);
                Ok(parts
                    .map(|(umask, lanes)| raw(*umask, 0xc7, lanes))
                    .collect())
            }
            ("AuthenticAMD", 0x17, _) if self.model < 0x30 => match event {
                PerfEvent::FlopsF32 => Ok(vec![raw(0x0f, 0x03, 1)]),
                PerfEvent::FlopsF64 => Ok(vec![raw(0xf0, 0x03, 1)]),
                _ => Err(BY_PRECISION.to_owned()),
            },
            // Add, multiply, divide, multiply-add; not those of bfloat16.
            ("AuthenticAMD", 0x17 | 0x19 | 0x1a, PerfEvent::Flops) => Ok(vec![raw(0x0f, 0x03, 1)]),
            ("AuthenticAMD", 0x17 | 0x19 | 0x1a, _) => Err(
                "this CPU does not count them by precision (hint: flops, of all precisions)"
                    .to_owned(),
            ),
            _ => Err(self.unknown("FLOPs")),
        }
    }

    /// Broadwell to Granite Rapids, except hybrid CPUs and Atoms.
    fn is_known_intel(&self) -> bool {
        matches!(
            self.model,
            0x3d | 0x47 | 0x4f | 0x56 // Broadwell
            | 0x4e | 0x5e | 0x55 | 0x8e | 0x9e | 0xa5 | 0xa6 // Skylake to Comet Lake
            | 0x7d | 0x7e | 0x6a | 0x6c | 0x8c | 0x8d | 0xa7 // Ice, Tiger and Rocket Lake
            | 0x8f | 0xcf | 0xad | 0xae // Sapphire, Emerald and Granite Rapids
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cpu(vendor: &str, family: u32, model: u32, flags: &str) -> Cpu {
        Cpu::parse(&format!(
            "processor\t: 0\nvendor_id\t: {vendor}\ncpu family\t: {family}\nmodel\t\t: {model}\nmodel name\t: X\nflags\t\t: fpu {flags}\n"
        ))
    }

    fn configs(cpu: &Cpu, event: PerfEvent) -> Vec<(u64, u32)> {
        let (_, parts) = cpu.parts(event).unwrap();
        parts
            .iter()
            .map(|part| (part.config, part.weight))
            .collect()
    }

    #[test]
    fn intel_counts_instructions_by_width() {
        let skylake = cpu("GenuineIntel", 6, 0x55, "avx2 avx512f");
        assert_eq!(
            configs(&skylake, PerfEvent::FlopsF32),
            [(0x02c7, 1), (0x08c7, 4), (0x20c7, 8), (0x80c7, 16)]
        );
        assert_eq!(
            configs(&skylake, PerfEvent::FlopsF64),
            [(0x01c7, 1), (0x04c7, 2), (0x10c7, 4), (0x40c7, 8)]
        );
        let broadwell = cpu("GenuineIntel", 6, 0x4f, "avx2");
        assert_eq!(configs(&broadwell, PerfEvent::FlopsF32).len(), 3);
        assert!(skylake.parts(PerfEvent::Flops).is_err());
    }

    #[test]
    fn amd_counts_flops_and_only_zen_1_by_precision() {
        let zen1 = cpu("AuthenticAMD", 0x17, 0x01, "avx2");
        assert_eq!(configs(&zen1, PerfEvent::FlopsF32), [(0x0f03, 1)]);
        assert_eq!(configs(&zen1, PerfEvent::FlopsF64), [(0xf003, 1)]);
        assert!(zen1.parts(PerfEvent::Flops).is_err());
        let zen2 = cpu("AuthenticAMD", 0x17, 0x31, "avx2");
        assert_eq!(configs(&zen2, PerfEvent::Flops), [(0x0f03, 1)]);
        let why = zen2.parts(PerfEvent::FlopsF32).unwrap_err();
        assert!(why.contains("hint: flops"), "{why}");
    }

    #[test]
    fn caches_are_counted_by_level() {
        let intel = cpu("GenuineIntel", 6, 0x8f, "avx2 avx512f");
        assert_eq!(configs(&intel, PerfEvent::L2Accesses), [(0xff24, 1)]);
        assert_eq!(configs(&intel, PerfEvent::L2Misses), [(0x3f24, 1)]);
        assert_eq!(configs(&intel, PerfEvent::L3Accesses), [(0x4f2e, 1)]);
        assert_eq!(configs(&intel, PerfEvent::L3Misses), [(0x412e, 1)]);
        let zen = cpu("AuthenticAMD", 0x1a, 0x02, "avx2");
        assert_eq!(configs(&zen, PerfEvent::L2Accesses), [(0xff64, 1)]);
        assert_eq!(configs(&zen, PerfEvent::L2Misses), [(0x0964, 1)]);
        let why = zen.parts(PerfEvent::L3Misses).unwrap_err();
        assert!(why.contains("all cores of a complex"), "{why}");
        let groups =
            [PerfEvent::L2Accesses, PerfEvent::L2Misses].map(|event| zen.parts(event).unwrap().0);
        assert_eq!(groups[0], groups[1], "a rate is of one time");
    }

    #[test]
    fn an_unknown_cpu_gets_no_guess() {
        for unknown in [
            Cpu::default(),
            cpu("GenuineIntel", 6, 0x97, "avx2"), // two kinds of cores
            cpu("HygonGenuine", 0x18, 0, "avx2"),
        ] {
            let why = unknown.parts(PerfEvent::FlopsF32).unwrap_err();
            assert!(why.contains("no event for FLOPs is known"), "{why}");
            let why = unknown.parts(PerfEvent::L2Misses).unwrap_err();
            assert!(why.contains("no event for L2 is known"), "{why}");
            assert!(unknown.parts(PerfEvent::Cycles).is_ok());
        }
    }
}
