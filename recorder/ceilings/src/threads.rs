//! The same work on several threads at the same time, again and again.

#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::memory::Memory;

pub(super) trait Work: Send {
    /// Called before each visit, on the thread that will run it.
    fn prepare(&mut self, _memory: &mut Memory) {}

    /// Amount of one round: bytes or operations.
    fn amount(&self) -> u64;

    fn run(&mut self, memory: &mut Memory, rounds: u64);
}

pub(super) struct Visited {
    works: Vec<Box<dyn Work>>,
    rounds: u64,
}

impl Visited {
    pub fn new(works: Vec<Box<dyn Work>>) -> Self {
        Self { works, rounds: 1 }
    }
}

/// Threads that wait for work, each with memory that it touched first. Threads that are not needed sleep.
pub(super) struct Team {
    members: Vec<Member>,
}

struct Member {
    orders: Option<Sender<Order>>,
    done: Receiver<Done>,
    thread: Option<JoinHandle<()>>,
}

struct Order {
    work: Box<dyn Work>,
    number: usize,
    rounds: u64,
    repetitions: u32,
    repetition: Duration,
    shared: Arc<Shared>,
}

struct Done {
    work: Box<dyn Work>,
    rounds: u64,
}

impl Team {
    /// A thread for each memory, as far as threads can be started.
    pub fn new(memories: Vec<Memory>) -> Self {
        let processors = processors();
        let all = memories.len();
        let mut members = Vec::new();
        for (number, memory) in memories.into_iter().enumerate() {
            let (orders, to_do) = channel();
            let (to_tell, done) = channel();
            let processors = processors.clone();
            let body = move || serve(memory, number, all, &processors, &to_do, &to_tell);
            let name = format!("peaks {number}");
            let Ok(thread) = thread::Builder::new().name(name).spawn(body) else {
                break;
            };
            members.push(Member {
                orders: Some(orders),
                done,
                thread: Some(thread),
            });
        }
        Self { members }
    }

    /// Rates of all together, in amount a second, one a repetition.
    ///
    /// The time of a repetition is from the first start to the last end. Where there are as many
    /// processors as works, and several, each thread stays on its own. `None`: there are not enough
    /// threads.
    pub fn visit(
        &self,
        visited: &mut Visited,
        repetitions: u32,
        repetition: Duration,
    ) -> Option<Vec<f64>> {
        let threads = visited.works.len();
        if threads == 0 || threads > self.members.len() {
            return None;
        }
        let shared = Arc::new(Shared {
            threads,
            times: Mutex::new(vec![None; threads]),
            arrived: AtomicUsize::new(0),
            given_up: AtomicBool::new(false),
            rates: Mutex::new(Vec::new()),
        });
        let works = std::mem::take(&mut visited.works);
        let mut asked = 0;
        for (number, (work, member)) in works.into_iter().zip(&self.members).enumerate() {
            let order = Order {
                work,
                number,
                rounds: visited.rounds,
                repetitions,
                repetition,
                shared: Arc::clone(&shared),
            };
            let is_asked = |orders: &Sender<Order>| orders.send(order).is_ok();
            if !member.orders.as_ref().is_some_and(is_asked) {
                shared.given_up.store(true, Ordering::Release);
                break;
            }
            asked += 1;
        }
        for member in &self.members[..asked] {
            if let Ok(done) = member.done.recv() {
                visited.rounds = done.rounds;
                visited.works.push(done.work);
            }
        }
        let rates = lock(&shared.rates).clone();
        (rates.len() == repetitions as usize).then_some(rates)
    }
}

impl Drop for Team {
    fn drop(&mut self) {
        for member in &mut self.members {
            member.orders = None;
            if let Some(thread) = member.thread.take() {
                // One that panicked has said so.
                let _ = thread.join();
            }
        }
    }
}

fn serve(
    mut memory: Memory,
    number: usize,
    all: usize,
    processors: &[usize],
    to_do: &Receiver<Order>,
    to_tell: &Sender<Done>,
) {
    let own = processors.get(number).copied();
    let own = own.filter(|_| all > 1 && all == processors.len());
    let mut is_pinned = own.is_some();
    if let Some(own) = own {
        stay_on(&[own]);
    }
    memory.touch();
    for mut order in to_do {
        // Alone, it goes where the system puts it: away from what else runs.
        let is_one_of_all = order.shared.threads == all;
        if let (Some(own), true) = (own, is_pinned != is_one_of_all) {
            let own = [own];
            stay_on(if is_one_of_all { &own } else { processors });
            is_pinned = is_one_of_all;
        }
        let _present = Present(Arc::clone(&order.shared));
        order.work.prepare(&mut memory);
        let mut rounds = order.rounds;
        // Given up: whoever asked sees that there are too few rates.
        let _ = repeat(&mut order, &mut memory, &mut rounds);
        let work = order.work;
        if to_tell.send(Done { work, rounds }).is_err() {
            return;
        }
    }
}

struct Shared {
    threads: usize,
    times: Mutex<Vec<Option<(Instant, Instant)>>>,
    arrived: AtomicUsize,
    given_up: AtomicBool,
    rates: Mutex<Vec<f64>>,
}

/// Number of tries for each number of rounds; the shortest time of them counts.
const TRIES: usize = 3;

/// Limit on the rounds: the search ends there even if a round took no time.
const MAX_ROUNDS: u64 = 1 << 50;

/// One thread's part of a visit; `None` if another thread has given up.
fn repeat(order: &mut Order, memory: &mut Memory, rounds: &mut u64) -> Option<()> {
    let shared = Arc::clone(&order.shared);
    let mut meeting = Meeting {
        shared: &shared,
        count: 0,
    };
    // All threads see the same times and so come to the same number of rounds.
    let target = order.repetition.as_secs_f64();
    loop {
        // The shortest of a few and of all threads: one that was interrupted, or came late to a
        // meeting, would make few rounds look enough.
        let mut seconds = f64::INFINITY;
        for _ in 0..TRIES {
            seconds = seconds.min(once(order, memory, *rounds, &mut meeting)?.shortest);
        }
        if seconds >= 0.7 * target || *rounds > MAX_ROUNDS {
            break;
        }
        let more = (1.1 * target / seconds.max(1e-9)).clamp(1.5, 32.0);
        *rounds = ((*rounds as f64 * more) as u64).max(*rounds + 1);
    }
    for _ in 0..order.repetitions {
        let seconds = once(order, memory, *rounds, &mut meeting)?.together;
        if order.number == 0 {
            let amount = order.work.amount() as f64 * *rounds as f64 * shared.threads as f64;
            lock(&shared.rates).push(amount / seconds);
        }
    }
    Some(())
}

struct Spent {
    /// Time from the first start to the last end.
    together: f64,
    shortest: f64,
}

fn once(
    order: &mut Order,
    memory: &mut Memory,
    rounds: u64,
    meeting: &mut Meeting<'_>,
) -> Option<Spent> {
    meeting.wait()?;
    let start = Instant::now();
    order.work.run(memory, rounds);
    let end = Instant::now();
    lock(&meeting.shared.times)[order.number] = Some((start, end));
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

/// Spinning barrier of all threads, because waking up from sleep takes longer than a round.
struct Meeting<'s> {
    shared: &'s Shared,
    count: usize,
}

impl Meeting<'_> {
    /// `None` if a thread has given up.
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

/// On drop, tells the other threads that this one panicked and will not reach the barrier.
struct Present(Arc<Shared>);

impl Drop for Present {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.given_up.store(true, Ordering::Release);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

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

/// If the system refuses, the thread runs wherever it is scheduled.
fn stay_on(processors: &[usize]) {
    // SAFETY: all zeros is an empty set; the numbers came from such a set.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        for processor in processors {
            libc::CPU_SET(*processor, &mut set);
        }
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set);
    }
}
