use super::super::matching::{Part, Recorded, match_parts};
use super::*;

fn part(rank: u32, start_ns: i64) -> Part {
    Part {
        rank,
        communicator: None,
        group: None,
        group_size: None,
        sequence: None,
        iteration: None,
        operation: Operation::AllReduce,
        peer: None,
        lane: 0,
        size: None,
        name: Some(0),
        start_ns,
        end_ns: start_ns + 100,
    }
}

fn matched(parts: &[Part], ranks: u32) -> Matched {
    let recorded = Recorded {
        ranks: (0..ranks).collect(),
        is_whole: true,
    };
    match_parts(parts, &[], &recorded)
}

/// Two pairs of ranks with three collectives each at different times. One clock is off by 5 ms.
#[test]
fn ranks_that_leave_together_are_of_one() {
    let at = |rank: u32, n: i64| {
        n * (1_000 + i64::from(rank / 2) * 500) + if rank == 3 { 5_000_000 } else { 0 }
    };
    let parts: Vec<Part> = (0..4)
        .flat_map(|rank| (0..3).map(move |n| part(rank, at(rank, n))))
        .collect();
    let found = matched(&parts, 4);
    assert_eq!(found.instances.len(), 6);
    let are_pairs =
        |instance: &Instance| instance.communicator.is_none() && instance.parts.len() == 2;
    assert!(found.instances.iter().all(are_pairs));
    let found = matched(&[part(0, 0), part(1, 5_000)], 2);
    let why: Vec<Unmatched> = found.unmatched.iter().map(|(_, why)| *why).collect();
    assert_eq!(why, [Unmatched::NotAtOnce; 2]);
}

/// One recording begins two collectives later, one lacks a collective in the middle, one ends earlier, and all
/// clocks differ.
#[test]
fn recordings_need_not_begin_with_the_same() {
    let parts: Vec<Part> = (0..4_u32)
        .flat_map(|rank| {
            let kept = move |n: &i64| match rank {
                1 => *n >= 2,
                2 => *n != 5,
                3 => *n < 17,
                _ => true,
            };
            let at = move |n: i64| part(rank, n * 10_000 + n % 3 * 40 + i64::from(rank) * 3_000);
            (0..20).filter(kept).map(at)
        })
        .collect();
    let found = matched(&parts, 4);
    // All but 0, 1, 5 and 17 to 19 are complete.
    assert_eq!(found.instances.len(), 14);
    for instance in &found.instances {
        let starts = instance.parts.iter();
        let starts = starts.map(|at| parts[*at].start_ns - i64::from(parts[*at].rank) * 3_000);
        let starts: Vec<i64> = starts.collect();
        assert_eq!(starts, [starts[0]; 4]);
    }
    assert_eq!(found.unmatched.len(), parts.len() - 14 * 4);
}

/// Back-to-back collectives: the first one that the second rank recorded is as close to its predecessor as that is
/// long.
#[test]
fn the_nearest_belong_together() {
    let of = |rank: u32, from: i64| {
        let at = move |n: i64| n * 1_000 + n % 3 * 101 + i64::from(rank);
        (from..20).map(move |n| Part {
            end_ns: at(n) + 1_090 + n % 2,
            ..part(rank, at(n))
        })
    };
    let parts: Vec<Part> = of(0, 0).chain(of(1, 3)).collect();
    let found = matched(&parts, 2);
    assert_eq!(found.instances.len(), 17);
    for instance in &found.instances {
        let [a, b] = [0, 1].map(|at| parts[instance.parts[at]].end_ns);
        assert_eq!(b - a, 1);
    }
}

/// A named communicator without sequence numbers: the second recording begins three collectives later.
#[test]
fn a_named_communicator_without_numbers() {
    let of = |rank: u32, from: i64| {
        (from..20).map(move |n| Part {
            communicator: Some(9),
            ..part(rank, n * 10_000 + n % 3 * 40)
        })
    };
    let parts: Vec<Part> = of(0, 0).chain(of(1, 3)).collect();
    let found = matched(&parts, 2);
    assert_eq!(found.instances.len(), 17);
    assert_eq!(found.unmatched.len(), 3);
    // Of three, all must be there.
    let parts: Vec<Part> = of(0, 0).chain(of(1, 3)).chain(of(2, 19)).collect();
    assert!(matched(&parts, 3).instances.len() < 2);
}

/// Two pairs of ranks, whose own collectives precede those of all four: on separate streams or on a common one.
#[test]
fn two_communicators_of_one_name() {
    let of = |rank: u32, is_apart: bool| {
        (0..12).flat_map(move |n| {
            let own = part(
                rank,
                n * 10_000 + i64::from(rank / 2) * (n * n % 11 * 350 + 200) + n % 3 * 40,
            );
            let of_all = Part {
                lane: u32::from(is_apart),
                ..part(rank, n * 10_000 + 5_000 + n % 5 * 70)
            };
            [own, of_all]
        })
    };
    let parts: Vec<Part> = (0..4).flat_map(|rank| of(rank, true)).collect();
    let found = matched(&parts, 4);
    let of_size = |found: &Matched, size: usize| {
        let all = found.instances.iter();
        let of = all.filter(|instance| instance.parts.len() == size);
        of.map(|instance| instance.not_recorded).collect::<Vec<_>>()
    };
    assert_eq!(of_size(&found, 4), [Some(0); 12]);
    assert_eq!(of_size(&found, 2), [Some(0); 24]);
    // On one stream the pairs are seen, and that they may be parts of something larger.
    let parts: Vec<Part> = (0..4).flat_map(|rank| of(rank, false)).collect();
    let found = matched(&parts, 4);
    assert!(
        found
            .instances
            .iter()
            .all(|instance| instance.not_recorded.is_none())
    );
}

/// One pair is always late by the same time in an operation of its own. Another operation shows that no clock is
/// off.
#[test]
fn a_rank_has_one_clock_for_all_operations() {
    let of = |rank: u32| {
        (0..12).flat_map(move |n| {
            let own = part(rank, n * 10_000 + i64::from(rank / 2) * 2_000 + n % 3 * 40);
            let of_all = Part {
                operation: Operation::AllGather,
                name: Some(1),
                ..part(rank, n * 10_000 + 5_000 + n % 5 * 70)
            };
            [own, of_all]
        })
    };
    let parts: Vec<Part> = (0..4).flat_map(of).collect();
    let found = matched(&parts, 4);
    let sizes = |operation| {
        let all = found.instances.iter();
        let of = all.filter(move |instance| instance.operation == operation);
        of.map(|instance| instance.parts.len()).collect::<Vec<_>>()
    };
    assert_eq!(sizes(Operation::AllGather), [4; 12]);
    assert_eq!(sizes(Operation::AllReduce), [2; 24]);
}

/// All rounds look alike and a clock is off by half a round, so the match is ambiguous.
#[test]
fn what_fits_twice_is_not_told() {
    let rounds = |rank: u32, from: i64, by_ns: i64| {
        (from..from + 20).map(move |n| part(rank, n * 10_000 + by_ns))
    };
    let parts: Vec<Part> = rounds(0, 0, 0).chain(rounds(1, 0, 5_000).skip(1)).collect();
    assert!(matched(&parts, 2).instances.is_empty());
    let parts: Vec<Part> = rounds(0, 0, 0).chain(rounds(1, 0, 300).skip(1)).collect();
    assert_eq!(matched(&parts, 2).instances.len(), 19);
}
