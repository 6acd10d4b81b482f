//! Shapes and arguments, as an operator's event states them.

use std::borrow::Cow;

use super::collectives::Collective;
use crate::signatures::Lists;

/// The unparsed lists of an operator's event; empty if not stated.
#[derive(Debug, Default)]
pub(super) struct Shapes {
    lists: Lists,
    pub collective: Collective,
}

impl Shapes {
    pub fn of(&mut self, key: &[u8]) -> Option<&mut Vec<u8>> {
        let at = match key {
            b"Input Dims" | b"Input dims" => 0,
            b"Input type" => 1,
            b"Input Strides" => 2,
            b"Concrete Inputs" => 3,
            _ => return None,
        };
        Some(&mut self.lists[at])
    }

    /// Stores an argument; false if it does not describe a collective.
    pub fn set_collective(&mut self, key: &[u8], value: &[u8]) -> bool {
        self.collective.set(key, value)
    }

    /// The lists, in the order of a signature's columns.
    pub fn lists(&self) -> Cow<'_, Lists> {
        let collective = self.collective.lists();
        collective.map_or(Cow::Borrowed(&self.lists), Cow::Owned)
    }

    pub fn clear(&mut self) {
        self.lists.iter_mut().for_each(Vec::clear);
        self.collective = Collective::default();
    }
}
