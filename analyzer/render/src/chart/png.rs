//! Pixels as a PNG file.
//!
//! The encoder is ours, thirty lines over the zlib that is there: plotters' own brings a crate with ten formats, and
//! the crate `png` a second deflate with another output, for filters that areas of one colour gain nothing from.

use std::io::Write;

use flate2::write::ZlibEncoder;
use flate2::{Compression, Crc};

/// `pixels` has three bytes per pixel, row by row from the top.
pub fn encode(pixels: &[u8], width: u32, height: u32) -> Vec<u8> {
    let mut out = b"\x89PNG\r\n\x1a\n".to_vec();
    let mut head = Vec::new();
    head.extend(width.to_be_bytes());
    head.extend(height.to_be_bytes());
    // Eight bits, red green blue, the one compression, the one set of filters, not interlaced.
    head.extend([8, 2, 0, 0, 0]);
    chunk(&mut out, b"IHDR", &head);
    let mut packed = ZlibEncoder::new(Vec::new(), Compression::default());
    for row in pixels.chunks(width.max(1) as usize * 3) {
        // No filter: charts are areas of one colour. Writing to memory does not fail.
        let _ = packed.write_all(&[0]).and_then(|()| packed.write_all(row));
    }
    chunk(&mut out, b"IDAT", &packed.finish().unwrap_or_default());
    chunk(&mut out, b"IEND", &[]);
    out
}

fn chunk(out: &mut Vec<u8>, kind: &[u8; 4], data: &[u8]) {
    out.extend((data.len() as u32).to_be_bytes());
    out.extend(kind);
    out.extend(data);
    let mut crc = Crc::new();
    crc.update(kind);
    crc.update(data);
    out.extend(crc.sum().to_be_bytes());
}
