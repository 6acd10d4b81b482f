//! Tensors whose result is on its way.

use trueno_cupti::driver::{Buffer, Context, DriverError, Event, Pinned};
use trueno_recorder::{ChecksumPlace, Element, Recorder};

use super::result::{HEAD_WORDS, PARTIAL_WORDS, decode};

pub(super) struct Slot {
    /// The head, and behind it the partials that are copied.
    pub result: Buffer,
    pub host: Pinned,
    pub copied: Event,
    /// Partials before the first and the second pass of `fold`, of large tensors.
    pub scratch: [Option<Buffer>; 2],
}

impl Slot {
    pub fn new(context: &Context, most_partials: u64) -> Result<Self, DriverError> {
        let words = HEAD_WORDS + most_partials as usize * PARTIAL_WORDS;
        Ok(Self {
            result: Buffer::new(context, words * 8)?,
            host: Pinned::new(context, words)?,
            copied: Event::new(context)?,
            scratch: [None, None],
        })
    }

    /// Room for the partials.
    pub fn room(
        &mut self,
        which: usize,
        partials: u64,
        context: &Context,
    ) -> Result<u64, DriverError> {
        let bytes = partials as usize * PARTIAL_WORDS * 8;
        if self.scratch[which]
            .as_ref()
            .is_none_or(|room| room.bytes() < bytes)
        {
            self.scratch[which] = Some(Buffer::new(context, bytes)?);
        }
        Ok(self.scratch[which].as_ref().map_or(0, Buffer::address))
    }
}

pub(super) struct Pending {
    pub slot: Slot,
    pub place: Option<ChecksumPlace>,
    pub shape: Vec<usize>,
    pub elements: u64,
    pub words: usize,
    /// Recording function of its element type.
    pub record: fn(&Recorder, ChecksumPlace, &[usize], &[u64], u64),
}

pub(super) fn record<T: Element>(
    recorder: &Recorder,
    place: ChecksumPlace,
    shape: &[usize],
    words: &[u64],
    elements: u64,
) {
    let (fingerprint, samples) = decode::<T>(words, elements);
    recorder.checksum_at::<T>(place, shape, fingerprint, &samples);
}

impl Pending {
    /// The words that came back.
    ///
    /// # Safety
    /// The slot's event must have been reached.
    pub unsafe fn words(&self) -> &[u64] {
        // SAFETY: the copy is done, says the caller.
        let all = unsafe { self.slot.host.read() };
        &all[..self.words]
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        // The device may still write: its memory must not go before. An error means that the context is lost, and
        // nothing writes any more.
        let _ = self.copied.wait();
    }
}
