//! Compute passes.

use std::ops::{Deref, DerefMut};

use trueno_recorder::{LaunchGuard, Name, SpanId};

use crate::device::QUEUE;
use crate::dispatch::{Dispatch, Stated};
use crate::recorded::Wgpu;
use crate::recording::{Recording, Row};

/// A compute pass: each dispatch is a row of `kernels`; on a device without time stamps inside passes, the pass is one.
/// It is also the pass of wgpu, whose own methods record nothing.
pub struct Pass<'g, 'e> {
    gpu: &'g Wgpu,
    pub(crate) pass: wgpu::ComputePass<'e>,
    pub(crate) recording: &'e mut Recording<'g>,
    /// The row of the pass, if its dispatches have none.
    whole: Option<Whole<'g>>,
}

struct Whole<'g> {
    row: LaunchGuard<'g>,
    dispatches: u64,
    stated: Stated,
}

impl<'e> Deref for Pass<'_, 'e> {
    type Target = wgpu::ComputePass<'e>;

    fn deref(&self) -> &wgpu::ComputePass<'e> {
        &self.pass
    }
}

impl DerefMut for Pass<'_, '_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.pass
    }
}

impl<'g, 'e> Pass<'g, 'e> {
    #[track_caller]
    pub(crate) fn new(
        gpu: &'g Wgpu,
        encoder: &'e mut wgpu::CommandEncoder,
        recording: &'e mut Recording<'g>,
        label: &'static str,
    ) -> Self {
        let stamps = gpu.device().stamps();
        let mut whole = None;
        let mut writes = [None, None];
        if stamps.passes && !stamps.dispatches {
            let mut row = gpu.launch(label);
            let [begin, end] = &mut writes;
            recording.stamp(
                || row.begin(),
                |set, slot| *begin = Some((set.clone(), slot)),
            );
            recording.stamp(|| row.end(), |set, slot| *end = Some((set.clone(), slot)));
            whole = Some(Whole {
                row,
                dispatches: 0,
                stated: Stated::default(),
            });
        }
        let [begin, end] = &writes;
        let timestamp_writes = begin
            .as_ref()
            .map(|(set, slot)| wgpu::ComputePassTimestampWrites {
                query_set: set,
                beginning_of_pass_write_index: Some(*slot),
                end_of_pass_write_index: end.as_ref().map(|(_, slot)| *slot),
            });
        let pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
            label: Some(label),
            timestamp_writes,
        });
        Self {
            gpu,
            pass,
            recording,
            whole,
        }
    }
}

impl<'g, 'e> Pass<'g, 'e> {
    /// Prepares a dispatch of so many workgroups, of the pipeline that was set; [`Dispatch::encode`] makes it. On a
    /// device without time stamps inside passes, its name is not recorded.
    pub fn dispatch(&mut self, name: impl Into<Name>, groups: [u32; 3]) -> Dispatch<'_, 'g, 'e> {
        Dispatch::new(self, name.into(), groups)
    }

    /// Records a dispatch as part of the row of the pass. `None` if the dispatch has a row of its own.
    pub(crate) fn count(&mut self, stated: Stated) -> Option<SpanId> {
        let whole = self.whole.as_mut()?;
        whole.stated = match whole.dispatches {
            0 => stated,
            _ => whole.stated.plus(stated),
        };
        whole.dispatches += 1;
        Some(whole.row.id())
    }

    #[track_caller]
    pub(crate) fn open(&self, name: Name) -> LaunchGuard<'g> {
        self.gpu.launch(name)
    }
}

impl Drop for Pass<'_, '_> {
    fn drop(&mut self) {
        let Some(mut whole) = self.whole.take() else {
            return;
        };
        if whole.dispatches == 0 {
            return whole.row.cancel();
        }
        whole.stated.give(&mut whole.row);
        whole.row.set("dispatches", whole.dispatches);
        self.recording.push(Row::Launch(whole.row));
    }
}

impl Wgpu {
    #[track_caller]
    pub(crate) fn launch(&self, name: impl Into<Name>) -> LaunchGuard<'_> {
        let mut row = self.recorder().launch(name, self.number(), QUEUE);
        row.backend("wgpu");
        row
    }
}
