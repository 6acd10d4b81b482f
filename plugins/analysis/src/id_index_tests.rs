use std::collections::BTreeMap;

use proptest::prelude::*;

use super::id_index::IdIndex;

proptest! {
    #[test]
    fn ids_that_come_one_by_one(
        known in prop::collection::vec(0..30_u64, 0..9),
        ids in prop::collection::vec(
            prop_oneof![0..30_u64, 4000..4400_u64, 9000..9100_u64, (1_u64 << 32)..(1 << 32) + 9, (1_u64 << 32) - 9..1 << 32, any::<u64>()],
            0..80,
        ),
    ) {
        let numbered = || known.iter().copied().zip(1000..);
        let mut found = IdIndex::new(numbered);
        let mut expected: BTreeMap<u64, u32> = numbered().collect();
        for (id, value) in ids.iter().copied().zip(0..) {
            prop_assert_eq!(found.insert_first(id, value), !expected.contains_key(&id));
            expected.entry(id).or_insert(value);
            prop_assert_eq!(found.get(id), expected.get(&id).copied());
        }
        for id in ids.iter().flat_map(|id| [*id, id ^ 1, id.wrapping_sub(1)]) {
            prop_assert_eq!(found.get(id), expected.get(&id).copied());
        }
        for (id, value) in &expected {
            prop_assert_eq!(found.id_of(*value), Some(*id));
        }
        prop_assert_eq!(found.id_of(5000), None);
    }

    #[test]
    fn as_a_map(
        ids in prop::collection::vec(prop_oneof![0..20_u64, (1_u64 << 32)..(1 << 32) + 9, (3_u64 << 48)..(3 << 48) + 9, any::<u64>()], 0..40),
        changed in prop::collection::vec((any::<prop::sample::Index>(), 0..9_u32), 0..9),
        others in prop::collection::vec(any::<u64>(), 0..5),
    ) {
        let numbered = || ids.iter().copied().zip(100..);
        let mut found = IdIndex::new(numbered);
        let mut expected: BTreeMap<u64, u32> = numbered().collect();
        prop_assert_eq!(found.is_empty(), expected.is_empty());
        let looked_up: Vec<u64> = ids.iter().chain(&others).chain(&[0, 1, 1 << 32, u64::MAX]).copied().collect();
        for (which, value) in changed {
            let id = *which.get(&looked_up);
            found.set(id, value);
            expected.entry(id).and_modify(|known| *known = value);
        }
        for id in looked_up {
            prop_assert_eq!(found.get(id), expected.get(&id).copied());
        }
    }
}
