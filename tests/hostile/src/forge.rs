//! Messages to the analyzer that the plugin writes itself, past the analyzer's own code in its process.

use trueno_plugin::{Error, Result};
use xxhash_rust::xxh3::xxh3_64_with_seed;

// Kinds of messages, as the host numbers them.
const DESCRIPTOR: u8 = 1;
const REFUSED: u8 = 2;
const TABLE: u8 = 3;
const FINDING: u8 = 4;
const END: u8 = 5;
const CRASH: u8 = 6;

fn message(kind: u8, says: &[u8]) -> Vec<u8> {
    let hash = xxh3_64_with_seed(says, u64::from(kind));
    let head = [
        &[kind][..],
        &(says.len() as u64).to_le_bytes(),
        &hash.to_le_bytes(),
    ];
    [&head.concat()[..], says].concat()
}

/// A table with this name, and a column `x` of one row.
fn table(name: &str, rows: u64) -> Vec<u8> {
    let mut says = (name.len() as u32).to_le_bytes().to_vec();
    says.extend(name.as_bytes());
    says.extend(rows.to_le_bytes());
    says.extend(1_u64.to_le_bytes());
    says.extend(b"x");
    says.push(0);
    says.push(1);
    says.extend(7_i64.to_le_bytes());
    message(TABLE, &says)
}

fn end(json: &str) -> Vec<u8> {
    message(END, json.as_bytes())
}

const GOOD_END: &str = r#"{"status":0,"charts":[],"error":null,"rejected":[]}"#;

/// Sends a forged message to the analyzer and exits.
pub fn send(what: Forgery) -> Result<()> {
    let good = end(GOOD_END);
    let bytes = match what {
        Forgery::Path => [table("../../out", 1), good].concat(),
        Forgery::Twice => [table("twice", 1), table("twice", 1), good].concat(),
        Forgery::EndlessRows => [table("long", u64::MAX), good].concat(),
        Forgery::CutTable => [message(TABLE, &[0xff; 40]), good].concat(),
        Forgery::ChartOfNothing => end(
            r#"{"status":0,"charts":[{"kind":"bar","title":"c","table":"none","x":"a","y":"b"}],"error":null,"rejected":[]}"#,
        ),
        Forgery::Status => end(r#"{"status":77,"charts":[],"error":null,"rejected":[]}"#),
        Forgery::Nested => {
            let deep = format!("{}{}", "[".repeat(1 << 20), "]".repeat(1 << 20));
            [message(FINDING, deep.as_bytes()), good].concat()
        }
        Forgery::Findings => {
            let one = message(FINDING, br#"{"code":"c","severity":"info","title":"t"}"#);
            [one.repeat(100_001), good].concat()
        }
        Forgery::Length => {
            let mut head = message(TABLE, b"");
            head[1..9].copy_from_slice(&u64::MAX.to_le_bytes());
            head
        }
        Forgery::LongWait => {
            let mut head = message(TABLE, b"");
            head[1..9].copy_from_slice(&(1_u64 << 40).to_le_bytes());
            head
        }
        Forgery::Crash => [message(CRASH, &[0xff; 24]), message(CRASH, b"")].concat(),
        Forgery::Refused => [message(REFUSED, b"\x1b[2Jno\nerror: fake"), good].concat(),
        Forgery::Descriptor => [message(DESCRIPTOR, b"{}"), good].concat(),
        Forgery::AfterEnd => [&good[..], &table("late", 1), &good].concat(),
        Forgery::Flood => message(CRASH, b"").repeat(1 << 16),
    };
    for file in 3..64 {
        // SAFETY: deliberately not: the file is the host's. Those that are no pipes take nothing.
        unsafe {
            let mut about: libc::stat = std::mem::zeroed();
            if libc::fstat(file, &raw mut about) != 0
                || about.st_mode & libc::S_IFMT != libc::S_IFIFO
            {
                continue;
            }
            let mut rest = &bytes[..];
            while !rest.is_empty() || matches!(what, Forgery::Flood) {
                if rest.is_empty() {
                    rest = &bytes;
                }
                let wrote = libc::write(file, rest.as_ptr().cast(), rest.len());
                match usize::try_from(wrote) {
                    Ok(wrote) => rest = &rest[wrote..],
                    Err(_) => break,
                }
            }
            libc::_exit(0);
        }
    }
    Err(Error::failed("no way to the analyzer"))
}

#[derive(Clone, Copy, Debug)]
pub enum Forgery {
    Path,
    /// Two tables with the same name.
    Twice,
    /// A table that claims `u64::MAX` rows.
    EndlessRows,
    /// A table of garbage.
    CutTable,
    ChartOfNothing,
    Status,
    /// A finding of a million brackets.
    Nested,
    /// More findings than allowed.
    Findings,
    /// A message that claims `u64::MAX` bytes.
    Length,
    /// A message that claims a terabyte and never ends.
    LongWait,
    /// Crash reports, without a crash.
    Crash,
    /// A refusal like the analyzer's own, with escape sequences and a second line.
    Refused,
    /// A second description of the plugin.
    Descriptor,
    /// A table after the end.
    AfterEnd,
    Flood,
}
