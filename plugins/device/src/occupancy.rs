//! How much of a multiprocessor a launch can fill, on NVIDIA's devices.
//!
//! The rules and the limits are those of NVIDIA's occupancy calculator (`cuda_occupancy.h` of the CUDA toolkit) and of
//! the table of technical specifications in the CUDA programming guide. Shared memory is taken to be as large as the
//! device can make it.

/// Threads of a warp.
const WARP: u64 = 32;
/// Registers of a multiprocessor, of every device from 5.0 on.
const REGISTERS: u64 = 65_536;
/// Registers are given to warps in pieces of this size.
const REGISTER_UNIT: u64 = 256;

/// What a multiprocessor can hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    warps: u64,
    blocks: u64,
    shared_bytes: u64,
    /// Shared memory is given to blocks in pieces of this size.
    shared_unit_bytes: u64,
    /// Shared memory that the driver takes for each block.
    reserved_bytes: u64,
    /// Parts of the register file. A warp's registers lie in one of them.
    partitions: u64,
}

impl Limits {
    /// Limits of a compute capability such as `9.0`. `None`: not in NVIDIA's table, or not in ours.
    pub fn of(capability: &str) -> Option<Self> {
        let (warps, blocks, shared_kib) = match capability {
            "5.0" | "6.0" | "6.2" => (64, 32, 64),
            "5.2" | "6.1" | "7.0" | "7.2" => (64, 32, 96),
            "7.5" => (32, 16, 64),
            "8.0" => (64, 32, 164),
            "8.6" => (48, 16, 100),
            "8.7" => (48, 16, 164),
            "8.9" | "12.0" | "12.1" => (48, 24, 100),
            "9.0" | "10.0" | "10.3" => (64, 32, 228),
            _ => return None,
        };
        let is_old = matches!(capability.as_bytes()[0], b'5'..=b'7');
        Some(Self {
            warps,
            blocks,
            shared_bytes: shared_kib << 10,
            shared_unit_bytes: if is_old { 256 } else { 128 },
            reserved_bytes: if is_old { 0 } else { 1 << 10 },
            partitions: if capability == "6.0" { 2 } else { 4 },
        })
    }
}

/// What a launch needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Launch {
    pub blocks: u64,
    /// Of a block.
    pub threads: u64,
    /// Of a thread.
    pub registers: u64,
    /// Of a block, static and dynamic.
    pub shared_bytes: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitedBy {
    Warps,
    Blocks,
    Registers,
    SharedMemory,
    /// The grid has fewer blocks than the device could hold.
    Grid,
}

impl LimitedBy {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Warps => "warps",
            Self::Blocks => "blocks",
            Self::Registers => "registers",
            Self::SharedMemory => "shared memory",
            Self::Grid => "grid",
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Occupancy {
    /// Warps on a multiprocessor, as a share of those that it can hold: the most that the launch allows, on average
    /// over the multiprocessors.
    pub share: f64,
    /// Blocks of the launch over the blocks that the device holds at once.
    pub waves: f64,
    /// Each that allows no more. Empty: the multiprocessors can be full.
    pub limited_by: Vec<LimitedBy>,
}

impl Occupancy {
    /// What limits it, in words; empty: nothing.
    pub fn limits(&self) -> String {
        let names = self.limited_by.iter().map(|limit| limit.name());
        names.collect::<Vec<_>>().join(", ")
    }

    /// `None`: the launch does not fit the device, so what is recorded of it or of the device is not true.
    pub fn of(launch: Launch, limits: Limits, multiprocessors: u64) -> Option<Self> {
        let warps = launch.threads.div_ceil(WARP);
        if warps == 0 || launch.blocks == 0 || multiprocessors == 0 {
            return None;
        }
        let by_registers = match (launch.registers * WARP).next_multiple_of(REGISTER_UNIT) {
            0 => u64::MAX,
            of_warp => REGISTERS / limits.partitions / of_warp * limits.partitions / warps,
        };
        let shared_bytes = launch.shared_bytes.saturating_add(limits.reserved_bytes);
        let by_shared_memory =
            match shared_bytes.checked_next_multiple_of(limits.shared_unit_bytes)? {
                0 => u64::MAX,
                of_block => limits.shared_bytes / of_block,
            };
        let most = [
            (limits.warps / warps, LimitedBy::Warps),
            (limits.blocks, LimitedBy::Blocks),
            (by_registers, LimitedBy::Registers),
            (by_shared_memory, LimitedBy::SharedMemory),
        ];
        let resident = most.iter().map(|(blocks, _)| *blocks).min()?;
        if resident == 0 {
            return None;
        }
        let each = launch.blocks as f64 / multiprocessors as f64;
        let held = each.min(resident as f64);
        let share = held * warps as f64 / limits.warps as f64;
        let limited_by = if each < resident as f64 {
            vec![LimitedBy::Grid]
        } else if share < 1.0 {
            let limits = most.iter().filter(|(blocks, _)| *blocks == resident);
            limits.map(|(_, limit)| *limit).collect()
        } else {
            Vec::new()
        };
        Some(Self {
            share,
            waves: each / resident as f64,
            limited_by,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launch(blocks: u64, threads: u64, registers: u64, shared_bytes: u64) -> Launch {
        Launch {
            blocks,
            threads,
            registers,
            shared_bytes,
        }
    }

    #[track_caller]
    fn check(capability: &str, of: Launch, multiprocessors: u64, expected: (f64, &str)) {
        let limits = Limits::of(capability).expect("a capability of the table");
        let found = Occupancy::of(of, limits, multiprocessors).expect("it fits");
        assert!((found.share - expected.0).abs() < 5e-4, "{found:?}");
        assert_eq!(found.limits(), expected.1, "{found:?}");
    }

    /// Launches of public PyTorch traces.
    #[test]
    fn launches_fill_what_the_calculator_says() {
        check("9.0", launch(17_888, 128, 18, 0), 132, (1.0, ""));
        check("9.0", launch(18, 128, 20, 0), 132, (0.0085, "grid"));
        // One block of 12 warps, for its shared memory. PyTorch's profiler prints 0.
        check(
            "9.0",
            launch(132, 384, 168, 231_424),
            132,
            (0.1875, "registers, shared memory"),
        );
        check("8.0", launch(4096, 256, 255, 0), 108, (0.125, "registers"));
        check("8.6", launch(4096, 1024, 32, 0), 82, (0.667, "warps"));
        check("7.5", launch(4096, 32, 16, 0), 40, (0.5, "blocks"));
        check("6.0", launch(4096, 64, 255, 0), 56, (0.125, "registers"));
    }

    #[test]
    fn all_that_allow_no_more_are_named() {
        let both = launch(4_096, 1_024, 64, 0);
        check("9.0", both, 132, (0.5, "registers"));
        check("8.6", both, 82, (0.667, "warps, registers"));
    }

    #[test]
    fn a_launch_that_does_not_fit_has_no_occupancy() {
        let limits = Limits::of("9.0").unwrap();
        assert_eq!(
            Occupancy::of(launch(1, 2_048 + 32, 0, 0), limits, 132),
            None
        );
        assert_eq!(Occupancy::of(launch(1, 32, 0, 1 << 20), limits, 132), None);
        assert_eq!(Occupancy::of(launch(0, 32, 0, 0), limits, 132), None);
        assert_eq!(Limits::of("gfx942"), None);
        assert_eq!(Limits::of(""), None);
    }
}
