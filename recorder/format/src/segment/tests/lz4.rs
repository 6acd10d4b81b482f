//! Frames and blocks, by the letter of the format.

use proptest::prelude::*;

use super::columns::pattern;
use crate::segment::lz4::Compressor;

/// Decompresses a buffer of a compressed body and checks the rules that decoders rely on.
fn decode(buffer: &[u8]) -> Vec<u8> {
    let (length, rest) = buffer.split_at(8);
    let length = i64::from_le_bytes(length.try_into().unwrap());
    if length == -1 {
        return rest.to_vec();
    }
    // Magic; version 1, independent blocks of 64 KiB at most, nothing else; checksum of those two.
    let block = rest
        .strip_prefix(&[0x04, 0x22, 0x4d, 0x18, 0x60, 0x40, 0x82])
        .unwrap();
    let (bytes, block) = block.split_at(4);
    let bytes = u32::from_le_bytes(bytes.try_into().unwrap()) as usize;
    let (block, end) = block.split_at(bytes);
    assert_eq!(end, [0; 4]);
    let plain = decode_block(block);
    assert_eq!(plain.len() as i64, length);
    assert!(buffer.len() < 8 + plain.len(), "a frame that saves nothing");
    plain
}

fn decode_block(block: &[u8]) -> Vec<u8> {
    let mut bytes = block.iter().copied();
    let mut plain = Vec::new();
    let mut last_match = None;
    loop {
        let token = bytes.next().unwrap();
        let literals = length(token >> 4, &mut bytes);
        plain.extend(bytes.by_ref().take(literals));
        let Some(low) = bytes.next() else {
            if let Some(start) = last_match {
                assert!(literals >= 5, "a block ends in literals");
                assert!(plain.len() - start >= 12, "its last match begins earlier");
            }
            return plain;
        };
        let offset = usize::from(u16::from_le_bytes([low, bytes.next().unwrap()]));
        assert!(offset > 0 && offset <= plain.len());
        let matched = 4 + length(token & 15, &mut bytes);
        last_match = Some(plain.len());
        for _ in 0..matched {
            plain.push(plain[plain.len() - offset]);
        }
    }
}

fn length(half: u8, bytes: &mut impl Iterator<Item = u8>) -> usize {
    let mut length = usize::from(half);
    let mut last = if half == 15 { 255 } else { 0 };
    while last == 255 {
        last = bytes.next().unwrap();
        length += usize::from(last);
    }
    length
}

fn little_endian<const N: usize>(values: impl Iterator<Item = [u8; N]>) -> Vec<u8> {
    values.flatten().collect()
}

proptest! {
    #[test]
    fn words_survive(kind in pattern(), count in prop_oneof![0usize..40, 0usize..=8192, Just(8192)]) {
        let values = kind.values(count);
        let mut buffer = Vec::new();
        Compressor::new().append(&values, &mut buffer);
        let plain = little_endian(values.iter().map(|v| v.to_le_bytes()));
        prop_assert!(decode(&buffer) == plain);
        buffer.clear();
        Compressor::new().append_distinct(&values, &mut buffer);
        prop_assert!(decode(&buffer) == plain);
    }

    #[test]
    fn half_words_survive(kind in pattern(), count in prop_oneof![0usize..40, 0usize..=16384, Just(16384)]) {
        let values: Vec<u32> = kind.values(count).iter().map(|v| *v as u32).collect();
        let mut buffer = Vec::new();
        Compressor::new().append(&values, &mut buffer);
        prop_assert!(decode(&buffer) == little_endian(values.iter().map(|v| v.to_le_bytes())));
    }

    #[test]
    fn one_value_many_times_survives(value in any::<u64>(), count in 0usize..=8192) {
        let mut buffer = Vec::new();
        let mut compressor = Compressor::new();
        compressor.append_same(value, count, &mut buffer);
        prop_assert!(decode(&buffer) == value.to_le_bytes().repeat(count));
        buffer.clear();
        compressor.append_same(value as u32, count, &mut buffer);
        prop_assert!(decode(&buffer) == (value as u32).to_le_bytes().repeat(count));
    }
}

/// Literals and matches with lengths around each value at which the format needs one more byte.
#[test]
fn lengths_at_the_edges() {
    // A match of 19 bytes or more takes another byte, then one for each 255.
    for run in 1..80 {
        for before in [1, 2, 14, 15, 16, 33, 34, 35] {
            let random = |at: u64| at.wrapping_mul(0x9E37_79B9_7F4A_7C15);
            let values: Vec<u64> = (1..=before)
                .map(random)
                .chain((0..run).map(|_| 5))
                .chain((90..93).map(random))
                .collect();
            let mut buffer = Vec::new();
            Compressor::new().append(&values, &mut buffer);
            assert_eq!(
                decode(&buffer),
                little_endian(values.iter().map(|v| v.to_le_bytes()))
            );
        }
    }
}

/// Patterns of real recordings: bytes per value, as small as the format permits.
#[test]
fn ids_take_four_bytes_a_value_and_repeats_nearly_none() {
    let size = |values: &[u64]| {
        let mut buffer = Vec::new();
        Compressor::new().append(values, &mut buffer);
        buffer.len() as f64 / values.len() as f64
    };
    let ids: Vec<u64> = (0..8192).map(|n| 1 << 32 | n).collect();
    assert!(size(&ids) < 4.1, "{}", size(&ids));
    let mut buffer = Vec::new();
    // Rows that end in another order than they begin in.
    let nested: Vec<u64> = ids.iter().map(|id| id ^ 7).collect();
    Compressor::new().append_distinct(&nested, &mut buffer);
    assert!(buffer.len() < 4 * nested.len() + 500, "{}", buffer.len());
    let period: Vec<u64> = (0..8192u64).map(|n| n % 280 * 0x1234_5678_9abc).collect();
    assert!(size(&period) < 0.4, "{}", size(&period));
}
