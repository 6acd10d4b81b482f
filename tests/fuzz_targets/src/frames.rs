//! Inputs of several parts: a byte that says which, two bytes of length, and so many bytes; the last may be cut.

/// Splits an input into frames: a kind byte, two bytes of length (little endian), and the content.
pub fn frames(bytes: &[u8]) -> impl Iterator<Item = (u8, &[u8])> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let (&[kind, low, high], behind) = rest.split_first_chunk()?;
        let length = usize::from(u16::from_le_bytes([low, high])).min(behind.len());
        let (frame, behind) = behind.split_at(length);
        rest = behind;
        Some((kind, frame))
    })
}

/// The 8-byte number at an offset. Missing bytes are 0.
pub fn word(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0; 8];
    let there = bytes.get(at..).unwrap_or_default();
    let length = there.len().min(8);
    word[..length].copy_from_slice(&there[..length]);
    u64::from_le_bytes(word)
}
