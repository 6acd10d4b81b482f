//! The caches of the machine, as Linux lists them, and what to measure in each.
//!
//! Memory is measured over twelve times the last cache, each time goes on where the last one stopped, and before each visit
//! twice the last cache is gone over: over four times, part of it was still in the cache (9 to 12 % too much). Rows of
//! caches work all over the memory, since some large pages of a virtual machine are slower (L2 by a fifth).

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// A level of data caches. All of a level are taken to be like that of the first processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuCache {
    /// 1 for the level next to the core.
    pub level: u32,
    /// Size of one of them.
    pub bytes: u64,
    /// Logical processors that share one.
    pub shared_by: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WorkingSet {
    /// Column `level`.
    pub level: &'static str,
    /// Bytes of each thread.
    pub bytes: u64,
    /// To go over before a visit: all of it, of memory twice the last level of caches.
    pub before: u64,
}

/// Data caches of the first processor, from the lowest level up. Empty if unknown.
pub(super) fn caches() -> Vec<CpuCache> {
    from(Path::new("/sys/devices/system/cpu/cpu0/cache"))
}

fn from(folder: &Path) -> Vec<CpuCache> {
    let mut found = BTreeMap::new();
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    for index in entries.map(|entry| entry.path()) {
        let text = |name| {
            let text = fs::read_to_string(index.join(name)).ok()?;
            Some(text.trim().to_owned())
        };
        let is_data = text("type").is_some_and(|t| t == "Data" || t == "Unified");
        let level = text("level").and_then(|t| t.parse().ok());
        let bytes = text("size").and_then(|t| size(&t));
        if let (true, Some(level), Some(bytes)) = (is_data, level, bytes) {
            let shared_by = text("shared_cpu_list").map_or(1, |list| numbers(&list).len());
            let shared_by = shared_by.max(1) as u32;
            found.insert(
                level,
                CpuCache {
                    level,
                    bytes,
                    shared_by,
                },
            );
        }
    }
    found.into_values().collect()
}

/// Parses `48K`, `2M`, `32768K`.
fn size(text: &str) -> Option<u64> {
    let (number, unit) = match text.strip_suffix(['K', 'M', 'G']) {
        Some(number) => (number, &text[number.len()..]),
        None => (text, ""),
    };
    let factor = match unit {
        "K" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        _ => 1,
    };
    let bytes = number.parse::<u64>().ok()?.checked_mul(factor)?;
    (bytes > 0).then_some(bytes)
}

/// Parses `0-3,8`.
pub(super) fn numbers(list: &str) -> Vec<u32> {
    let mut all = Vec::new();
    for part in list.trim().split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        if let (Ok(first), Ok(last)) = (first.parse::<u32>(), last.parse::<u32>())
            && last - first.min(last) < 1 << 16
        {
            all.extend(first..=last);
        }
    }
    all
}

/// The working sets of each thread if `threads` of them run on `processors`.
///
/// First level: half of the thread's share. Other cache levels: all levels below plus half of the share, so that
/// little remains in a lower level, whether or not the level keeps copies of it. Memory: [`memory_bytes`] for all
/// threads together.
pub(super) fn working_sets(caches: &[CpuCache], threads: u32, processors: u32) -> Vec<WorkingSet> {
    const NAMES: [&str; 3] = ["L1", "L2", "L3"];
    let mut sets = Vec::new();
    let mut below = 0;
    for cache in caches {
        // With one thread on the machine, it has the whole; with all, each has its share.
        let sharers = if threads == 1 {
            1
        } else {
            cache.shared_by.min(threads).max(1)
        };
        let share = cache.bytes / u64::from(sharers);
        let known = (cache.level as usize).checked_sub(1);
        if let Some(level) = known.and_then(|at| NAMES.get(at)) {
            let bytes = below + share / 2;
            sets.push(WorkingSet {
                level,
                bytes,
                before: bytes,
            });
        }
        below += share;
    }
    let bytes = memory_bytes(caches, threads, processors) / u64::from(threads.max(1));
    sets.push(WorkingSet {
        level: "DRAM",
        bytes,
        before: bytes / 6,
    });
    sets
}

/// Twelve times the last level of caches, and at least 64 MiB: each of three arrays has four times
/// the level, as STREAM asks for. Over four times the level in all, a cache of 32 MiB that does not
/// simply drop the oldest line made memory look 9 to 12 % faster than over 384 MiB and 1 GiB.
fn memory_bytes(caches: &[CpuCache], threads: u32, processors: u32) -> u64 {
    const MIN_BYTES: u64 = 64 << 20;
    // Of a machine that does not tell its caches: more than almost any has.
    const UNKNOWN: u64 = 1 << 30;
    let Some(last) = caches.last() else {
        return UNKNOWN;
    };
    let instances = if threads == 1 {
        1
    } else {
        processors.div_ceil(last.shared_by)
    };
    (12 * last.bytes * u64::from(instances)).max(MIN_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn write(folder: &Path, index: u32, entries: &[(&str, &str)]) {
        let folder = folder.join(format!("index{index}"));
        fs::create_dir_all(&folder).unwrap();
        for (name, text) in entries {
            fs::write(folder.join(name), format!("{text}\n")).unwrap();
        }
    }

    #[test]
    fn caches_are_read_as_linux_lists_them() {
        let folder = tempfile::tempdir().unwrap();
        let list = |level, kind, size, shared| {
            [
                ("level", level),
                ("type", kind),
                ("size", size),
                ("shared_cpu_list", shared),
            ]
        };
        write(folder.path(), 0, &list("1", "Data", "48K", "0,64"));
        write(folder.path(), 1, &list("1", "Instruction", "32K", "0,64"));
        write(folder.path(), 2, &list("2", "Unified", "1024K", "0,64"));
        write(folder.path(), 3, &list("3", "Unified", "32M", "0-7,64-71"));
        write(folder.path(), 4, &[("level", "4"), ("type", "Unified")]);
        fs::write(folder.path().join("uevent"), "").unwrap();
        let cache = |level, bytes, shared_by| CpuCache {
            level,
            bytes,
            shared_by,
        };
        assert_eq!(
            from(folder.path()),
            [
                cache(1, 48 << 10, 2),
                cache(2, 1 << 20, 2),
                cache(3, 32 << 20, 16)
            ]
        );
        assert_eq!(from(&folder.path().join("nothing")), []);
    }

    #[test]
    fn sizes_and_lists_that_make_no_sense_are_none() {
        for text in ["", "K", "0K", "12X", "-1K", "99999999999999999999"] {
            assert_eq!(size(text), None, "{text}");
        }
        assert_eq!(numbers("0-2,5"), [0, 1, 2, 5]);
        assert_eq!(numbers("3-1,x,"), [] as [u32; 0]);
        assert_eq!(numbers("0-4294967295"), [] as [u32; 0]);
    }

    #[test]
    fn unknown_caches_leave_memory_only() {
        let sets = working_sets(&[], 4, 4);
        assert_eq!(sets.len(), 1);
        assert_eq!((sets[0].level, sets[0].bytes), ("DRAM", 256 << 20));
    }

    proptest! {
        /// A set is larger than the levels below its own, and together they fit into their level.
        #[test]
        fn sets_lie_in_their_level(
            sizes in prop::collection::vec(12u32..22, 1..4),
            sharers in prop::collection::vec(1u32..17, 3),
            threads in 1u32..65,
        ) {
            let mut bytes = 0;
            let caches: Vec<CpuCache> = sizes.iter().zip(&sharers).enumerate().map(|(at, (size, by))| {
                // Of each thread, levels grow at least fourfold, as they do.
                bytes = (bytes * 4).max(1 << size);
                CpuCache { level: at as u32 + 1, bytes: bytes * u64::from(*by), shared_by: *by }
            }).collect();
            let sets = working_sets(&caches, threads, threads);
            prop_assert_eq!(sets.len(), caches.len() + 1);
            let (mut below, mut all_below) = (0, 0);
            for (set, cache) in sets.iter().zip(&caches) {
                let share = cache.bytes / if threads == 1 { 1 } else { u64::from(cache.shared_by.min(threads)) };
                prop_assert!(set.bytes > below);
                prop_assert!(set.bytes <= share + all_below);
                below = share;
                all_below += share;
            }
            let memory = sets.last().unwrap().bytes * u64::from(threads);
            prop_assert!(memory + u64::from(threads) >= 12 * caches.last().unwrap().bytes);
        }
    }
}
