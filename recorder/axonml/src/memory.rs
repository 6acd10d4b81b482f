//! Memory that a program says it takes and gives back.

use std::collections::{BTreeMap, HashMap, VecDeque};

use serde::{Deserialize, Serialize};
use trueno_recorder::finished::Moment;

use crate::session::Session;

/// One allocation, and what of it was freed.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct AllocationRecord {
    /// Its purpose.
    pub name: String,
    /// Bytes, less those that were freed.
    pub size: usize,
    /// Microseconds since the profiler was created or reset.
    pub timestamp: u64,
    /// True if all of it was freed.
    pub freed: bool,
}

/// Sums over allocations and frees.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct MemoryStats {
    /// Bytes allocated now.
    pub current_usage: usize,
    /// Most bytes allocated at one time.
    pub peak_usage: usize,
    /// Bytes allocated, in all.
    pub total_allocated: usize,
    /// Bytes freed, in all.
    pub total_freed: usize,
    /// Number of allocations.
    pub allocation_count: usize,
    /// Number of frees.
    pub deallocation_count: usize,
    /// Bytes allocated now, by name. Names with none are absent.
    pub per_name_usage: HashMap<String, usize>,
}

/// Tracks memory by name; each call is a row of `allocations`.
#[derive(Debug)]
pub struct MemoryProfiler {
    session: Session,
    origin: Moment,
    /// Live allocations by name, the oldest first.
    live: BTreeMap<String, VecDeque<AllocationRecord>>,
    /// All sums except those by name.
    sums: MemoryStats,
}

impl Default for MemoryProfiler {
    fn default() -> Self {
        Self::new()
    }
}

impl MemoryProfiler {
    /// Records to the run of the process; see the [crate documentation](crate).
    pub fn new() -> Self {
        Self::in_session(Session::of_process())
    }

    pub(crate) fn in_session(session: Session) -> Self {
        Self {
            origin: session.now(),
            session,
            live: BTreeMap::new(),
            sums: MemoryStats::default(),
        }
    }

    /// Records an allocation.
    pub fn record_alloc(&mut self, name: &str, bytes: usize) {
        self.record(name, bytes, 1);
        let record = AllocationRecord {
            name: name.to_owned(),
            size: bytes,
            timestamp: self.session.now().ns_since(self.origin) / 1_000,
            freed: false,
        };
        self.live
            .entry(name.to_owned())
            .or_default()
            .push_back(record);
        let sums = &mut self.sums;
        sums.allocation_count += 1;
        sums.total_allocated = sums.total_allocated.saturating_add(bytes);
        sums.current_usage = sums.current_usage.saturating_add(bytes);
        sums.peak_usage = sums.peak_usage.max(sums.current_usage);
    }

    /// Records a free: of the oldest allocation of that name and size, or else of the oldest ones of that name
    /// until the size is reached. Bytes beyond what the name has allocated are in the run and counted in its
    /// values, but are not subtracted from other names.
    pub fn record_free(&mut self, name: &str, bytes: usize) {
        self.record(name, bytes, -1);
        let freed = match self.live.get_mut(name) {
            Some(records) => take(records, bytes),
            None => 0,
        };
        if self.live.get(name).is_some_and(VecDeque::is_empty) {
            self.live.remove(name);
        }
        self.sums.deallocation_count += 1;
        self.sums.total_freed += freed;
        self.sums.current_usage = self.sums.current_usage.saturating_sub(freed);
        if freed < bytes {
            self.session.unmatched_free(bytes - freed);
        }
    }

    fn record(&self, name: &str, bytes: usize, sign: i64) {
        // More than half of all addresses is no memory.
        let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
        self.session
            .record(|rec| rec.allocation(name, sign * bytes, None));
    }

    /// Bytes allocated now.
    pub fn current_usage(&self) -> usize {
        self.sums.current_usage
    }

    /// Most bytes allocated at one time.
    pub fn peak_usage(&self) -> usize {
        self.sums.peak_usage
    }

    /// Bytes allocated, in all.
    pub fn total_allocated(&self) -> usize {
        self.sums.total_allocated
    }

    /// Bytes freed, in all.
    pub fn total_freed(&self) -> usize {
        self.sums.total_freed
    }

    /// All sums.
    pub fn stats(&self) -> MemoryStats {
        let bytes = |records: &VecDeque<AllocationRecord>| records.iter().map(|r| r.size).sum();
        let names = self
            .live
            .iter()
            .map(|(name, records)| (name.clone(), bytes(records)));
        MemoryStats {
            per_name_usage: names.filter(|(_, bytes)| *bytes > 0).collect(),
            ..self.sums.clone()
        }
    }

    /// Live allocations, by name and age. Once the program has ended, these are leaks.
    pub fn leaks(&self) -> Vec<AllocationRecord> {
        self.live.values().flatten().cloned().collect()
    }

    /// Drops everything; the run keeps its rows.
    pub fn reset(&mut self) {
        *self = Self::in_session(self.session.clone());
    }

    /// Formats bytes in B, KB, MB or GB (powers of 1024, named as in the original).
    pub fn format_bytes(bytes: usize) -> String {
        let (unit, power) = match bytes {
            0..0x400 => return format!("{bytes} B"),
            0x400..0x10_0000 => ("KB", 10),
            0x10_0000..0x4000_0000 => ("MB", 20),
            _ => ("GB", 30),
        };
        format!("{:.2} {unit}", bytes as f64 / f64::from(1 << power))
    }
}

/// Removes up to `bytes` from the records and returns how many it removed.
fn take(records: &mut VecDeque<AllocationRecord>, bytes: usize) -> usize {
    if let Some(at) = records.iter().position(|record| record.size == bytes) {
        records.remove(at);
        return bytes;
    }
    let mut left = bytes;
    while let Some(oldest) = records.front_mut().filter(|_| left > 0) {
        let part = oldest.size.min(left);
        oldest.size -= part;
        left -= part;
        if oldest.size == 0 {
            records.pop_front();
        }
    }
    bytes - left
}
