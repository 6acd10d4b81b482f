//! Names of events, apart from their modifiers.

/// Modifier letters of perf events, for the privilege level and the precision.
const MODIFIERS: &str = "ukhpPGHSDVIWebRX";

/// The event without modifiers: `cycles` of `cycles:ppp`, `cpu/cycles/` of `cpu/cycles/u`.
pub fn name(printed: &str) -> &str {
    let is_modifiers =
        |text: &str| !text.is_empty() && text.chars().all(|letter| MODIFIERS.contains(letter));
    match printed.rsplit_once([':', '/']) {
        Some((before, after))
            if is_modifiers(after) && !before.is_empty() && !before.ends_with(':') =>
        {
            match printed.as_bytes()[before.len()] {
                b'/' if before.contains('/') => &printed[..=before.len()],
                b'/' => printed,
                _ => before,
            }
        }
        _ => printed,
    }
}

/// True for `system:event`. Breakpoints begin with `mem:`; other names with colons come from libpfm and are upper
/// case.
pub fn is_tracepoint(name: &str) -> bool {
    let is_of_system =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    name.split_once(':').is_some_and(|(system, event)| {
        !system.is_empty()
            && system != "mem"
            && system.bytes().all(is_of_system)
            && !event.is_empty()
            && !event.contains([':', '/'])
    })
}
