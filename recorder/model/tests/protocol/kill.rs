//! A kill between any two steps: what was published is then in exactly one place.
//!
//! A kill ends all threads of the process, each between two of its steps, and leaves what they have stored. So each
//! thread here has a number of steps after which it stops, and all pairs of numbers are tried, in every interleaving.
//! The steps are those of `Producer::push`, `RingReader`, `WaitingRows` and `TableWriter`; what is read afterwards is
//! what `salvage` takes.

use loom::sync::atomic::AtomicU64;

use trueno_format::waiting_rows::RowOrigin;

use super::*;

const RECORDS: u64 = 3;
const BATCH: usize = 2;
/// More steps than a thread has.
const PRODUCER_STEPS: u32 = 2 * RECORDS as u32 + 1;
const WRITER_STEPS: u32 = 14;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Order {
    Right,
    /// Too weak: the tail passes a record before its row waits.
    TailBeforeRow,
    /// Too weak: the batch is counted in the rows' header before it is on disk.
    CountBeforeBatch,
    /// Too weak: the batch is counted before its rows are forgotten.
    CountBeforeForgetting,
}

struct Steps(u32);

impl Steps {
    /// `None` if the thread is killed before the next step.
    fn next(&mut self) -> Option<()> {
        self.0 = self.0.checked_sub(1)?;
        Some(())
    }
}

/// The waiting rows of one table, and its batches on disk, with only their values.
#[derive(Default)]
struct Table {
    values: [AtomicU64; BATCH],
    /// 0 for no row.
    origins: [AtomicU64; BATCH],
    batches: AtomicU64,
    disk: Mutex<Vec<u64>>,
    batches_on_disk: AtomicU64,
}

impl Table {
    fn add(&self, row: usize, value: u64, position: u64, steps: &mut Steps) -> Option<()> {
        steps.next()?;
        self.values[row].store(value, Ordering::Relaxed);
        steps.next()?;
        let origin = RowOrigin::ring(1, position);
        self.origins[row].store(origin.word(), Ordering::Release);
        Some(())
    }

    /// Like `TableWriter::write`. An incomplete batch on disk does not count, so writing is one step.
    fn write(&self, steps: &mut Steps) -> Option<()> {
        steps.next()?;
        let values = self.values.iter().map(|v| v.load(Ordering::Relaxed));
        self.disk.lock().unwrap().extend(values);
        self.batches_on_disk.fetch_add(1, Ordering::Release);
        Some(())
    }

    fn forget(&self, steps: &mut Steps) -> Option<()> {
        for origin in &self.origins {
            steps.next()?;
            origin.store(0, Ordering::Relaxed);
        }
        Some(())
    }

    fn count(&self, steps: &mut Steps) -> Option<()> {
        steps.next()?;
        self.batches.fetch_add(1, Ordering::Release);
        Some(())
    }

    fn full(&self, order: Order, steps: &mut Steps) -> Option<()> {
        match order {
            Order::Right | Order::TailBeforeRow => {
                self.write(steps)?;
                self.forget(steps)?;
                self.count(steps)
            }
            Order::CountBeforeBatch => {
                self.forget(steps)?;
                self.count(steps)?;
                self.write(steps)
            }
            Order::CountBeforeForgetting => {
                self.write(steps)?;
                self.count(steps)?;
                self.forget(steps)
            }
        }
    }

    /// Like `salvage::waiting`: rows that are not on disk and whose records the tail has passed.
    fn salvage(&self, tail: u64) -> Vec<u64> {
        let mut rows = self.disk.lock().unwrap().clone();
        if self.batches_on_disk.load(Ordering::Acquire) > self.batches.load(Ordering::Acquire) {
            return rows;
        }
        for (value, origin) in self.values.iter().zip(&self.origins) {
            let word = origin.load(Ordering::Acquire);
            let position = (word != 0).then(|| RowOrigin::record_of(word).unwrap().1);
            if position.is_some_and(|position| position < tail) {
                rows.push(value.load(Ordering::Relaxed));
            }
        }
        rows
    }
}

fn produce<W: AtomicWord>(ring: Arc<Ring<W>>, mut steps: Steps) -> Option<()> {
    let mut producer = Producer::new(ring);
    for value in 1..=RECORDS {
        assert!(producer.cursor.reserve(&producer.ring.positions, 1).0);
        steps.next()?;
        let at = producer.cursor.advance();
        // SAFETY: the place is the producer's; loom checks exactly that.
        producer.ring.slots[at].with_mut(|slot| unsafe { *slot = [value, !value] });
        steps.next()?;
        producer.cursor.publish(&producer.ring.positions);
    }
    Some(())
}

/// Runs the writer until it is killed, has read `RECORDS`, or finds nothing after the producer's end.
fn write<W: AtomicWord>(
    ring: &Ring<W>,
    ended: &AtomicBool,
    table: &Table,
    order: Order,
    mut steps: Steps,
) -> Option<()> {
    let mut rows = 0;
    loop {
        let seen = ring
            .positions
            .look(|| ended.load(Ordering::Acquire), || None::<()>);
        let mut at = ring.positions.tail();
        while at < seen.head {
            let (place, _) = readable(at, seen.head, ring.capacity());
            // SAFETY: published and not given back; loom checks exactly that.
            let [value, complement] = ring.slots[place].with(|slot| unsafe { *slot });
            assert_eq!(complement, !value, "a torn record");
            if order == Order::TailBeforeRow {
                steps.next()?;
                ring.positions.consume(at + 1);
                table.add(rows, value, at, &mut steps)?;
            } else {
                table.add(rows, value, at, &mut steps)?;
                steps.next()?;
                ring.positions.consume(at + 1);
            }
            at += 1;
            rows += 1;
            if rows == BATCH {
                table.full(order, &mut steps)?;
                rows = 0;
            }
        }
        if seen.ended {
            return Some(());
        }
        thread::yield_now();
    }
}

/// Tries all pairs of steps after which producer and writer are killed.
pub fn killing<W: AtomicWord + 'static>(order: Order) {
    for of_producer in 0..=PRODUCER_STEPS {
        for of_writer in 0..=WRITER_STEPS {
            check(2, move || {
                let ring = Ring::<W>::new(4);
                let (table, ended) = (Arc::new(Table::default()), Arc::new(AtomicBool::new(false)));
                let thread = thread::spawn({
                    let (ring, ended) = (ring.clone(), ended.clone());
                    move || {
                        produce(ring, Steps(of_producer));
                        ended.store(true, Ordering::Release);
                    }
                });
                write(&ring, &ended, &table, order, Steps(of_writer));
                thread.join().unwrap();

                // Nobody is left: what lies in the ring, waits, and is on disk.
                let (tail, head) = (ring.positions.tail(), ring.positions.head());
                let mut found = table.salvage(tail);
                for at in tail..head {
                    let (place, _) = readable(at, head, ring.capacity());
                    // SAFETY: as in `write`.
                    found.push(ring.slots[place].with(|slot| unsafe { *slot })[0]);
                }
                found.sort_unstable();
                let published: Vec<u64> = (1..=head).collect();
                assert_eq!(
                    found, published,
                    "killed after {of_producer} and {of_writer} steps"
                );
            });
        }
    }
}
