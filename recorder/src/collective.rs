//! Collectives: operations that several ranks of a job take part in.

use trueno_format::Collective;
use trueno_format::record::kind;
use trueno_format::schema::TableId;

use crate::attributes::AttributeValue;
use crate::brick::BrickGuard;
use crate::mailbox::Request;
use crate::names::Name;
use crate::recorder::Recorder;
use crate::span_id::SpanId;

const CATEGORY: &str = "communication";

/// An open call of a collective, or of a send or receive: a row of `bricks` and one of `collectives`. Recorded when
/// dropped.
#[must_use = "the call lasts until the guard is dropped"]
pub struct CollectiveGuard<'r> {
    /// `None` once it has ended.
    brick: Option<BrickGuard<'r>>,
    recorder: &'r Recorder,
    /// `None` if nothing is recorded.
    stated: Option<Box<Collective>>,
}

impl CollectiveGuard<'_> {
    fn state(&mut self, change: impl FnOnce(&mut Collective)) -> &mut Self {
        if let Some(stated) = &mut self.stated {
            change(stated);
        }
        self
    }

    /// Sets its number in the communicator, if the program counts. Default: calls are matched by their order.
    pub fn sequence(&mut self, sequence: u64) -> &mut Self {
        self.state(|stated| stated.sequence = Some(sequence))
    }

    /// Elements that this rank sends and receives, and their type: `f32`, `bf16`, ...
    pub fn elements(&mut self, given: u64, got: u64, element_type: &str) -> &mut Self {
        self.state(|stated| {
            (stated.elements_in, stated.elements_out) = (Some(given), Some(got));
            stated.element_type = Some(element_type.to_owned());
        })
    }

    /// Ranks of the communicator, as numbers in the job.
    pub fn ranks(&mut self, ranks: &[u32]) -> &mut Self {
        self.state(|stated| ranks.clone_into(&mut stated.ranks))
    }

    /// The algorithm: `ring`, `tree`, ...
    pub fn algorithm(&mut self, algorithm: &str) -> &mut Self {
        self.state(|stated| stated.algorithm = Some(algorithm.to_owned()))
    }

    /// Of a send or receive: the other rank, in the job.
    pub fn peer(&mut self, rank: u32) -> &mut Self {
        self.state(|stated| stated.peer = Some(rank))
    }

    /// Sets an attribute, like [`BrickGuard::set`](crate::BrickGuard::set).
    pub fn set<'a>(
        &mut self,
        key: impl Into<Name>,
        value: impl Into<AttributeValue<'a>>,
    ) -> &mut Self {
        if let Some(brick) = &mut self.brick {
            brick.set(key, value);
        }
        self
    }

    /// The id of its row of `bricks`; [`SpanId::NONE`] if nothing is recorded.
    pub fn id(&self) -> SpanId {
        self.brick.as_ref().map_or(SpanId::NONE, BrickGuard::id)
    }
}

impl Drop for CollectiveGuard<'_> {
    fn drop(&mut self) {
        let Some(mut brick) = self.brick.take() else {
            return;
        };
        let id = brick.id();
        let start = brick.row.span.start;
        let thread = brick.row.span.lane().map(|lane| lane.thread().index);
        drop(brick);
        let (Some(mut stated), Some(thread)) = (self.stated.take(), thread) else {
            return;
        };
        if !self.recorder.tables_at_end().has(TableId::Collectives) {
            return;
        }
        let shared = self.recorder.shared();
        stated.ticks = (start, shared.clock.ticks().max(start));
        stated.span = (!id.is_none()).then(|| id.get());
        stated.thread = thread;
        shared.mailbox.request(Request::Collective(stated));
    }
}

impl Recorder {
    /// Opens a collective operation: `all_reduce`, `all_gather`, `reduce_scatter`, `all_to_all`, `broadcast`, `reduce`,
    /// `gather`, `scatter`, `barrier`, `send` or `recv`. All ranks of `communicator` must use the same name for it. Keep
    /// the guard until the operation is done, so that its row has this rank's arrival and departure.
    ///
    /// It costs some microseconds: a line of the log in addition to the row of a function.
    ///
    /// ```
    /// # let rec = trueno_recorder::Recorder::disabled();
    /// # let gradients = [0.0_f32; 8];
    /// let mut call = rec.collective("all_reduce", "data parallel");
    /// call.elements(gradients.len() as u64, gradients.len() as u64, "f32").ranks(&[0, 1, 2, 3]);
    /// // ... the all-reduce ...
    /// drop(call);
    /// ```
    pub fn collective(
        &self,
        operation: impl Into<Name>,
        communicator: &str,
    ) -> CollectiveGuard<'_> {
        let operation = operation.into();
        let mut brick = BrickGuard::begin(self, operation, kind::FUNCTION);
        let stated = brick.row.span.is_on().then(|| {
            Box::new(Collective {
                operation: operation.as_str().to_owned(),
                communicator: communicator.to_owned(),
                ..Collective::default()
            })
        });
        if stated.is_some() {
            brick.category(CATEGORY);
        }
        CollectiveGuard {
            brick: Some(brick),
            recorder: self,
            stated,
        }
    }
}
