//! Clocks of a trace, brought to one.
//!
//! A packet says its time by one of several clocks. Snapshots say what several of them showed at one moment. Clocks with
//! numbers from 64 to 127 are of one sequence of packets; they may count in units, and from one packet to the next.

use std::collections::HashMap;

use super::messages::ClockSnapshot;

const REALTIME: u32 = 1;
/// Time since boot, including suspend. Packets without a clock use it.
pub const BOOTTIME: u32 = 6;

fn is_of_sequence(clock: u32) -> bool {
    (64..128).contains(&clock)
}

#[derive(Clone, Copy, Debug)]
struct Local {
    /// Its own value and the trace time at the snapshot.
    value: i64,
    time_ns: i64,
    is_incremental: bool,
    unit_ns: i64,
}

#[derive(Debug, Default)]
pub struct Clocks {
    reference: Option<u32>,
    /// Offsets to the reference clock.
    offsets_ns: HashMap<u32, i64>,
    local: HashMap<(u32, u32), Local>,
}

impl Clocks {
    pub fn snapshot(&mut self, sequence: u32, snapshot: &ClockSnapshot) {
        let clocks = snapshot.clocks.iter();
        let values: Vec<(u32, i64)> = clocks
            .filter_map(|clock| {
                let value = i64::try_from(clock.timestamp?).ok()?;
                Some((clock.clock_id?, value))
            })
            .collect();
        let of = |wanted: u32| values.iter().find(|(clock, _)| *clock == wanted);
        if self.reference.is_none() {
            let global = values.iter().find(|(clock, _)| !is_of_sequence(*clock));
            let found = of(BOOTTIME).or(global).map(|(clock, _)| *clock);
            self.reference = snapshot
                .primary_trace_clock
                .filter(|it| of(*it).is_some())
                .or(found);
        }
        // Of a snapshot without the reference, one of the other clocks may lead to it.
        let known = values.iter().find_map(|(clock, value)| {
            (!is_of_sequence(*clock)).then(|| self.global(*clock, *value))?
        });
        let at_reference = self
            .reference
            .and_then(|clock| of(clock).map(|(_, value)| *value));
        let Some(time_ns) = at_reference.or(known) else {
            return;
        };
        for &(clock, value) in &values {
            if Some(clock) != self.reference && !is_of_sequence(clock) {
                let offset = time_ns.saturating_sub(value);
                self.offsets_ns.insert(clock, offset);
            }
        }
        for clock in &snapshot.clocks {
            let Some(number) = clock.clock_id.filter(|clock| is_of_sequence(*clock)) else {
                continue;
            };
            let local = Local {
                value: clock
                    .timestamp
                    .and_then(|value| value.try_into().ok())
                    .unwrap_or(0),
                time_ns,
                is_incremental: clock.is_incremental.unwrap_or(false),
                unit_ns: clock
                    .unit_multiplier_ns
                    .and_then(|ns| ns.try_into().ok())
                    .unwrap_or(1),
            };
            self.local.insert((sequence, number), local);
        }
    }

    /// The time of a packet. `None` if no snapshot relates its clock to the trace.
    pub fn time_ns(&mut self, sequence: u32, clock: u32, value: u64) -> Option<i64> {
        let value = i64::try_from(value).ok()?;
        if !is_of_sequence(clock) {
            self.reference.get_or_insert(clock);
            return self.global(clock, value);
        }
        let local = self.local.get_mut(&(sequence, clock))?;
        let ns = if local.is_incremental {
            value.checked_mul(local.unit_ns)
        } else {
            value.checked_sub(local.value)?.checked_mul(local.unit_ns)
        };
        let time_ns = local.time_ns.checked_add(ns?)?;
        if local.is_incremental {
            local.time_ns = time_ns;
        }
        Some(time_ns)
    }

    fn global(&self, clock: u32, value: i64) -> Option<i64> {
        match self.reference {
            Some(reference) if reference == clock => Some(value),
            _ => value.checked_add(*self.offsets_ns.get(&clock)?),
        }
    }

    /// Converts a time of the trace to nanoseconds since 1970.
    pub fn realtime_ns(&self, time_ns: i64) -> Option<i64> {
        match self.reference {
            Some(REALTIME) => Some(time_ns),
            _ => time_ns.checked_sub(*self.offsets_ns.get(&REALTIME)?),
        }
    }
}
