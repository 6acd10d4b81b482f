//! Checksums as records.

use super::sampling::{self, MAX_SAMPLES};
use super::{Element, Fingerprint, Strided, fingerprint};
use crate::lane::Lane;
use crate::names::Name;
use crate::recorder::Recorder;
use crate::span_id::SpanId;
use trueno_format::record::{Record, extension, kind, pair};
use trueno_format::schema::TableId;

impl Recorder {
    /// Records the fingerprint of a tensor at this point, under the open brick, with its iteration
    /// and layer.
    ///
    /// `position` is the sequence position, if there is one; `shape` is stored as given. Reads
    /// all elements on the calling thread.
    pub fn checksum<T: Element>(
        &self,
        name: impl Into<Name>,
        position: Option<u64>,
        data: &[T],
        shape: &[usize],
    ) {
        self.fingerprinted(None, name, position, &Tensor { data, shape });
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
        self.fingerprinted(Some(span), name, position, &Tensor { data, shape });
    }

    /// Like [`Recorder::checksum`], of elements that do not lie side by side; the tensor is not copied.
    pub fn checksum_strided<T: Element>(
        &self,
        name: impl Into<Name>,
        position: Option<u64>,
        view: Strided<'_, T>,
    ) {
        self.fingerprinted(None, name, position, &view);
    }

    /// Like [`Recorder::checksum_of`], of elements that do not lie side by side.
    pub fn checksum_strided_of<T: Element>(
        &self,
        span: SpanId,
        name: impl Into<Name>,
        position: Option<u64>,
        view: Strided<'_, T>,
    ) {
        self.fingerprinted(Some(span), name, position, &view);
    }

    #[inline(always)]
    fn fingerprinted(
        &self,
        span: Option<SpanId>,
        name: impl Into<Name>,
        position: Option<u64>,
        source: &impl Source,
    ) {
        if !self.records(TableId::Checksums) {
            return;
        }
        let name = name.into();
        let sampling = self.shared().sampling.get();
        if sampling.is_some_and(|sampling| !sampling.takes(name)) {
            return;
        }
        let samples = sampling.map_or(0, |sampling| sampling.samples);
        let print = Print::new(name, position, source, samples);
        self.events(TableId::Checksums, |lane| print.group(lane, span, None));
    }
}

trait Source {
    const DTYPE: &'static str;
    fn shape(&self) -> &[usize];
    fn fingerprint(&self) -> Fingerprint;
    fn value(&self, at: u64) -> f64;
}

struct Tensor<'a, T> {
    data: &'a [T],
    shape: &'a [usize],
}

impl<T: Element> Source for Tensor<'_, T> {
    const DTYPE: &'static str = T::DTYPE;

    fn shape(&self) -> &[usize] {
        self.shape
    }

    fn fingerprint(&self) -> Fingerprint {
        fingerprint(self.data)
    }

    fn value(&self, at: u64) -> f64 {
        self.data[at as usize].as_f64()
    }
}

impl<T: Element> Source for Strided<'_, T> {
    const DTYPE: &'static str = T::DTYPE;

    fn shape(&self) -> &[usize] {
        Strided::shape(self)
    }

    fn fingerprint(&self) -> Fingerprint {
        Strided::fingerprint(self)
    }

    fn value(&self, at: u64) -> f64 {
        Strided::value(self, at as usize)
    }
}

/// Everything in a row except its time and place.
pub(super) struct Print {
    name: Name,
    position: Option<u64>,
    labels: u64,
    fingerprint: Fingerprint,
    samples: [f64; MAX_SAMPLES],
    sampled: usize,
}

const SAMPLES_EACH: usize = 6;
/// Checksum, counts, moments, origin, and samples.
const MAX_RECORDS: usize = 4 + MAX_SAMPLES.div_ceil(SAMPLES_EACH);

pub(super) struct Group {
    records: [Record; MAX_RECORDS],
    used: usize,
}

impl Group {
    fn push(&mut self, record: Record) {
        self.records[self.used] = record;
        self.used += 1;
    }
}

impl AsRef<[Record]> for Group {
    fn as_ref(&self) -> &[Record] {
        &self.records[..self.used]
    }
}

impl Print {
    fn new<S: Source>(name: Name, position: Option<u64>, source: &S, samples: usize) -> Self {
        let mut print = Self {
            name,
            position,
            labels: labels(S::DTYPE, source.shape()),
            fingerprint: source.fingerprint(),
            samples: [0.0; MAX_SAMPLES],
            sampled: 0,
        };
        for nth in 0..samples {
            if let Some(at) = sampling::place(nth, print.fingerprint.elements) {
                print.samples[nth] = source.value(at);
                print.sampled = nth + 1;
            }
        }
        print
    }

    /// Of a fingerprint that was computed elsewhere.
    pub fn given<T: Element>(
        name: Name,
        position: Option<u64>,
        shape: &[usize],
        fingerprint: Fingerprint,
        samples: &[f64],
    ) -> Self {
        let mut print = Self {
            name,
            position,
            labels: labels(T::DTYPE, shape),
            fingerprint,
            samples: [0.0; MAX_SAMPLES],
            sampled: samples.len().min(MAX_SAMPLES),
        };
        print.samples[..print.sampled].copy_from_slice(&samples[..print.sampled]);
        print
    }

    /// `start`: when, if it is not now.
    pub fn group(&self, lane: &mut Lane, span: Option<SpanId>, start: Option<u64>) -> Group {
        let print = &self.fingerprint;
        let mut primary = Record {
            start: start.unwrap_or_else(|| lane.now()),
            end: print.hash,
            name: self.name.number(),
            kind: kind::CHECKSUM,
            m: [
                print.hash_fnv64,
                print.elements,
                self.labels,
                self.position.unwrap_or(0),
            ],
            ..Record::default()
        };
        if span.is_none() {
            primary.parent = lane.brick_below(lane.depth());
        }
        let mut group = Group {
            records: [Record::default(); MAX_RECORDS],
            used: 0,
        };
        group.push(primary);
        let context = span.map_or(lane.context(), SpanId::context);
        let known = lane
            .shared()
            .sampling
            .get()
            .and_then(|of| of.baseline.as_ref());
        let is_known =
            known.is_some_and(|known| known.has(self.name, context, self.position, print.hash));
        if !is_known {
            group.push(counts(print));
            group.push(moments(print));
        }
        if let Some(span) = span {
            group.push(origin(span));
        }
        let sampled = if is_known { 0 } else { self.sampled };
        for values in self.samples[..sampled].chunks(SAMPLES_EACH) {
            group.push(samples(values));
        }
        let extensions = group.used as u8 - 1;
        group.records[0].flags = u8::from(self.position.is_some()) << 3 | extensions << 4;
        group
    }
}

fn labels(dtype: &'static str, shape: &[usize]) -> u64 {
    pair(Name::new(dtype).number(), shape_name(shape).number())
}

fn origin(span: SpanId) -> Record {
    let mut origin = Record {
        kind: extension::ORIGIN,
        ..Record::default()
    };
    span.context().store(&mut origin);
    origin.m[0] = span.get();
    origin
}

fn samples(values: &[f64]) -> Record {
    let mut bits = [0; SAMPLES_EACH];
    for (bits, value) in bits.iter_mut().zip(values) {
        *bits = value.to_bits();
    }
    let [start, end, m @ ..] = bits;
    Record {
        kind: extension::SAMPLES,
        flags: values.len() as u8,
        start,
        end,
        m,
        ..Record::default()
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

/// A text on the stack, because most shapes are short: saves an allocation.
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

/// `[4, 64]` as `4x64`; `scalar` without dimensions.
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
