//! Ids of rows.

use trueno_format::record::{Context, row_id};

/// The id of one row of the run. Take it from an open guard, and pass it to other threads.
///
/// It also holds the iteration and layer of its row, which a task on another thread inherits. Equal ids are
/// equal rows.
#[derive(Clone, Copy, Debug)]
pub struct SpanId {
    id: u64,
    context: Context,
}

impl SpanId {
    /// No row: the id of guards of a disabled recorder. Edges from or to it are not recorded.
    pub const NONE: Self = Self {
        id: 0,
        context: Context {
            iteration: None,
            layer: None,
        },
    };

    pub(crate) fn new(thread: u32, seq: u32, context: Context) -> Self {
        Self {
            id: row_id(thread, seq),
            context,
        }
    }

    /// A row with a known id, or none (0), with its context.
    pub(crate) fn with_context(id: u64, context: Context) -> Self {
        Self { id, context }
    }

    /// The value in column `id`: `(thread + 1) << 32 | sequence`; 0 for [`SpanId::NONE`].
    pub fn get(self) -> u64 {
        self.id
    }

    /// Returns whether it is [`SpanId::NONE`].
    pub fn is_none(self) -> bool {
        self.id == 0
    }

    pub(crate) fn thread(self) -> u32 {
        ((self.id >> 32) as u32).saturating_sub(1)
    }

    pub(crate) fn context(self) -> Context {
        self.context
    }
}

impl PartialEq for SpanId {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl Eq for SpanId {}

impl std::hash::Hash for SpanId {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.id.hash(state);
    }
}
