//! Arguments of events that no column takes, counted by name.

/// Limit for names counted separately: a program may invent names for each event.
const MAX_NAMES: usize = 64;

/// Counts by name, in order of first appearance.
#[derive(Debug, Default)]
pub(super) struct UnusedArguments {
    counts: Vec<(Vec<u8>, u64)>,
    /// Arguments whose names exceed [`MAX_NAMES`].
    pub others: u64,
    /// Index after the last one counted: events of one kind list their arguments in the same order.
    next: usize,
}

impl UnusedArguments {
    pub fn count(&mut self, name: &[u8]) {
        let is_of_name = |(known, _): &(Vec<u8>, u64)| known == name;
        let at = if self.counts.get(self.next).is_some_and(is_of_name) {
            Some(self.next)
        } else {
            self.counts.iter().position(is_of_name)
        };
        match at {
            Some(at) => {
                self.counts[at].1 += 1;
                self.next = at + 1;
            }
            None if self.counts.len() < MAX_NAMES => self.counts.push((name.to_owned(), 1)),
            None => self.others += 1,
        }
    }

    pub fn counts(&self) -> impl Iterator<Item = (String, u64)> {
        let counts = self.counts.iter();
        counts.map(|(name, count)| (String::from_utf8_lossy(name).into_owned(), *count))
    }
}
