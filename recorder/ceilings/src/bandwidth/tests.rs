//! The movers read and write what they are counted for.

use super::*;

const OPERATIONS: [Operation; 4] = [
    Operation::Read,
    Operation::Copy,
    Operation::CopyStreaming,
    Operation::Triad,
];

fn doubles(moving: &Moving, memory: &mut Memory, array: usize) -> Vec<f64> {
    let (start, bytes) = (moving.offset + moving.start(array), moving.bytes);
    let (words, _) = memory.bytes()[start..start + bytes].as_chunks::<8>();
    words.iter().map(|word| f64::from_ne_bytes(*word)).collect()
}

/// Fills array `k` with a distinct value at each position.
fn number(moving: &Moving, memory: &mut Memory) {
    for array in 0..moving.mover.operation.arrays() {
        let (start, bytes) = (moving.offset + moving.start(array), moving.bytes);
        let words = memory.bytes()[start..start + bytes].as_chunks_mut::<8>();
        for (at, word) in words.0.iter_mut().enumerate() {
            *word = ((array * 1000 + at) as f64).to_ne_bytes();
        }
    }
}

#[test]
fn one_pass_goes_over_every_element_once() {
    for operation in OPERATIONS {
        let movers = Mover::all(operation);
        assert!(!movers.is_empty() || !cfg!(any(target_arch = "x86_64", target_arch = "aarch64")));
        for mover in movers {
            let mut moving = Moving::new(mover, operation.arrays() * 3 * BLOCK_MULTIPLE, 0);
            let mut memory = Memory::new(moving.memory_bytes()).unwrap();
            assert_eq!(moving.bytes, 3 * BLOCK_MULTIPLE);
            moving.fill(&mut memory);
            number(&moving, &mut memory);
            let pass = moving.pass();
            assert_eq!(
                pass * moving.bytes_counted(),
                (operation.arrays() * moving.bytes) as u64
            );
            let sum = moving.run(&mut memory, pass);
            let [a, b, c] = [0, 1, 2].map(|array| {
                let there = array < operation.arrays();
                there.then(|| doubles(&moving, &mut memory, array))
            });
            let a = a.unwrap();
            match operation {
                Operation::Read => {
                    let words = a.iter().map(|x| x.to_bits());
                    assert_eq!(sum, words.fold(0, u64::wrapping_add));
                }
                Operation::Copy | Operation::CopyStreaming => assert_eq!(Some(a), b),
                Operation::Triad => {
                    let (b, c) = (b.unwrap(), c.unwrap());
                    let both = b.iter().zip(&c);
                    let expected: Vec<f64> = both.map(|(b, c)| b + FACTOR * c).collect();
                    assert_eq!(a, expected);
                }
            }
        }
    }
}

/// Only the requested blocks are touched. The next call continues there, and wraps round at the end.
#[test]
fn blocks_are_counted_and_wrap_round() {
    for mover in Mover::all(Operation::Copy) {
        let mut moving = Moving::new(mover, 4 * BLOCK_MULTIPLE, 0);
        let mut memory = Memory::new(moving.memory_bytes()).unwrap();
        moving.fill(&mut memory);
        number(&moving, &mut memory);
        let before = doubles(&moving, &mut memory, 0);
        moving.run(&mut memory, 1);
        let (a, b) = (
            doubles(&moving, &mut memory, 0),
            doubles(&moving, &mut memory, 1),
        );
        let words = mover.block_bytes / 8;
        assert_eq!(a[..words], b[..words]);
        assert_eq!(a[words..], before[words..]);
        assert_ne!(a[words..], b[words..]);
        moving.run(&mut memory, 1);
        let a = doubles(&moving, &mut memory, 0);
        assert_eq!(a[..2 * words], b[..2 * words]);
        assert_eq!(a[2 * words..], before[2 * words..]);
    }
    for mover in Mover::all(Operation::Read) {
        let mut moving = Moving::new(mover, 2 * BLOCK_MULTIPLE, 0);
        let mut memory = Memory::new(moving.memory_bytes()).unwrap();
        moving.fill(&mut memory);
        number(&moving, &mut memory);
        let (pass, first) = (moving.pass(), moving.run(&mut memory, 1));
        let rest = moving.run(&mut memory, pass - 1);
        let whole = first.wrapping_add(rest);
        assert_eq!(moving.run(&mut memory, pass + 1), whole.wrapping_add(first));
        assert_eq!(moving.run(&mut memory, pass - 1), rest);
    }
}

#[test]
fn filling_gives_every_array_its_value() {
    let mover = Mover::widest(Operation::Triad);
    let Some(mover) = mover else { return };
    let mut moving = Moving::new(mover, 9 * BLOCK_MULTIPLE, 0);
    let mut memory = Memory::new(moving.memory_bytes()).unwrap();
    moving.fill(&mut memory);
    moving.run(&mut memory, moving.pass());
    assert!(doubles(&moving, &mut memory, 0).iter().all(|a| *a == 3.5));
}

/// Whole passes before a visit fill the arrays; partial passes leave them as they are.
#[test]
fn warming_goes_over_what_it_is_told_to() {
    let Some(mover) = Mover::widest(Operation::Copy) else {
        return;
    };
    let bytes = 8 * BLOCK_MULTIPLE;
    for (before, expected) in [(bytes as u64, 2.0), (mover.bytes_counted(), 1.0)] {
        let mut moving = Moving::new(mover, bytes, before);
        let mut memory = Memory::new(moving.memory_bytes()).unwrap();
        memory.touch();
        moving.warm(&mut memory);
        assert!(
            doubles(&moving, &mut memory, 0)
                .iter()
                .all(|a| *a == expected)
        );
        assert_eq!(
            moving.at == 0,
            expected == 2.0,
            "a pass ends where it began"
        );
    }
}

/// Over time it uses every large page with enough room after it, and never memory beyond the end.
#[test]
fn it_works_all_over_the_memory() {
    let Some(mover) = Mover::widest(Operation::Triad) else {
        return;
    };
    for places in [1, 2, 3, 7, 8, 20] {
        let bytes = 8 * BLOCK_MULTIPLE;
        let mut moving = Moving::new(mover, bytes, bytes as u64);
        let all = moving.memory_bytes() + (places - 1) * LARGE_PAGE_BYTES + 64;
        let mut memory = Memory::new(all).unwrap();
        memory.touch();
        let mut seen = std::collections::BTreeSet::new();
        for _ in 0..8 * places {
            moving.warm(&mut memory);
            assert!(doubles(&moving, &mut memory, 0).iter().all(|a| *a == 3.5));
            seen.insert(moving.offset);
        }
        assert_eq!(seen.len(), places, "{seen:?}");
    }
}
