//! Policies for full rings.

/// Policy for an event whose thread's ring is full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Overflow {
    /// It is dropped and counted, for its thread and its table. The program never waits. A
    /// dropped row may be the parent of rows that were kept: these keep its id.
    Drop,
    /// The thread waits for the writer.
    Block,
    /// The thread takes another, larger ring, as long as [`Builder::growth_bytes`](crate::Builder::growth_bytes) are not
    /// used up and there is memory; then the event is dropped and counted. So a writer that is late, because the
    /// machine is busy or its disk is slow, costs memory for a while and no rows.
    #[default]
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
