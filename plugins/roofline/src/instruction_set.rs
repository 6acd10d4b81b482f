//! From the name of a backend to the instruction set whose ceiling limits it.

/// Where a backend's work runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// On the processor, with this instruction set.
    Cpu(&'static str),
    /// On an accelerator.
    Accelerator,
    /// A name that says neither.
    Unknown,
}

/// Instruction sets as ceilings call them, the narrowest first.
pub const NARROW_TO_WIDE: [&str; 5] = ["scalar", "sse2", "neon", "avx2", "avx512"];

const ACCELERATORS: [&str; 10] = [
    "cuda", "gpu", "hip", "rocm", "wgpu", "vulkan", "metal", "opencl", "ptx", "cublas",
];

/// Reads a backend, without regard to case. `avx512+scalar` is work of both: the widest limits it.
pub fn backend(name: &str) -> Backend {
    let name = name.to_lowercase();
    let mut widest = None;
    for part in name
        .split(['+', ',', '/', ' '])
        .filter(|part| !part.is_empty())
    {
        if ACCELERATORS.iter().any(|known| part.starts_with(known)) {
            return Backend::Accelerator;
        }
        let Some(rank) = rank_of_part(part) else {
            return Backend::Unknown;
        };
        widest = widest.max(Some(rank));
    }
    widest.map_or(Backend::Unknown, |rank| Backend::Cpu(NARROW_TO_WIDE[rank]))
}

fn rank_of_part(part: &str) -> Option<usize> {
    let plain = part.replace(['-', '_'], "");
    let set = match plain.as_str() {
        "scalar" => "scalar",
        "neon" | "asimd" => "neon",
        _ if plain.starts_with("avx512") => "avx512",
        "avx2" | "avx2fma" => "avx2",
        // Which of the later ones has no ceiling of its own, and none is wider than 128 bits.
        _ if plain.starts_with("sse") => "sse2",
        _ => return None,
    };
    NARROW_TO_WIDE.iter().position(|known| *known == set)
}

/// Place in [`NARROW_TO_WIDE`]; what runs elsewhere comes after all of them.
pub fn width_rank(name: &str) -> Option<usize> {
    match backend(name) {
        Backend::Cpu(set) => NARROW_TO_WIDE.iter().position(|known| *known == set),
        Backend::Accelerator => Some(NARROW_TO_WIDE.len()),
        Backend::Unknown => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_use() {
        for (name, expected) in [
            ("scalar", Backend::Cpu("scalar")),
            ("AVX-512", Backend::Cpu("avx512")),
            ("avx512f", Backend::Cpu("avx512")),
            ("avx512+scalar", Backend::Cpu("avx512")),
            ("scalar+avx512", Backend::Cpu("avx512")),
            ("avx2+sse2", Backend::Cpu("avx2")),
            ("sse4.2", Backend::Cpu("sse2")),
            ("NEON", Backend::Cpu("neon")),
            ("cuda", Backend::Accelerator),
            ("wgpu", Backend::Accelerator),
            ("avx", Backend::Unknown),
            ("fast", Backend::Unknown),
            ("avx2+fast", Backend::Unknown),
            ("", Backend::Unknown),
        ] {
            assert_eq!(backend(name), expected, "{name}");
        }
    }
}
