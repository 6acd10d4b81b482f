//! Functions that do nothing but wait, by their names.
//!
//! A thread that sleeps in `threading.py(359): wait` looks like one that works: nothing recorded says for what it
//! waits, and its frame is a row like others. Where such a lane has nothing to do with the path, that is no work
//! that the run would have to leave time for ([`schedule::background_ns`](crate::predict::schedule::background_ns)).

use trueno_analysis::interner::Texts;
use trueno_analysis::lanes::{Class, Label, WAITING};
use trueno_analysis::waits::names_a_wait;

/// Returns whether rows of a label are waits, of category `waiting`, or of a host function that only waits.
pub fn only_waits(label: Label, texts: &Texts) -> bool {
    match label.class {
        Class::Wait => true,
        Class::Brick | Class::Task | Class::Call => {
            label.category == WAITING
                || names_a_wait(texts.text(label.name), label.class == Class::Call)
        }
        Class::Scope | Class::Kernel | Class::Tile | Class::Transfer => false,
    }
}

#[cfg(test)]
mod tests {
    use trueno_analysis::lanes::UNCATEGORISED;

    use super::*;

    #[test]
    fn rows_of_category_waiting_only_wait() {
        let mut texts = Texts::default();
        let (kind, name) = (texts.number("function"), texts.number("Worker #3 working"));
        let of = |category| Label {
            class: Class::Brick,
            kind,
            name,
            category,
        };
        assert!(only_waits(of(WAITING), &texts));
        assert!(!only_waits(of(UNCATEGORISED), &texts));
    }
}
