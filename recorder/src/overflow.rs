//! Policies for full rings.

/// Policy for an event whose thread's ring is full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Overflow {
    /// It is dropped and counted, for its thread and its table. The program never waits. A
    /// dropped row may be the parent of rows that were kept: these keep its id.
    #[default]
    Drop,
    /// The thread waits for the writer.
    Block,
    /// The thread takes another, larger ring, as long as there is memory.
    Grow,
}

impl Overflow {
    /// Text in `run.json`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Drop => "drop",
            Self::Block => "block",
            Self::Grow => "grow",
        }
    }
}
