//! Whatever bytes come, nothing panics, and what is whole is not lost.

use proptest::prelude::*;
use trueno_cupti::kind::KINDS;
use trueno_cupti::record::{decode, kind_of};
use trueno_cupti::spool::{Chunk, ClockReading, Item, RangeEvent, RangeKind, Reader, Writer};
use trueno_cupti::walk::{Sizes, records};

/// Bytes that resemble records more often than random ones.
fn buffer() -> impl Strategy<Value = Vec<u8>> {
    let kinds = prop::sample::select(KINDS.iter().map(|kind| kind.number).collect::<Vec<_>>());
    let kind = prop_oneof![4 => kinds, 1 => any::<u32>()];
    let record = (kind, prop::collection::vec(any::<u8>(), 0..240));
    prop::collection::vec(record, 0..8).prop_map(|records| {
        let parts = records
            .into_iter()
            .map(|(kind, rest)| [&kind.to_le_bytes()[..], &rest].concat());
        parts.flatten().collect()
    })
}

/// A spool with every kind of item, and the number of items.
fn spool() -> (Vec<u8>, usize) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.spool");
    let mut writer = Writer::create(&path).unwrap();
    writer.chunk(Chunk::Facts, &[br#"{"pid":7}"#]).unwrap();
    writer
        .chunk(Chunk::Clock, &[&ClockReading::default().bytes()])
        .unwrap();
    writer
        .chunk(
            Chunk::Names,
            &[&1u32.to_le_bytes(), &4u32.to_le_bytes(), b"gemm"],
        )
        .unwrap();
    writer
        .chunk(
            Chunk::Callback,
            &[
                &1u32.to_le_bytes(),
                &307u32.to_le_bytes(),
                b"cuLaunchKernel",
            ],
        )
        .unwrap();
    let mut call = vec![0u8; 40];
    call[0] = 4;
    let framed = [&40u32.to_le_bytes()[..], &call].concat().repeat(50);
    writer.chunk(Chunk::Records, &[&framed]).unwrap();
    let mut ranges = Vec::new();
    for kind in [RangeKind::Push, RangeKind::Pop] {
        let event = RangeEvent {
            kind,
            thread: 1,
            realtime_ns: 2,
            domain: 0,
            category: 0,
            message: 1,
            range: 0,
        };
        event.write(&mut ranges);
        assert_eq!(
            RangeEvent::read(&ranges[ranges.len() - RangeEvent::BYTES..]),
            Some(event)
        );
    }
    writer.chunk(Chunk::Ranges, &[&ranges]).unwrap();
    let pair = [&1u64.to_le_bytes()[..], &2u64.to_le_bytes()].concat();
    writer.chunk(Chunk::GraphClones, &[&pair]).unwrap();
    writer.chunk(Chunk::GraphEdges, &[&pair, &pair]).unwrap();
    writer
        .chunk(Chunk::Dropped, &[&3u64.to_le_bytes()])
        .unwrap();
    writer.chunk(Chunk::End, &[b"{}"]).unwrap();
    (std::fs::read(&path).unwrap(), 4 + 50 + 2 + 3 + 2)
}

fn items(bytes: &[u8]) -> Option<(usize, trueno_cupti::spool::Damage)> {
    let mut count = 0;
    let damage = Reader::new(bytes)?.read(|item| {
        if let Item::Record(bytes) = item {
            let _ = decode(bytes);
        }
        count += 1;
    });
    Some((count, damage))
}

#[test]
fn a_spool_is_read_back_and_a_cut_one_to_the_cut() {
    let (bytes, all) = spool();
    assert_eq!(items(&bytes), Some((all, Default::default())));
    let mut last = 0;
    for end in 0..bytes.len() {
        let Some((count, damage)) = items(&bytes[..end]) else {
            assert!(end < 8, "only without its first bytes it is none");
            continue;
        };
        assert!(count >= last && count < all, "{end}");
        assert_eq!(damage.chunks, 0, "what is cut is cut, not damaged");
        last = count;
    }
}

#[test]
fn a_flipped_bit_loses_its_chunk_and_no_other() {
    let (bytes, all) = spool();
    for at in 8..bytes.len() {
        let mut flipped = bytes.clone();
        flipped[at] ^= 1 << (at % 8);
        let (count, damage) = items(&flipped).unwrap();
        assert!(count < all, "bit of byte {at} went unnoticed");
        assert!(damage.chunks + damage.cut_bytes > 0, "{at}");
    }
}

proptest! {
    #[test]
    fn any_buffer_is_walked_without_a_panic(bytes in buffer(), odd in prop::collection::vec((any::<u32>(), 0usize..300), 0..4)) {
        let odd: Sizes = odd.into_iter().chain([(5, 40)]).collect();
        for sizes in [Sizes::default(), odd] {
            let mut walked = 0;
            for record in records(&bytes, &sizes) {
                let Ok(record) = record else { break };
                prop_assert_eq!(Some(record.len()), kind_of(record).and_then(|kind| sizes.get(kind)));
                walked += record.len();
                let _ = decode(record);
            }
            prop_assert!(walked <= bytes.len());
        }
    }

    /// The oracle reads each field with its own arithmetic. A record that is cut anywhere is either read whole
    /// or an error.
    #[test]
    fn a_cut_record_is_whole_or_an_error(bytes in buffer(), cut in 0usize..260) {
        let part = &bytes[..cut.min(bytes.len())];
        if let Some(kind) = kind_of(part).and_then(trueno_cupti::kind::from_number) {
            prop_assert_eq!(decode(part).is_ok(), part.len() >= kind.least_bytes);
        } else {
            prop_assert!(decode(part).is_err());
        }
    }

    #[test]
    fn any_spool_is_read_without_a_panic(cuts in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20)) {
        let (mut bytes, all) = spool();
        for (at, byte) in cuts {
            let at = at.index(bytes.len() - 8) + 8;
            bytes[at] = byte;
        }
        let (count, _) = items(&bytes).unwrap();
        prop_assert!(count <= all);
    }

    #[test]
    fn any_bytes_behind_the_first_are_read_without_a_panic(rest in prop::collection::vec(any::<u8>(), 0..400)) {
        let bytes = [&trueno_cupti::spool::MAGIC[..], &rest].concat();
        prop_assert!(items(&bytes).is_some());
    }
}
