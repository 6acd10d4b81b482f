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

use std::sync::OnceLock;

use super::PerfEvent;
use super::group::MAX;
use trueno_format::host::field;

const HARDWARE: u32 = 0;
const SOFTWARE: u32 = 1;
const RAW: u32 = 4;

/// FLOPs are counted together or by precision, never both: whoever adds them up counts none twice.
const BY_PRECISION: &str = "this CPU counts them by precision (hint: flops_f32, flops_f64)";

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

/// Events that go into one group, since they belong together and fit the counters together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum GroupOf {
    /// Cycles, instructions, cache misses.
    Hardware,
    /// By the kernel itself, never multiplexed.
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
            PerfEvent::CacheMisses => (GroupOf::Hardware, one(HARDWARE, 3)),
            PerfEvent::TaskClock => (GroupOf::Software, one(SOFTWARE, 1)),
            PerfEvent::PageFaults => (GroupOf::Software, one(SOFTWARE, 2)),
            PerfEvent::Flops | PerfEvent::FlopsF32 | PerfEvent::FlopsF64 => {
                (GroupOf::Flops(event), self.flops(event)?)
            }
        })
    }

    fn flops(&self, event: PerfEvent) -> Result<Vec<Part>, String> {
        let raw = |umask: u64, number: u64, weight| Part {
            kind: RAW,
            config: umask << 8 | number,
            weight,
        };
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
            (vendor, family, _) => Err(format!(
                "no event for FLOPs is known for this CPU ({} family {family} model {})",
                if vendor.is_empty() { "unknown" } else { vendor },
                self.model
            )),
        }
    }

    /// Broadwell to Granite Rapids, without CPUs that have two kinds of cores, and without Atoms.
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
    fn an_unknown_cpu_gets_no_guess() {
        for unknown in [
            Cpu::default(),
            cpu("GenuineIntel", 6, 0x97, "avx2"), // two kinds of cores
            cpu("HygonGenuine", 0x18, 0, "avx2"),
        ] {
            let why = unknown.parts(PerfEvent::FlopsF32).unwrap_err();
            assert!(why.contains("no event for FLOPs is known"), "{why}");
            assert!(unknown.parts(PerfEvent::Cycles).is_ok());
        }
    }
}
