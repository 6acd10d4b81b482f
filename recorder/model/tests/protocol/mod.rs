//! A ring of two-word records around the recorder's own protocol, and what must hold for it.
//!
//! Loom's cells stand for the records: a cell that is read and written without one having
//! happened before the other is an error at once, whatever values are seen.

pub mod endings;
pub mod kill;

use loom::cell::UnsafeCell;
use loom::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use loom::sync::{Arc, Mutex};
use loom::thread;

use trueno_format::ring::{AtomicWord, Cursor, Positions, readable};

#[derive(Default)]
pub struct Word(loom::sync::atomic::AtomicU64);

impl AtomicWord for Word {
    fn load(&self, order: Ordering) -> u64 {
        self.0.load(order)
    }

    fn store(&self, value: u64, order: Ordering) {
        self.0.store(value, order);
    }
}

/// A record and its complement, to detect torn reads.
type Record = [u64; 2];

struct Ring<W> {
    positions: Positions<W>,
    slots: Vec<UnsafeCell<Record>>,
    /// Like the recorder's `OnceLock<Arc<Ring>>`: set once with Release, read with Acquire.
    next: AtomicPtr<Ring<W>>,
}

impl<W: AtomicWord> Ring<W> {
    fn new(capacity: usize) -> Arc<Self> {
        Arc::new(Self {
            positions: Positions::default(),
            slots: (0..capacity).map(|_| UnsafeCell::new([0; 2])).collect(),
            next: AtomicPtr::default(),
        })
    }

    fn capacity(&self) -> u64 {
        self.slots.len() as u64
    }

    fn next(&self) -> Option<Arc<Self>> {
        let next = self.next.load(Ordering::Acquire);
        if next.is_null() {
            return None;
        }
        // SAFETY: comes from `into_raw` in `follow`, and is never taken back while the ring lives.
        unsafe {
            Arc::increment_strong_count(next);
            Some(Arc::from_raw(next))
        }
    }
}

impl<W> Drop for Ring<W> {
    fn drop(&mut self) {
        let next = self.next.load(Ordering::Acquire);
        if !next.is_null() {
            // SAFETY: as in `next`; this is the hold that `follow` gave away.
            drop(unsafe { Arc::from_raw(next) });
        }
    }
}

struct Producer<W> {
    ring: Arc<Ring<W>>,
    cursor: Cursor,
}

impl<W: AtomicWord> Producer<W> {
    fn new(ring: Arc<Ring<W>>) -> Self {
        let cursor = Cursor::new(&ring.positions, ring.capacity());
        Self { ring, cursor }
    }

    /// Like `Lane::push` and `Lane::push_group`: pushes the whole group or nothing.
    fn push(&mut self, values: &[u64]) -> bool {
        let count = values.len() as u64;
        if !self.cursor.has_room(count) && !self.cursor.reserve(&self.ring.positions, count).0 {
            return false;
        }
        for value in values {
            let at = self.cursor.advance();
            // SAFETY: the place is the producer's; loom checks exactly that.
            self.ring.slots[at].with_mut(|slot| unsafe { *slot = [*value, !*value] });
        }
        self.cursor.publish(&self.ring.positions);
        true
    }

    fn push_blocking(&mut self, values: &[u64]) {
        while !self.push(values) {
            thread::yield_now();
        }
    }

    /// Like `Lane::make_room` with growing rings.
    fn push_growing(&mut self, values: &[u64]) {
        while !self.push(values) {
            let next = Ring::new(self.ring.slots.len() * 2);
            let old = std::mem::replace(self, Self::new(next.clone()));
            let next = Arc::into_raw(next).cast_mut();
            old.ring.next.store(next, Ordering::Release);
        }
    }

    /// Like `threads::release`: first releases the ring, then sets the word that marks it as free.
    fn end(self, closed: &AtomicBool) {
        drop(self);
        closed.store(true, Ordering::Release);
    }
}

struct Consumer<W> {
    ring: Arc<Ring<W>>,
    closed: Arc<AtomicBool>,
    read: Vec<u64>,
}

impl<W: AtomicWord> Consumer<W> {
    /// Like `RingReader::drain`, but returns one group at a time instead of up to 64. True if the producer has
    /// ended and everything was read.
    fn drain(&mut self) -> bool {
        loop {
            let ring = self.ring.clone();
            let seen = ring
                .positions
                .look(|| self.closed.load(Ordering::Acquire), || ring.next());
            let mut at = ring.positions.tail();
            while at < seen.head {
                let (place, count) = readable(at, seen.head, ring.capacity());
                for slot in &ring.slots[place..place + count] {
                    // SAFETY: published and not given back; loom checks exactly that.
                    let [value, complement] = slot.with(|slot| unsafe { *slot });
                    assert_eq!(complement, !value, "a torn record");
                    self.read.push(value);
                    at += 1;
                    ring.positions.consume(at);
                }
            }
            match seen.next {
                Some(next) => self.ring = next,
                None => return seen.ended,
            }
        }
    }

    fn drain_to_the_end(&mut self) {
        while !self.drain() {
            thread::yield_now();
        }
    }
}

/// Runs `produce` on another thread and the consumer on this one.
fn run<W: AtomicWord + 'static>(
    capacity: usize,
    produce: impl FnOnce(&mut Producer<W>) + 'static,
) -> Consumer<W> {
    let ring = Ring::new(capacity);
    let closed = Arc::new(AtomicBool::new(false));
    let mut consumer = Consumer {
        ring: ring.clone(),
        closed: closed.clone(),
        read: Vec::new(),
    };
    let thread = thread::spawn(move || {
        let mut producer = Producer::new(ring);
        produce(&mut producer);
        producer.end(&closed);
    });
    consumer.drain_to_the_end();
    thread.join().unwrap();
    consumer
}

fn check(preemptions: usize, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(model);
}

/// Records and groups around the end of a small ring, with a waiting producer.
pub fn blocking<W: AtomicWord + 'static>() {
    check(3, || {
        let consumer = run::<W>(2, |producer| {
            producer.push_blocking(&[1]);
            producer.push_blocking(&[2, 3]);
            producer.push_blocking(&[4]);
        });
        assert_eq!(consumer.read, [1, 2, 3, 4]);
    });
}

/// A group that finds no room is rejected whole, and nothing else is lost.
pub fn dropping<W: AtomicWord + 'static>() {
    check(3, || {
        let refused = Arc::new(Mutex::new(Vec::new()));
        let by_producer = refused.clone();
        let consumer = run::<W>(2, move |producer| {
            for group in [&[1, 2][..], &[3], &[4, 5], &[6]] {
                if !producer.push(group) {
                    by_producer.lock().unwrap().extend_from_slice(group);
                }
                // Lets a consumer that found nothing look again.
                thread::yield_now();
            }
        });
        let refused = refused.lock().unwrap();
        let expected: Vec<u64> = (1..=6).filter(|value| !refused.contains(value)).collect();
        assert_eq!(consumer.read, expected);
    });
}

/// A full ring is followed by another one.
pub fn growing<W: AtomicWord + 'static>() {
    check(3, || {
        let consumer = run::<W>(1, |producer| {
            for value in 1..=4 {
                producer.push_growing(&[value]);
            }
        });
        assert_eq!(consumer.read, [1, 2, 3, 4]);
    });
}

/// The ring of a thread that has ended is reused by the next one.
pub fn recycling<W: AtomicWord + 'static>() {
    check(3, || {
        let mut consumer = run::<W>(2, |producer| producer.push_blocking(&[1]));
        // Shared::give_back: nobody else holds it any more, and nothing in it is unread.
        assert_eq!(consumer.ring.positions.unread(), 0);
        assert!(Arc::get_mut(&mut consumer.ring).is_some());
        let (ring, closed) = (consumer.ring.clone(), Arc::new(AtomicBool::new(false)));
        consumer.closed = closed.clone();
        let thread = thread::spawn(move || {
            let mut producer = Producer::new(ring);
            producer.push_blocking(&[2]);
            producer.push_blocking(&[3, 4]);
            producer.end(&closed);
        });
        consumer.drain_to_the_end();
        thread.join().unwrap();
        assert_eq!(consumer.read, [1, 2, 3, 4]);
    });
}
