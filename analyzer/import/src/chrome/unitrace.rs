//! What Intel's unitrace writes into names of device work: sizes of copies, launch shapes of kernels.
//!
//! `gemm[SIMD32 {16; 1; 1} {256; 1; 1}]`, `zeCommandListAppendMemoryCopy(M2D)[4096]`: `GetZeKernelCommandName` of
//! github.com/intel/pti-gpu at fcd0ca81.

use super::category::Class;
use crate::cuda::cupti_enums::Direction;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Described<'n> {
    pub name: &'n str,
    pub class: Class,
    pub direction: Option<Direction>,
    pub bytes: Option<i64>,
    pub shape: Option<[[u32; 3]; 2]>,
}

/// Splits a name; `None` if it has no such parts.
pub(super) fn described(name: &str) -> Option<Described<'_>> {
    let (plain, details) = match name
        .strip_suffix(']')
        .and_then(|name| name.rsplit_once('['))
    {
        Some((plain, details)) => (plain, Some(details)),
        None => (name, None),
    };
    if let Some(operation) = plain.strip_prefix("zeCommandListAppend") {
        let class = match operation {
            _ if operation.starts_with("MemoryFill") => Class::Fill,
            _ if operation.contains("Copy") => Class::Copy,
            _ => return None,
        };
        let ends = operation
            .split_once('(')
            .and_then(|(_, ends)| ends.strip_suffix(')'));
        return Some(Described {
            name: plain,
            class,
            direction: ends.and_then(direction),
            bytes: details.and_then(|bytes| bytes.parse().ok()),
            shape: None,
        });
    }
    let details = details?.strip_prefix("SIMD")?;
    let mut lists = details.split('{').skip(1).map(three);
    Some(Described {
        name: plain,
        class: Class::Kernel,
        direction: None,
        bytes: None,
        shape: Some([lists.next()??, lists.next()??]),
    })
}

/// `H` is host memory, `M` memory from `malloc`, `D` the device, `S` shared memory, which may be located anywhere.
fn direction(ends: &str) -> Option<Direction> {
    let (from, to) = ends.split_once('2')?;
    let is_host = |end| matches!(end, "H" | "M");
    Some(match (from, to) {
        (from, "D") if is_host(from) => Direction::HostToDevice,
        ("D", to) if is_host(to) => Direction::DeviceToHost,
        ("D", "D") => Direction::DeviceToDevice,
        (from, to) if is_host(from) && is_host(to) => Direction::HostToHost,
        _ => return None,
    })
}

/// Parses `16; 1; 1} `.
fn three(list: &str) -> Option<[u32; 3]> {
    let mut numbers = list.trim_end().trim_end_matches('}').split(';');
    let mut next = || numbers.next()?.trim().parse::<u32>().ok();
    let three = [next()?, next()?, next()?];
    numbers.next().is_none().then_some(three)
}

/// An event of category `cpu_op` that is a call of Level Zero or OpenCL rather than an operator.
pub(super) fn is_call(name: &[u8]) -> bool {
    let may_be = name.starts_with(b"ze") || name.starts_with(b"cl");
    let name = if may_be {
        std::str::from_utf8(name).ok()
    } else {
        None
    };
    name.is_some_and(|name| trueno_analysis::vendors::call(name).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_taken_apart() {
        let gemm = described("gemm<float[4]>[SIMD32 {16; 2; 1} {256; 1; 1}]").unwrap();
        assert_eq!((gemm.name, gemm.class), ("gemm<float[4]>", Class::Kernel));
        assert_eq!(gemm.shape, Some([[16, 2, 1], [256, 1, 1]]));
        let copy = described("zeCommandListAppendMemoryCopy(M2D)[4096]").unwrap();
        assert_eq!((copy.class, copy.bytes), (Class::Copy, Some(4096)));
        assert_eq!(copy.direction, Some(Direction::HostToDevice));
        let copy = described("zeCommandListAppendMemoryCopy(S2D)").unwrap();
        assert_eq!((copy.direction, copy.bytes), (None, None));
        let fill = described("zeCommandListAppendMemoryFill[64]").unwrap();
        assert_eq!((fill.class, fill.bytes), (Class::Fill, Some(64)));
        for name in [
            "gemm",
            "a[b]",
            "f[SIMD_ANY {1; 1}]",
            "zeCommandListAppendBarrier",
            "]",
            "[SIMD",
        ] {
            assert_eq!(described(name), None, "{name}");
        }
    }

    #[test]
    fn calls_are_told_from_operators() {
        assert!(is_call(b"zeCommandListAppendLaunchKernel"));
        assert!(!is_call(b"zeropower") && !is_call(b"aten::mm") && !is_call(b"clamp"));
    }
}
