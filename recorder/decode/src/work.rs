//! Declared work of a kernel: the formulas, all for `f32` (4 bytes).
//!
//! Every operand counts once, as if read from or written to memory once; a
//! transcendental function counts as one operation. A brick declares the sum
//! over the kernels it really ran, repetitions included.

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    pub flops: u64,
    pub read_bytes: u64,
    pub written_bytes: u64,
}

impl Work {
    pub const fn new(flops: usize, read: usize, written: usize) -> Work {
        Work {
            flops: flops as u64,
            read_bytes: 4 * read as u64,
            written_bytes: 4 * written as u64,
        }
    }

    /// m x n matrix times vector: 2mn operations; reads mn + n, writes m.
    pub const fn matvec(m: usize, n: usize) -> Work {
        Work::new(2 * m * n, m * n + n, m)
    }

    /// m x k times k x n: 2mnk operations; reads mk + kn, writes mn.
    pub const fn matmul(m: usize, n: usize, k: usize) -> Work {
        Work::new(2 * m * n * k, m * k + k * n, m * n)
    }

    /// One block added to a product: 2mnk operations; reads mk + kn + mn, writes mn.
    pub const fn block(m: usize, n: usize, k: usize) -> Work {
        Work::new(2 * m * n * k, m * k + k * n + m * n, m * n)
    }

    /// n values reduced to one, with `per` operations each: reads n, writes 1.
    pub const fn reduction(n: usize, per: usize) -> Work {
        Work::new(per * n, n, 1)
    }

    /// n values from `operands` vectors of n, with `per` operations each.
    pub const fn elementwise(n: usize, operands: usize, per: usize) -> Work {
        Work::new(per * n, operands * n, n)
    }

    /// n values copied: no operations.
    pub const fn copy(n: usize) -> Work {
        Work::new(0, n, n)
    }

    pub const fn bytes(self) -> u64 {
        self.read_bytes + self.written_bytes
    }

    pub const fn plus(self, other: Work) -> Work {
        Work {
            flops: self.flops + other.flops,
            read_bytes: self.read_bytes + other.read_bytes,
            written_bytes: self.written_bytes + other.written_bytes,
        }
    }
}
