//! Dependencies between rows, and waits for other threads.

use crate::attributes::AttributeValue;
use crate::lane::Class;
use crate::names::Name;
use crate::recorder::Recorder;
use crate::span::Span;
use crate::span_id::SpanId;
use trueno_format::record::{Record, kind};
use trueno_format::schema::TableId;

/// Maximum number of ids in one record of [`kind::JOINS`].
const JOINS_A_RECORD: usize = 6;

/// An open wait of the host, a row of `syncs`. Recorded when dropped.
#[must_use = "the wait lasts until the guard is dropped"]
pub struct WaitGuard<'r> {
    span: Span<'r>,
    name: Name,
}

impl WaitGuard<'_> {
    /// Sets an attribute, like [`BrickGuard::set`](crate::BrickGuard::set).
    #[inline]
    pub fn set<'a>(
        &mut self,
        key: impl Into<Name>,
        value: impl Into<AttributeValue<'a>>,
    ) -> &mut Self {
        self.span.set(key, value);
        self
    }

    /// The row's id; [`SpanId::NONE`] if nothing is recorded.
    pub fn id(&self) -> SpanId {
        self.span.id()
    }

    /// States that this wait cannot end before `row` has ended (an edge of kind `joins`). Use it for rows
    /// whose id becomes known during the wait.
    pub fn on(&mut self, row: SpanId) -> &mut Self {
        self.joins(&[row]);
        self
    }

    fn joins(&mut self, rows: &[SpanId]) {
        let seq = self.span.seq();
        if !self.span.recorder.records(TableId::Edges) {
            return;
        }
        let Some(lane) = self.span.lane() else { return };
        for ids in rows.chunks(JOINS_A_RECORD) {
            let mut six = [0; JOINS_A_RECORD];
            let mut count = 0;
            for id in ids.iter().filter(|id| !id.is_none()) {
                six[count] = id.get();
                count += 1;
            }
            if count == 0 {
                continue;
            }
            let [start, end, m @ ..] = six;
            let record = Record {
                start,
                end,
                seq,
                m,
                kind: kind::JOINS,
                flags: count as u8,
                ..Record::default()
            };
            lane.push_group(TableId::Edges, count as u64, &[record]);
        }
    }
}

impl Drop for WaitGuard<'_> {
    fn drop(&mut self) {
        let (recorder, seq, start) = (self.span.recorder, self.span.seq(), self.span.start);
        let Some(lane) = self.span.lane() else { return };
        let end = lane.now();
        lane.close(seq);
        let record = Record {
            start,
            end,
            seq,
            name: self.name.number(),
            kind: kind::WAIT,
            ..Record::default()
        };
        if recorder.tables_at_end().has(TableId::Syncs) {
            lane.push(TableId::Syncs, record);
        } else {
            recorder.too_late();
        }
    }
}

impl Recorder {
    /// Opens a wait for other rows, such as the tasks of a join: a row of `syncs` of kind
    /// `join`, and for each row waited for an edge of kind `joins` to it.
    ///
    /// ```
    /// # let rec = trueno_recorder::Recorder::disabled();
    /// # let tasks = [trueno_recorder::SpanId::NONE];
    /// let mut wait = rec.wait("join heads", &tasks);
    /// // ... join the threads; another task turns up meanwhile ...
    /// wait.on(tasks[0]);
    /// drop(wait);
    /// ```
    pub fn wait(&self, name: impl Into<Name>, waited_for: &[SpanId]) -> WaitGuard<'_> {
        if !self.records(TableId::Syncs) {
            return WaitGuard {
                span: Span::off(self),
                name: Name::from_number(0),
            };
        }
        let name = name.into();
        let mut wait = WaitGuard {
            span: Span::begin(self, Class::Wait, TableId::Syncs),
            name,
        };
        wait.joins(waited_for);
        wait
    }

    /// States that `to` could not begin before `from` had ended (an edge of kind `depends_on`).
    pub fn depends(&self, from: SpanId, to: SpanId) {
        if self.is_off() || from.is_none() || to.is_none() {
            return;
        }
        let m = [from.get(), to.get(), 0, 0];
        self.event(TableId::Edges, |_| Record {
            kind: kind::DEPENDS,
            m,
            ..Record::default()
        });
    }
}
