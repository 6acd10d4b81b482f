//! From the name of a backend to the instruction set whose ceiling limits it.

/// Processor or device that a backend's work runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// A processor with this instruction set.
    Cpu(&'static str),
    /// An accelerator.
    Accelerator,
    /// The name says neither.
    Unknown,
    /// The name says only a precision.
    Unsaid,
}

/// Instruction sets as ceilings call them, the narrowest first.
pub const NARROW_TO_WIDE: [&str; 5] = ["scalar", "sse2", "neon", "avx2", "avx512"];

const ACCELERATORS: [&str; 10] = [
    "cuda", "gpu", "hip", "rocm", "wgpu", "vulkan", "metal", "opencl", "ptx", "cublas",
];

const PRECISIONS: [&str; 10] = [
    "f64", "f32", "tf32", "f16", "bf16", "f8", "f4", "i32", "i16", "i8",
];

fn parts(name: &str) -> impl Iterator<Item = &str> {
    name.split(['+', ',', '/', ' '])
        .filter(|part| !part.is_empty())
}

/// The precision a backend says (`avx512 f64`), without regard to case; `None`: none, or several.
pub fn precision(name: &str) -> Option<&'static str> {
    let name = name.to_lowercase();
    let mut found = parts(&name).filter_map(|part| PRECISIONS.into_iter().find(|p| *p == part));
    let first = found.next()?;
    found.all(|other| other == first).then_some(first)
}

/// Reads a backend, without regard to case. `avx512+scalar` is work of both: the widest limits it.
pub fn backend(name: &str) -> Backend {
    let name = name.to_lowercase();
    let mut widest = None;
    let mut is_precision_said = false;
    for part in parts(&name) {
        if PRECISIONS.contains(&part) {
            is_precision_said = true;
            continue;
        }
        if ACCELERATORS.iter().any(|known| part.starts_with(known)) {
            return Backend::Accelerator;
        }
        let Some(rank) = rank_of_part(part) else {
            return Backend::Unknown;
        };
        widest = widest.max(Some(rank));
    }
    match widest {
        Some(rank) => Backend::Cpu(NARROW_TO_WIDE[rank]),
        None if is_precision_said => Backend::Unsaid,
        None => Backend::Unknown,
    }
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
        Backend::Unknown | Backend::Unsaid => None,
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
            ("avx512 F64", Backend::Cpu("avx512")),
            ("f64+avx2", Backend::Cpu("avx2")),
            ("f16 cuda", Backend::Accelerator),
            ("f64", Backend::Unsaid),
            ("f64 fast", Backend::Unknown),
        ] {
            assert_eq!(backend(name), expected, "{name}");
        }
    }

    #[test]
    fn precisions_that_backends_say() {
        for (name, expected) in [
            ("avx512 f64", Some("f64")),
            ("BF16/cuda", Some("bf16")),
            ("f64", Some("f64")),
            ("avx512 f64 f64", Some("f64")),
            ("avx512 f64+f32", None),
            ("avx512f", None),
            ("avx512 f640", None),
            ("", None),
        ] {
            assert_eq!(precision(name), expected, "{name}");
        }
    }
}
