//! Numbers of few bytes, as the scripts of a page read them.

/// LEB128: seven bits per byte, lowest first; the high bit says that more follow.
pub(super) fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value > 0x7f {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_numbers_take_a_byte() {
        let mut out = Vec::new();
        for value in [0, 127, 128, 300] {
            varint(&mut out, value);
        }
        assert_eq!(out, [0, 127, 0x80, 1, 0xac, 2]);
    }
}
