//! Names of kernels and backends, interned once, so that opening a row looks
//! nothing up.

use super::backend::Backend;
use trueno_recorder::Name;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kernel {
    Matvec,
    /// Several rows times a matrix, in tiles.
    MatmulBlocked,
    Dot,
    Max,
    Sum,
    Scale,
    Shift,
    Add,
    Mul,
    /// Elementwise product and sum.
    Fma,
    Exp,
    /// Elementwise x / (1 + e^-x).
    Silu,
}

impl Kernel {
    const ALL: [Kernel; 12] = [
        Kernel::Matvec,
        Kernel::MatmulBlocked,
        Kernel::Dot,
        Kernel::Max,
        Kernel::Sum,
        Kernel::Scale,
        Kernel::Shift,
        Kernel::Add,
        Kernel::Mul,
        Kernel::Fma,
        Kernel::Exp,
        Kernel::Silu,
    ];

    const fn name(self) -> &'static str {
        match self {
            Kernel::Matvec => "matvec",
            Kernel::MatmulBlocked => "matmul_blocked",
            Kernel::Dot => "dot",
            Kernel::Max => "max",
            Kernel::Sum => "sum",
            Kernel::Scale => "scale",
            Kernel::Shift => "shift",
            Kernel::Add => "add",
            Kernel::Mul => "mul",
            Kernel::Fma => "fma",
            Kernel::Exp => "exp",
            Kernel::Silu => "silu",
        }
    }
}

pub struct KernelNames {
    kernels: [Name; Kernel::ALL.len()],
    backends: [Name; Backend::ALL.len()],
    /// A backend together with scalar code in the same brick.
    mixed: [Name; Backend::ALL.len()],
}

impl Default for KernelNames {
    fn default() -> Self {
        Self::new()
    }
}

impl KernelNames {
    pub fn new() -> KernelNames {
        KernelNames {
            kernels: Kernel::ALL.map(|kernel| Name::new(kernel.name())),
            backends: Backend::ALL.map(|backend| Name::new(backend.name())),
            mixed: Backend::ALL.map(|backend| Name::new(&format!("{}+scalar", backend.name()))),
        }
    }

    pub fn kernel(&self, kernel: Kernel) -> Name {
        self.kernels[kernel as usize]
    }

    pub fn backend(&self, backend: Backend) -> Name {
        self.backends[backend as usize]
    }

    /// The name of a wider backend together with scalar code.
    pub fn mixed(&self, backend: Backend) -> Name {
        self.mixed[backend as usize]
    }
}
