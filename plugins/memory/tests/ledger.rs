//! Live blocks, against keeping a plain list of blocks; fragments, against single bytes; points over
//! time, against looking at every moment.

use std::collections::BTreeSet;

use proptest::prelude::*;
use trueno_plugin_memory::events::Event;
use trueno_plugin_memory::fragments::{Footprint, Fragments};
use trueno_plugin_memory::growth::at_ends;
use trueno_plugin_memory::ledger::{Applied, Ledger, Suspect};
use trueno_plugin_memory::live::thin;
use trueno_plugin_memory::pools::Step;
use trueno_plugin_memory::sample_weight::ONE;

fn event() -> impl Strategy<Value = Event> {
    let address = prop::option::of((0_u64..6).prop_map(|slot| slot * 8));
    (0_usize..3, -9_i64..10, address, prop::option::of(1_u64..4)).prop_filter_map(
        "0 bytes never arrive",
        |(tag, bytes, address, span)| {
            (bytes != 0).then_some(Event {
                time_ns: 0,
                tag,
                span,
                bytes,
                stands_for: ONE,
                address,
            })
        },
    )
}

/// Reference implementation: blocks in a list, searched from the front.
#[derive(Default)]
struct Plain {
    blocks: Vec<(usize, u64, i64)>,
    loose: [i64; 3],
}

impl Plain {
    fn apply(&mut self, event: &Event) -> Vec<Suspect> {
        let mut why = Vec::new();
        match event.address {
            None => {
                self.loose[event.tag] += event.bytes;
                if event.bytes < 0 && self.live_bytes(event.tag) < 0 {
                    why.push(Suspect::Negative);
                }
            }
            Some(address) if event.bytes > 0 => {
                let before = self.blocks.len();
                let before_bytes = self.live_bytes(event.tag);
                self.blocks
                    .retain(|block| (block.0, block.1) != (event.tag, address));
                if self.blocks.len() < before {
                    why.push(Suspect::Doubled);
                }
                self.blocks.push((event.tag, address, event.bytes));
                if self.live_bytes(event.tag) < before_bytes && self.live_bytes(event.tag) < 0 {
                    why.push(Suspect::Negative);
                }
            }
            Some(address) => {
                let here: Vec<usize> = (0..self.blocks.len())
                    .filter(|at| self.blocks[*at].1 == address)
                    .collect();
                let same = here.iter().find(|at| self.blocks[**at].0 == event.tag);
                match (same, here.as_slice()) {
                    (Some(at), _) | (None, [at]) => {
                        let block = self.blocks.remove(*at);
                        if block.0 != event.tag {
                            why.push(Suspect::OtherTag);
                        }
                        if block.2 + event.bytes != 0 {
                            why.push(Suspect::OtherSize);
                        }
                        if self.live_bytes(block.0) < 0 {
                            why.push(Suspect::Negative);
                        }
                    }
                    _ => why.push(Suspect::Unmatched),
                }
            }
        }
        why
    }

    fn live_bytes(&self, tag: usize) -> i64 {
        let blocks = self.blocks.iter().filter(|block| block.0 == tag);
        self.loose[tag] + blocks.map(|block| block.2).sum::<i64>()
    }
}

proptest! {
    #[test]
    fn live_bytes_as_by_a_plain_list(events in prop::collection::vec(event(), 0..60)) {
        let (mut ledger, mut plain) = (Ledger::default(), Plain::default());
        let mut sum = 0;
        for event in &events {
            let applied: Applied = ledger.apply(event);
            sum += applied.delta;
            prop_assert_eq!(&applied.suspects, &plain.apply(event));
            for tag in 0..3 {
                let live = ledger.by_tag().get(&tag).copied().unwrap_or(0);
                prop_assert_eq!(live, i128::from(plain.live_bytes(tag)));
            }
            prop_assert_eq!(ledger.total(), sum);
            let mut blocks: Vec<_> = ledger.blocks().map(|block| (block.tag, block.address, block.bytes)).collect();
            let mut expected = plain.blocks.clone();
            blocks.sort_unstable();
            expected.sort_unstable();
            prop_assert_eq!(blocks, expected);
        }
    }

    #[test]
    fn fragments_as_by_single_bytes(events in prop::collection::vec(event(), 0..60)) {
        let mut ledger = Ledger::default();
        let mut footprint = Footprint::default();
        for event in &events {
            footprint.add(event);
            ledger.apply(event);
        }
        let mut ever = BTreeSet::new();
        for event in events.iter().filter(|event| event.bytes > 0) {
            if let Some(address) = event.address {
                ever.extend(address..address + event.bytes as u64);
            }
        }
        let mut live = BTreeSet::new();
        let mut in_blocks = 0;
        for block in ledger.blocks() {
            live.extend(block.address..block.address + block.bytes as u64);
            in_blocks += block.bytes;
        }
        // The longest run of addresses that once held a block and hold none.
        let (mut longest, mut length) = (0, 0);
        for byte in 0..80 {
            length = if ever.contains(&byte) && !live.contains(&byte) { length + 1 } else { 0 };
            longest = longest.max(length);
        }
        prop_assert_eq!(Fragments::at(footprint, &ledger, None, None), Fragments {
            footprint: ever.len() as i128,
            live: live.len() as i128,
            in_free_segments: None,
            largest_free: Some(longest),
            is_reserved: false,
            twice: i128::from(in_blocks) - live.len() as i128,
        });
    }

    #[test]
    fn points_over_time_lose_no_peak(
        mut changes in prop::collection::vec((0_i64..100, -20_i128..20), 0..40),
        count in 1_u64..30,
    ) {
        changes.sort_by_key(|change| change.0);
        let points = thin(changes.iter().copied(), 0, 99, count);
        let mut live = 0;
        let peak = changes.iter().map(|change| { live += change.1; live }).max().unwrap_or(0).max(0);
        prop_assert_eq!(points.iter().map(|point| point.most).max().unwrap_or(0).max(0), peak);
        prop_assert_eq!(points.last().map(|point| point.last), Some(live));
        prop_assert!(points.len() as u64 <= count);
        prop_assert!(points.windows(2).all(|pair| pair[0].time_ns < pair[1].time_ns), "{:?}", points);
        for point in &points {
            // The most was live at that time, before a change of that time or after one.
            let before: i128 = changes.iter().filter(|change| change.0 < point.time_ns).map(|change| change.1).sum();
            let mut live = before;
            let mut then = vec![before];
            then.extend(changes.iter().filter(|change| change.0 == point.time_ns).map(|change| { live += change.1; live }));
            prop_assert!(then.contains(&point.most), "{point:?} of {then:?}");
        }
    }

    #[test]
    fn live_at_ends_as_by_adding_up(
        mut steps in prop::collection::vec((0_i64..50, -9_i64..9), 0..40),
        mut ends in prop::collection::vec(0_i64..60, 0..20),
    ) {
        steps.sort_by_key(|step| step.0);
        ends.sort_unstable();
        let steps: Vec<Step> = steps.into_iter().map(|(time_ns, delta)| Step { time_ns, tag: 0, delta }).collect();
        let sum = |end: &i64| steps.iter().filter(|step| step.time_ns <= *end).map(|step| i128::from(step.delta)).sum::<i128>();
        prop_assert_eq!(at_ends(&steps, &ends), ends.iter().map(sum).collect::<Vec<_>>());
    }
}
