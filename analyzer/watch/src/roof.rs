//! Kernels of a window against the ceilings of the run, as the plugin `roofline` holds sums against them: FLOP/s of the
//! kernel's instruction set and precision, and the bandwidth of DRAM or, where the kernel is faster than that allows by
//! more than a tenth, of the farthest level of memory that allows it.

use serde::Serialize;
use trueno_analysis::roofline::ceilings::{Ceiling, Ceilings, Need};
use trueno_analysis::roofline::instruction_set::{Backend, backend, precision};
use trueno_analysis::roofline::model::{Roof, Work, achieved, is_clearly_above, place};
use trueno_format::observe::EventKind;

use crate::window::{KernelLabel, KernelSum};

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct KernelRoof {
    /// FLOP/s over calls that state FLOPs and bytes.
    pub flops_per_s: Option<f64>,
    /// Over the same calls as `flops_per_s`.
    pub bytes_per_s: Option<f64>,
    /// Achieved divided by attainable FLOP/s.
    pub efficiency: Option<f64>,
    /// `memory` or `compute`.
    pub bound_by: Option<&'static str>,
    /// FLOP/s that the roofline allows at this intensity.
    pub attainable_flops_per_s: Option<f64>,
    /// Memory level that the bytes are assumed to come from.
    pub memory: Option<&'static str>,
    /// Assumptions about the level (derived from the speed), the precision or the instruction set.
    pub assumed: Vec<String>,
    pub not_measured: Option<String>,
}

pub fn ceilings(rows: &[trueno_format::Ceiling]) -> Ceilings {
    let lower = |text: &Option<std::borrow::Cow<'static, str>>| {
        text.as_ref().map(|text| text.to_lowercase())
    };
    let row = |row: &trueno_format::Ceiling| Ceiling {
        device: row.device.to_lowercase(),
        kind: row.kind.name().to_owned(),
        level: lower(&row.level),
        precision: lower(&row.precision),
        threads: row.threads.map(i64::from),
        value: row.value,
        unit: row.unit().to_owned(),
        source: row.source.name().to_owned(),
        operation: lower(&row.operation),
        spread: row.spread,
        settled: row.settled,
        earlier: row.earlier,
    };
    Ceilings {
        rows: rows.iter().map(row).collect(),
        ..Ceilings::default()
    }
}

/// Compares a kernel with the ceilings. `name` is the name of its backend.
pub fn kernel_roof(
    label: &KernelLabel,
    sum: &KernelSum,
    name: &str,
    ceilings: &Ceilings,
) -> KernelRoof {
    let mut found = KernelRoof::default();
    match fill_roof(label, sum, name, ceilings, &mut found) {
        Ok(()) => {}
        Err(why) => found.not_measured = Some(why),
    }
    found
}

fn fill_roof(
    label: &KernelLabel,
    sum: &KernelSum,
    name: &str,
    ceilings: &Ceilings,
    found: &mut KernelRoof,
) -> Result<(), String> {
    if label.kind == EventKind::UntimedDeviceKernel {
        return Err("the device did not say when it ran".to_owned());
    }
    if sum.stated_calls == 0 {
        return Err(match sum.without_flops {
            0 => "no bytes declared",
            _ if sum.without_bytes == 0 => "no FLOPs declared",
            _ => "no call declares FLOPs and bytes",
        }
        .to_owned());
    }
    let work = Work {
        flops: sum.flops as f64,
        bytes: sum.bytes as f64,
        dur_ns: sum.stated_ns as f64,
    };
    let rates = achieved(&work).map_err(|reason| reason.to_string())?;
    found.flops_per_s = Some(rates.flops_per_s);
    found.bytes_per_s = Some(rates.bytes_per_s);
    let device = label.device.map(|number| format!("gpu:{number}"));
    let set = match (label.kind, backend(name)) {
        (EventKind::DeviceKernel, _) => None,
        (_, Backend::Cpu(set)) => Some(set),
        (_, Backend::Accelerator) => {
            return Err("the time is the host's, the work ran on a device".to_owned());
        }
        (_, Backend::Unsaid) => None,
        (_, Backend::Unknown) if name.is_empty() => None,
        (_, Backend::Unknown) => {
            return Err("its backend is not a known instruction set".to_owned());
        }
    };
    let device = match (label.kind, device) {
        (EventKind::DeviceKernel, Some(device)) => device,
        (EventKind::DeviceKernel, None) => return Err("its device is not known".to_owned()),
        _ => "cpu".to_owned(),
    };
    let precision = precision(name).unwrap_or_else(|| {
        found.assumed.push("precision f32".to_owned());
        "f32"
    });
    let is_there = ceilings.rows.iter().any(|row| row.device == device);
    if !is_there {
        return Err(match device.as_str() {
            "cpu" => "no ceilings in the run".to_owned(),
            device => format!("no ceilings of {device}"),
        });
    }
    let mut memory = "dram";
    let mut need = Need {
        device: &device,
        instruction_set: set,
        precision,
        memory,
    };
    let mut choice = ceilings.choose(&need)?;
    let roof = |choice: &trueno_analysis::roofline::ceilings::Choice| Roof {
        compute: ceilings.rows[choice.compute].value,
        bandwidth: ceilings.rows[choice.bandwidth].value,
    };
    if is_clearly_above(&work, &roof(&choice))
        && let Some((level, _)) = ceilings.memory_for(&device, rates.bytes_per_s)
    {
        memory = level;
        need.memory = level;
        choice = ceilings.choose(&need)?;
        found.assumed.push(format!("memory {level}, by its speed"));
    }
    let placed = place(&work, &roof(&choice)).map_err(|reason| reason.to_string())?;
    found.assumed.extend(choice.assumed);
    if placed.is_above() {
        return Err("it lies above its roof: the work is stated too high, or the ceiling was measured too low".to_owned());
    }
    found.efficiency = Some(placed.efficiency);
    found.bound_by = Some(placed.bound.name());
    found.attainable_flops_per_s = Some(placed.attainable);
    found.memory = Some(memory);
    Ok(())
}

#[cfg(test)]
mod tests {
    use trueno_format::{CeilingKind, Source};

    use super::*;

    fn rows() -> Vec<trueno_format::Ceiling> {
        let bandwidth = |level: &'static str, value| trueno_format::Ceiling {
            level: Some(level.into()),
            threads: Some(1),
            ..trueno_format::Ceiling::new("cpu", CeilingKind::Bandwidth, value, Source::Measured)
        };
        let compute = trueno_format::Ceiling {
            level: Some("avx2".into()),
            precision: Some("f32".into()),
            threads: Some(1),
            ..trueno_format::Ceiling::new("cpu", CeilingKind::Compute, 1e11, Source::Measured)
        };
        vec![bandwidth("DRAM", 1e10), bandwidth("L2", 5e10), compute]
    }

    fn sum(flops: u64, bytes: u64, stated_ns: u64) -> KernelSum {
        KernelSum {
            calls: 1,
            time_ns: stated_ns,
            stated_calls: 1,
            stated_ns,
            flops,
            bytes,
            ..KernelSum::default()
        }
    }

    const LABEL: KernelLabel = KernelLabel {
        kind: EventKind::Kernel,
        name: 1,
        backend: 2,
        device: None,
    };

    #[test]
    fn a_kernel_is_held_against_memory_or_arithmetic() {
        let ceilings = ceilings(&rows());
        // 1 FLOP a byte: 10 GFLOP/s allowed by DRAM; 5 achieved.
        let found = kernel_roof(&LABEL, &sum(5_000, 5_000, 1_000), "avx2", &ceilings);
        assert_eq!(
            (found.efficiency, found.bound_by),
            (Some(0.5), Some("memory"))
        );
        assert_eq!(found.memory, Some("dram"));
        // 100 FLOPs a byte: arithmetic.
        let found = kernel_roof(&LABEL, &sum(50_000, 500, 1_000), "avx2 f32", &ceilings);
        assert_eq!(
            (found.efficiency, found.bound_by),
            (Some(0.5), Some("compute"))
        );
        assert!(found.assumed.is_empty(), "{:?}", found.assumed);
        // Faster than DRAM: from a cache.
        let found = kernel_roof(&LABEL, &sum(25_000, 25_000, 1_000), "avx2", &ceilings);
        assert_eq!((found.efficiency, found.memory), (Some(0.5), Some("l2")));
    }

    #[test]
    fn what_lacks_is_said() {
        let all = ceilings(&rows());
        let why = |label: &KernelLabel, sum: &KernelSum, name: &str, ceilings: &Ceilings| {
            let found = kernel_roof(label, sum, name, ceilings);
            assert_eq!(found.efficiency, None);
            found.not_measured.unwrap()
        };
        let stated = sum(5_000, 5_000, 1_000);
        let none = KernelSum {
            calls: 3,
            without_flops: 3,
            ..KernelSum::default()
        };
        assert_eq!(why(&LABEL, &none, "avx2", &all), "no FLOPs declared");
        let no_bytes = KernelSum {
            calls: 3,
            without_bytes: 3,
            ..KernelSum::default()
        };
        assert_eq!(why(&LABEL, &no_bytes, "avx2", &all), "no bytes declared");
        assert!(why(&LABEL, &stated, "avx2", &ceilings(&[])).contains("no ceilings"));
        assert!(why(&LABEL, &stated, "avx512", &all).contains("avx512"));
        assert!(why(&LABEL, &stated, "cuda", &all).contains("device"));
        assert!(why(&LABEL, &sum(900_000, 900, 1_000), "avx2", &all).contains("above"));
        let untimed = KernelLabel {
            kind: EventKind::UntimedDeviceKernel,
            ..LABEL
        };
        assert!(why(&untimed, &stated, "", &all).contains("did not say"));
        let device = KernelLabel {
            kind: EventKind::DeviceKernel,
            device: Some(1),
            ..LABEL
        };
        assert!(why(&device, &stated, "", &all).contains("gpu:1"));
    }
}
