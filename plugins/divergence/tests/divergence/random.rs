//! Random runs against what the definitions say.

use proptest::prelude::*;
use trueno_plugin::testing::Output;
use trueno_plugin_divergence::sequence::longest_in_order;

use crate::sums::*;

/// Only a few names and places, so that keys repeat and sides differ.
fn some() -> impl Strategy<Value = Vec<Sum>> {
    let sum = (
        0usize..3,
        prop::option::of(0i64..2),
        prop::option::of(0u64..2),
        prop::option::of(0u64..2),
        0i64..2,
        0i64..6,
        1u64..4,
    );
    prop::collection::vec(sum, 0..40).prop_map(|sums| {
        let make = |(name, layer, iteration, position, thread, time, hash)| Sum {
            name: NAMES[name],
            layer,
            iteration,
            position,
            thread,
            time,
            dtype: "f32",
            shape: "1x64",
            hash,
            nan: hash % 2,
            inf: Some(0),
            l2: hash as f64,
        };
        sums.into_iter().map(make).collect()
    })
}

proptest! {
    #[test]
    fn the_order_of_rows_changes_nothing(subject in some(), baseline in some(), seed in any::<u64>()) {
        let shuffled = |sums: &[Sum], seed: u64| {
            let mut keyed: Vec<_> = sums.iter().enumerate().collect();
            keyed.sort_by_key(|(at, _)| (*at as u64 + 1).wrapping_mul(seed | 1) >> 7);
            keyed.into_iter().map(|(_, sum)| sum.clone()).collect::<Vec<_>>()
        };
        let one = compared(&subject, &baseline, "{}");
        let two = compared(&shuffled(&subject, seed), &shuffled(&baseline, !seed), "{}");
        prop_assert_eq!(one, two);
    }

    #[test]
    fn every_row_stands_in_exactly_one_item(subject in some(), baseline in some()) {
        let output = compared(&subject, &baseline, "{}");
        for (side, sums) in [("hash_run", &subject), ("hash_baseline", &baseline)] {
            let mut found: Vec<_> = column(&output, "pairs", side).into_iter().flatten().collect();
            let mut expected: Vec<_> = sums.iter().map(|sum| sum.hash.to_string()).collect();
            found.sort();
            expected.sort();
            prop_assert_eq!(found, expected);
        }
        // A slow oracle of the pairs: of each key, as many as the side with fewer has.
        let key = |s: &Sum| (s.name, s.layer, s.iteration, s.position);
        let mut keys: Vec<_> = subject.iter().chain(&baseline).map(key).collect();
        keys.sort();
        keys.dedup();
        let of = |sums: &[Sum], wanted| sums.iter().filter(|s| key(s) == wanted).count();
        let pairs: usize = keys.iter().map(|k| of(&subject, *k).min(of(&baseline, *k))).sum();
        let alone = column(&output, "only_in_one", "name").len();
        prop_assert_eq!(pairs * 2 + alone, subject.len() + baseline.len());
    }

    #[test]
    fn two_sides_agree_whichever_is_the_baseline(subject in some(), baseline in some()) {
        let verdicts = |output: &Output| {
            let mut all: Vec<_> = column(output, "pairs", "name").into_iter()
                .zip(column(output, "pairs", "occurrence"))
                .zip(column(output, "pairs", "verdict")).collect();
            all.retain(|(_, verdict)| verdict.as_deref() != Some("only_in_one") && verdict.as_deref() != Some("duplicated"));
            all.iter().map(|(_, verdict)| verdict.clone()).fold(std::collections::BTreeMap::new(), |mut counts, verdict| {
                *counts.entry(verdict).or_insert(0) += 1;
                counts
            })
        };
        prop_assert_eq!(verdicts(&compared(&subject, &baseline, "{}")), verdicts(&compared(&baseline, &subject, "{}")));
    }

    #[test]
    fn the_longest_order_is_the_longest(values in prop::collection::vec(0i64..8, 0..10)) {
        let stays = longest_in_order(&values);
        let kept: Vec<_> = values.iter().zip(&stays).filter(|(_, stays)| **stays).map(|(v, _)| *v).collect();
        prop_assert!(kept.is_sorted());
        let longest = (0u32..1 << values.len())
            .map(|set| values.iter().enumerate().filter(|(at, _)| set & 1 << at != 0).map(|(_, v)| *v).collect::<Vec<_>>())
            .filter(|list| list.is_sorted())
            .map(|list| list.len())
            .max();
        prop_assert_eq!(Some(kept.len()), longest);
    }
}
