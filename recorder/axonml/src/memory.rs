//! Memory that a program says it takes and gives back.

use std::collections::{BTreeMap, HashMap, VecDeque};

use serde::{Deserialize, Serialize};
use trueno_recorder::finished::Moment;

use crate::session::Session;

/// Memory that was taken.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct AllocationRecord {
    /// Its purpose.
    pub name: String,
    /// Bytes, less what was given back of them.
    pub size: usize,
    /// Microseconds since the profiler was made or reset.
    pub timestamp: u64,
    /// All of it was given back.
    pub freed: bool,
}

/// Sums over what was taken and given back.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct MemoryStats {
    /// Bytes that are taken now.
    pub current_usage: usize,
    /// Most bytes that were taken at a time.
    pub peak_usage: usize,
    /// Bytes taken, in all.
    pub total_allocated: usize,
    /// Bytes given back of them.
    pub total_freed: usize,
    /// Times that some were taken.
    pub allocation_count: usize,
    /// Times that some were given back.
    pub deallocation_count: usize,
    /// Bytes that are taken now, by name; names with none are not there.
    pub per_name_usage: HashMap<String, usize>,
}

/// Follows memory by name; each call is a row of `allocations`.
#[derive(Debug)]
pub struct MemoryProfiler {
    session: Session,
    origin: Moment,
    /// Memory that is taken, the oldest first.
    live: BTreeMap<String, VecDeque<AllocationRecord>>,
    /// All but what it says by name.
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

    /// Takes memory.
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

    /// Gives memory back: the oldest of that name and size, else the oldest of that name until it is as much. What is
    /// more than that name has is in the run, and counted in its values, but taken from no other name.
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

    /// Bytes that are taken now.
    pub fn current_usage(&self) -> usize {
        self.sums.current_usage
    }

    /// Most bytes that were taken at a time.
    pub fn peak_usage(&self) -> usize {
        self.sums.peak_usage
    }

    /// Bytes taken, in all.
    pub fn total_allocated(&self) -> usize {
        self.sums.total_allocated
    }

    /// Bytes given back, in all.
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

    /// Memory that is taken now, by name and age: leaks, where the program has ended.
    pub fn leaks(&self) -> Vec<AllocationRecord> {
        self.live.values().flatten().cloned().collect()
    }

    /// Forgets everything; the run keeps its rows.
    pub fn reset(&mut self) {
        *self = Self::in_session(self.session.clone());
    }

    /// Bytes in B, KB, MB or GB (powers of 1024, as the original names them), for people.
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

/// Takes `bytes` out of records; how many there were.
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
