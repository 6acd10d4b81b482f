//! Moments: allocations and counter readings.

use crate::lane::Lane;
use crate::names::Name;
use crate::recorder::Recorder;
use crate::threads;
use trueno_format::Source;
use trueno_format::record::{Record, kind};
use trueno_format::schema::TableId;

impl Recorder {
    /// Records an allocation (positive bytes) or a release (negative bytes), under the open brick.
    pub fn allocation(&self, tag: impl Into<Name>, bytes: i64, address: impl Into<Option<u64>>) {
        self.memory(None, tag, bytes, address);
    }

    /// Like [`Recorder::allocation`], for the memory of a device. Addresses are those of the device.
    ///
    /// ```
    /// # let rec = trueno_recorder::Recorder::disabled();
    /// rec.device_allocation(0, "workspace", 1 << 20, 0x7f00_0000);
    /// // ... and when it is freed:
    /// rec.device_allocation(0, "workspace", -(1 << 20), 0x7f00_0000);
    /// ```
    pub fn device_allocation(
        &self,
        device: u32,
        tag: impl Into<Name>,
        bytes: i64,
        address: impl Into<Option<u64>>,
    ) {
        self.memory(Some(device), tag, bytes, address);
    }

    fn memory(
        &self,
        device: Option<u32>,
        tag: impl Into<Name>,
        bytes: i64,
        address: impl Into<Option<u64>>,
    ) {
        if !self.records(TableId::Allocations) {
            return;
        }
        let (name, address) = (tag.into().number(), address.into());
        let place = device.map_or(0, |device| u64::from(device) + 1);
        self.event(TableId::Allocations, |lane| Record {
            start: lane.now(),
            end: place,
            parent: lane.brick_below(lane.depth()),
            name,
            kind: kind::ALLOCATION,
            flags: u8::from(address.is_some()) << 1,
            m: [bytes as u64, address.unwrap_or(0), 0, 0],
            ..Record::default()
        });
    }

    /// Records a reading of a counter or gauge, under the open brick. An empty `unit` means none.
    pub fn counter(
        &self,
        name: impl Into<Name>,
        value: f64,
        unit: impl Into<Name>,
        source: Source,
    ) {
        if !self.records(TableId::Counters) {
            return;
        }
        let (name, unit) = (name.into().number(), unit.into().number());
        self.event(TableId::Counters, |lane| Record {
            start: lane.now(),
            parent: lane.brick_below(lane.depth()),
            name,
            kind: kind::COUNTER,
            m: [value.to_bits(), u64::from(unit), source as u64, 0],
            ..Record::default()
        });
    }

    /// Publishes one record, which `make` builds, on the calling thread's lane.
    pub(crate) fn event(&self, table: TableId, make: impl FnOnce(&mut Lane) -> Record) {
        self.events(table, |lane| [make(lane)]);
    }

    pub(crate) fn events<G: AsRef<[Record]>>(
        &self,
        table: TableId,
        make: impl FnOnce(&mut Lane) -> G,
    ) {
        if !self.records(table) {
            return;
        }
        let lane = threads::lane(self.shared());
        // SAFETY: null or the calling thread's own lane, valid until the thread ends; no other
        // reference to it exists while `make` runs, which calls nothing of the program.
        match unsafe { lane.as_mut() } {
            Some(lane) => {
                let group = make(lane);
                lane.push_group(table, 1, group.as_ref());
            }
            None => self.no_ring(table),
        }
    }

    /// Runs `ask` on the calling thread's lane without publishing an event. `None` if the thread has no lane.
    pub(crate) fn with_lane<R>(&self, ask: impl FnOnce(&mut Lane) -> R) -> Option<R> {
        let lane = threads::lane(self.shared());
        // SAFETY: as in `events`.
        unsafe { lane.as_mut() }.map(ask)
    }
}
