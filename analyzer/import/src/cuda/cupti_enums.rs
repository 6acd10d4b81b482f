//! Numbers that stand for words: by the export's own lists, else by the numbers of CUPTI.

use std::collections::HashMap;

use super::source::{Scan, Source, Value};
use crate::Error;

/// Words by number.
#[derive(Debug, Default)]
pub struct Enum(HashMap<i64, String>);

impl Enum {
    /// The list of that name, over the numbers that are known.
    pub fn read(
        source: &mut dyn Source,
        table: &str,
        known: &[(i64, &str)],
    ) -> Result<Self, Error> {
        let mut words: HashMap<i64, String> = known
            .iter()
            .map(|(number, word)| (*number, (*word).to_owned()))
            .collect();
        let there = source.columns(table).is_some_and(|columns| {
            ["id", "name"]
                .iter()
                .all(|name| columns.iter().any(|c| c == name))
        });
        if there {
            let columns = vec![Some("id".to_owned()), Some("name".to_owned())];
            let scan = Scan {
                table: table.to_owned(),
                columns,
            };
            source.merged(&[scan], &mut |_, values| {
                if let [Value::Int(number), Value::Text(word)] = values {
                    words.insert(*number, word.clone().into_owned());
                }
                Ok(())
            })?;
        }
        Ok(Self(words))
    }

    /// The word of a number.
    pub fn word(&self, number: Option<i64>) -> Option<&str> {
        self.0.get(&number?).map(String::as_str)
    }
}

/// Kinds of NVTX rows.
pub const EVENT_TYPES: [(i64, &str); 5] = [
    (34, "NvtxMark"),
    (39, "NvtxThread"),
    (59, "NvtxPushPopRange"),
    (60, "NvtxStartEndRange"),
    (75, "NvtxDomainCreate"),
];

/// `CUpti_ActivityMemcpyKind`.
pub const COPIES: [(i64, &str); 13] = [
    (1, "CUDA_MEMCPY_KIND_HTOD"),
    (2, "CUDA_MEMCPY_KIND_DTOH"),
    (3, "CUDA_MEMCPY_KIND_HTOA"),
    (4, "CUDA_MEMCPY_KIND_ATOH"),
    (5, "CUDA_MEMCPY_KIND_ATOA"),
    (6, "CUDA_MEMCPY_KIND_ATOD"),
    (7, "CUDA_MEMCPY_KIND_DTOA"),
    (8, "CUDA_MEMCPY_KIND_DTOD"),
    (9, "CUDA_MEMCPY_KIND_HTOH"),
    (10, "CUDA_MEMCPY_KIND_PTOP"),
    (11, "CUDA_MEMCPY_KIND_UVM_HTOD"),
    (12, "CUDA_MEMCPY_KIND_UVM_DTOH"),
    (13, "CUDA_MEMCPY_KIND_UVM_DTOD"),
];

/// The direction of a copy, as runs name it.
pub fn direction(word: &str) -> Option<&'static str> {
    let ends = word.strip_prefix("CUDA_MEMCPY_KIND_")?;
    Some(match ends.strip_prefix("UVM_").unwrap_or(ends) {
        "HTOD" | "HTOA" => "h2d",
        "DTOH" | "ATOH" => "d2h",
        "DTOD" | "ATOA" | "ATOD" | "DTOA" => "d2d",
        "HTOH" => "h2h",
        "PTOP" => "p2p",
        _ => return None,
    })
}

/// Kinds of memory. The same in all versions, as far as seen.
pub const MEMORIES: [(i64, &str); 7] = [
    (0, "CUDA_MEMOPR_MEMORY_KIND_PAGEABLE"),
    (1, "CUDA_MEMOPR_MEMORY_KIND_PINNED"),
    (2, "CUDA_MEMOPR_MEMORY_KIND_DEVICE"),
    (3, "CUDA_MEMOPR_MEMORY_KIND_ARRAY"),
    (4, "CUDA_MEMOPR_MEMORY_KIND_MANAGED"),
    (5, "CUDA_MEMOPR_MEMORY_KIND_DEVICE_STATIC"),
    (6, "CUDA_MEMOPR_MEMORY_KIND_MANAGED_STATIC"),
];

/// The kind of memory, as runs name it.
pub fn memory(word: &str) -> Option<&'static str> {
    Some(match word.strip_prefix("CUDA_MEMOPR_MEMORY_KIND_")? {
        "PAGEABLE" => "pageable",
        "PINNED" => "pinned",
        "DEVICE" | "DEVICE_STATIC" => "device",
        "ARRAY" => "array",
        "MANAGED" | "MANAGED_STATIC" => "managed",
        _ => return None,
    })
}

/// What was done with memory of a device.
pub const MEMORY_CHANGES: [(i64, &str); 2] = [
    (0, "CUDA_DEV_MEM_EVENT_OPR_ALLOCATION"),
    (1, "CUDA_DEV_MEM_EVENT_OPR_DEALLOCATION"),
];

/// Whether memory was taken (1) or given back (-1).
pub fn memory_change(word: &str) -> Option<i64> {
    match word.strip_prefix("CUDA_DEV_MEM_EVENT_OPR_")? {
        "ALLOCATION" => Some(1),
        "DEALLOCATION" => Some(-1),
        _ => None,
    }
}

/// `CUpti_ActivitySynchronizationType`.
pub const WAITS: [(i64, &str); 4] = [
    (1, "CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE"),
    (2, "CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT"),
    (3, "CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE"),
    (4, "CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE"),
];

/// What was waited for, as runs name it.
pub fn wait(word: &str) -> Option<&'static str> {
    Some(
        match word.strip_prefix("CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_")? {
            "EVENT_SYNCHRONIZE" => "event",
            "STREAM_WAIT_EVENT" => "stream_wait",
            "STREAM_SYNCHRONIZE" => "stream",
            "CONTEXT_SYNCHRONIZE" => "device",
            _ => return None,
        },
    )
}
