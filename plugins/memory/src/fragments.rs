//! Fragmentation, from addresses.
//!
//! The *footprint* at a moment is the union of all address ranges that held a block up to then:
//! memory the allocator is known to have had. What of it holds no live block is free. External
//! fragmentation = 1 − largest free piece / all free bytes: 0 when all that is free lies together,
//! near 1 when it lies in crumbs.
//!
//! Where the allocator says how much it has reserved (counters `gpu<n> reserved`), the footprint is that. Addresses then do not
//! show the pieces: segments that are side by side do not join, and memory that held no block has no address. The pieces are
//! those of its segments (`gpu<n> largest free piece`) if they were recorded, else they are not known. Segments without a block
//! (`gpu<n> free segments`) can be returned or used for anything: they are a cache and count as neither footprint's free bytes
//! nor pieces. Where an allocator does not say what it has reserved, returned memory still counts as footprint.

use trueno_analysis::intervals::{IntervalSet, IntervalSetBuilder};
use trueno_plugin::{Table, TableBuilder};

use crate::events::{Event, Events};
use crate::initial_live::FreeInSegments;
use crate::ledger::Ledger;
use crate::pools::{Pool, cell};

/// Address ranges that held a block, while rows are added.
#[derive(Clone, Debug, Default)]
pub struct Footprint(IntervalSetBuilder<u64>, Seals);

/// Addresses come again and again, so that ranges sorted once swallow most of the later ones.
#[derive(Clone, Debug, Default)]
struct Seals {
    added: u64,
    next_at: u64,
}

const FIRST_SEAL_AT: u64 = 1 << 14;

impl Footprint {
    pub fn add(&mut self, event: &Event) {
        let Some(address) = event.address.filter(|_| event.bytes > 0) else {
            return;
        };
        let (from, to) = range(address, event.bytes);
        self.0.add(from, to);
        let seals = &mut self.1;
        seals.added += 1;
        if seals.added >= seals.next_at.max(FIRST_SEAL_AT) {
            seals.next_at = 2 * seals.added;
            self.0.seal();
        }
    }
}

fn range(address: u64, bytes: i64) -> (u64, u64) {
    let bytes = u64::try_from(bytes).unwrap_or(0);
    (address, address.saturating_add(bytes))
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fragments {
    pub footprint: i128,
    pub live: i128,
    /// Segments of the allocator without a block; `None`: not known.
    pub in_free_segments: Option<i128>,
    /// Largest free piece of a segment, or of the addresses used so far if nothing says what was reserved; `None`: not
    /// known.
    pub largest_free: Option<i128>,
    /// The allocator said how much it had reserved.
    pub is_reserved: bool,
    /// Live bytes in more than one block, such as a pool and the blocks in it.
    pub twice: i128,
}

impl Fragments {
    /// `footprint` is of the rows up to the moment, `ledger` what was live then, `reserved` and `segments` what the
    /// allocator had.
    pub fn at(
        footprint: Footprint,
        ledger: &Ledger,
        reserved: Option<i64>,
        segments: Option<FreeInSegments>,
    ) -> Self {
        let footprint = footprint.0.finish();
        let blocks = ledger.blocks();
        let blocks: Vec<_> = blocks
            .map(|block| range(block.address, block.bytes))
            .collect();
        let in_blocks = length(&blocks);
        let live: IntervalSet<u64> = blocks.into_iter().collect();
        let free = footprint.difference(&live);
        let largest_free = free.ranges().iter().map(size).max().unwrap_or(0);
        let of_addresses = Self {
            footprint: length(footprint.ranges()),
            live: length(live.ranges()),
            in_free_segments: None,
            largest_free: Some(largest_free),
            is_reserved: false,
            twice: in_blocks - length(live.ranges()),
        };
        // Blocks of before the recording have no addresses.
        let all_live = ledger.total() - of_addresses.twice;
        match reserved.map(i128::from) {
            Some(reserved) if reserved >= all_live => Self {
                footprint: reserved,
                live: all_live,
                in_free_segments: segments.map(|of| of.in_free_segments.into()),
                largest_free: segments.map(|of| of.largest_piece.into()),
                is_reserved: true,
                ..of_addresses
            },
            _ => of_addresses,
        }
    }

    /// Free bytes beside blocks.
    pub fn free(&self) -> i128 {
        (self.footprint - self.live - self.in_free_segments.unwrap_or(0)).max(0)
    }

    /// 1 − largest free piece / free; `None` if nothing is free, or the pieces are not known.
    pub fn share(&self) -> Option<f64> {
        let largest = self.largest_free.filter(|_| self.free() > 0)?;
        Some(1.0 - largest as f64 / self.free() as f64)
    }

    pub fn free_share(&self) -> Option<f64> {
        (self.footprint > 0).then(|| self.free() as f64 / self.footprint as f64)
    }
}

fn size(range: &(u64, u64)) -> i128 {
    i128::from(range.1) - i128::from(range.0)
}

fn length(ranges: &[(u64, u64)]) -> i128 {
    ranges.iter().map(size).sum()
}

/// Table `fragmentation`: for places with addresses a row at the peak and one after the last row.
/// `free_segments_bytes`: in segments of the allocator without a block, null if they are not known. `free_bytes` = footprint −
/// live − those. `fragmentation_share` = 1 − largest free / free, null if nothing is free or its pieces are not known.
/// `free_share` = free / footprint.
/// `twice_bytes` = Σ live blocks − their union.
pub fn table(events: &Events, pools: &[Pool]) -> TableBuilder {
    let rows: Vec<(usize, &str, &Fragments)> = pools
        .iter()
        .flat_map(|pool| {
            pool.fragments
                .iter()
                .map(|(moment, found)| (pool.place, *moment, found))
        })
        .collect();
    Table::build("fragmentation")
        .text("place", rows.iter().map(|row| events.places[row.0].name()))
        .text("moment", rows.iter().map(|row| row.1))
        .i64(
            "footprint_bytes",
            rows.iter().map(|row| cell(row.2.footprint)),
        )
        .i64("live_bytes", rows.iter().map(|row| cell(row.2.live)))
        .i64(
            "free_segments_bytes",
            rows.iter().map(|row| row.2.in_free_segments.map(cell)),
        )
        .i64("free_bytes", rows.iter().map(|row| cell(row.2.free())))
        .i64(
            "largest_free_bytes",
            rows.iter().map(|row| row.2.largest_free.map(cell)),
        )
        .f64("fragmentation_share", rows.iter().map(|row| row.2.share()))
        .f64("free_share", rows.iter().map(|row| row.2.free_share()))
        .i64("twice_bytes", rows.iter().map(|row| cell(row.2.twice)))
}
