//! Details of kernels and copies, which XLA writes as one text: `regs:32 static_shared:0 grid:4,1,1 …`
//! (`ToXStat` of `cupti_collector.h`).

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
