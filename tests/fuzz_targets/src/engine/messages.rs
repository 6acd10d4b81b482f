//! Messages of isolated plugins.

use trueno_host::plugin::isolate::fuzzing::{Kind, head, output_from};

use crate::frames::frames;

/// Parses the bytes as raw plugin output, and once more as the payloads of valid messages. Messages of kind 3
/// contain a table named `t`.
pub fn messages(bytes: &[u8]) -> bool {
    let (taken, _) = output_from(bytes);
    assert!(
        taken.tables.len() + taken.findings.len() <= bytes.len(),
        "more than bytes"
    );
    let mut sent = Vec::new();
    for (kind, says) in frames(bytes) {
        use Kind::{Crash, Descriptor, End, Finding, Refused, Table};
        let kind = [Descriptor, Refused, Table, Finding, End, Crash][usize::from(kind) % 6];
        let says = match kind {
            Table => [&1_u32.to_le_bytes()[..], b"t", says].concat(),
            _ => says.to_vec(),
        };
        sent.extend_from_slice(&head(kind, &says));
        sent.extend_from_slice(&says);
    }
    let (taken, is_whole) = output_from(&sent);
    let rows: usize = taken.tables.iter().map(|table| table.rows()).sum();
    assert!(
        rows <= 64 + 8 * bytes.len(),
        "{rows} rows of {} bytes",
        bytes.len()
    );
    let cut = sent.len().saturating_sub(1);
    assert!(
        sent.is_empty() || !output_from(&sent[..cut]).1,
        "a cut is not seen"
    );
    is_whole && !sent.is_empty()
}
