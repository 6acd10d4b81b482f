//! The same work on several threads at the same time, again and again.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Instant;

use super::repeat::Effort;

/// What one thread repeats.
pub(super) trait Work: Send {
    /// Once, on the thread that will run it.
    fn prepare(&mut self) {}

    /// What a round counts for: bytes, operations.
    fn amount(&self) -> u64;

    fn run(&mut self, rounds: u64);
}

/// Rate of all together, in amount a second, of every repetition.
///
/// The time of a repetition is from the first start to the last end. Where there are as many
/// `processors` as works, each thread stays on its own. Empty: a thread could not be started.
pub(super) fn rates<W: Work>(works: Vec<W>, processors: &[usize], effort: &Effort) -> Vec<f64> {
    let shared = Shared {
        threads: works.len(),
        times: Mutex::new(vec![None; works.len()]),
        arrived: AtomicUsize::new(0),
        given_up: AtomicBool::new(false),
        rates: Mutex::new(Vec::new()),
    };
    let pinned = works.len() > 1 && works.len() == processors.len();
    thread::scope(|scope| {
        for (number, mut work) in works.into_iter().enumerate() {
            let shared = &shared;
            let processor = pinned.then(|| processors[number]);
            let body = move || {
                if let Some(processor) = processor {
                    stay_on(processor);
                }
                work.prepare();
                // Given up: the others have been told so.
                let _ = repeat(&mut work, number, shared, effort);
            };
            let name = format!("peaks {number}");
            if thread::Builder::new()
                .name(name)
                .spawn_scoped(scope, body)
                .is_err()
            {
                shared.given_up.store(true, Ordering::Release);
                break;
            }
        }
    });
    shared
        .rates
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner)
}

struct Shared {
    threads: usize,
    times: Mutex<Vec<Option<(Instant, Instant)>>>,
    /// Arrivals at all meetings so far.
    arrived: AtomicUsize,
    given_up: AtomicBool,
    rates: Mutex<Vec<f64>>,
}

/// How often a number of rounds is tried before it is taken to last long enough.
const TRIES: usize = 3;

/// Where even work that took no time would end.
const MOST_ROUNDS: u64 = 1 << 50;

/// What one thread does; `None` if another one is missing.
fn repeat(work: &mut impl Work, number: usize, shared: &Shared, effort: &Effort) -> Option<()> {
    let mut meeting = Meeting { shared, count: 0 };
    // All threads see the same times and so come to the same number of rounds.
    let mut rounds = 1;
    let target = effort.repetition.as_secs_f64();
    loop {
        // The shortest of a few and of all threads: one that was interrupted, or came late to a
        // meeting, would make few rounds look enough.
        let mut seconds = f64::INFINITY;
        for _ in 0..TRIES {
            seconds = seconds.min(once(work, rounds, number, &mut meeting)?.shortest);
        }
        if seconds >= 0.7 * target || rounds > MOST_ROUNDS {
            break;
        }
        let more = (1.1 * target / seconds.max(1e-9)).clamp(1.5, 32.0);
        rounds = ((rounds as f64 * more) as u64).max(rounds + 1);
    }
    for _ in 0..effort.repetitions {
        let seconds = once(work, rounds, number, &mut meeting)?.together;
        if number == 0 {
            let amount = work.amount() as f64 * rounds as f64 * shared.threads as f64;
            lock(&shared.rates).push(amount / seconds);
        }
    }
    Some(())
}

/// Seconds that a repetition took.
struct Spent {
    /// From the first start to the last end.
    together: f64,
    /// Of the thread that was fastest.
    shortest: f64,
}

fn once(
    work: &mut impl Work,
    rounds: u64,
    number: usize,
    meeting: &mut Meeting<'_>,
) -> Option<Spent> {
    meeting.wait()?;
    let start = Instant::now();
    work.run(rounds);
    let end = Instant::now();
    lock(&meeting.shared.times)[number] = Some((start, end));
    meeting.wait()?;
    let times = lock(&meeting.shared.times);
    let first = times.iter().flatten().map(|(start, _)| *start).min()?;
    let last = times.iter().flatten().map(|(_, end)| *end).max()?;
    let each = times.iter().flatten().map(|(start, end)| *end - *start);
    Some(Spent {
        together: last.duration_since(first).as_secs_f64(),
        shortest: each.min()?.as_secs_f64(),
    })
}

/// Where all threads wait for each other without sleeping: to wake up takes longer than a round.
struct Meeting<'s> {
    shared: &'s Shared,
    count: usize,
}

impl Meeting<'_> {
    /// `None`: somebody will never come.
    fn wait(&mut self) -> Option<()> {
        let Shared {
            threads,
            arrived,
            given_up,
            ..
        } = self.shared;
        self.count += 1;
        arrived.fetch_add(1, Ordering::AcqRel);
        for turn in 1u32.. {
            if arrived.load(Ordering::Acquire) >= self.count * threads {
                break;
            }
            if given_up.load(Ordering::Acquire) {
                return None;
            }
            // With more threads than processors the others have to get there. Not too soon: on a
            // busy processor it takes long until this thread's turn comes again.
            if turn.is_multiple_of(4096) {
                thread::yield_now();
            }
            std::hint::spin_loop();
        }
        Some(())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The processors this thread may run on.
pub(super) fn processors() -> Vec<usize> {
    // SAFETY: all zeros is an empty set; the call fills it.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    let bytes = size_of::<libc::cpu_set_t>();
    // SAFETY: the set may be written and is as large as is said.
    if unsafe { libc::sched_getaffinity(0, bytes, &mut set) } != 0 {
        return Vec::new();
    }
    let all = 0..8 * bytes;
    // SAFETY: the numbers lie within the set.
    all.filter(|number| unsafe { libc::CPU_ISSET(*number, &set) })
        .collect()
}

/// Refused, the thread runs where it is put.
fn stay_on(processor: usize) {
    // SAFETY: all zeros is an empty set; the number came from such a set.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(processor, &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::AtomicU64;
    use std::time::Duration;

    struct Counting {
        prepared: bool,
        rounds: Arc<AtomicU64>,
    }

    impl Work for Counting {
        fn prepare(&mut self) {
            self.prepared = true;
        }

        fn amount(&self) -> u64 {
            10
        }

        fn run(&mut self, rounds: u64) {
            assert!(self.prepared);
            self.rounds.fetch_add(rounds, Ordering::Relaxed);
            thread::sleep(Duration::from_micros(50));
        }
    }

    #[test]
    fn all_threads_do_the_same_and_every_repetition_counts() {
        for threads in [1, 2, 5] {
            let counts: Vec<_> = (0..threads).map(|_| Arc::new(AtomicU64::new(0))).collect();
            let works = counts.iter().map(|rounds| Counting {
                prepared: false,
                rounds: rounds.clone(),
            });
            let effort = Effort {
                repetitions: 4,
                repetition: Duration::from_micros(20),
            };
            let rates = rates(works.collect(), &processors(), &effort);
            assert_eq!(rates.len(), 4);
            assert!(rates.iter().all(|rate| rate.is_finite() && *rate > 0.0));
            let rounds: Vec<u64> = counts.iter().map(|c| c.load(Ordering::Relaxed)).collect();
            assert!(
                rounds.iter().all(|r| *r == rounds[0] && *r >= 5),
                "{rounds:?}"
            );
        }
    }

    /// Takes a microsecond a round, but is interrupted for long when it runs first.
    struct Interrupted {
        calls: u64,
        rounds: Arc<AtomicU64>,
    }

    impl Work for Interrupted {
        fn amount(&self) -> u64 {
            1
        }

        fn run(&mut self, rounds: u64) {
            self.calls += 1;
            let first = if self.calls == 1 { 50_000 } else { 0 };
            thread::sleep(Duration::from_micros(rounds + first));
            self.rounds.store(rounds, Ordering::Relaxed);
        }
    }

    #[test]
    fn an_interruption_does_not_make_few_rounds_look_enough() {
        let rounds = Arc::new(AtomicU64::new(0));
        let work = Interrupted {
            calls: 0,
            rounds: rounds.clone(),
        };
        let effort = Effort {
            repetitions: 1,
            repetition: Duration::from_millis(20),
        };
        assert_eq!(rates(vec![work], &[], &effort).len(), 1);
        assert!(rounds.load(Ordering::Relaxed) > 1);
    }

    #[test]
    fn there_is_a_processor_to_run_on() {
        let found = processors();
        assert!(!found.is_empty());
        assert!(found.is_sorted());
    }
}
