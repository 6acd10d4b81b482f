//! Which call began which work of a device.

use std::collections::HashMap;

/// A call that has a correlation id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Launch {
    /// Its row of `calls`.
    pub call: u64,
    /// The enclosing row of `bricks`.
    pub brick: Option<u64>,
    pub start: i64,
    pub end: i64,
    /// Row of `threads`.
    pub thread: u32,
}

/// Calls by correlation id. A call of the runtime and that of the driver in it share one: the outer one
/// stands for both.
#[derive(Debug, Default)]
pub struct Launches {
    calls: HashMap<u32, Option<Launch>>,
    /// Ids that calls have which do not enclose each other.
    pub ambiguous: u64,
}

impl Launches {
    pub fn add(&mut self, correlation: u32, launch: Launch) {
        if correlation == 0 {
            return;
        }
        let Some(known) = self.calls.get_mut(&correlation) else {
            self.calls.insert(correlation, Some(launch));
            return;
        };
        let encloses =
            |a: &Launch, b: &Launch| a.thread == b.thread && a.start <= b.start && b.end <= a.end;
        match known {
            Some(outer) if encloses(outer, &launch) => {}
            Some(inner) if encloses(&launch, inner) => *known = Some(launch),
            Some(_) => {
                *known = None;
                self.ambiguous += 1;
            }
            None => {}
        }
    }

    pub fn get(&self, correlation: u32) -> Option<Launch> {
        self.calls.get(&correlation).copied().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_outer_call_stands_for_both_and_strangers_for_none() {
        let call = |call, start, end| Launch {
            call,
            brick: None,
            start,
            end,
            thread: 0,
        };
        let mut launches = Launches::default();
        launches.add(7, call(1, 3, 9));
        launches.add(7, call(2, 0, 10));
        launches.add(7, call(3, 4, 5));
        launches.add(8, call(4, 0, 1));
        launches.add(8, call(5, 2, 3));
        launches.add(0, call(6, 2, 3));
        assert_eq!(launches.get(7).map(|l| l.call), Some(2));
        assert_eq!(launches.get(8), None);
        assert_eq!(launches.get(0), None);
        assert_eq!(launches.ambiguous, 1);
    }
}
