//! Details of kernels and copies, which XLA writes as one text: `regs:32 static_shared:0 grid:4,1,1 …`
//! (`ToXStat` of `cupti_collector.h`).

use crate::cuda::cupti_enums::Direction;

pub fn word<'t>(text: &'t str, key: &str) -> Option<&'t str> {
    let mut words = text.split_ascii_whitespace();
    words.find_map(|word| word.strip_prefix(key)?.strip_prefix(':'))
}

pub fn number<N: std::str::FromStr>(text: &str, key: &str) -> Option<N> {
    word(text, key)?.parse().ok()
}

pub fn dimensions(text: &str, key: &str) -> Option<[u32; 3]> {
    let mut numbers = word(text, key)?.split(',');
    let mut next = || numbers.next()?.parse().ok();
    Some([next()?, next()?, next()?])
}

/// Direction of a copy, from the event's name and its kinds of memory.
pub fn direction(name: &str, source: Option<&str>, target: Option<&str>) -> Option<&'static str> {
    // AMD's events, such as `CopyDeviceToDevice`.
    if let Some(direction) = Direction::from_words(name) {
        return Some(direction.name());
    }
    let name = name.to_ascii_lowercase();
    for (word, direction) in [
        ("h2d", "h2d"),
        ("d2h", "d2h"),
        ("d2d", "d2d"),
        ("p2p", "p2p"),
        ("h2h", "h2h"),
        ("memset", "memset"),
    ] {
        if name.contains(word) {
            return Some(direction);
        }
    }
    let is_host = |kind: &str| matches!(kind, "pageable" | "pinned");
    Some(match (is_host(source?), is_host(target?)) {
        (true, true) => "h2h",
        (true, false) => "h2d",
        (false, true) => "d2h",
        (false, false) => "d2d",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_go_by_their_name_or_their_kinds_of_memory() {
        for (name, kinds, expected) in [
            ("MemcpyH2D", [None, None], Some("h2d")),
            ("CopyDeviceToDevice", [None, None], Some("d2d")),
            ("CopyDeviceToHost", [None, None], Some("d2h")),
            ("Memset", [None, None], Some("memset")),
            ("MemcpyOther", [Some("pinned"), Some("device")], Some("h2d")),
            ("MemcpyOther", [None, None], None),
        ] {
            assert_eq!(direction(name, kinds[0], kinds[1]), expected, "{name}");
        }
    }
}
