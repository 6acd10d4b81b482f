//! Checksums as records.

use super::{Element, Fingerprint, fingerprint};
use crate::lane::Lane;
use crate::names::Name;
use crate::record::{Record, TableNumber, extension, kind, pair};
use crate::recorder::Recorder;
use crate::span_id::SpanId;

impl Recorder {
    /// Records the fingerprint of a tensor at this point: under the brick open here, with
    /// the iteration and layer that hold here.
    ///
    /// `position` is the sequence position, where there is one; `shape` is kept as given. Reads
    /// all elements on the calling thread.
    pub fn checksum<T: Element>(
        &self,
        name: impl Into<Name>,
        position: Option<u64>,
        data: &[T],
        shape: &[usize],
    ) {
        if self.records(TableNumber::Checksums) {
            let print = Print::of(name.into(), position, data, shape);
            self.events(TableNumber::Checksums, |lane| print.here(lane));
        }
    }

    /// Like [`Recorder::checksum`], for the output of row `span`, which may have ended or lie
    /// on another thread: so the time of the checksum is not part of the row's own.
    pub fn checksum_of<T: Element>(
        &self,
        span: SpanId,
        name: impl Into<Name>,
        position: Option<u64>,
        data: &[T],
        shape: &[usize],
    ) {
        if self.records(TableNumber::Checksums) {
            let print = Print::of(name.into(), position, data, shape);
            self.events(TableNumber::Checksums, |lane| print.of_span(lane, span));
        }
    }
}

/// All of a row but its time and place.
struct Print {
    name: Name,
    position: Option<u64>,
    labels: u64,
    fingerprint: Fingerprint,
}

impl Print {
    fn of<T: Element>(name: Name, position: Option<u64>, data: &[T], shape: &[usize]) -> Self {
        Self {
            name,
            position,
            labels: pair(Name::new(T::DTYPE).number(), shape_name(shape).number()),
            fingerprint: fingerprint(data),
        }
    }

    fn primary(&self, lane: &mut Lane, extensions: u8) -> Record {
        let print = &self.fingerprint;
        Record {
            start: lane.now(),
            end: print.hash,
            name: self.name.number(),
            kind: kind::CHECKSUM,
            flags: u8::from(self.position.is_some()) << 3 | extensions << 4,
            m: [
                print.hash_fnv64,
                print.elements,
                self.labels,
                self.position.unwrap_or(0),
            ],
            ..Record::default()
        }
    }

    fn here(&self, lane: &mut Lane) -> [Record; 3] {
        let mut primary = self.primary(lane, 2);
        primary.parent = lane.brick_below(lane.depth());
        let print = &self.fingerprint;
        [primary, counts(print), moments(print)]
    }

    fn of_span(&self, lane: &mut Lane, span: SpanId) -> [Record; 4] {
        let mut origin = Record {
            kind: extension::ORIGIN,
            ..Record::default()
        };
        span.context().store(&mut origin);
        origin.m[0] = span.get();
        let print = &self.fingerprint;
        [self.primary(lane, 3), counts(print), moments(print), origin]
    }
}

fn counts(print: &Fingerprint) -> Record {
    let of = &print.statistics;
    let m = [of.nan_count, of.inf_count, of.zero_count, 0];
    Record {
        kind: extension::COUNTS,
        m,
        ..Record::default()
    }
}

fn moments(print: &Fingerprint) -> Record {
    let of = &print.statistics;
    let five = [of.min, of.max, of.absmax, of.mean, of.l2];
    let flags = five
        .iter()
        .enumerate()
        .map(|(at, value)| u8::from(value.is_some()) << at)
        .sum();
    let [start, end, m0, m1, m2] = five.map(|value| value.map_or(0, f64::to_bits));
    Record {
        kind: extension::STATISTICS,
        flags,
        start,
        end,
        m: [m0, m1, m2, 0],
        ..Record::default()
    }
}

/// A text on the stack: most shapes are short, and an allocation is saved.
struct Short {
    bytes: [u8; 64],
    used: usize,
}

impl std::fmt::Write for Short {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        let end = self.used + text.len();
        self.bytes
            .get_mut(self.used..end)
            .ok_or(std::fmt::Error)?
            .copy_from_slice(text.as_bytes());
        self.used = end;
        Ok(())
    }
}

fn write_shape(shape: &[usize], out: &mut impl std::fmt::Write) -> std::fmt::Result {
    match shape {
        [] => out.write_str("scalar"),
        [first, rest @ ..] => {
            write!(out, "{first}")?;
            rest.iter()
                .try_for_each(|dimension| write!(out, "x{dimension}"))
        }
    }
}

/// `[4, 64]` as `4x64`; no dimension: `scalar`.
fn shape_name(shape: &[usize]) -> Name {
    let mut short = Short {
        bytes: [0; 64],
        used: 0,
    };
    if write_shape(shape, &mut short).is_ok()
        && let Ok(text) = std::str::from_utf8(&short.bytes[..short.used])
    {
        return Name::new(text);
    }
    let mut long = String::new();
    // Writing to a String does not fail.
    let _ = write_shape(shape, &mut long);
    Name::new(&long)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_in_words() {
        for (shape, text) in [
            (&[][..], "scalar"),
            (&[7], "7"),
            (&[4, 64], "4x64"),
            (
                &[usize::MAX; 4],
                &[usize::MAX.to_string().as_str(); 4].join("x"),
            ),
        ] {
            assert_eq!(shape_name(shape).as_str(), text);
        }
    }
}
