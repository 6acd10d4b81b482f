//! Rows of work that an adapter does: each dispatch and copy once, with its own times. Without an adapter tests say so in a
//! line, and end.

mod clock;
mod limits;
mod rig;
mod rows;
