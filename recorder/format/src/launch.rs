//! Shape and source of a kernel launch: as a guard is told, as a record holds it, and the columns that it fills.

use crate::kernel_source::PtxHash;
use crate::record::{Record, extension, pair, unpair};
use crate::schema::KernelRow;

const GRID: u8 = 1;
const BLOCK: u8 = 2;
const PTX: u8 = 4;
const SHARED_MEMORY: u8 = 8;

/// A launch as far as it is known: each part may be missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Launch {
    /// A bit for each part that is known.
    given: u8,
    grid: [u32; 3],
    block: [u32; 3],
    ptx: u64,
    shared_memory_bytes: u32,
}

impl Launch {
    /// Blocks of the launch.
    #[inline(always)]
    pub fn set_grid(&mut self, grid: [u32; 3]) {
        self.grid = grid;
        self.given |= GRID;
    }

    /// Threads of a block.
    #[inline(always)]
    pub fn set_block(&mut self, block: [u32; 3]) {
        self.block = block;
        self.given |= BLOCK;
    }

    /// The source.
    #[inline(always)]
    pub fn set_ptx(&mut self, hash: PtxHash) {
        self.ptx = hash.get();
        self.given |= PTX;
    }

    /// Bytes of dynamic shared memory.
    #[inline(always)]
    pub fn set_shared_memory(&mut self, bytes: u32) {
        self.shared_memory_bytes = bytes;
        self.given |= SHARED_MEMORY;
    }

    /// True if any part is known.
    #[inline(always)]
    pub fn is_given(&self) -> bool {
        self.given != 0
    }

    /// The extension record that holds it.
    pub fn record(&self) -> Record {
        Record {
            kind: extension::LAUNCH,
            flags: self.given,
            start: pair(self.grid[0], self.grid[1]),
            end: pair(self.grid[2], self.block[0]),
            m: [
                pair(self.block[1], self.block[2]),
                self.ptx,
                u64::from(self.shared_memory_bytes),
                0,
            ],
            ..Record::default()
        }
    }

    pub(crate) fn from_record(record: &Record) -> Self {
        let ((grid_x, grid_y), (grid_z, block_x)) = (unpair(record.start), unpair(record.end));
        let (block_y, block_z) = unpair(record.m[0]);
        Self {
            given: record.flags,
            grid: [grid_x, grid_y, grid_z],
            block: [block_x, block_y, block_z],
            ptx: record.m[1],
            shared_memory_bytes: record.m[2] as u32,
        }
    }

    fn has(&self, part: u8) -> bool {
        self.given & part != 0
    }

    /// The source; its name is a text of the run.
    pub(crate) fn ptx(&self) -> Option<PtxHash> {
        self.has(PTX).then(|| PtxHash::from_number(self.ptx))
    }

    #[inline]
    pub(crate) fn row(&self) -> KernelRow {
        let number = |part: u8, value: u32| self.has(part).then_some(value);
        KernelRow {
            grid_x: number(GRID, self.grid[0]),
            grid_y: number(GRID, self.grid[1]),
            grid_z: number(GRID, self.grid[2]),
            block_x: number(BLOCK, self.block[0]),
            block_y: number(BLOCK, self.block[1]),
            block_z: number(BLOCK, self.block[2]),
            smem_dynamic: number(SHARED_MEMORY, self.shared_memory_bytes),
            ..KernelRow::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_launch_survives_its_record() {
        let mut launch = Launch::default();
        assert_eq!(Launch::from_record(&launch.record()), launch);
        assert_eq!(launch.row(), KernelRow::default());
        launch.set_grid([1, 2, u32::MAX]);
        launch.set_shared_memory(0);
        assert_eq!(Launch::from_record(&launch.record()), launch);
        let row = launch.row();
        assert_eq!((row.grid_x, row.grid_z), (Some(1), Some(u32::MAX)));
        assert_eq!((row.block_x, row.smem_dynamic), (None, Some(0)));
        assert_eq!(launch.ptx(), None);
        launch.set_block([4, 5, 6]);
        launch.set_ptx(PtxHash::from_number(7));
        let read = Launch::from_record(&launch.record());
        assert_eq!(read, launch);
        assert_eq!(read.ptx(), Some(PtxHash::from_number(7)));
        assert_eq!(read.row().block_z, Some(6));
    }
}
