//! The end of a recording, and the child of a fork, beside threads that go on recording.

use loom::sync::atomic::AtomicU64;

use super::*;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Late {
    /// Like the recorder: records that met a closed recorder, plus those unread in the ring at the time of each
    /// query.
    CountedWhenAsked,
    /// Too weak: unread records are counted once, when the writer ends.
    CountedAtTheEnd,
}

/// A finish races with the last records: each is read or counted as late.
pub fn finishing<W: AtomicWord + 'static>(late: Late) {
    check(3, move || {
        let ring = Ring::<W>::new(4);
        // As `Recorder::tables`: not 0 while it records.
        let on = Arc::new(AtomicBool::new(true));
        let met = Arc::new(AtomicU64::new(0));
        let thread = thread::spawn({
            let (ring, on, met) = (ring.clone(), on.clone(), met.clone());
            move || {
                let mut producer = Producer::new(ring);
                for value in 1..=3 {
                    if on.load(Ordering::Relaxed) {
                        assert!(producer.push(&[value]), "there is room for all");
                    } else {
                        met.fetch_add(1, Ordering::Relaxed);
                    }
                }
            }
        });
        let mut consumer = Consumer {
            ring: ring.clone(),
            closed: Arc::new(AtomicBool::new(false)),
            read: Vec::new(),
        };
        consumer.drain();
        // As `Recorder::finish`: closed first, then read for the last time.
        on.store(false, Ordering::Relaxed);
        consumer.drain();
        let at_the_end = ring.positions.unread();
        thread.join().unwrap();
        let unread = match late {
            Late::CountedWhenAsked => ring.positions.unread(),
            Late::CountedAtTheEnd => at_the_end,
        };
        let read = consumer.read.len() as u64;
        assert!(consumer.read.is_sorted(), "out of order");
        assert_eq!(
            read + met.load(Ordering::Relaxed) + unread,
            3,
            "an event is neither read nor counted"
        );
    });
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Fork {
    /// Like `turn_off`: the recorder is off before any code of the program runs in the child.
    TurnsOff,
    /// Too weak: the child goes on with its copy of the parent's lane.
    LeavesOn,
}

/// A fork between two records: the child shares the rings and has a copy of everything else, so it must not write.
pub fn forking<W: AtomicWord + 'static>(fork: Fork) {
    check(2, move || {
        let consumer = run::<W>(4, move |producer| {
            producer.push_blocking(&[1]);
            // The thread that forks is the only one of the child, with its own lane and flag as they are now.
            let mut copy = Producer {
                ring: producer.ring.clone(),
                cursor: producer.cursor,
            };
            let child = thread::spawn(move || {
                let is_on = fork == Fork::LeavesOn;
                if is_on {
                    copy.push(&[9]);
                }
            });
            producer.push_blocking(&[2]);
            producer.push_blocking(&[3]);
            child.join().unwrap();
        });
        assert_eq!(consumer.read, [1, 2, 3]);
    });
}
