//! Packets of the loopback device, from the call that sends one to the waking at its receipt.
//!
//! Such a packet is received at once, on top of the call that sent it, but as an interrupt would do it: a waking there says
//! only which thread it was on top of, and that may have been interrupted by anything. The kernel also tells which packet a
//! call queues, which one is received and when a round of receiving ends. So a waking is of the thread whose own packet is
//! being received on top of it, and of nobody where another packet is, or none.

use std::collections::HashMap;

use crate::event::{Event, ThreadOf};
use crate::raw_sample::Pieces;
use crate::tracepoint::{self, Context, Field, Tracepoint};

const NAMES: [(Kind, &str, [Field; 2]); 3] = [
    (Kind::Queued, "net/net_dev_queue", PACKET),
    (Kind::Received, "net/netif_receive_skb", PACKET),
    (
        Kind::RoundEnded,
        "napi/napi_poll",
        [(" work", 4), (" budget", 4)],
    ),
];
const PACKET: [Field; 2] = [(" skbaddr", 8), (" name", 4)];
const LOOPBACK: &[u8] = b"lo";
/// A packet is received within microseconds. Anything later belongs to another packet.
const MAX_NS: u64 = 1_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Queued,
    Received,
    RoundEnded,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stage {
    kind: Kind,
    pub tracepoint: Tracepoint,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Packet {
    pub of: ThreadOf,
    kind: Kind,
    context: Context,
    /// Its address in memory; `None` if it is not on the loopback device.
    at: Option<u64>,
}

pub(crate) const STAGES: usize = NAMES.len();

/// Finds the tracepoints. The error is the end of a sentence.
pub(crate) fn find() -> Result<Vec<Stage>, String> {
    let find = |(kind, name, fields): (Kind, &str, [Field; 2])| {
        let tracepoint = tracepoint::find(name, fields)?;
        Ok(Stage { kind, tracepoint })
    };
    NAMES.into_iter().map(find).collect()
}

impl Stage {
    pub fn read(&self, from: Pieces<'_>) -> Option<(u64, Packet)> {
        let hit = self.tracepoint.read(from)?;
        let [packet_at, name_at] = self.tracepoint.fields_at;
        let at = match self.kind {
            Kind::RoundEnded => None,
            _ if hit.text(name_at)? == LOOPBACK => Some(hit.u64(packet_at)?),
            _ => None,
        };
        let packet = Packet {
            of: hit.by,
            kind: self.kind,
            context: hit.context,
            at,
        };
        Some((hit.time_ns, packet))
    }
}

/// Numbers of packets, and of wakeups that they may explain. Tracing packets is not worthwhile for a program that
/// sends very many that nobody waits for.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Worth {
    packets: u64,
    wakings: u64,
    is_too_much: bool,
}

/// This many packets are always traced; after that, this many per wakeup.
const MAX_STAGES: u64 = 20_000;
const MAX_STAGES_OF_WAKING: u64 = 24;

impl Worth {
    pub fn count(&mut self, event: &Event) {
        match event {
            Event::Packet(_) => self.packets += 1,
            Event::Wakes(waking) if waking.context == Context::SoftInterrupt => self.wakings += 1,
            // They come faster than they are read.
            Event::PacketsEnd => self.is_too_much = true,
            _ => {}
        }
    }

    /// True if tracing costs more than it explains.
    pub fn is_too_little(&self) -> bool {
        let max = self.wakings.saturating_mul(MAX_STAGES_OF_WAKING);
        self.is_too_much || self.packets > max.max(MAX_STAGES)
    }
}

#[derive(Clone, Copy, Debug)]
enum Last {
    /// A call of the thread itself has queued it.
    Queued { at: u64, at_ns: u64 },
    /// It is being received.
    Received { at_ns: u64 },
}

#[derive(Default)]
pub(crate) struct Packets(HashMap<u32, Last>);

impl Packets {
    pub fn take(&mut self, packet: &Packet, at_ns: u64) {
        let thread = packet.of.thread;
        let next = match (packet.kind, packet.context, packet.at) {
            (Kind::Queued, Context::Call, Some(at)) => Some(Last::Queued { at, at_ns }),
            // An answer, made while the packet is received.
            (Kind::Queued, Context::SoftInterrupt | Context::HardInterrupt, _) => return,
            (Kind::Received, Context::SoftInterrupt, Some(at)) => {
                let is_own = |last: &&Last| matches!(last, Last::Queued { at: own, at_ns: since_ns } if *own == at && at_ns.saturating_sub(*since_ns) <= MAX_NS);
                let own = self.0.get(&thread).filter(is_own);
                own.map(|_| Last::Received { at_ns })
            }
            _ => None,
        };
        match next {
            Some(next) => drop(self.0.insert(thread, next)),
            None => self.forget(thread),
        }
    }

    /// True if a packet that the thread itself sent is being received while it runs.
    pub fn is_own_received(&self, thread: u32, at_ns: u64) -> bool {
        let last = self.0.get(&thread);
        last.is_some_and(|last| matches!(last, Last::Received { at_ns: since_ns } if at_ns.saturating_sub(*since_ns) <= MAX_NS))
    }

    pub fn forget(&mut self, thread: u32) {
        self.0.remove(&thread);
    }

    pub fn end(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::waking::Waking;

    const OF: ThreadOf = ThreadOf {
        process: 7,
        thread: 8,
    };

    fn packet(kind: Kind, context: Context, at: u64) -> Packet {
        of(OF, kind, context, at)
    }

    fn of(of: ThreadOf, kind: Kind, context: Context, at: u64) -> Packet {
        Packet {
            of,
            kind,
            context,
            at: Some(at),
        }
    }

    pub fn queued(by: ThreadOf, at: u64) -> Packet {
        of(by, Kind::Queued, Context::Call, at)
    }

    pub fn received(by: ThreadOf, at: u64) -> Packet {
        of(by, Kind::Received, Context::SoftInterrupt, at)
    }

    /// True if a wakeup after these stages, which are a nanosecond apart, is attributed to the thread.
    fn is_own(stages: &[Packet]) -> bool {
        let mut packets = Packets::default();
        for (at_ns, packet) in (100..).zip(stages) {
            packets.take(packet, at_ns);
        }
        packets.is_own_received(OF.thread, 100 + stages.len() as u64)
    }

    #[test]
    fn a_waking_is_of_the_thread_while_its_own_packet_is_received() {
        assert!(is_own(&[queued(OF, 5), received(OF, 5)]));
        let answer = packet(Kind::Queued, Context::SoftInterrupt, 6);
        assert!(is_own(&[queued(OF, 5), received(OF, 5), answer]));
    }

    #[test]
    fn it_is_of_nobody_before_behind_and_while_another_packet_is_received() {
        let ended = packet(Kind::RoundEnded, Context::SoftInterrupt, 0);
        let answer = packet(Kind::Queued, Context::SoftInterrupt, 6);
        let to_others = Packet {
            at: None,
            ..queued(OF, 9)
        };
        let from_others = Packet {
            at: None,
            ..received(OF, 9)
        };
        for stages in [
            &[][..],
            &[received(OF, 5)],
            &[queued(OF, 5)],
            &[queued(OF, 5), received(OF, 6)],
            // A packet of the interrupted thread's, which its interrupt receives as another one.
            &[
                queued(OF, 5),
                packet(Kind::Received, Context::HardInterrupt, 5),
            ],
            &[queued(OF, 5), ended, received(OF, 5)],
            &[queued(OF, 5), received(OF, 5), ended],
            // Its place in memory is taken anew.
            &[queued(OF, 5), received(OF, 5), received(OF, 5)],
            &[queued(OF, 5), received(OF, 5), answer, received(OF, 6)],
            &[queued(OF, 5), received(OF, 5), from_others],
            &[queued(OF, 5), received(OF, 5), queued(OF, 7)],
            &[queued(OF, 5), to_others, received(OF, 5)],
            &[
                packet(Kind::Queued, Context::SoftInterrupt, 5),
                received(OF, 5),
            ],
        ] {
            assert!(!is_own(stages), "{stages:?}");
        }
    }

    #[test]
    fn packets_that_nobody_waits_for_are_not_told_of_for_long() {
        let packet = Event::Packet(queued(OF, 5));
        let waking = |context| {
            Event::Wakes(Waking {
                by: OF,
                woken: 9,
                context,
            })
        };
        let worth = |wakings: u64, context| {
            let mut worth = Worth::default();
            (0..wakings).for_each(|_| worth.count(&waking(context)));
            (0..100_000).for_each(|_| worth.count(&packet));
            worth.is_too_little()
        };
        assert!(worth(1_000, Context::SoftInterrupt));
        assert!(!worth(10_000, Context::SoftInterrupt));
        assert!(worth(10_000, Context::Call), "those need no packet");
        let mut worth = Worth::default();
        (0..MAX_STAGES).for_each(|_| worth.count(&packet));
        assert!(!worth.is_too_little());
        worth.count(&Event::PacketsEnd);
        assert!(worth.is_too_little(), "some were lost");
    }

    #[test]
    fn what_was_long_ago_or_lost_is_forgotten() {
        let mut packets = Packets::default();
        packets.take(&queued(OF, 5), 0);
        packets.take(&received(OF, 5), MAX_NS + 1);
        assert!(!packets.is_own_received(OF.thread, MAX_NS + 2));
        packets.take(&queued(OF, 5), 0);
        packets.take(&received(OF, 5), 10);
        assert!(packets.is_own_received(OF.thread, 10 + MAX_NS));
        assert!(!packets.is_own_received(OF.thread, 11 + MAX_NS));
        packets.end();
        assert!(!packets.is_own_received(OF.thread, 11));
    }
}
