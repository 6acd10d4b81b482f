//! Records through a ring: around its end, in groups, beside their reader; and what is not a recorder's.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::*;
use crate::record::kind;
use crate::waiting_rows::RowOrigin;

fn ring(capacity: usize) -> Arc<Ring> {
    let memory = Mapping::anonymous(Ring::bytes(capacity).unwrap()).unwrap();
    Ring::new(memory, 1, capacity)
}

/// Pushes a group of a primary record and extensions with consecutive numbers. False if there is no room.
fn push(producer: &mut Producer, first: u64, length: u64) -> bool {
    if !producer.has_room(length) && !producer.reserve(length).0 {
        return false;
    }
    for at in 0..length {
        let extensions = if at == 0 { (length - 1) as u8 } else { 0 };
        let record = Record {
            kind: kind::BRICK,
            flags: extensions << 4,
            m: [first + at, !(first + at), 0, 0],
            ..Record::default()
        };
        // SAFETY: there is room.
        unsafe { producer.write(record) };
    }
    producer.publish();
    true
}

/// Takes one group, and checks that it is whole and follows the previous one.
fn take_group(next: &mut u64, records: &[Record]) -> usize {
    let length = 1 + records[0].extensions();
    for record in &records[..length] {
        assert_eq!(record.m[..2], [*next, !*next], "a torn record");
        *next += 1;
    }
    length
}

#[test]
fn groups_of_all_lengths_come_whole_from_every_place_of_the_ring() {
    let ring = ring(32);
    let mut producer = Producer::new(ring.clone());
    let mut reader = RingReader::new(0, ring.clone());
    let (mut pushed, mut read) = (0, 0);
    let rounds = if cfg!(miri) { 40 } else { 2000 };
    for round in 0..rounds {
        // Lengths and numbers of groups without a common divisor: they begin and end everywhere.
        while push(&mut producer, pushed, 1 + round % 16) && pushed % 7 != 3 {
            pushed += 1 + round % 16;
        }
        pushed = ring.header().positions.head();
        let mut places = Vec::new();
        let take = |_: &Origin, place: RowOrigin, records: &[Record]| {
            places.push(place.word());
            take_group(&mut read, records)
        };
        assert!(!reader.drain(|| false, take, |_| unreachable!()));
        assert!(places.is_sorted());
        assert_eq!((read, ring.unread()), (pushed, 0));
    }
    assert!(pushed > 32 * 4, "the ring was gone round");
}

#[test]
fn a_reader_beside_the_producer_sees_no_torn_record() {
    let ring = ring(16);
    let ended = Arc::new(AtomicBool::new(false));
    let groups = if cfg!(miri) { 60 } else { 20_000 };
    let mut reader = RingReader::new(0, ring.clone());
    let thread = std::thread::spawn({
        let ended = ended.clone();
        move || {
            let mut producer = Producer::new(ring);
            let mut pushed = 0;
            for group in 0..groups {
                let length = 1 + group % 5;
                while !push(&mut producer, pushed, length) {
                    std::thread::yield_now();
                }
                pushed += length;
            }
            drop(producer);
            ended.store(true, Ordering::Release);
            pushed
        }
    });
    let mut read = 0;
    while !reader.drain(
        || ended.load(Ordering::Acquire),
        |_, _, records| take_group(&mut read, records),
        |_| unreachable!(),
    ) {
        std::thread::yield_now();
    }
    assert_eq!(thread.join().unwrap(), read);
}

#[test]
fn records_are_copies_that_nobody_changes_while_they_are_used() {
    let ring = ring(8);
    let mut producer = Producer::new(ring.clone());
    assert!(push(&mut producer, 0, 2));
    let mut reader = RingReader::new(0, ring.clone());
    let mut seen = 0;
    let take = |_: &Origin, _: RowOrigin, records: &[Record]| {
        // As another process would that has the file.
        // SAFETY: inside the ring; nobody else looks at it now.
        unsafe { ring.records().write_bytes(0xff, 8) };
        take_group(&mut seen, records)
    };
    reader.drain(|| true, take, |_| unreachable!());
    assert_eq!(seen, 2);
}

#[test]
fn a_group_that_the_head_cuts_is_taken_as_it_is_and_the_tail_stays_behind_the_head() {
    let ring = ring(8);
    let mut producer = Producer::new(ring.clone());
    assert!(push(&mut producer, 0, 1));
    assert!(producer.reserve(1).0);
    let flags = 15 << 4;
    // SAFETY: there is room. A record that promises fifteen more, which are not there.
    unsafe {
        producer.push(Record {
            kind: kind::BRICK,
            flags,
            ..Record::default()
        })
    };
    let mut lengths = Vec::new();
    let take = |_: &Origin, _: RowOrigin, records: &[Record]| {
        lengths.push(records.len());
        1 + records[0].extensions()
    };
    RingReader::new(0, ring.clone()).drain(|| true, take, |_| unreachable!());
    assert_eq!(lengths, [2, 1]);
    let positions = &ring.header().positions;
    assert_eq!((positions.tail(), positions.head()), (2, 2));
}

/// A signal handler recorded while its thread was between reading the head and publishing.
#[test]
fn a_head_that_was_set_back_finds_room_again() {
    let positions: Positions = Positions::default();
    let mut cursor = Cursor::new(&positions, 8);
    assert_eq!(cursor.reserve(&positions, 1), (true, false));
    let mut interrupted = cursor;
    for _ in 0..3 {
        cursor.advance();
    }
    cursor.publish(&positions);
    positions.consume(3);
    // The thread goes on with what it had seen.
    interrupted.advance();
    interrupted.publish(&positions);
    interrupted.look_first();
    assert!(positions.head() < positions.tail());
    assert_eq!(interrupted.reserve(&positions, 8), (true, false));
    assert_eq!(interrupted.advance(), 3, "behind all that was read");
    interrupted.publish(&positions);
    assert_eq!(positions.unread(), 1);
    // A tail from nowhere leaves no room.
    positions.consume(1 << 40);
    assert!(!interrupted.reserve(&positions, 1).0);
}

/// A signal handler used the room that its thread had seen, and the thread wrote one more record.
#[test]
fn records_over_others_cost_those_alone() {
    let ring = ring(8);
    let mut producer = Producer::new(ring.clone());
    for first in 0..8 {
        assert!(push(&mut producer, first, 1));
    }
    let positions = &ring.header().positions;
    let mut interrupted = Cursor::new(positions, 8);
    interrupted.advance();
    interrupted.publish(positions);
    assert_eq!(positions.unread(), 9);
    // What lies there is the first record once more.
    let mut seen = Vec::new();
    let take = |_: &Origin, _: RowOrigin, records: &[Record]| {
        seen.push(records[0].m[0]);
        1
    };
    RingReader::new(0, ring.clone()).drain(|| true, take, |_| unreachable!());
    assert_eq!(seen, [1, 2, 3, 4, 5, 6, 7, 0]);
    assert_eq!(positions.unread(), 0);
    assert!(interrupted.reserve(positions, 1).0);
}
