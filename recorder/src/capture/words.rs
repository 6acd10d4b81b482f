//! Numbers of CUPTI that stand for words.

use trueno_cupti::kind;
use trueno_cupti::record::{Moved, Record};

use super::gather::Transfer;

/// A copy or a fill; `None` for other records.
pub fn transfer(record: Record) -> Option<Transfer> {
    Some(match record {
        Record::Memcpy(copy) => Transfer {
            src_kind: memory(copy.src_kind.into()),
            dst_kind: memory(copy.dst_kind.into()),
            is_async: copy.flags & 1 != 0,
            correlation: copy.correlation,
            graph_node: copy.graph_node,
            ..moved(kind::MEMCPY, direction(copy.copy_kind), copy.moved)
        },
        Record::MemcpyPeer(copy) => Transfer {
            src_kind: memory(copy.src_kind.into()),
            dst_kind: memory(copy.dst_kind.into()),
            is_async: copy.flags & 1 != 0,
            correlation: copy.correlation,
            graph_node: copy.graph_node,
            ..moved(kind::MEMCPY_PEER, "p2p", copy.moved)
        },
        Record::Memset(fill) => Transfer {
            dst_kind: memory(fill.memory_kind.into()),
            is_async: fill.flags & 1 != 0,
            correlation: fill.correlation,
            graph_node: fill.graph_node,
            ..moved(kind::MEMSET, "memset", fill.moved)
        },
        _ => return None,
    })
}

/// What all have at the same places; the rest is filled in.
fn moved(kind: u32, direction: &'static str, moved: Moved) -> Transfer {
    Transfer {
        kind,
        direction,
        src_kind: None,
        dst_kind: None,
        is_async: false,
        bytes: moved.bytes,
        start: moved.start,
        end: moved.end,
        device: moved.device,
        context: moved.context,
        stream: moved.stream,
        correlation: 0,
        graph_node: 0,
    }
}

/// `CUpti_ActivityMemcpyKind`.
fn direction(number: u8) -> &'static str {
    match number {
        1 | 3 => "h2d",
        2 | 4 => "d2h",
        5..=8 => "d2d",
        9 => "h2h",
        10 => "p2p",
        _ => "unknown",
    }
}

/// `CUpti_ActivityMemoryKind`.
pub fn memory(number: u32) -> Option<&'static str> {
    Some(match number {
        1 => "pageable",
        2 => "pinned",
        3 | 6 => "device",
        4 => "array",
        5 | 7 => "managed",
        _ => return None,
    })
}

/// `CUpti_ActivitySynchronizationType`.
pub fn wait(number: u32) -> &'static str {
    match number {
        1 => "event",
        2 => "stream_wait",
        3 => "stream",
        4 => "device",
        _ => "unknown",
    }
}

/// `CUpti_ExternalCorrelationKind`.
pub fn external(number: u32) -> String {
    match number {
        1 => "unknown".to_owned(),
        2 => "OpenACC".to_owned(),
        3..=5 => format!("custom {}", number - 3),
        _ => format!("kind {number}"),
    }
}

/// `CUpti_ActivityStreamFlag`; the upper half belongs to per-thread default streams.
pub fn stream(flag: u32) -> Option<&'static str> {
    match flag & 0xffff {
        1 => Some("blocking"),
        2 => Some("non_blocking"),
        3 => Some("null"),
        _ => None,
    }
}

/// `CUpti_ActivityOverheadKind`.
pub fn overhead(number: u32) -> String {
    let known = match number {
        1 => "driver compiler",
        n if n & 0xffff == 0 => match n >> 16 {
            1 => "buffer flush",
            2 => "instrumentation",
            3 => "resource",
            4 => "module loading",
            5 => "lazy function loading",
            6 => "command buffer full",
            7 => "activity buffer request",
            8 => "unified memory initialisation",
            _ => return format!("kind {number}"),
        },
        _ => return format!("kind {number}"),
    };
    known.to_owned()
}

/// `cudaLaunchKernel` of `cudaLaunchKernel_v7000`; `cuMemAlloc_v2` is a name of its own.
pub fn without_version(name: &str) -> &str {
    match name.rsplit_once("_v") {
        Some((plain, version))
            if version.len() >= 4 && version.bytes().all(|b| b.is_ascii_digit()) =>
        {
            plain
        }
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_the_runtime_go_and_names_of_the_driver_stay() {
        assert_eq!(
            without_version("cudaLaunchKernel_v7000"),
            "cudaLaunchKernel"
        );
        assert_eq!(without_version("cuMemAlloc_v2"), "cuMemAlloc_v2");
        assert_eq!(overhead(3 << 16), "resource");
        assert_eq!(overhead(77), "kind 77");
    }
}
