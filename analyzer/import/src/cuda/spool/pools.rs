//! Pools of device memory: how large they are, and how much of them is in use.
//!
//! CUPTI says both with every allocation from a pool of this process. Where a pool is made, trimmed or done away with
//! it says how much is in use, and a size that it calls that of the operation: which does not say whether the pool
//! is so large then, so it is not taken.

use std::collections::BTreeMap;

use trueno_cupti::record::{Memory, MemoryPool};
use trueno_format::schema::CounterRow;

use super::build::Build;
use crate::Error;

/// `CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL`: sizes of other pools are not valid.
const OWN: u32 = 1;
const DESTROYED: u32 = 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Reading {
    time: u64,
    correlation: u32,
    device: u32,
    pool: u64,
    bytes: Option<u64>,
    used: Option<u64>,
    is_last: bool,
}

impl Reading {
    fn from_memory(memory: &Memory) -> Option<Self> {
        (memory.pool_kind == Some(OWN)).then_some(Self {
            time: memory.time,
            correlation: memory.correlation,
            device: memory.device,
            pool: memory.pool?,
            bytes: memory.pool_bytes,
            used: memory.pool_used,
            is_last: false,
        })
    }

    fn from_pool(pool: &MemoryPool) -> Option<Self> {
        let is_last = pool.operation == DESTROYED;
        (pool.pool_kind == OWN).then_some(Self {
            time: pool.time,
            correlation: pool.correlation,
            device: pool.device,
            pool: pool.pool,
            // What is no more has nothing.
            bytes: is_last.then_some(0),
            used: if is_last { Some(0) } else { pool.pool_used },
            is_last,
        })
    }
}

/// Numbers of pools, by device, in order of their first reading. A reused address is a new pool.
#[derive(Debug, Default)]
struct Numbers {
    there: BTreeMap<(u32, u64), u32>,
    next: BTreeMap<u32, u32>,
}

impl Numbers {
    fn number(&mut self, reading: &Reading) -> u32 {
        let next = self.next.entry(reading.device).or_default();
        let key = (reading.device, reading.pool);
        let number = *self.there.entry(key).or_insert_with(|| {
            *next += 1;
            *next - 1
        });
        if reading.is_last {
            self.there.remove(&key);
        }
        number
    }
}

impl Build {
    pub(super) fn pools(&mut self) -> Result<(), Error> {
        let made = std::mem::take(&mut self.from.pools);
        let mut readings: Vec<Reading> = made.iter().filter_map(Reading::from_pool).collect();
        readings.extend(self.from.memories.iter().filter_map(Reading::from_memory));
        readings.sort_by_key(|reading| (reading.time, reading.correlation, reading.is_last));
        let mut numbers = Numbers::default();
        for reading in readings {
            let Some(time) = self.time(reading.time) else {
                self.not_sound("memory pool", "CUPTI gave no times");
                continue;
            };
            let number = numbers.number(&reading);
            let launch = self.launch(reading.correlation);
            let source = if reading.is_last {
                "computed"
            } else {
                "measured"
            };
            for (what, value) in [("size", reading.bytes), ("in use", reading.used)] {
                let Some(value) = value else { continue };
                let name = format!("gpu{} memory pool {number} {what}", reading.device);
                let row = CounterRow {
                    time_ns: time,
                    span: launch.and_then(|launch| launch.brick()),
                    thread: launch.map(|launch| launch.thread),
                    name: self.text(&name),
                    value: value as f64,
                    unit: Some(self.text("bytes")),
                    source: self.text(source),
                };
                self.add(&row)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pools_are_numbered_by_device_and_an_address_used_again_is_another_one() {
        let reading = |device, pool, is_last| Reading {
            time: 1,
            correlation: 1,
            device,
            pool,
            bytes: None,
            used: None,
            is_last,
        };
        let mut numbers = Numbers::default();
        let given: Vec<u32> = [
            reading(0, 64, false),
            reading(0, 128, false),
            reading(1, 64, false),
            reading(0, 64, true),
            reading(0, 64, false),
            reading(0, 128, false),
        ]
        .iter()
        .map(|reading| numbers.number(reading))
        .collect();
        assert_eq!(given, [0, 1, 0, 0, 2, 1]);
    }
}
