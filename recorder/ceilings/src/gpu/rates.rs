//! What a device's data sheet allows: more than that was not measured, whatever a clock says.

use trueno_format::CeilingKind;

/// Operations per clock of one multiprocessor, from NVIDIA's white papers and data sheets or derived from their
/// figures: dense, with a multiply-add as two. Where devices of one compute capability differ (GeForce and others
/// in sums of 32 bits), the higher one.
const RATES: &[(u32, &[(&str, u32)])] = &[
    (70, &[("f16", 1024)]),
    (75, &[("f16", 1024), ("i8", 2048)]),
    (
        80,
        &[
            ("f64", 128),
            ("tf32", 1024),
            ("f16", 2048),
            ("bf16", 2048),
            ("f16_acc", 2048),
            ("i8", 4096),
        ],
    ),
    (
        86,
        &[
            ("f64", 4),
            ("tf32", 512),
            ("f16", 1024),
            ("bf16", 1024),
            ("f16_acc", 1024),
            ("i8", 2048),
        ],
    ),
    (
        89,
        &[
            ("f64", 4),
            ("tf32", 512),
            ("f16", 1024),
            ("bf16", 1024),
            ("f16_acc", 1024),
            ("f8", 2048),
            ("i8", 2048),
        ],
    ),
    (
        90,
        &[
            ("f64", 256),
            ("tf32", 2048),
            ("f16", 4096),
            ("bf16", 4096),
            ("f16_acc", 4096),
            ("f8", 8192),
            ("i8", 8192),
        ],
    ),
    (
        100,
        &[
            ("f64", 256),
            ("tf32", 4096),
            ("f16", 8192),
            ("bf16", 8192),
            ("f16_acc", 8192),
            ("f8", 16384),
            ("i8", 16384),
        ],
    ),
    (
        103,
        &[
            ("f64", 256),
            ("tf32", 4096),
            ("f16", 8192),
            ("bf16", 8192),
            ("f16_acc", 8192),
            ("f8", 16384),
            ("i8", 16384),
        ],
    ),
    (
        120,
        &[
            ("f64", 4),
            ("tf32", 512),
            ("f16", 1024),
            ("bf16", 1024),
            ("f16_acc", 1024),
            ("f8", 2048),
            ("i8", 2048),
        ],
    ),
];
/// The same for the cores other than tensor cores: f32, f64.
const CORES: &[(u32, u32, u32)] = &[
    (70, 128, 64),
    (75, 128, 4),
    (80, 128, 64),
    (86, 256, 4),
    (87, 256, 4),
    (89, 256, 4),
    (90, 256, 128),
    (100, 256, 128),
    (103, 256, 128),
    (120, 256, 4),
];
/// Bytes per clock that a multiprocessor reads from shared memory, since compute capability 7.0.
const SHARED_BYTES: u32 = 128;
/// Factor by which clocks and events may be inexact.
pub(super) const TOLERANCE: f64 = 1.02;

/// Facts of a device that its limits follow from.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sheet {
    /// Compute capability without its point: 90 is 9.0.
    pub capability: u32,
    pub multiprocessors: f64,
    /// The highest that the driver states, or that was measured.
    pub clock_hz: f64,
    /// Of the memory bus, with two transfers a clock; 0: not known.
    pub dram_bytes_a_second: f64,
}

impl Sheet {
    /// True if the device is known to have tensor cores of this type.
    pub fn has_tensor(&self, precision: &str) -> bool {
        let rates = RATES.iter().find(|row| row.0 == self.capability);
        let rate = rates.and_then(|row| row.1.iter().find(|row| row.0 == precision));
        rate.is_some_and(|row| row.1 > 4)
    }

    /// The most there can be; `None`: not known of this device.
    pub fn limit(&self, kind: CeilingKind, level: &str, precision: Option<&str>) -> Option<f64> {
        let a_clock = match (kind, level) {
            (CeilingKind::Bandwidth, "DRAM") => {
                // Boards that share memory with the processor state other clocks.
                let is_listed = RATES.iter().any(|row| row.0 == self.capability);
                return Some(self.dram_bytes_a_second).filter(|limit| *limit > 0.0 && is_listed);
            }
            (CeilingKind::Bandwidth, "shared") => SHARED_BYTES,
            (CeilingKind::Bandwidth, _) => return None,
            (CeilingKind::Compute, "cuda_cores") => {
                let (_, f32, f64) = CORES.iter().find(|row| row.0 == self.capability)?;
                if precision == Some("f64") { *f64 } else { *f32 }
            }
            (CeilingKind::Compute, _) => {
                let (_, rates) = RATES.iter().find(|row| row.0 == self.capability)?;
                rates.iter().find(|row| Some(row.0) == precision)?.1
            }
        };
        let limit = f64::from(a_clock) * self.multiprocessors * self.clock_hz;
        (limit > 0.0).then_some(limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Figures of data sheets, dense, with the clock that each assumes.
    #[test]
    fn data_sheets_follow_from_rates_and_clocks() {
        let compute = CeilingKind::Compute;
        for (capability, multiprocessors, mhz, level, precision, tera) in [
            (90, 132.0, 1830.0, "tensor_wgmma", "bf16", 989.5),
            (90, 132.0, 1830.0, "tensor_wgmma", "f8", 1979.0),
            (90, 132.0, 1980.0, "tensor_mma_sync", "f64", 67.0),
            (90, 132.0, 1980.0, "cuda_cores", "f32", 67.0),
            (80, 108.0, 1410.0, "tensor_mma_sync", "tf32", 156.0),
            (80, 108.0, 1410.0, "tensor_mma_sync", "i8", 624.0),
            (89, 142.0, 2520.0, "tensor_mma_sync", "f8", 733.0),
            (75, 40.0, 1590.0, "cublas", "f16", 65.0),
        ] {
            let sheet = Sheet {
                capability,
                multiprocessors,
                clock_hz: mhz * 1e6,
                dram_bytes_a_second: 0.0,
            };
            let limit = sheet.limit(compute, level, Some(precision)).unwrap() / 1e12;
            assert!(
                (limit / tera - 1.0).abs() < 0.02,
                "{capability} {precision}: {limit}, {tera}"
            );
        }
        let unknown = Sheet {
            capability: 200,
            multiprocessors: 1.0,
            clock_hz: 1e9,
            ..Sheet::default()
        };
        assert_eq!(
            unknown.limit(compute, "tensor_mma_sync", Some("bf16")),
            None
        );
        assert_eq!(unknown.limit(CeilingKind::Bandwidth, "DRAM", None), None);
    }
}
