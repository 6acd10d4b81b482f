//! Places of element counts: rows of a run declare few different ones, millions of times.

/// A power of two.
const SLOTS: usize = 256;

pub(super) struct ElementsCache {
    /// By hash of the value: the value and its index.
    slots: Vec<Option<(u64, u32)>>,
}

impl Default for ElementsCache {
    fn default() -> Self {
        Self {
            slots: vec![None; SLOTS],
        }
    }
}

impl ElementsCache {
    /// The index of a value in the list. Appends the value if it is not cached, so it may be in the list twice.
    #[inline]
    pub(super) fn index(&mut self, value: u64, list: &mut Vec<u64>) -> u32 {
        let hash = value.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56;
        let slot = &mut self.slots[hash as usize % SLOTS];
        match *slot {
            Some((known, at)) if known == value => at,
            _ => {
                let at = list.len() as u32;
                list.push(value);
                *slot = Some((value, at));
                at
            }
        }
    }
}
