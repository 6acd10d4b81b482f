//! Buffers of CUPTI.

use trueno_cupti::kind;
use trueno_cupti::record::{decode, kind_of};
use trueno_cupti::walk::{self, Sizes};

/// Number of complete records in a buffer.
fn whole_records(bytes: &[u8], sizes: &Sizes) -> usize {
    let (mut walked, mut whole) = (0, 0);
    for record in walk::records(bytes, sizes) {
        let Ok(record) = record else { break };
        assert_eq!(
            Some(record.len()),
            kind_of(record).and_then(|kind| sizes.get(kind))
        );
        walked += record.len();
        let read = decode(record);
        if let Some(kind) = kind_of(record).and_then(kind::from_number) {
            assert_eq!(read.is_ok(), record.len() >= kind.least_bytes);
        } else {
            assert!(read.is_err());
        }
        whole += usize::from(read.is_ok());
    }
    assert!(walked <= bytes.len());
    whole
}

/// A CUPTI buffer. It begins with a count of record kinds of unusual size, then a kind and a size in one byte each.
pub fn records(bytes: &[u8]) -> bool {
    let Some((odd, rest)) = bytes.split_first() else {
        return false;
    };
    let (pairs, rest) = rest.split_at((usize::from(odd % 4) * 2).min(rest.len()));
    let known = Sizes::default();
    let odd = pairs
        .chunks_exact(2)
        .map(|pair| (u32::from(pair[0]), usize::from(pair[1])));
    let sizes: Sizes = known.iter().chain(odd).collect();
    // A record that is cut anywhere, as a spool may hold it.
    let _ = decode(rest);
    whole_records(rest, &sizes) > 0
}
