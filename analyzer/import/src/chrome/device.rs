//! What the names of device work and of calls say.

/// As the schema names directions.
pub(super) const DIRECTIONS: [&str; 6] = ["h2d", "d2h", "d2d", "p2p", "h2h", "memset"];
/// Index of fills in [`DIRECTIONS`].
pub(super) const FILL: u64 = 5;
/// As the schema names kinds of memory; the first is not known.
pub(super) const MEMORY: [&str; 6] = ["", "pageable", "pinned", "device", "managed", "array"];
/// As the schema names waits.
pub(super) const WAITS: [&str; 4] = ["device", "stream", "event", "stream_wait"];

/// Where a copy goes, from a name such as `Memcpy HtoD (Pinned -> Device)`.
pub(super) fn direction(name: &str) -> Option<u64> {
    let rest = name.strip_prefix("Memcpy ").unwrap_or(name);
    let known = [
        (0, "HtoD", "HostToDevice"),
        (1, "DtoH", "DeviceToHost"),
        (2, "DtoD", "DeviceToDevice"),
        (3, "PtoP", "PeerToPeer"),
        (4, "HtoH", "HostToHost"),
    ];
    let found = known
        .iter()
        .find(|(_, short, long)| rest.starts_with(short) || rest.contains(long));
    found.map(|(number, _, _)| *number)
}

/// Kinds of memory at both ends, as indices of [`MEMORY`], the source in the upper half.
pub(super) fn memory_kinds(name: &str) -> u64 {
    let Some((_, inside)) = name.split_once('(') else {
        return 0;
    };
    let inside = inside.trim_end_matches(')');
    let kind = |text: &str| {
        let text = text.trim().to_ascii_lowercase();
        MEMORY.iter().position(|kind| *kind == text).unwrap_or(0) as u64
    };
    match inside.split_once("->") {
        Some((from, to)) => kind(from) << 32 | kind(to),
        // A fill names what it fills.
        None => kind(inside),
    }
}

/// The wait that a record of category `cuda_sync` is, as an index of [`WAITS`].
pub(super) fn wait_kind(name: &str) -> Option<u64> {
    Some(match name {
        "Context Sync" | "Device Sync" => 0,
        "Stream Sync" => 1,
        "Event Sync" => 2,
        "Stream Wait Event" => 3,
        _ => return None,
    })
}

/// The wait that a host call is, where it is one.
pub(super) fn wait_of_call(name: &str) -> Option<u64> {
    Some(match name {
        "cudaDeviceSynchronize" | "cuCtxSynchronize" | "hipDeviceSynchronize" => 0,
        "cudaStreamSynchronize" | "cuStreamSynchronize" | "hipStreamSynchronize" => 1,
        "cudaEventSynchronize" | "cuEventSynchronize" | "hipEventSynchronize" => 2,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_where_copies_go() {
        for (name, goes, from, to) in [
            (
                "Memcpy HtoD (Pageable -> Device)",
                "h2d",
                "pageable",
                "device",
            ),
            ("Memcpy DtoH (Device -> Pinned)", "d2h", "device", "pinned"),
            ("Memcpy PtoP (Device -> Device)", "p2p", "device", "device"),
            ("CopyHostToDevice", "h2d", "", ""),
            ("Memcpy DtoD (Device -> Unknown)", "d2d", "device", ""),
        ] {
            assert_eq!(
                DIRECTIONS[direction(name).unwrap() as usize],
                goes,
                "{name}"
            );
            let kinds = memory_kinds(name);
            let kind = |number: u64| MEMORY[number as usize];
            assert_eq!(
                (kind(kinds >> 32), kind(kinds & 0xff)),
                (from, to),
                "{name}"
            );
        }
        assert_eq!(direction("Memcpy Unknown"), None);
        assert_eq!(memory_kinds("Memset (Device)"), 3);
    }
}
