//! Lines of `batches.jsonl`.

use trueno_format::journal::{Line, chunk_hash};

/// Parses lines as they are, and once more with a correct hash appended to each.
pub fn journal(bytes: &[u8]) -> bool {
    let mut is_any = false;
    for line in bytes.split(|byte| *byte == b'\n') {
        let as_it_is = Line::decode(line);
        assert!(
            as_it_is.is_none() || is_sealed(line),
            "believed without its hash"
        );
        let sealed = sealed(line);
        let Some(decoded) = Line::decode(&sealed) else {
            assert!(as_it_is.is_none(), "refused with its hash only");
            continue;
        };
        is_any = true;
        let encoded = decoded.encode().expect("a line is JSON");
        assert_eq!(
            Line::decode(encoded.as_bytes()),
            Some(decoded),
            "comes back as it was"
        );
        let mut changed = sealed;
        let at = chunk_hash(bytes).as_bytes()[0] as usize * 31 % changed.len();
        changed[at] ^= 1;
        assert_eq!(
            Line::decode(&changed),
            None,
            "a flipped bit of byte {at} is not seen"
        );
    }
    is_any
}

/// A JSON object with the hash that ends the lines of the journal and the log.
pub fn sealed(object: &[u8]) -> Vec<u8> {
    let open = object.strip_suffix(b"}").unwrap_or(object);
    let hash = chunk_hash(open);
    [open, b",\"line\":\"", hash.as_bytes(), b"\"}"].concat()
}

fn is_sealed(line: &[u8]) -> bool {
    let Some(at) = line
        .len()
        .checked_sub(b",\"line\":\"0123456789abcdef\"}".len())
    else {
        return false;
    };
    line == sealed(&line[..at])
}
