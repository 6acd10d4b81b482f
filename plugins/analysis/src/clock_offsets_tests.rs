//! Clocks against each other: by hand, against all lines in whole numbers, and of random jobs.

use proptest::prelude::*;

use super::*;

fn stay(rank: u32, arrive_ns: i64, leave_ns: i64) -> Stay {
    Stay {
        rank,
        arrive_ns,
        leave_ns,
    }
}

#[test]
fn two_clocks_that_agree_within_a_transfer() {
    // Rank 1 is late once, rank 0 once; the transfer takes 10.
    let collectives = [
        vec![stay(0, 0, 110), stay(1, 100, 110)],
        vec![stay(0, 1_100, 1_110), stay(1, 1_000, 1_110)],
    ];
    let clocks = ClockOffsets::estimate(collectives.iter().map(Vec::as_slice));
    let offset = clocks.at(1, 500).unwrap();
    assert!(
        offset.ns.abs() <= 12 && offset.uncertainty_ns <= 24,
        "{offset:?}"
    );
    assert!(!offset.is_certain());
    assert_eq!(clocks.at(0, 500), Some(Offset::NONE));
    assert_eq!(clocks.stays(1), Some(1.0));
}

/// Ranks 1 and 2 meet often and briefly, but rank 0 rarely and for long: their own collectives bound the two clocks
/// best.
#[test]
fn two_ranks_bound_their_clocks_more_tightly_than_a_third_does() {
    let mut collectives = vec![vec![
        stay(0, 0, 5_000),
        stay(1, 0, 5_000),
        stay(2, 300, 5_300),
    ]];
    for n in 1..10 {
        let at = n * 10_000;
        collectives.push(vec![stay(1, at, at + 20), stay(2, at + 310, at + 320)]);
    }
    let clocks = ClockOffsets::estimate(collectives.iter().map(Vec::as_slice));
    let by_reference = clocks.at(1, 50_000).unwrap().uncertainty_ns;
    assert!(by_reference > 4_000, "{by_reference}");
    let mut pairs = PairClocks::new(&collectives);
    let lead = pairs.lead(2, 1, 50_000).unwrap();
    assert!((lead.ns - 300).abs() <= 20, "{lead:?}");
    assert!(lead.uncertainty_ns <= 40, "{lead:?}");
    let back = pairs.lead(1, 2, 50_000).unwrap();
    assert_eq!(
        (back.ns, back.uncertainty_ns),
        (-lead.ns, lead.uncertainty_ns)
    );
    assert_eq!(pairs.lead(1, 3, 50_000), None);
}

#[test]
fn a_late_rank_is_no_offset() {
    // Rank 1 is late by 5,000 each time: nobody else leaves before it has come, and all leave together.
    let collectives: Vec<_> = (0..10)
        .map(|n| {
            vec![
                stay(0, n * 10_000, n * 10_000 + 5_020),
                stay(1, n * 10_000 + 5_000, n * 10_000 + 5_020),
            ]
        })
        .collect();
    let clocks = ClockOffsets::estimate(collectives.iter().map(Vec::as_slice));
    let offset = clocks.at(1, 0).unwrap();
    assert!(offset.ns.abs() <= 22, "{offset:?}");
}

#[test]
fn a_clock_that_was_set_contradicts() {
    let set = |n: i64| if n < 5 { 0 } else { 1_000_000 };
    let collectives: Vec<_> = (0..10)
        .map(|n| {
            vec![
                stay(0, n * 1_000, n * 1_000 + 20),
                stay(1, n * 1_000 + set(n), n * 1_000 + 20 + set(n)),
            ]
        })
        .collect();
    let clocks = ClockOffsets::estimate(collectives.iter().map(Vec::as_slice));
    assert_eq!(clocks.contradicted(), [(1, 0)]);
    assert_eq!(clocks.at(1, 0), None);
}

#[test]
fn ranks_of_other_groups_are_reached_over_those_in_between() {
    let group = |ranks: [u32; 2], at: i64| {
        ranks
            .map(|rank| {
                stay(
                    rank,
                    at + i64::from(rank) * 1_000_000,
                    at + 20 + i64::from(rank) * 1_000_000,
                )
            })
            .to_vec()
    };
    let collectives = [
        group([0, 1], 0),
        group([2, 3], 0),
        group([1, 3], 100),
        group([5, 6], 100),
    ];
    let clocks = ClockOffsets::estimate(collectives.iter().map(Vec::as_slice));
    for rank in [1, 2, 3] {
        let offset = clocks.at(rank, 0).unwrap();
        let error_ns = (offset.ns - i64::from(rank) * 1_000_000).abs();
        assert!(error_ns <= offset.uncertainty_ns, "{rank}: {offset:?}");
        assert!(offset.is_certain());
    }
    assert_eq!(clocks.at(5, 0), None, "nothing connects them");
}

/// Arrival, lowest and highest offset of a gate, in nanoseconds.
type WholeGate = (i64, i64, i64);

/// Reference implementation in integers: smallest and largest value at a time over all lines through gates widened
/// by `wider_ps` on both sides. Tries all lines that touch two corners of gates, or one corner at the largest
/// drift.
fn bounds_over_corners(gates: &[WholeGate], wider_ps: i128, at: i64) -> Option<(f64, f64)> {
    let in_ps = |(at, low, high): &WholeGate| {
        let [low, high] = [low, high].map(|ns| i128::from(*ns) * 1_000);
        (i128::from(*at), low - wider_ps, high + wider_ps)
    };
    let gates: Vec<_> = gates.iter().map(in_ps).collect();
    let corners: Vec<_> = gates
        .iter()
        .flat_map(|(at, low, high)| [(*at, *low), (*at, *high)])
        .collect();
    // A fifth of a picosecond a nanosecond.
    let is_steep = |(rise, run): (i128, i128)| rise.abs() * 5 > run;
    let mut bounds: Option<(f64, f64)> = None;
    for corner in &corners {
        let slopes = corners
            .iter()
            .filter(|other| other.0 > corner.0)
            .map(|other| (other.1 - corner.1, other.0 - corner.0));
        for (rise, run) in slopes
            .filter(|slope| !is_steep(*slope))
            .chain([(1, 5), (-1, 5)])
        {
            let passes = gates.iter().all(|(at, low, high)| {
                let value = corner.1 * run + rise * (at - corner.0);
                low * run <= value && value <= high * run
            });
            if passes {
                let value = corner.1 * run + rise * (i128::from(at) - corner.0);
                let value = value as f64 / (run * 1_000) as f64;
                let (least, most) = bounds.unwrap_or((value, value));
                bounds = Some((least.min(value), most.max(value)));
            }
        }
    }
    bounds
}

/// Checks that the bounds lie between those of slightly narrower and slightly wider gates.
fn check_bounds(mut gates: Vec<WholeGate>, at: i64) {
    gates.sort_by_key(|gate| gate.0);
    let in_ns = |(at, low, high): &WholeGate| Gate {
        at: *at as f64,
        low: *low as f64,
        high: *high as f64,
    };
    let lines = lines_through(&gates.iter().map(in_ns).collect::<Vec<_>>());
    let found = lines.map(|(above, below)| {
        let lines = Lines {
            origin: (0, 0),
            above,
            below,
            stays: 1.0,
        };
        lines.bounds(at)
    });
    let inner = bounds_over_corners(&gates, -1, at);
    let outer = bounds_over_corners(&gates, 1, at);
    let is_within = |inner: Option<(f64, f64)>, outer: Option<(f64, f64)>| match (inner, outer) {
        (Some(inner), Some(outer)) => outer.0 <= inner.0 + 1e-6 && inner.1 <= outer.1 + 1e-6,
        (None, _) => true,
        (Some(_), None) => false,
    };
    assert!(
        is_within(inner, found),
        "{inner:?} {found:?}: {gates:?} at {at}"
    );
    assert!(
        is_within(found, outer),
        "{found:?} {outer:?}: {gates:?} at {at}"
    );
}

#[test]
fn bounds_of_two_gates_that_nearly_exclude_each_other() {
    // Few slopes pass both: a search in even steps misses the extremes.
    check_bounds(vec![(359_994_775, 447, 788), (906_949_269, -1, -1)], 0);
}

proptest! {
    /// The polygon contains all possible lines.
    #[test]
    fn bounds_are_those_of_all_lines(
        gates in prop::collection::vec((0_i64..1_000_000_000, -500_i64..500, 0_i64..800), 1..12),
        at in -100_000_000_i64..1_100_000_000,
    ) {
        check_bounds(gates.into_iter().map(|(at, low, width)| (at, low, low + width)).collect(), at);
    }

    #[test]
    fn true_offsets_lie_within_the_uncertainty(
        offsets in prop::collection::vec((-5_000_000_i64..5_000_000, -20_i64..20), 2..6),
        late in prop::collection::vec(prop::collection::vec(0_i64..300_000, 6), 5..60),
        transfer in 5_000_i64..50_000,
    ) {
        let local = |rank: usize, true_ns: i64| {
            let (offset_ns, ppm) = offsets[rank];
            true_ns + offset_ns + (true_ns as f64 * ppm as f64 * 1e-6).round() as i64
        };
        let collectives: Vec<Vec<Stay>> = late
            .iter()
            .enumerate()
            .map(|(n, late)| {
                let begin_ns = n as i64 * 10_000_000;
                let last_ns = begin_ns + late[..offsets.len()].iter().max().unwrap();
                (0..offsets.len())
                    .map(|rank| {
                        // Ranks leave up to a third of the transfer apart.
                        let leave_ns = last_ns + transfer + transfer * late[5 - rank % 6] / 900_000;
                        stay(rank as u32, local(rank, begin_ns + late[rank]), local(rank, leave_ns))
                    })
                    .collect()
            })
            .collect();
        let clocks = ClockOffsets::estimate(collectives.iter().map(Vec::as_slice));
        for rank in 1..offsets.len() {
            for true_ns in [0, late.len() as i64 * 5_000_000, late.len() as i64 * 10_000_000] {
                let offset = clocks.at(rank as u32, local(0, true_ns)).unwrap();
                let truth = local(rank, true_ns) - local(0, true_ns);
                prop_assert!((offset.ns - truth).abs() <= offset.uncertainty_ns + 2, "{rank}: {offset:?} {truth}");
            }
        }
    }
}
