//! Samples and tracepoints as `perf script` prints them.
//!
//! A sample is a line with its thread, time and event, and below it the functions that ran, innermost first, up to
//! a blank line. In memory are the threads, the different stacks and texts, and one sample.

mod event;
mod frame;
mod header;
mod host_facts;
mod samples;

use std::io::{self, BufRead, BufReader, Read};

use crate::Error;
use crate::importer::{Head, Import, Importer};
use header::Header;
use samples::Samples;

pub(crate) const PERF_DATA: &[u8] = b"PERFILE2";
pub(crate) const PERF_DATA_HINT: &str = "convert it with `perf script -i FILE > FILE.txt`";
/// Limit for a line, so that a file without line breaks does not fill the memory.
const MAX_LINE_BYTES: u64 = 1 << 20;

/// Output of `perf script`. The run extends from the first sample to the last.
pub const IMPORTER: Importer = Importer {
    name: "perf-script",
    description: "The text of perf script",
    recognises,
    read,
};

fn recognises(head: &Head<'_>) -> bool {
    let mut lines = head.text().lines();
    // A thread and a time alone begin lines of other programs' logs too.
    let mut may_begin_stack = false;
    lines.any(|line| match Header::parse(line) {
        Some(header) => {
            may_begin_stack = header.text.is_empty() && header.may_be_of_perf();
            header.is_surely_of_perf()
        }
        None => std::mem::take(&mut may_begin_stack) && frame::parse(line).is_some(),
    })
}

fn read(mut import: Import<'_>) -> Result<Option<i64>, Error> {
    let mut lines = BufReader::new(import.open()?);
    let mut samples = Samples::new(import.into);
    let mut bytes = Vec::new();
    for number in 1_u64.. {
        match read_line(&mut lines, &mut bytes) {
            Ok(Line::End) => break,
            Ok(Line::TooLong) => import.notes.leave_out("line of more than 1 MiB"),
            Ok(Line::Read) if number == 1 && bytes.starts_with(PERF_DATA) => {
                return Err(import.refused(format!(
                        "expected the text of perf script, found the data of perf record; {PERF_DATA_HINT}"
                    )));
            }
            Ok(Line::Read) => samples.line(&String::from_utf8_lossy(&bytes), &mut import)?,
            Err(error) if import.options.partial && number > 1 => {
                import.problem(format!(
                    "cannot be read beyond line {number} ({error}): everything before was read"
                ));
                break;
            }
            Err(error) => {
                let place = format!("line {number}");
                return Err(lines.get_ref().refusal(place, error));
            }
        }
    }
    lines.get_mut().end(import.notes);
    samples.finish(&mut import)
}

/// True if lines such as `java 15294 cpu-clock:` stand before functions: samples, but no times.
pub(crate) fn has_stacks_without_times(text: &str) -> bool {
    let is_header = |line: &str| {
        let mut words = line.split_whitespace().rev();
        let is_event = words.next().is_some_and(|word| word.ends_with(':'));
        let is_number = |word: &str| {
            word.bytes()
                .all(|byte| byte.is_ascii_digit() || byte == b'/')
        };
        is_event && !line.starts_with(char::is_whitespace) && words.any(is_number)
    };
    let is_frame = |line: &str| {
        let frame = frame::parse(line).filter(|_| line.starts_with(char::is_whitespace));
        frame.is_some_and(|frame| frame.is_symbolized())
    };
    let mut lines = text.lines().zip(text.lines().skip(1));
    lines.any(|(line, next)| is_header(line) && is_frame(next))
}

enum Line {
    Read,
    TooLong,
    End,
}

/// Reads a line. A line that is too long comes back empty.
fn read_line(lines: &mut impl BufRead, bytes: &mut Vec<u8>) -> io::Result<Line> {
    bytes.clear();
    let read = lines
        .by_ref()
        .take(MAX_LINE_BYTES)
        .read_until(b'\n', bytes)?;
    if read as u64 == MAX_LINE_BYTES && !bytes.ends_with(b"\n") {
        lines.skip_until(b'\n')?;
        return Ok(Line::TooLong);
    }
    Ok(if read == 0 { Line::End } else { Line::Read })
}

#[cfg(test)]
mod tests;
