//! JSON of one kernel's profile by `aprender-cgp` (`FullProfile`, version 2): metrics without a time, as counters.
//!
//! The program writes 0 where it measured nothing, so a 0 becomes no row. Left out, each with its reason, is what rests
//! on constants: it takes every GPU for an RTX 4090. The text is held in memory.

mod profile;

use crate::importer::{Head, Import, Importer};
use crate::strace::instants::{Instants, MAX_TEXT_BYTES, cut};
use crate::{Error, mended};
use profile::{Kernel, Profile, Value};

const SUMS_ONLY: &str = "made from one profile of aprender-cgp: one value per metric, of one kernel or program; when things ran, and how \
                         often, is not in it (hint: import its source, a file of ncu or nsys)";

const LEFT_OUT: [(&str, &str); 13] = [
    ("hardware", "cgp states an RTX 4090 whatever the GPU is"),
    ("roofline", "peaks are constants of an RTX 4090"),
    (
        "throughput bandwidth_gbps",
        "a share of 1008 GB/s, whatever the GPU is",
    ),
    (
        "throughput arithmetic_intensity",
        "its bytes are a share of 1008 GB/s, whatever the GPU is",
    ),
    ("energy", "the power was read after the kernel had ended"),
    ("muda", "its impacts are counts and shares under one name"),
    ("regression", "a verdict on another profile"),
    ("vram vram_peak_mb", "memory in use afterwards, not a peak"),
    ("pcie pcie_bandwidth_theoretical_gbps", "no measurement"),
    ("pcie pcie_gen", "no measurement"),
    ("pcie pcie_width", "no measurement"),
    (
        "vram vram_total_mb",
        "the host's memory where the GPU has none",
    ),
    (
        "system_health gpu_memory_total_mb",
        "the host's memory where the GPU has none",
    ),
];

const COMPUTED: [&str; 15] = [
    "timing stddev_us",
    "timing ci_95_low_us",
    "timing ci_95_high_us",
    "throughput tflops",
    "throughput gflops",
    "vram vram_utilization_pct",
    "cpu_simd simd_utilization_pct",
    "quant superblocks_per_sec",
    "quant effective_bandwidth_gbps",
    "quant compression_speedup",
    "rayon parallel_speedup",
    "rayon parallel_efficiency",
    "rayon heijunka_score",
    "async_profiling poll_efficiency",
    "async_profiling yield_ratio",
];

/// Limits on how deep groups nest and, below, on the bytes of a name.
const MAX_DEPTH: usize = 2;
const MAX_NAME_BYTES: usize = 256;

/// Name suffixes of times, with the factor that converts them to nanoseconds.
const TIMES: [(&str, f64); 2] = [("_us", 1e3), ("_ms", 1e6)];
const UNITS: [(&str, &str); 9] = [
    ("_pct", "%"),
    ("_mb", "MB"),
    ("_bytes", "byte"),
    ("_gbps", "GB/s"),
    ("_mhz", "MHz"),
    ("_celsius", "degC"),
    ("_watts", "W"),
    ("tflops", "TFLOP/s"),
    ("gflops", "GFLOP/s"),
];

pub const IMPORTER: Importer = Importer {
    name: "cgp",
    description: "JSON of aprender-cgp: one profile (FullProfile)",
    recognises,
    read,
};

fn recognises(head: &Head<'_>) -> bool {
    let members = head.behind(&["{", "\"version\"", ":"]);
    members.is_some_and(|members| {
        let keys = ["\"timestamp\"", "\"timing\"", "\"wall_clock_time_us\""];
        keys.iter().all(|key| members.contains(key))
    })
}

fn read(mut import: Import<'_>) -> Result<Option<i64>, Error> {
    let format = mended::Document {
        expected: "a profile of aprender-cgp",
        remedy: "write it again",
        units: "groups",
        count: |of: &Profile| of.groups.len(),
    };
    let profile = format.read(&mut import, |profile, from| profile.read(from))?;
    if !matches!(profile.version.split('.').next(), Some("2")) {
        return Err(import.refused(format!(
            "expected version 2 of aprender-cgp's profiles, found {:?}; write it with aprender-cgp 0.72",
            cut(&profile.version)
        )));
    }
    add(&profile, &mut import)?;
    Ok(None)
}

fn add(profile: &Profile, import: &mut Import<'_>) -> Result<(), Error> {
    if let Some(timestamp) = &profile.timestamp {
        let values = &mut import.into.run().values;
        values.insert("cgp.timestamp".to_owned(), cut(timestamp).to_owned());
    }
    if let Some(kernel) = &profile.kernel {
        describe(kernel, import)?;
    }
    let kernel = profile.kernel.as_ref().map(|kernel| kernel.name.as_str());
    for (group, value) in &profile.groups {
        metric(kernel, group, value, 0, import)?;
    }
    let has = |name| {
        let mut groups = profile.groups.iter();
        groups.any(|(group, value)| group == name && matches!(value, Value::Group(_)))
    };
    if has("system_health") || has("vram") {
        import.problem("system_health and vram were read once, when the kernel had ended");
    }
    if has("throughput") {
        import.problem("tflops and gflops are of 2·n³ FLOPs, whatever the kernel is");
    }
    import.problem(SUMS_ONLY);
    Ok(())
}

fn reason(name: &str) -> Option<&'static str> {
    let mut entries = LEFT_OUT.into_iter();
    entries
        .find(|(left_out, _)| *left_out == name)
        .map(|(_, reason)| reason)
}

fn metric(
    kernel: Option<&str>,
    name: &str,
    value: &Value,
    depth: usize,
    import: &mut Import<'_>,
) -> Result<(), Error> {
    if matches!(value, Value::Nothing) {
        return Ok(());
    }
    if let Some(reason) = reason(name) {
        import.notes.leave_out(&format!("{name}: {reason}"));
        return Ok(());
    }
    match value {
        Value::Group(_) if depth == MAX_DEPTH || name.len() > MAX_NAME_BYTES => {
            import
                .notes
                .leave_out("group that is not part of cgp's format");
        }
        Value::Group(members) => {
            for (member, value) in members {
                metric(
                    kernel,
                    &format!("{name} {member}"),
                    value,
                    depth + 1,
                    import,
                )?;
            }
        }
        Value::Number(0.0) => {
            import
                .notes
                .skip("0, which cgp writes for what it did not measure");
        }
        Value::Number(value) => {
            import.notes.read("metric");
            let is_computed = COMPUTED.contains(&name);
            let source = if is_computed { "computed" } else { "measured" };
            let mut times = TIMES.iter();
            let time = times.find_map(|(end, ns)| Some((name.strip_suffix(end)?, value * ns)));
            let (name, value, unit) = match time {
                Some((_, ns)) if !ns.is_finite() => {
                    import.notes.leave_out("time that is too long");
                    return Ok(());
                }
                Some((name, ns)) => (name, ns, "ns"),
                None => {
                    let unit = UNITS.iter().find(|(end, _)| name.ends_with(end));
                    (name, *value, unit.map_or("1", |(_, unit)| unit))
                }
            };
            let kernel = kernel.map_or(String::new(), |of| format!("{}, ", cut(of)));
            let name = format!("cgp: {kernel}{}", cut(name));
            import.sum(0, &name, value, (unit, source))?;
        }
        Value::Nothing | Value::Other => import.notes.leave_out("metric that is not a number"),
    }
    Ok(())
}

/// Writes the kernel as an instant of the whole program: the file does not say when it ran.
fn describe(kernel: &Kernel, import: &mut Import<'_>) -> Result<(), Error> {
    let arguments = serde_json::to_string(kernel).unwrap_or_default();
    if arguments.len() > MAX_TEXT_BYTES {
        import
            .notes
            .leave_out("kernel whose description is longer than 64 KiB");
        return Ok(());
    }
    Instants::default().add_json((None, 0), cut(&kernel.name), &arguments, import)
}

#[cfg(test)]
mod tests;
