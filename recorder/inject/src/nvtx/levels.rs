//! Nesting depth of ranges: the return value of push and pop.

use std::cell::Cell;

/// Limit on domains per thread; in further ones the level is always 0.
const DOMAINS: usize = 16;

thread_local! {
    /// Domain and depth. It has no destructor, so that it works while threads end.
    static LEVELS: Cell<[(u32, i32); DOMAINS]> = const { Cell::new([(u32::MAX, 0); DOMAINS]) };
}

/// Opens a level and returns its number, from 0.
pub fn push(domain: u32) -> i32 {
    change(domain, |depth| {
        *depth += 1;
        *depth - 1
    })
}

/// Closes a level and returns its number, or -2 if none is open.
pub fn pop(domain: u32) -> i32 {
    change(domain, |depth| {
        if *depth == 0 {
            return -2;
        }
        *depth -= 1;
        *depth
    })
}

fn change(domain: u32, by: impl FnOnce(&mut i32) -> i32) -> i32 {
    LEVELS.with(|cell| {
        let mut levels = cell.get();
        let place = levels.iter().position(|(of, _)| *of == domain).or_else(|| {
            levels
                .iter()
                .position(|(of, depth)| *of == u32::MAX || *depth == 0)
        });
        let Some(place) = place else {
            return 0;
        };
        if levels[place].0 != domain {
            levels[place] = (domain, 0);
        }
        let level = by(&mut levels[place].1);
        cell.set(levels);
        level
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn domains_nest_on_their_own() {
        assert_eq!(push(0), 0);
        assert_eq!(push(0), 1);
        assert_eq!(push(5), 0);
        assert_eq!(pop(0), 1);
        assert_eq!(pop(5), 0);
        assert_eq!(pop(5), -2);
        assert_eq!(pop(0), 0);
    }
}
