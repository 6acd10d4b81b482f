//! An open row of `bricks` that borrows nothing, for callers that cannot hold a guard.

use std::marker::PhantomData;

use crate::brick::push_extended;
use crate::lane::{Class, Lane, Scope};
use crate::names::Name;
use crate::recorder::Recorder;
use crate::row_details::{Labels, Work};
use crate::span_id::SpanId;
use crate::threads;
use trueno_format::record::{Record, kind};
use trueno_format::schema::TableId;

/// A row of `bricks` that is open on the calling thread. Recorded when dropped.
///
/// It has a handle to its recorder and no pointer. Its lane is looked up again at the end, and may be gone by then.
pub(crate) struct OwnedSpan {
    recorder: Recorder,
    start: u64,
    id: SpanId,
    seq: u32,
    name: Name,
    kind: u8,
    pub labels: Labels,
    pub work: Work,
    /// Full id of an enclosing row on another thread; 0 to use the enclosing row on this thread.
    parent: u64,
    /// `seq` and the start belong to this thread, so it is neither `Send` nor `Sync`.
    of_thread: PhantomData<*const ()>,
}

impl OwnedSpan {
    /// Opens a row; `number` is that of an iteration or layer. With a parent, which may lie
    /// on any thread, the row and what lies in it have the parent's iteration and layer.
    ///
    /// `None` when it is not recorded.
    pub fn begin(
        recorder: &Recorder,
        name: Name,
        kind: u8,
        number: u64,
        parent: Option<SpanId>,
    ) -> Option<Self> {
        let scope = match kind {
            kind::ITERATION => Some(Scope::Iteration(number)),
            kind::LAYER => Some(Scope::Layer(u32::try_from(number).ok()?)),
            _ => None,
        };
        let recorded = recorder.records(TableId::Bricks);
        // Without bricks an iteration or layer still labels the rows of other tables.
        if !recorded && (scope.is_none() || recorder.is_off()) {
            return None;
        }
        let lane = threads::lane(recorder.shared());
        // SAFETY: null or the calling thread's own lane, valid until the thread ends; no other
        // reference to it exists now, and no code of the program runs while this one does.
        let Some(lane) = (unsafe { lane.as_mut() }) else {
            recorder.no_ring(TableId::Bricks);
            return None;
        };
        // A row that will not be there is nobody's parent.
        let class = if recorded { Class::Brick } else { Class::Label };
        let seq = lane.open(class, TableId::Bricks)?;
        if let Some(parent) = parent {
            lane.enter(seq, Scope::Task(parent.context()));
        }
        let mut work = Work::default();
        if let Some(scope) = scope {
            lane.enter(seq, scope);
            work.m[0] = number;
        }
        Some(Self {
            recorder: recorder.clone(),
            id: SpanId::new(lane.thread().index, seq, lane.context_of(seq)),
            seq,
            name,
            kind,
            labels: Labels::NONE,
            work,
            parent: parent.map_or(0, SpanId::get),
            of_thread: PhantomData,
            start: lane.now(),
        })
    }

    pub fn id(&self) -> SpanId {
        self.id
    }

    /// Returns whether the row's four numbers are free for what the program declares.
    pub fn takes_work(&self) -> bool {
        !matches!(self.kind, kind::ITERATION | kind::LAYER)
    }

    fn record(&self, lane: &Lane, end: u64, below: usize) -> Record {
        Record {
            start: self.start,
            end,
            seq: self.seq,
            parent: lane.brick_below(below),
            name: self.name.number(),
            kind: self.kind,
            flags: self.work.given,
            backend: self.labels.short_backend(),
            m: self.work.m,
        }
    }
}

impl Drop for OwnedSpan {
    fn drop(&mut self) {
        let lane = threads::lane(self.recorder.shared());
        // SAFETY: as in `begin`.
        let Some(lane) = (unsafe { lane.as_mut() }) else {
            // The thread is ending, and its lane went before this row.
            self.recorder.no_ring(TableId::Bricks);
            return;
        };
        let end = lane.now();
        let below = lane.close(self.seq);
        let record = self.record(lane, end, below);
        if !self.recorder.tables_at_end().has(TableId::Bricks) {
            if self.recorder.is_off() && !self.recorder.is_paused() {
                self.recorder.too_late();
            }
        } else if self.labels.need_extension() || self.parent != 0 {
            push_extended(lane, record, self.labels, self.parent);
        } else {
            lane.push(TableId::Bricks, record);
        }
        // That of the parent and its own; where there is none nothing happens.
        lane.leave(self.seq);
        lane.leave(self.seq);
    }
}
