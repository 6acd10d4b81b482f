//! Rows of work that is being recorded into an encoder, and not submitted yet.

use trueno_recorder::{LaunchGuard, SpanId, TransferGuard};

use crate::device::WgpuDevice;
use crate::offered;
use crate::queries::Batch;

pub(crate) enum Row<'g> {
    Launch(LaunchGuard<'g>),
    Transfer(TransferGuard<'g>),
}

impl Row<'_> {
    pub fn id(&self) -> SpanId {
        match self {
            Self::Launch(guard) => guard.id(),
            Self::Transfer(guard) => guard.id(),
        }
    }

    fn cancel(self) {
        match self {
            Self::Launch(guard) => guard.cancel(),
            Self::Transfer(guard) => guard.cancel(),
        }
    }
}

/// Rows and time stamps of one encoder. If dropped, its rows are cancelled, because the work is never done.
pub(crate) struct Recording<'g> {
    device: &'g WgpuDevice,
    rows: Vec<Row<'g>>,
    batches: Vec<Batch>,
}

impl<'g> Recording<'g> {
    pub fn new(device: &'g WgpuDevice) -> Self {
        Self {
            device,
            rows: Vec::new(),
            batches: Vec::new(),
        }
    }

    pub fn device(&self) -> &'g WgpuDevice {
        self.device
    }

    /// Offers the next time stamp to `ask`; where it is taken, `write` must write it.
    pub fn stamp(&mut self, ask: impl FnOnce(), write: impl FnOnce(&wgpu::QuerySet, u32)) {
        let later = !self.batches.is_empty();
        // Rows take them in pairs, and sizes of batches are even: both are of one set.
        if self.batches.last().is_none_or(Batch::is_full) {
            self.batches.push(self.device.queries().take(later));
        }
        let Some(batch) = self.batches.last_mut() else {
            return;
        };
        if offered::offer(self.device, batch.mark(), ask) {
            write(batch.set(), batch.slot());
            batch.advance();
        }
    }

    pub fn push(&mut self, row: Row<'g>) {
        self.rows.push(row);
    }

    /// Makes the values of its time stamps readable: the last commands of the encoder.
    pub fn resolve(&self, encoder: &mut wgpu::CommandEncoder) {
        for batch in &self.batches {
            batch.resolve(encoder);
        }
    }

    /// Publishes the rows, whose work was submitted; the last of them.
    pub fn submitted(mut self) -> Option<SpanId> {
        // First, so that the marks of the rows are known.
        for batch in self.batches.drain(..) {
            self.device.queries().read(batch);
        }
        let last = self.rows.last().map(Row::id);
        self.rows.clear();
        last
    }
}

impl Drop for Recording<'_> {
    fn drop(&mut self) {
        self.rows.drain(..).for_each(Row::cancel);
        for batch in self.batches.drain(..) {
            self.device.queries().discard(batch);
        }
    }
}
