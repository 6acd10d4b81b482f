//! Dispatches.

use trueno_recorder::{LaunchGuard, Name, SpanId};

use crate::pass::Pass;
use crate::recording::Row;

#[derive(Clone, Copy, Default)]
pub(crate) struct Stated {
    elements: Option<u64>,
    flops: Option<u64>,
    bytes: Option<u64>,
}

impl Stated {
    /// Sums; what one of the two does not state, is not known of both.
    pub fn plus(self, other: Self) -> Self {
        let sum = |one: Option<u64>, two: Option<u64>| one?.checked_add(two?);
        Self {
            elements: sum(self.elements, other.elements),
            flops: sum(self.flops, other.flops),
            bytes: sum(self.bytes, other.bytes),
        }
    }

    pub fn give(self, row: &mut LaunchGuard<'_>) {
        if let Some(elements) = self.elements {
            row.elements(elements);
        }
        if let Some(flops) = self.flops {
            row.flops(flops);
        }
        if let Some(bytes) = self.bytes {
            row.bytes(bytes);
        }
    }
}

/// A dispatch of the pipeline and bind groups that its pass has; from [`Pass::dispatch`].
#[must_use = "`encode` records it into the pass"]
pub struct Dispatch<'p, 'g, 'e> {
    pass: &'p mut Pass<'g, 'e>,
    name: Name,
    groups: [u32; 3],
    workgroup: Option<[u32; 3]>,
    stated: Stated,
}

impl<'p, 'g, 'e> Dispatch<'p, 'g, 'e> {
    pub(crate) fn new(pass: &'p mut Pass<'g, 'e>, name: Name, groups: [u32; 3]) -> Self {
        Self {
            pass,
            name,
            groups,
            workgroup: None,
            stated: Stated::default(),
        }
    }

    /// Invocations of a workgroup, as the shader states: wgpu does not say.
    pub fn workgroup(mut self, x: u32, y: u32, z: u32) -> Self {
        self.workgroup = Some([x, y, z]);
        self
    }

    /// Elements processed, as the program states.
    pub fn elements(mut self, elements: u64) -> Self {
        self.stated.elements = Some(elements);
        self
    }

    /// Floating-point operations, as the program states.
    pub fn flops(mut self, flops: u64) -> Self {
        self.stated.flops = Some(flops);
        self
    }

    /// Bytes moved, both ways together, as the program states.
    pub fn bytes(mut self, bytes: u64) -> Self {
        self.stated.bytes = Some(bytes);
        self
    }

    /// Records it into the pass, from the place that the row names; the row's id. The row is written when the encoder is
    /// submitted.
    #[track_caller]
    pub fn encode(self) -> SpanId {
        let Self {
            pass,
            name,
            groups: [x, y, z],
            workgroup,
            stated,
        } = self;
        if let Some(id) = pass.count(stated) {
            pass.pass.dispatch_workgroups(x, y, z);
            return id;
        }
        let mut row = pass.open(name);
        row.grid(x, y, z);
        if let Some([x, y, z]) = workgroup {
            row.block(x, y, z);
        }
        stated.give(&mut row);
        let Pass {
            pass, recording, ..
        } = pass;
        if recording.device().stamps().dispatches {
            recording.stamp(|| row.begin(), |set, slot| pass.write_timestamp(set, slot));
            pass.dispatch_workgroups(x, y, z);
            recording.stamp(|| row.end(), |set, slot| pass.write_timestamp(set, slot));
        } else {
            pass.dispatch_workgroups(x, y, z);
        }
        let id = row.id();
        recording.push(Row::Launch(row));
        id
    }
}
