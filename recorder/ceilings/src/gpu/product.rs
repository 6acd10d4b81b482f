//! Products that kernels of tensor cores make, known beforehand.
//!
//! A row of A holds one value, a column of B holds one, each of them 1 or 2. So every instruction adds
//! `depth * row * column` to an accumulator. A kernel whose sums differ did other work than is counted, and gets no
//! ceiling. All sums are whole numbers that every accumulator holds exactly.

/// Bit sets of the rows and columns that contain twos. `tensor.cu` has the same constants.
const TWO_ROWS: u64 = 0x9E37_79B9_7F4A_7C15;
const TWO_COLUMNS: u64 = 0xD6E8_FEB8_6659_FD93;

/// Value of a row of A.
pub fn row(nth: u32) -> f64 {
    f64::from(1 + (TWO_ROWS >> (nth % 64) & 1) as u32)
}

/// Value of a column of B.
pub fn column(nth: u32) -> f64 {
    f64::from(1 + (TWO_COLUMNS >> (nth % 64) & 1) as u32)
}

/// The part of a product that a thread holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parts {
    /// Of `mma.sync` with eight rows.
    Warp8,
    /// Of `mma.sync` with sixteen rows.
    Warp16,
    /// Of `wgmma` with 64 rows and 256 columns: each warp of the four has sixteen rows.
    WarpGroup,
    /// Of `tcgen05.mma` with 128 rows and 256 columns: each thread has a row.
    Lanes,
}

/// What a kernel computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Product {
    pub parts: Parts,
    /// K of an instruction.
    pub depth: u32,
}

/// Type of the sum that a thread writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SumType {
    F32,
    F64,
    I32,
}

impl Product {
    /// Sum that a thread writes after this many rounds of sixteen instructions.
    pub fn sum(self, thread: u32, rounds: u32) -> f64 {
        let (warp, group, nth) = (thread / 32, thread % 32 / 4, thread % 4);
        let pair = |first: u32| column(first) + column(first + 1);
        let (rows, columns) = match self.parts {
            Parts::Warp8 => (row(group), pair(2 * nth)),
            Parts::Warp16 => (row(group) + row(group + 8), pair(2 * nth)),
            Parts::WarpGroup => {
                let first = 16 * (warp % 4) + group;
                let columns = (0..32).map(|eight| pair(8 * eight + 2 * nth)).sum();
                (row(first) + row(first + 8), columns)
            }
            Parts::Lanes => (row(thread % 128), (0..256).map(column).sum()),
        };
        f64::from(16 * rounds * self.depth) * rows * columns
    }

    /// The first thread whose sum is another, with both sums.
    pub fn differs(
        self,
        sums: &[u64],
        kind: SumType,
        threads: u32,
        rounds: u32,
    ) -> Option<(u32, f64, f64)> {
        (0..threads).find_map(|thread| {
            let half = || {
                let word = sums.get(thread as usize / 2).copied().unwrap_or(0);
                (word >> (32 * (thread % 2))) as u32
            };
            let found = match kind {
                SumType::F32 => f64::from(f32::from_bits(half())),
                SumType::I32 => f64::from(half().cast_signed()),
                SumType::F64 => f64::from_bits(sums.get(thread as usize).copied().unwrap_or(0)),
            };
            let expected = self.sum(thread, rounds);
            (found != expected).then_some((thread, found, expected))
        })
    }
}
