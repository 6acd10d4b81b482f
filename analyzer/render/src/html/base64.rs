//! Bytes as text, as browsers read it back with `atob`.

const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

pub(super) fn encode(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let at = |i: usize| u32::from(three.get(i).copied().unwrap_or(0));
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        for i in 0..4 {
            if i <= three.len() {
                let letter = LETTERS[(bits >> (18 - 6 * i)) as usize & 63];
                out.push(char::from(letter));
            } else {
                out.push('=');
            }
        }
    }
    out
}

/// Seven bits a byte, the lowest first; the eighth says that more follow.
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
    fn the_examples_of_rfc_4648() {
        let pairs = [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ];
        for (plain, text) in pairs {
            assert_eq!(encode(plain.as_bytes()), text);
        }
    }

    #[test]
    fn small_numbers_take_a_byte() {
        let mut out = Vec::new();
        for value in [0, 127, 128, 300] {
            varint(&mut out, value);
        }
        assert_eq!(out, [0, 127, 0x80, 1, 0xac, 2]);
    }
}
