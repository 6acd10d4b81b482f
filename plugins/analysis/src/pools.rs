//! Many threads of one role, each alive for a moment, as one pool.
//!
//! A program that starts a thread for each piece of work has hundreds of them, of which a few are there at once. Lane
//! by lane nearly all time is "not alive", and nobody sees the work. Threads of a pool that were never there at once
//! share a slot; the number of slots is that of threads that were.
//!
//! | threads | role |
//! | --- | --- |
//! | with a name | the name, its numbers aside: `worker-17` is `worker-*` |
//! | without | the name of what they began with |
//!
//! A pool has [`MIN_THREADS`] threads or more, each alive for [`LIFE_PARTS`]th of the time or less, and at most half as
//! many slots: threads that live side by side stay lanes of their own. In a run of ranks each rank has pools of its own,
//! and the time is that from the first row of its lanes to the last: the same whether or not the others are there.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use crate::lanes::{Lane, Lanes};

/// Threads of a pool, at least.
pub const MIN_THREADS: usize = 8;
/// The time by the life of a thread of a pool, at least.
pub const LIFE_PARTS: i64 = 4;

/// A host lane, from its first row to its last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadLife<'a> {
    /// Name as in reports: `thread 3 worker-3`, in a run of ranks `rank 1 thread 3 worker-3`.
    pub lane: &'a str,
    /// Name of its first interval.
    pub begins_with: &'a str,
    /// Its first start.
    pub first_ns: i64,
    /// Its last end.
    pub last_ns: i64,
}

/// A pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pool {
    /// Role and number of threads: `worker-* ×241`.
    pub name: String,
    /// Its threads, by their places among the lanes.
    pub threads: Vec<usize>,
    /// Threads that were there at once, at most.
    pub slots: usize,
}

/// Place of a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Number of the pool.
    pub pool: usize,
    /// Number of the slot in it, from 0.
    pub slot: usize,
}

/// Pools of a run, in the order of their first lanes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pools {
    /// The pools.
    pub pools: Vec<Pool>,
    /// By lane.
    places: Vec<Option<Place>>,
}

impl Pools {
    /// Finds pools among lanes; `None`: not a host thread with rows.
    pub fn new<'a>(lanes: impl IntoIterator<Item = Option<ThreadLife<'a>>>) -> Self {
        let lanes: Vec<Option<ThreadLife<'_>>> = lanes.into_iter().collect();
        let mut by_rank: BTreeMap<&str, (i64, i64)> = BTreeMap::new();
        for life in lanes.iter().flatten() {
            let (first_ns, last_ns) = by_rank
                .entry(life.rank_and_lane().0)
                .or_insert((life.first_ns, life.last_ns));
            *first_ns = life.first_ns.min(*first_ns);
            *last_ns = life.last_ns.max(*last_ns);
        }
        let max_ns = |life: &ThreadLife<'_>| {
            let found = by_rank.get(life.rank_and_lane().0);
            found.map_or(0, |(first_ns, last_ns)| {
                last_ns.saturating_sub(*first_ns) / LIFE_PARTS
            })
        };
        let mut by_role: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (at, life) in lanes.iter().enumerate() {
            if let Some(life) = life.filter(|life| life.dur_ns() <= max_ns(life))
                && let Some(role) = life.role()
            {
                by_role.entry(role).or_default().push(at);
            }
        }
        let mut out = Self {
            pools: Vec::new(),
            places: vec![None; lanes.len()],
        };
        let mut roles: Vec<(String, Vec<usize>)> = by_role.into_iter().collect();
        roles.sort_by_key(|(_, threads)| threads[0]);
        for (role, threads) in roles {
            let lives: Vec<(i64, i64)> = threads
                .iter()
                .filter_map(|at| lanes[*at].map(|life| (life.first_ns, life.last_ns)))
                .collect();
            let (of_threads, slots) = slots(&lives);
            if threads.len() < MIN_THREADS || slots > threads.len() / 2 {
                continue;
            }
            let pool = out.pools.len();
            for (at, slot) in threads.iter().zip(of_threads) {
                out.places[*at] = Some(Place { pool, slot });
            }
            out.pools.push(Pool {
                name: format!("{role} ×{}", threads.len()),
                threads,
                slots,
            });
        }
        out
    }

    /// Pools of the lanes of a run, by their whole lives.
    pub fn of_run(run: &Lanes) -> Self {
        let life = |lane: &Lane| {
            let (first_ns, last_ns) = lane.life?;
            // Of a part of the run it may be that nothing of a thread is there.
            let first = lane.spans.first();
            let name = first.map_or("", |span| run.texts.text(run.labels.get(span.label).name));
            Some((first_ns, last_ns, name))
        };
        Self::new(run.lanes.iter().map(|lane| {
            let (first_ns, last_ns, begins_with) = life(lane)?;
            Some(ThreadLife {
                lane: &lane.name,
                begins_with,
                first_ns,
                last_ns,
            })
        }))
    }

    /// The pool and the slot of a lane; `None`: it stands for itself.
    pub fn place(&self, lane: usize) -> Option<Place> {
        self.places.get(lane).copied().flatten()
    }

    /// The pool that a lane is the first of; `None`: it is of none, or not the first.
    pub fn led_by(&self, lane: usize) -> Option<&Pool> {
        let pool = &self.pools[self.place(lane)?.pool];
        (pool.threads[0] == lane).then_some(pool)
    }

    /// True for lanes of a pool but its first.
    pub fn follows(&self, lane: usize) -> bool {
        self.place(lane).is_some() && self.led_by(lane).is_none()
    }
}

impl Pool {
    /// The name with the number of threads that were there at once.
    pub fn heading(&self) -> String {
        format!("{} ({} at once)", self.name, self.slots)
    }
}

impl ThreadLife<'_> {
    fn dur_ns(&self) -> i64 {
        self.last_ns.saturating_sub(self.first_ns)
    }

    /// Splits into `rank 1 ` and `thread 3 worker-3`. The first part is empty in a run without ranks.
    fn rank_and_lane(&self) -> (&str, &str) {
        let number = self.lane.strip_prefix("rank ");
        let lane = number.and_then(|number| {
            let (number, lane) = number.split_once(' ')?;
            number.bytes().all(|c| c.is_ascii_digit()).then_some(lane)
        });
        let lane = lane.unwrap_or(self.lane);
        self.lane.split_at(self.lane.len() - lane.len())
    }

    /// `worker-*`, or `rank 1 worker-*` in a run of ranks; `None`: the thread was not recorded, or it has
    /// neither a name nor a first row.
    fn role(&self) -> Option<String> {
        let (rank, lane) = self.rank_and_lane();
        let lane = lane.strip_prefix("thread ")?;
        let (number, name) = lane.split_once(' ').unwrap_or((lane, ""));
        if number == "?" {
            return None;
        }
        Some(match name {
            "" if self.begins_with.is_empty() => return None,
            "" => format!("{rank}threads of {}", without_numbers(self.begins_with)),
            name => format!("{rank}{}", without_numbers(name)),
        })
    }
}

fn without_numbers(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars() {
        match c.is_ascii_digit() {
            true if out.ends_with('*') => {}
            true => out.push('*'),
            false => out.push(c),
        }
    }
    out
}

/// For each life the lowest slot that is free when it begins, and the number of slots.
fn slots(lives: &[(i64, i64)]) -> (Vec<usize>, usize) {
    let mut order: Vec<usize> = (0..lives.len()).collect();
    order.sort_by_key(|at| (lives[*at], *at));
    let mut taken: BinaryHeap<Reverse<(i64, usize)>> = BinaryHeap::new();
    let mut free: BinaryHeap<Reverse<usize>> = BinaryHeap::new();
    let mut slots = vec![0; lives.len()];
    let mut count = 0;
    for at in order {
        let (first_ns, last_ns) = lives[at];
        while let Some(Reverse((end_ns, slot))) = taken.peek().copied()
            && end_ns <= first_ns
        {
            taken.pop();
            free.push(Reverse(slot));
        }
        slots[at] = match free.pop() {
            Some(Reverse(slot)) => slot,
            None => {
                count += 1;
                count - 1
            }
        };
        taken.push(Reverse((last_ns, slots[at])));
    }
    (slots, count)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn pools(lanes: &[(&str, &str, i64, i64)]) -> Pools {
        let life = |&(lane, begins_with, first_ns, last_ns)| {
            Some(ThreadLife {
                lane,
                begins_with,
                first_ns,
                last_ns,
            })
        };
        Pools::new(lanes.iter().map(life))
    }

    fn names(count: i64, name: impl Fn(i64) -> String) -> Vec<String> {
        (0..count).map(name).collect()
    }

    #[test]
    fn threads_of_one_role_are_a_pool_and_long_lived_ones_lanes() {
        let workers = names(10, |at| format!("thread {} worker-{at}", at + 1));
        let mut lanes = vec![("thread 0 worker-99", "main", 0, 1_000)];
        // Two at once.
        let times = (0..).map(|at| (at / 2 * 100, at / 2 * 100 + 90));
        lanes.extend(
            workers
                .iter()
                .zip(times)
                .map(|(name, (first, last))| (name.as_str(), "ffn", first, last)),
        );
        let pools = pools(&lanes);
        assert_eq!(pools.pools.len(), 1);
        let pool = &pools.pools[0];
        assert_eq!((pool.name.as_str(), pool.slots), ("worker-* ×10", 2));
        assert_eq!(pool.threads, Vec::from_iter(1..11));
        assert_eq!(pools.place(0), None);
        assert_eq!(pools.place(4), Some(Place { pool: 0, slot: 1 }));
        assert!(pools.led_by(1).is_some() && pools.follows(2) && !pools.follows(0));
    }

    #[test]
    fn threads_without_names_go_by_what_they_began_with_and_ranks_stay_apart() {
        let of = |rank: i64| names(8, move |at| format!("rank {rank} thread {at}"));
        let (zero, one) = (of(0), of(1));
        let mut lanes: Vec<(&str, &str, i64, i64)> = Vec::new();
        for (at, name) in zero.iter().chain(&one).enumerate() {
            let start = at as i64 % 8 * 100;
            lanes.push((name, "ffn 12", start, start + 50));
        }
        let pools = pools(&lanes);
        let names: Vec<&str> = pools.pools.iter().map(|pool| pool.name.as_str()).collect();
        assert_eq!(
            names,
            ["rank 0 threads of ffn * ×8", "rank 1 threads of ffn * ×8"]
        );
        assert_eq!(pools.pools[0].slots, 1);
    }

    #[test]
    fn the_time_that_a_life_is_compared_with_is_that_of_its_rank() {
        let of = |rank: i64| names(8, move |at| format!("rank {rank} thread {at} worker"));
        let (zero, one) = (of(0), of(1));
        // Each alive for 100 ns: a fifth of the time of rank 0, which has a stream too, and a half of that of rank 1.
        let mut lanes = vec![("rank 0 gpu0/stream 7", "gemm", 0, 500)];
        for (at, (zero, one)) in zero.iter().zip(&one).enumerate() {
            let start = at as i64 % 2 * 100;
            lanes.push((zero, "ffn", start, start + 100));
            lanes.push((one, "ffn", start, start + 100));
        }
        let found = pools(&lanes).pools;
        let names: Vec<&str> = found.iter().map(|pool| pool.name.as_str()).collect();
        assert_eq!(names, ["rank 0 worker ×8"]);
        lanes.retain(|(lane, ..)| lane.starts_with("rank 0"));
        assert_eq!(pools(&lanes).pools[0].name, found[0].name);
    }

    #[test]
    fn few_threads_and_threads_side_by_side_stay_lanes() {
        let threads = names(9, |at| format!("thread {at} worker"));
        let each = |count: usize, step: i64| -> Vec<(&str, &str, i64, i64)> {
            let lane = |(at, name)| (name, "ffn", at as i64 * step, at as i64 * step + 40);
            let mut lanes: Vec<_> = (threads[..count].iter().map(String::as_str).enumerate())
                .map(lane)
                .collect();
            lanes.push(("thread 99 main", "main", 0, 1_000));
            lanes
        };
        assert!(pools(&each(7, 50)).pools.is_empty());
        assert_eq!(pools(&each(8, 50)).pools[0].slots, 1);
        assert!(pools(&each(9, 1)).pools.is_empty());
    }

    proptest! {
        #[test]
        fn slots_are_as_many_as_lives_at_once(lives in prop::collection::vec((0..60_i64, 1..20_i64), 0..40)) {
            let lives: Vec<(i64, i64)> = lives.into_iter().map(|(first, dur)| (first, first + dur)).collect();
            let (of, count) = slots(&lives);
            let at_once = (0..80).map(|now| lives.iter().filter(|(first, last)| (*first..*last).contains(&now)).count());
            prop_assert_eq!(count, at_once.max().unwrap_or(0));
            for (a, life) in lives.iter().enumerate() {
                for (b, other) in lives.iter().enumerate().skip(a + 1) {
                    prop_assert!(of[a] != of[b] || life.1 <= other.0 || other.1 <= life.0);
                }
            }
        }
    }
}
