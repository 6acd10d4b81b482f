//! Functions that do nothing but wait, by their names.
//!
//! A thread that sleeps in `threading.py(359): wait` looks like one that works: nothing recorded says for what it
//! waits, and its frame is a row like others. Where such a lane has nothing to do with the path, that is no work
//! that the run would have to leave time for ([`schedule::background_ns`](crate::predict::schedule::background_ns)).

use trueno_analysis::interner::Texts;
use trueno_analysis::lanes::{Class, Label};
use trueno_analysis::waits::names_a_wait;

/// Returns whether rows of a label are waits, or of a host function that only waits. The category `waiting` is not
/// enough: such a row may wait for another process or a server, and then nothing else on the path explains its time.
pub fn only_waits(label: Label, texts: &Texts) -> bool {
    match label.class {
        Class::Wait => true,
        Class::Brick | Class::Task | Class::Call => {
            names_a_wait(texts.text(label.name), label.class == Class::Call)
        }
        Class::Scope | Class::Kernel | Class::Tile | Class::Transfer => false,
    }
}
