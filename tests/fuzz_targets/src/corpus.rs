//! Corpora in one file each: inputs behind their lengths, packed.

use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;

/// Inputs as one packed file.
///
/// # Panics
/// One is longer than 4 GiB.
pub fn pack(inputs: &[Vec<u8>]) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::best());
    for input in inputs {
        let length = u32::try_from(input.len()).expect("a short input");
        for part in [&length.to_le_bytes()[..], input] {
            packed.write_all(part).expect("memory takes all");
        }
    }
    packed.finish().expect("memory takes all")
}

/// The inputs of a packed file.
///
/// # Panics
/// It is damaged.
pub fn unpack(packed: &[u8]) -> Vec<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = GzDecoder::new(packed).read_to_end(&mut bytes);
    read.expect("a packed corpus");
    let (mut inputs, mut rest) = (Vec::new(), bytes.as_slice());
    while let Some((length, behind)) = rest.split_first_chunk::<4>() {
        let (input, behind) = behind.split_at(u32::from_le_bytes(*length) as usize);
        inputs.push(input.to_vec());
        rest = behind;
    }
    inputs
}
