//! Names to keys of a text column.

use crate::names::Name;

/// Dictionary of one text column within one segment.
#[derive(Default)]
pub(crate) struct Dictionary {
    /// By name number: the key + 1; 0: not there yet.
    keys: Vec<u32>,
    /// By key.
    names: Vec<Name>,
}

impl Dictionary {
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// By key.
    pub fn names(&self) -> &[Name] {
        &self.names
    }

    #[inline]
    pub fn key(&mut self, name: Name) -> i32 {
        let at = name.number() as usize;
        match self.keys.get(at) {
            Some(key) if *key != 0 => *key as i32 - 1,
            _ => self.add(name),
        }
    }

    #[cold]
    fn add(&mut self, name: Name) -> i32 {
        let at = name.number() as usize;
        if at >= self.keys.len() {
            self.keys.resize((at + 1).next_power_of_two(), 0);
        }
        self.names.push(name);
        self.keys[at] = self.names.len() as u32;
        self.names.len() as i32 - 1
    }

    pub fn clear(&mut self) {
        for name in self.names.drain(..) {
            self.keys[name.number() as usize] = 0;
        }
    }
}
