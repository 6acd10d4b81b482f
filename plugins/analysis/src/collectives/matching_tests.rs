use super::*;

fn part(
    rank: u32,
    communicator: Option<u32>,
    group: Option<u32>,
    sequence: Option<u64>,
    start_ns: i64,
) -> Part {
    Part {
        rank,
        communicator,
        group,
        group_size: None,
        sequence,
        iteration: None,
        operation: Operation::AllReduce,
        peer: None,
        lane: 0,
        size: Some(8),
        name: Some(0),
        start_ns,
        end_ns: start_ns + 100,
    }
}

fn ranks_of(ranks: std::ops::Range<u32>) -> Recorded {
    Recorded {
        ranks: ranks.collect(),
        is_whole: true,
    }
}

fn ranks(parts: &[Part], instance: &Instance) -> Vec<u32> {
    instance.parts.iter().map(|at| parts[*at].rank).collect()
}

#[test]
fn sub_groups_of_one_name_are_apart_by_their_ranks() {
    let groups = vec![vec![0, 1], vec![2, 3]];
    let parts: Vec<Part> = (0..4)
        .flat_map(|rank| {
            (0..3).map(move |n| part(rank, Some(7), Some(rank / 2), Some(n), n as i64 * 1_000))
        })
        .collect();
    let found = match_parts(&parts, &groups, &ranks_of(0..4));
    assert!(found.unmatched.is_empty());
    let of: Vec<Vec<u32>> = found
        .instances
        .iter()
        .map(|instance| ranks(&parts, instance))
        .collect();
    assert_eq!(of.iter().filter(|ranks| **ranks == [0, 1]).count(), 3);
    assert_eq!(of.iter().filter(|ranks| **ranks == [2, 3]).count(), 3);
}

#[test]
fn stated_numbers_outlive_what_was_dropped() {
    let mut parts: Vec<Part> = (0..2)
        .flat_map(|rank| {
            (10..14).map(move |n| part(rank, Some(7), None, Some(n), n as i64 * 1_000))
        })
        .collect();
    parts.remove(1);
    let found = match_parts(&parts, &[], &ranks_of(0..2));
    let numbers: Vec<u64> = found
        .instances
        .iter()
        .map(|instance| instance.sequence)
        .collect();
    assert_eq!(numbers, [10, 12, 13]);
    assert_eq!(found.unmatched, [(4, Unmatched::Missing)]);
}

#[test]
fn without_numbers_different_counts_cannot_be_matched() {
    let parts = [
        part(0, Some(7), None, None, 0),
        part(0, Some(7), None, None, 1_000),
        part(1, Some(7), None, None, 5_000),
    ];
    let found = match_parts(&parts, &[], &ranks_of(0..2));
    assert!(found.instances.is_empty());
    let why: Vec<Unmatched> = found.unmatched.iter().map(|(_, why)| *why).collect();
    assert_eq!(why, [Unmatched::NotAtOnce; 3]);
}

#[test]
fn a_number_with_another_operation_or_size_is_none() {
    let mut parts = vec![
        part(0, Some(7), None, Some(1), 0),
        part(1, Some(7), None, Some(1), 0),
    ];
    parts[1].size = Some(9);
    let why = |parts: &[Part]| match_parts(parts, &[], &ranks_of(0..2)).unmatched[0].1;
    assert_eq!(why(&parts), Unmatched::OtherSize);
    parts[1].operation = Operation::Barrier;
    assert_eq!(why(&parts), Unmatched::OtherOperation);
}

#[test]
fn a_communicator_of_ranks_that_were_not_recorded() {
    let groups = vec![(0..8).collect::<Vec<u32>>()];
    let of = |ranks: &[u32]| {
        ranks
            .iter()
            .map(|rank| part(*rank, Some(7), Some(0), Some(0), 0))
            .collect::<Vec<_>>()
    };
    let found = match_parts(&of(&[0, 1]), &groups, &ranks_of(0..2));
    assert_eq!(found.instances[0].not_recorded, Some(6));
    let found = match_parts(&of(&[0]), &groups, &ranks_of(0..1));
    assert_eq!(found.unmatched, [(0, Unmatched::Alone)]);
}

/// A pipeline of three ranks, each with its own numbering: what rank 1 receives first has another number there.
#[test]
fn a_send_belongs_to_the_receive_of_its_peer() {
    let one = |rank, operation, peer, sequence, start_ns| Part {
        operation,
        peer: Some(peer),
        ..part(rank, Some(7), Some(0), Some(sequence), start_ns)
    };
    let mut parts = vec![
        one(0, Operation::Send, 1, 1, 0),
        one(1, Operation::Recv, 0, 1, 10),
        one(1, Operation::Send, 2, 2, 200),
        one(2, Operation::Recv, 1, 1, 20),
        one(0, Operation::Send, 1, 2, 300),
        one(1, Operation::Recv, 0, 3, 310),
    ];
    let groups = vec![(0..3).collect::<Vec<u32>>()];
    let found = match_parts(&parts, &groups, &ranks_of(0..3));
    assert!(found.unmatched.is_empty());
    let places: Vec<Vec<usize>> = found
        .instances
        .iter()
        .map(|instance| instance.parts.clone())
        .collect();
    assert_eq!(places, [vec![0, 1], vec![2, 3], vec![4, 5]]);
    assert_eq!(found.instances[1].receiver, Some(2));
    parts.pop();
    let found = match_parts(&parts, &groups, &ranks_of(0..3));
    assert_eq!(found.instances.len(), 1);
    assert_eq!(
        found.unmatched.len(),
        3,
        "which of two it received is not known"
    );
}

/// Two of eight ranks, and a communicator that does not list its ranks: one that was not recorded may have arrived
/// last.
#[test]
fn ranks_that_were_not_recorded_may_be_in_it() {
    let mut parts = vec![
        part(0, Some(7), None, Some(1), 0),
        part(1, Some(7), None, Some(1), 0),
    ];
    let job = Recorded {
        ranks: [0, 1].into(),
        is_whole: false,
    };
    let not_recorded = |parts: &[Part]| match_parts(parts, &[], &job).instances[0].not_recorded;
    assert_eq!(not_recorded(&parts), None);
    parts[0].group_size = Some(8);
    assert_eq!(not_recorded(&parts), Some(6));
    parts[0].communicator = None;
    parts[1].communicator = None;
    assert_eq!(not_recorded(&parts), None);
}

#[test]
fn more_ranks_than_the_communicator_has_are_of_several() {
    let mut parts: Vec<Part> = (0..4)
        .map(|rank| part(rank, Some(7), None, Some(1), 0))
        .collect();
    parts.iter_mut().for_each(|part| part.group_size = Some(2));
    let found = match_parts(&parts, &[], &ranks_of(0..4));
    assert!(found.instances.is_empty());
    assert!(
        found
            .unmatched
            .iter()
            .all(|(_, why)| *why == Unmatched::SeveralGroups)
    );
}

/// Three iterations of four collectives, without numbers, of ranks whose clocks are 5 ms apart.
fn iterations() -> Vec<Part> {
    let part = |rank: u32, n: u64| {
        let start_ns = n as i64 * 1_000 + i64::from(rank) * 5_000_000;
        Part {
            iteration: Some(n / 4),
            ..part(rank, Some(7), Some(0), None, start_ns)
        }
    };
    (0..2)
        .flat_map(|rank| (0..12).map(move |n| part(rank, n)))
        .collect()
}

fn of_one_time(parts: &[Part], instance: &Instance) -> bool {
    let [a, b] = [instance.parts[0], instance.parts[1]].map(|at| parts[at].start_ns);
    b - a == 5_000_000
}

#[test]
fn a_dropped_row_costs_one_collective_where_iterations_are_known() {
    let groups = vec![vec![0, 1]];
    let mut parts = iterations();
    parts.remove(12 + 5);
    let found = match_parts(&parts, &groups, &ranks_of(0..2));
    assert_eq!(found.instances.len(), 11);
    assert!(found.instances.iter().all(|of| of_one_time(&parts, of)));
    assert_eq!(found.unmatched, [(5, Unmatched::Missing)]);
}

/// Each rank lacks another row of one iteration: they have as many.
#[test]
fn rows_that_ranks_lack_are_no_pair() {
    let groups = vec![vec![0, 1]];
    let mut parts = iterations();
    parts.remove(12 + 7);
    parts.remove(4);
    let found = match_parts(&parts, &groups, &ranks_of(0..2));
    assert_eq!(found.instances.len(), 10);
    assert!(found.instances.iter().all(|of| of_one_time(&parts, of)));
}

#[test]
fn sends_and_receives_are_matched_in_their_iteration() {
    let groups = vec![vec![0, 1]];
    let mut parts = iterations();
    for part in &mut parts {
        (part.operation, part.peer) = match part.rank {
            0 => (Operation::Send, Some(1)),
            _ => (Operation::Recv, Some(0)),
        };
    }
    parts.remove(6);
    let found = match_parts(&parts, &groups, &ranks_of(0..2));
    assert_eq!(found.instances.len(), 11);
    assert!(found.instances.iter().all(|of| of_one_time(&parts, of)));
}

/// The number is recorded, so the others' parts still belong together.
#[test]
fn a_rank_whose_row_was_dropped_counts_as_not_recorded() {
    let groups = vec![vec![0, 1, 2]];
    let parts = [0, 2].map(|rank| part(rank, Some(7), Some(0), Some(4), 0));
    let found = match_parts(&parts, &groups, &ranks_of(0..3));
    assert_eq!(found.instances[0].not_recorded, Some(1));
    assert_eq!(found.instances[0].parts, [0, 1]);
}
