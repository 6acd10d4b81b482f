//! Threads of a team do the same at the same time.

use super::*;
use std::sync::atomic::AtomicU64;

fn team(threads: usize) -> Team {
    let memories = (0..threads).map(|_| Memory::new(4096).unwrap());
    Team::new(memories.collect())
}

struct Counting {
    prepared: u32,
    rounds: Arc<AtomicU64>,
}

impl Work for Counting {
    fn prepare(&mut self, memory: &mut Memory) {
        self.prepared += 1;
        assert!(memory.bytes().len() >= 4096);
    }

    fn amount(&self) -> u64 {
        10
    }

    fn run(&mut self, _: &mut Memory, rounds: u64) {
        assert!(self.prepared > 0);
        self.rounds.fetch_add(rounds, Ordering::Relaxed);
        thread::sleep(Duration::from_micros(50));
    }
}

#[test]
fn all_threads_do_the_same_and_every_repetition_counts() {
    let team = team(5);
    for threads in [1, 2, 5, 1] {
        let counts: Vec<_> = (0..threads).map(|_| Arc::new(AtomicU64::new(0))).collect();
        let works = counts.iter().map(|rounds| {
            let rounds = rounds.clone();
            Box::new(Counting {
                prepared: 0,
                rounds,
            }) as Box<dyn Work>
        });
        let mut visited = Visited::new(works.collect());
        for _ in 0..2 {
            let rates = team
                .visit(&mut visited, 4, Duration::from_micros(20))
                .unwrap();
            assert_eq!(rates.len(), 4);
            assert!(rates.iter().all(|rate| rate.is_finite() && *rate > 0.0));
        }
        assert_eq!(visited.works.len(), threads);
        let rounds: Vec<u64> = counts.iter().map(|c| c.load(Ordering::Relaxed)).collect();
        assert!(
            rounds.iter().all(|r| *r == rounds[0] && *r >= 2 * 7),
            "{rounds:?}"
        );
    }
}

/// Takes a microsecond per round, but its first run is interrupted for longer than the whole repetition should
/// take. A busy machine does not delay every try by that much.
struct Interrupted {
    calls: u64,
}

impl Work for Interrupted {
    fn amount(&self) -> u64 {
        1
    }

    fn run(&mut self, _: &mut Memory, rounds: u64) {
        self.calls += 1;
        let first = if self.calls == 1 { 400_000 } else { 0 };
        thread::sleep(Duration::from_micros(rounds + first));
    }
}

#[test]
fn an_interruption_does_not_make_few_rounds_look_enough() {
    let mut visited = Visited::new(vec![Box::new(Interrupted { calls: 0 })]);
    let rates = team(1).visit(&mut visited, 1, Duration::from_millis(300));
    assert_eq!(rates.unwrap().len(), 1);
    assert!(visited.rounds > 1);
}

struct Broken;

impl Work for Broken {
    fn amount(&self) -> u64 {
        1
    }

    fn run(&mut self, _: &mut Memory, _: u64) {
        panic!("a work that breaks");
    }
}

/// No thread waits for ever, and measurements that need the missing thread have no rates.
#[test]
fn a_thread_too_few_gives_no_rates() {
    let team = team(2);
    let works = |broken| {
        let counting = || Counting {
            prepared: 0,
            rounds: Arc::default(),
        };
        let second: Box<dyn Work> = if broken {
            Box::new(Broken)
        } else {
            Box::new(counting())
        };
        Visited::new(vec![Box::new(counting()), second])
    };
    let short = Duration::from_micros(20);
    assert_eq!(team.visit(&mut works(true), 2, short), None);
    assert_eq!(team.visit(&mut works(false), 2, short), None);
    let mut three = works(false);
    three.works.push(Box::new(Broken));
    assert_eq!(team.visit(&mut three, 2, short), None);
    let mut one = works(false);
    one.works.pop();
    assert_eq!(team.visit(&mut one, 2, short).unwrap().len(), 2);
}

#[test]
fn there_is_a_processor_to_run_on() {
    let found = processors();
    assert!(!found.is_empty());
    assert!(found.is_sorted());
}
