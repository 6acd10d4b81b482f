//! The registers that finding callers begins with.

use framehop::UnwindRegsNative;

/// The registers of a sample, as the kernel numbers them for this architecture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Registers {
    pub instruction: u64,
    pub stack: u64,
    frame: u64,
    #[cfg(target_arch = "aarch64")]
    link: u64,
}

#[cfg(target_arch = "x86_64")]
mod numbers {
    const FRAME: u64 = 6;
    const STACK: u64 = 7;
    const INSTRUCTION: u64 = 8;
    pub const MASK: u64 = 1 << FRAME | 1 << STACK | 1 << INSTRUCTION;
}

pub(crate) const COUNT: usize = MASK.count_ones() as usize;

#[cfg(target_arch = "aarch64")]
mod numbers {
    const FRAME: u64 = 29;
    const LINK: u64 = 30;
    const STACK: u64 = 31;
    const INSTRUCTION: u64 = 32;
    pub const MASK: u64 = 1 << FRAME | 1 << LINK | 1 << STACK | 1 << INSTRUCTION;
}

pub(crate) use numbers::MASK;

impl Registers {
    /// From values in the kernel's order.
    #[cfg(target_arch = "x86_64")]
    pub fn new(values: &[u64]) -> Option<Self> {
        let &[frame, stack, instruction] = values else {
            return None;
        };
        Some(Self {
            instruction,
            stack,
            frame,
        })
    }

    /// From values in the kernel's order.
    #[cfg(target_arch = "aarch64")]
    pub fn new(values: &[u64]) -> Option<Self> {
        let &[frame, link, stack, instruction] = values else {
            return None;
        };
        Some(Self {
            instruction,
            stack,
            frame,
            link,
        })
    }

    /// In the unwinder's form.
    #[cfg(target_arch = "x86_64")]
    pub fn unwind(&self) -> UnwindRegsNative {
        UnwindRegsNative::new(self.instruction, self.stack, self.frame)
    }

    /// In the unwinder's form. Pointer authentication codes are in the high bits of return addresses.
    #[cfg(target_arch = "aarch64")]
    pub fn unwind(&self) -> UnwindRegsNative {
        let mask = framehop::aarch64::PtrAuthMask::from_max_known_address((1 << 48) - 1);
        UnwindRegsNative::new_with_ptr_auth_mask(mask, self.link, self.stack, self.frame)
    }
}
