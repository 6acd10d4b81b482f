//! Facts about the machine, as far as it tells them.

use std::fs;

use crate::run_json::Host;

/// Reads what can be read; the rest stays unknown.
pub fn facts() -> Host {
    let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let names = uname();
    Host {
        name: names.as_ref().map(|n| n.host.clone()),
        os: Some(std::env::consts::OS.to_owned()),
        kernel: names.map(|n| n.release),
        arch: Some(std::env::consts::ARCH.to_owned()),
        cpu_model: field(&cpuinfo, "model name").map(str::to_owned),
        microcode: field(&cpuinfo, "microcode").map(str::to_owned),
        logical_cpus: std::thread::available_parallelism()
            .ok()
            .map(|n| n.get() as u64),
        memory_bytes: fs::read_to_string("/proc/meminfo")
            .ok()
            .as_deref()
            .and_then(memory_bytes),
        cpu_features: field(&cpuinfo, "flags")
            .or_else(|| field(&cpuinfo, "Features"))
            .map(arithmetic_features),
    }
}

/// The value of the first `key : value` line.
pub fn field<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (found, value) = line.split_once(':')?;
        (found.trim() == key).then_some(value.trim())
    })
}

fn memory_bytes(meminfo: &str) -> Option<u64> {
    let kib: u64 = field(meminfo, "MemTotal")?
        .strip_suffix("kB")?
        .trim()
        .parse()
        .ok()?;
    kib.checked_mul(1024)
}

/// The CPU features that decide which kernels can run, sorted.
fn arithmetic_features(flags: &str) -> Vec<String> {
    const PREFIXES: [&str; 7] = ["sse", "ssse", "avx", "fma", "amx", "asimd", "sve"];
    const WHOLE: [&str; 11] = [
        "f16c", "bmi1", "bmi2", "popcnt", "fphp", "bf16", "i8mm", "fp", "fcma", "sme", "sme2",
    ];
    let mut features: Vec<String> = flags
        .split_whitespace()
        .filter(|flag| PREFIXES.iter().any(|p| flag.starts_with(p)) || WHOLE.contains(flag))
        .map(str::to_owned)
        .collect();
    features.sort_unstable();
    features.dedup();
    features
}

struct Names {
    host: String,
    release: String,
}

fn uname() -> Option<Names> {
    // SAFETY: all zeros is a valid utsname; the call fills it.
    let mut names: libc::utsname = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is valid for the write.
    if unsafe { libc::uname(&mut names) } != 0 {
        return None;
    }
    let text = |field: &[libc::c_char]| {
        let bytes: Vec<u8> = field
            .iter()
            .take_while(|c| **c != 0)
            .map(|c| *c as u8)
            .collect();
        String::from_utf8_lossy(&bytes).into_owned()
    };
    Some(Names {
        host: text(&names.nodename),
        release: text(&names.release),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_and_units() {
        let cpuinfo = "processor\t: 0\nmodel name\t: Some CPU @ 2.5GHz: fast\nflags\t\t: fpu avx2 fma sse2 avx2\n";
        assert_eq!(
            field(cpuinfo, "model name"),
            Some("Some CPU @ 2.5GHz: fast")
        );
        assert_eq!(field(cpuinfo, "Features"), None);
        assert_eq!(
            arithmetic_features("fpu avx2 smep fma sse2 avx2"),
            ["avx2", "fma", "sse2"]
        );
        assert_eq!(
            memory_bytes("MemTotal:       24652052 kB\n"),
            Some(24_652_052 * 1024)
        );
        assert_eq!(memory_bytes("MemFree: 1 kB"), None);
    }
}
