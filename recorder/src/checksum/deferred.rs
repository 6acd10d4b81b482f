//! Rows of `checksums` whose fingerprint is known only later: a device computes it, and nobody waits.

use super::record::Print;
use super::{Element, Fingerprint};
use crate::names::Name;
use crate::recorder::Recorder;
use crate::span_id::SpanId;
use trueno_format::schema::TableId;

/// Time, brick, iteration and layer at which a tensor's fingerprint was requested.
#[derive(Debug)]
pub struct ChecksumPlace {
    name: Name,
    position: Option<u64>,
    span: SpanId,
    start: u64,
}

impl Recorder {
    /// Notes that a tensor is fingerprinted here: like [`Recorder::checksum`], and the fingerprint is given
    /// later, by [`Recorder::checksum_at`], from any thread. `None`: this one is not recorded (the recorder or the
    /// table is off, or the sampling of the name skips it), so that nothing need be computed.
    pub fn checksum_place(
        &self,
        name: impl Into<Name>,
        position: Option<u64>,
    ) -> Option<ChecksumPlace> {
        if !self.records(TableId::Checksums) {
            return None;
        }
        let name = name.into();
        let sampling = self.shared().sampling.get();
        if sampling.is_some_and(|sampling| !sampling.takes(name)) {
            return None;
        }
        self.with_lane(|lane| {
            let context = lane.context();
            let span = match lane.brick_below(lane.depth()) {
                0 => SpanId::with_context(0, context),
                brick => SpanId::new(lane.thread().index, brick, context),
            };
            ChecksumPlace {
                name,
                position,
                span,
                start: lane.now(),
            }
        })
    }

    /// Records the checksum for such a place. `samples`: values of the elements at [`Fingerprint::sample_place`],
    /// from the first on; the builder sets how many are stored.
    pub fn checksum_at<T: Element>(
        &self,
        place: ChecksumPlace,
        shape: &[usize],
        fingerprint: Fingerprint,
        samples: &[f64],
    ) {
        let kept = self.shared().sampling.get().map_or(0, |of| of.samples);
        let samples = &samples[..samples.len().min(kept)];
        let print = Print::given::<T>(place.name, place.position, shape, fingerprint, samples);
        self.events(TableId::Checksums, |lane| {
            print.group(lane, Some(place.span), Some(place.start))
        });
    }
}
