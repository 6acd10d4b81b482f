//! System calls as `strace` prints them, best with `-f -ttt -T`; also the text of renacer, which is alike.
//!
//! | option | effect |
//! | --- | --- |
//! | `-ttt`, `-tt`, `-t`, `-r` | times; without one the calls have an order only, and the run no length |
//! | `-T` | durations; a call without one becomes an instant |
//! | `-y`, `-yy` | files behind descriptors |
//! | `-k`, `-kk` | stacks |
//! | `-Y` | names of threads |
//!
//! A call that another thread's line interrupts stands in two lines, `<unfinished ...>` and `<... resumed>`, and becomes
//! one row when it has ended. In memory are such calls, the threads, the different stacks, and the arguments of instants, of
//! which 64 MiB are kept.

mod arguments;
mod call_kind;
mod frame;
pub(crate) mod instants;
mod line;
pub(crate) mod outcome;
mod reader;
mod stamp;
pub(crate) mod system_calls;
mod threads;

use std::io::{BufRead, BufReader};

use crate::Error;
use crate::importer::{Head, Import, Importer};
use line::Body;
use reader::Reader;

/// Limit for lines before the first call: output of the program, if redirected to the same file.
const MAX_LINES_BEFORE: usize = 16;

/// Output of strace. The run extends from the first line to the end of the last call.
pub const IMPORTER: Importer = Importer {
    name: "strace",
    description: "The text of strace, or of renacer",
    recognises,
    read,
};

fn recognises(head: &Head<'_>) -> bool {
    let mut lines = head.text().lines().take(MAX_LINES_BEFORE);
    lines.any(|line| line::parse(line).is_some_and(|line| !matches!(line.body, Body::Event(_))))
}

fn read(mut import: Import<'_>) -> Result<Option<i64>, Error> {
    let mut lines = BufReader::new(import.open()?);
    let mut reader = Reader::default();
    let mut bytes = Vec::new();
    for number in 1_u64.. {
        bytes.clear();
        match lines.read_until(b'\n', &mut bytes) {
            Ok(0) => break,
            Ok(_) => reader.line(&String::from_utf8_lossy(&bytes), &mut import)?,
            Err(error) => {
                let place = format!("line {number}");
                return Err(lines.get_ref().refusal(place, error));
            }
        }
    }
    lines.get_mut().end(import.notes);
    if import.notes.read.is_empty() {
        return Err(import.refused(
            "expected lines of strace, found none; record with `strace -f -ttt -T -o FILE`",
        ));
    }
    reader.finish(&mut import)
}

#[cfg(test)]
mod tests;
