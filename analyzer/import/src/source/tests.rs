//! Odd files, read to their end.

use std::io::{Read, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use xxhash_rust::xxh3::xxh3_64;

use super::*;

const TEXT: &str = "{\"traceEvents\": [], \"größe\": \"😀 \"}";

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut to = GzEncoder::new(Vec::new(), Compression::fast());
    to.write_all(bytes).unwrap();
    to.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 3).unwrap()
}

fn utf16(text: &str, mark: bool, bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
    let mark = mark.then_some('\u{feff}');
    let text: String = mark.into_iter().chain(text.chars()).collect();
    text.encode_utf16().flat_map(bytes).collect()
}

fn read(bytes: &[u8]) -> Result<(Vec<u8>, Vec<String>), String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    std::fs::write(&path, bytes).unwrap();
    let mut progress = |_| ();
    let mut source = Source::open(&path, &Options::default(), &mut progress).unwrap();
    let mut content = Vec::new();
    if let Err(error) = source.read_to_end(&mut content) {
        return Err(source.refusal("there", error).to_string());
    }
    let mut notes = Notes::default();
    source.end(&mut notes);
    assert_eq!(source.hash().unwrap(), xxh3_64(bytes));
    Ok((content, notes.warnings))
}

#[track_caller]
fn gives(bytes: &[u8], content: &str, warning: Option<&str>) {
    let (found, warnings) = read(bytes).unwrap();
    assert_eq!(String::from_utf8_lossy(&found), content);
    match warning {
        None => assert!(warnings.is_empty(), "{warnings:?}"),
        Some(words) => assert!(warnings[0].contains(words), "{warnings:?}"),
    }
}

#[test]
fn packed_files_are_read_member_by_member() {
    let (first, second) = TEXT.split_at(9);
    for pack in [gzip, zstd] {
        gives(&pack(TEXT.as_bytes()), TEXT, None);
        let several = [first, "", second]
            .map(|part| pack(part.as_bytes()))
            .concat();
        gives(&several, TEXT, None);
    }
    let skippable = [
        b"\x5a\x2a\x4d\x18\x03\0\0\0abc".to_vec(),
        zstd(TEXT.as_bytes()),
    ]
    .concat();
    gives(&skippable, TEXT, None);
    let between = [
        zstd(first.as_bytes()),
        b"\x50\x2a\x4d\x18\0\0\0\0".to_vec(),
        zstd(second.as_bytes()),
    ];
    gives(&between.concat(), TEXT, None);
    // Longer than all buffers.
    let long = TEXT.repeat(20_000);
    gives(&gzip(long.as_bytes()), &long, None);
    gives(&zstd(long.as_bytes()), &long, None);
}

#[test]
fn what_lies_behind_packed_data_is_counted() {
    for (pack, name) in [(gzip as fn(&[u8]) -> Vec<u8>, "gzip"), (zstd, "zstd")] {
        let packed = pack(TEXT.as_bytes());
        let zeros = [packed.clone(), vec![0; 70_000]].concat();
        gives(
            &zeros,
            TEXT,
            Some(&format!("70000 zero bytes after the {name} data")),
        );
        let garbage = [&packed[..], b"<html>"].concat();
        gives(
            &garbage,
            TEXT,
            Some(&format!("6 bytes after the {name} data are not {name}")),
        );
        let one = [&packed[..], &packed[..1]].concat();
        gives(&one, TEXT, Some("1 bytes after"));
    }
}

#[test]
fn cut_packed_files_are_refused_with_their_packing() {
    let long = TEXT.repeat(3_000);
    for (pack, name) in [(gzip as fn(&[u8]) -> Vec<u8>, "gzip"), (zstd, "zstd")] {
        let packed = pack(long.as_bytes());
        for end in [5, packed.len() / 2, packed.len() - 1] {
            let error = read(&packed[..end]).unwrap_err();
            let words = format!("the {name} file cannot be unpacked");
            assert!(error.contains(&words), "{error}");
        }
        // A member that begins and does not end is no garbage.
        let cut = [&packed[..], &packed[..packed.len() / 2]].concat();
        assert!(read(&cut).is_err(), "{name}");
    }
}

#[test]
fn utf_16_becomes_utf_8() {
    type Order = (fn(u16) -> [u8; 2], &'static str);
    let orders: [Order; 2] = [(u16::to_le_bytes, "little"), (u16::to_be_bytes, "big")];
    let long = format!("{{\"a\": \"{}\"}}", "😀x".repeat(50_000));
    for (bytes, order) in orders {
        for mark in [true, false] {
            let text = utf16(TEXT, mark, bytes);
            gives(
                &text,
                TEXT,
                Some(&format!("UTF-16 ({order} endian): 34 characters")),
            );
            gives(&gzip(&text), TEXT, Some("UTF-16"));
        }
        gives(&utf16(&long, true, bytes), &long, Some("100009 characters"));
    }
    let mut odd = utf16("{\"a\"", true, u16::to_le_bytes);
    odd.extend_from_slice(&[0x00, 0xd8, b'x', 0, 7]);
    gives(&odd, "{\"a\"\u{fffd}x", Some("2 invalid ones"));
}

#[test]
fn a_byte_order_mark_goes_and_other_bytes_stay() {
    gives(format!("\u{feff}{TEXT}").as_bytes(), TEXT, None);
    for bytes in [
        &b""[..],
        b"{",
        b"\x1f",
        b"\xef\xbb",
        b"SQLite format 3\0",
        b"\n\x04ab",
    ] {
        assert_eq!(read(bytes).unwrap(), (bytes.to_vec(), Vec::new()));
    }
}

#[test]
fn a_small_file_may_not_become_a_huge_one() {
    let zeros = vec![b' '; 80 << 20];
    let options = Options {
        max_ratio: 10,
        ..Options::default()
    };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    for pack in [gzip, zstd] {
        std::fs::write(&path, pack(&zeros)).unwrap();
        let mut progress = |_| ();
        let mut source = Source::open(&path, &options, &mut progress).unwrap();
        let error = std::io::copy(&mut source, &mut std::io::sink()).unwrap_err();
        assert!(error.to_string().contains("--max-ratio"), "{error}");
    }
}
