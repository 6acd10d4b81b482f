//! Allocations.

use std::collections::{BTreeMap, HashSet};

use trueno_testing::{Cell, Table};

use crate::{Place, value};

fn weights(table: &Table) -> Vec<f64> {
    let weight = |cell: &Cell| match cell {
        Cell::F(weight) => *weight,
        other => panic!("{other:?}"),
    };
    table.columns["weight"].iter().map(weight).collect()
}

/// With one sample in 8 bytes, the probability of recording a block of thousands of bytes is 1 as a double.
#[test]
fn large_blocks_are_all_there_and_given_back() {
    let Some(place) = Place::new() else { return };
    place.record(&["--alloc=8", "--strict"], &["memory"]);
    let allocations = place.table("allocations");
    let (bytes, addresses) = (allocations.numbers("bytes"), allocations.numbers("address"));
    let mut count: BTreeMap<i128, i64> = BTreeMap::new();
    let mut live: BTreeMap<i128, i128> = BTreeMap::new();
    for (bytes, address) in bytes
        .into_iter()
        .flatten()
        .zip(addresses.into_iter().flatten())
    {
        *count.entry(bytes).or_default() += 1;
        if bytes > 0 {
            assert_eq!(live.insert(address, bytes), None);
        } else {
            assert_eq!(live.remove(&address), Some(-bytes));
        }
    }
    // A block that stays, as there is no memory for a larger one, is given back for a moment.
    for size in [5000, 6100, 7000, 70_000, 8000, 9024, 9000] {
        assert_eq!((count[&size], count[&-size]), (1000, 1000), "{size}");
    }
    assert_eq!((count[&6000], count[&-6000]), (2, 2));
    assert!(live.values().any(|bytes| *bytes == 12_345));
    assert_eq!(count.get(&-12_345), None);
}

#[test]
fn samples_stand_for_all_allocations() {
    let Some(place) = Place::new() else { return };
    place.record(&["--alloc=5000", "--strict"], &["threads"]);
    let allocations = place.table("allocations");
    let run = place.run();
    let exact =
        ["allocations", "allocated_bytes"].map(|name| value(&run, name).parse::<f64>().unwrap());
    // 800 threads, each 2,000 blocks of 1,099.5 bytes on average.
    assert!(
        exact[0] > 1_600_000.0 && exact[0] < 1_620_000.0,
        "{exact:?}"
    );
    assert!(exact[1] > 1_600_000.0 * 1099.5, "{exact:?}");
    let (mut sums, mut variances) = ([0.0; 2], [0.0; 2]);
    let bytes = allocations.numbers("bytes").into_iter().flatten();
    for (bytes, weight) in bytes
        .zip(weights(&allocations))
        .filter(|(bytes, _)| *bytes > 0)
    {
        let bytes = bytes as f64;
        sums[0] += weight;
        sums[1] += weight * bytes;
        variances[0] += weight * (weight - 1.0);
        variances[1] += weight * (weight - 1.0) * bytes * bytes;
    }
    for at in 0..2 {
        let off = (sums[at] - exact[at]) / variances[at].sqrt();
        assert!(off.abs() < 5.0, "{off} deviations: {sums:?}, {exact:?}");
    }
}

/// Children that are forked while a thread allocates, and a program started by `exec`.
#[test]
fn processes_have_rows_of_their_own() {
    let Some(place) = Place::new() else { return };
    place.record(&["--libs", "--alloc=8", "--strict"], &["forks"]);
    let (threads, kernels) = (place.table("threads"), place.table("kernels"));
    let processes: BTreeMap<i128, i128> = threads
        .numbers("thread")
        .into_iter()
        .flatten()
        .zip(threads.numbers("process").into_iter().flatten())
        .collect();
    let of: Vec<i128> = kernels.numbers("thread").into_iter().flatten().collect();
    let distinct: HashSet<i128> = of.iter().map(|thread| processes[thread]).collect();
    assert_eq!((kernels.rows, distinct.len()), (21, 21));
    let mut flops: Vec<i128> = kernels.numbers("flops").into_iter().flatten().collect();
    flops.sort_unstable();
    let mut expected: Vec<i128> = (1..=20).map(|turn| 8 * turn).chain([2 * 77]).collect();
    expected.sort_unstable();
    assert_eq!(flops, expected);

    let allocations = place.table("allocations");
    let (bytes, addresses) = (allocations.numbers("bytes"), allocations.numbers("address"));
    let count = |bytes_of: i128| bytes.iter().filter(|it| **it == Some(bytes_of)).count();
    // What the parent held is its own alone; what children held is given back when they have ended.
    assert_eq!((count(200_000), count(400_000)), (1, 20));
    assert!(count(-200_000) <= 1 && count(-400_000) <= 20);
    let taken = bytes
        .iter()
        .zip(&addresses)
        .filter(|(bytes, _)| **bytes == Some(400_000));
    let distinct: HashSet<_> = taken.map(|(_, address)| address).collect();
    assert_eq!(distinct.len(), 20);
}
