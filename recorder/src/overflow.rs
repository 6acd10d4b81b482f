//! Policies for full rings.

/// Policy for an event whose thread's ring is full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Overflow {
    /// Drop the event, and count it for its thread and table. The program never waits. A dropped row may be the
    /// parent of recorded rows, which keep its id.
    Drop,
    /// Make the thread wait for the writer.
    Block,
    /// Give the thread another, larger ring as long as [`Builder::growth_bytes`](crate::Builder::growth_bytes)
    /// are not used up and there is memory; after that, drop and count the event. So a writer that is late
    /// because of a busy machine or a slow disk costs memory for a while, but no rows.
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
