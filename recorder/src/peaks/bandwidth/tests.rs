//! The movers read and write what they are counted for.

use super::*;

const OPERATIONS: [Operation; 4] = [
    Operation::Read,
    Operation::Copy,
    Operation::CopyStreaming,
    Operation::Triad,
];

fn doubles(moving: &mut Moving, array: usize) -> Vec<f64> {
    let (start, bytes) = (moving.start(array), moving.bytes);
    let (words, _) = moving.memory.bytes()[start..start + bytes].as_chunks::<8>();
    words.iter().map(|word| f64::from_ne_bytes(*word)).collect()
}

/// Gives array `k` values of its own at each place.
fn number(moving: &mut Moving) {
    for array in 0..moving.mover.operation.arrays() {
        let (start, bytes) = (moving.start(array), moving.bytes);
        let words = moving.memory.bytes()[start..start + bytes].as_chunks_mut::<8>();
        for (at, word) in words.0.iter_mut().enumerate() {
            *word = ((array * 1000 + at) as f64).to_ne_bytes();
        }
    }
}

#[test]
fn one_pass_goes_over_every_element_once() {
    for operation in OPERATIONS {
        let movers = Mover::all(operation);
        assert!(!movers.is_empty() || !cfg!(target_arch = "x86_64"));
        for mover in movers {
            let mut moving = Moving::new(mover, operation.arrays() * 3 * BLOCK_MULTIPLE).unwrap();
            assert_eq!(moving.bytes, 3 * BLOCK_MULTIPLE);
            moving.touch();
            number(&mut moving);
            let pass = moving.pass();
            assert_eq!(
                pass * moving.bytes_counted(),
                (operation.arrays() * moving.bytes) as u64
            );
            let sum = moving.run(pass);
            let [a, b, c] = [0, 1, 2].map(|array| {
                let there = array < operation.arrays();
                there.then(|| doubles(&mut moving, array))
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

/// What lies behind the last block asked for is not touched, the next time goes on there, and after
/// the end the start comes.
#[test]
fn blocks_are_counted_and_wrap_round() {
    for mover in Mover::all(Operation::Copy) {
        let mut moving = Moving::new(mover, 4 * BLOCK_MULTIPLE).unwrap();
        moving.touch();
        number(&mut moving);
        let before = doubles(&mut moving, 0);
        moving.run(1);
        let (a, b) = (doubles(&mut moving, 0), doubles(&mut moving, 1));
        let words = mover.block_bytes / 8;
        assert_eq!(a[..words], b[..words]);
        assert_eq!(a[words..], before[words..]);
        assert_ne!(a[words..], b[words..]);
        moving.run(1);
        let a = doubles(&mut moving, 0);
        assert_eq!(a[..2 * words], b[..2 * words]);
        assert_eq!(a[2 * words..], before[2 * words..]);
    }
    for mover in Mover::all(Operation::Read) {
        let mut moving = Moving::new(mover, 2 * BLOCK_MULTIPLE).unwrap();
        moving.touch();
        number(&mut moving);
        let (pass, first) = (moving.pass(), moving.run(1));
        let rest = moving.run(pass - 1);
        let whole = first.wrapping_add(rest);
        assert_eq!(moving.run(pass + 1), whole.wrapping_add(first));
        assert_eq!(moving.run(pass - 1), rest);
    }
}

#[test]
fn touching_gives_every_array_its_value() {
    let mover = Mover::widest(Operation::Triad);
    let Some(mover) = mover else { return };
    let mut moving = Moving::new(mover, 9 * BLOCK_MULTIPLE).unwrap();
    moving.touch();
    moving.run(moving.pass());
    assert!(doubles(&mut moving, 0).iter().all(|a| *a == 3.5));
}
