//! The device of one recorder: waits for it, and turns marks into rows.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use super::Device;
use super::pending::{HARVEST, MAX_PENDING, Pending, Piece};
use super::rows::wait;
use crate::builder::Builder;
use crate::clock::Clock;
use crate::error::Error;
use crate::lane::{Class, Lane};
use crate::lock::{Locked, lock};
use crate::session_state::SessionState;
use crate::sync_mode::SyncMode;
use crate::threads;
use trueno_format::schema::TableId;
use trueno_format::timeline::ClockReading;

const TOO_MANY: &str = "too much device work waited for a synchronisation";

pub(crate) struct DeviceWork {
    device: Arc<dyn Device>,
    pub(super) number: u32,
    mode: SyncMode,
    pub(super) shared: Arc<SessionState>,
    tables: u32,
    /// The host's clocks some milliseconds before the run began.
    pub(super) earlier: ClockReading,
    pending: Mutex<Pending>,
    ended: Mutex<bool>,
}

impl DeviceWork {
    /// Refuses a mode that needs a device where there is none.
    pub fn check(builder: &Builder) -> Result<(), Error> {
        if builder.sync_mode == SyncMode::None || builder.device.is_some() {
            return Ok(());
        }
        Err(Error::Option {
            option: "sync_mode",
            problem: format!(
                "`{}` needs a device (hint: give one with `Builder::device`, or leave `SyncMode::None`)",
                builder.sync_mode.name()
            ),
        })
    }

    /// A first reading of the host's clocks, for their rate; `None` when no device is asked.
    pub fn before_start(builder: &Builder) -> Option<ClockReading> {
        (builder.sync_mode != SyncMode::None).then(|| Clock::detect().read_pair())
    }

    pub fn new(
        builder: &Builder,
        shared: Arc<SessionState>,
        earlier: ClockReading,
        tables: u32,
    ) -> Option<Self> {
        let device = builder.device.clone()?;
        let mut work = Self {
            device,
            number: 0,
            mode: builder.sync_mode,
            shared,
            tables,
            earlier,
            pending: Mutex::default(),
            ended: Mutex::default(),
        };
        work.number = work.ask(|device| device.number()).unwrap_or(0);
        let name = work.ask(|device| device.name()).unwrap_or_default();
        lock(&work.shared.mailbox.values).insert(format!("device.{}", work.number), name);
        work.read_clocks(true);
        Some(work)
    }

    pub fn mode(&self) -> SyncMode {
        self.mode
    }

    pub(super) fn pending(&self) -> Locked<'_, Pending> {
        lock(&self.pending)
    }

    pub(super) fn ticks(&self) -> u64 {
        self.shared.clock.ticks()
    }

    pub(super) fn records(&self, table: TableId) -> bool {
        self.tables & table.bit() != 0
    }

    /// Must not be called with a lock held or a lane borrowed, because the device's code is not ours.
    pub(super) fn ask<T>(&self, question: impl FnOnce(&dyn Device) -> T) -> Option<T> {
        let answer = catch_unwind(AssertUnwindSafe(|| question(&*self.device)));
        if answer.is_err() {
            self.pending().counts.panicked += 1;
        }
        answer.ok()
    }

    pub(super) fn mark(&self, table: TableId, stream: u32) -> Option<u64> {
        if !self.records(table) || self.pending().timeline.is_none() {
            return None;
        }
        self.ask(|device| device.mark(stream)).flatten()
    }

    pub(super) fn push(&self, piece: Piece) {
        if !self.records(piece.what.table()) {
            return self.release(piece);
        }
        let mut pending = self.pending();
        if pending.ended {
            drop(pending);
            return self.too_late(piece);
        }
        pending.pieces.push_back(piece);
        let waiting = pending.pieces.len();
        let oldest = (waiting > MAX_PENDING)
            .then(|| pending.pieces.pop_front())
            .flatten();
        drop(pending);
        if let Some(oldest) = oldest {
            self.give_up(oldest, TOO_MANY);
        } else if waiting.is_multiple_of(HARVEST) {
            self.harvest();
        }
    }

    pub(super) fn too_late(&self, piece: Piece) {
        self.release(piece);
        self.shared.counts.late.fetch_add(1, Ordering::Relaxed);
    }

    /// Waits for the device, then records all work that was pending.
    pub fn synchronize(&self) -> Result<(), Error> {
        // What is pending now was submitted before the wait began, so the wait covers it.
        let pieces = std::mem::take(&mut self.pending().pieces);
        let waited = self.records(TableId::Syncs);
        let open = |lane: &mut Lane| {
            let seq = lane.open(Class::Wait, TableId::Syncs)?;
            Some((seq, lane.now()))
        };
        let opened = if waited {
            self.on_lane(TableId::Syncs, open).flatten()
        } else {
            None
        };
        let outcome = self
            .ask(|device| device.synchronize())
            .unwrap_or_else(|| Err("it panicked".into()));
        let mut end = self.ticks();
        let mut sync_seq = None;
        if let Some((seq, start)) = opened {
            self.on_lane(TableId::Syncs, |lane| {
                end = lane.now();
                lane.close(seq);
                lane.push(TableId::Syncs, wait(seq, self.number, start, end));
                sync_seq = Some(seq);
            });
        }
        self.count(&outcome);
        self.read_clocks(false);
        let ids = self.resolve(pieces, outcome.is_ok().then_some(end));
        if let (Some(seq), true) = (sync_seq, outcome.is_ok()) {
            self.joins(seq, &ids);
        }
        outcome.map_err(|problem| Error::Device {
            device: self.number,
            problem,
        })
    }

    /// The last wait of the run, once; then what went wrong in words.
    pub fn end(&self) {
        let mut ended = lock(&self.ended);
        if std::mem::replace(&mut *ended, true) {
            return;
        }
        self.pending().ended = true;
        // A failure is in the report below.
        let _ = self.synchronize();
        self.read_clocks(true);
        let facts = self.ask(|device| device.facts()).unwrap_or_default();
        for (key, value) in facts {
            lock(&self.shared.mailbox.values)
                .insert(format!("device.{}.{key}", self.number), value);
        }
        let clock_error_ns = self.pending().clock_error_ns;
        if let Some(error) = clock_error_ns {
            let key = format!("device.{}.clock_error_ns", self.number);
            lock(&self.shared.mailbox.values).insert(key, error.to_string());
        }
        let counts = self.pending().counts;
        if counts.failed + counts.panicked + counts.not_measurable > 0 {
            let report = format!(
                "device {}: {} of {} synchronisations failed, it panicked {} times, and {} pieces of its work \
                 are not measurable (hint: their rows of kernels are not valid and give the reason)",
                self.number,
                counts.failed,
                counts.synchronized,
                counts.panicked,
                counts.not_measurable
            );
            lock(&self.shared.mailbox.problems).push(report);
        }
    }

    fn count(&self, outcome: &Result<(), String>) {
        let mut pending = self.pending();
        pending.counts.synchronized += 1;
        let Err(problem) = outcome else { return };
        pending.counts.failed += 1;
        let first = pending.counts.failed == 1;
        drop(pending);
        // Each later one looks the same; they are counted.
        if first {
            let number = self.number;
            lock(&self.shared.mailbox.problems)
                .push(format!("device {number}: cannot synchronise: {problem}"));
        }
    }

    /// Runs `work` on the calling thread's lane. `None` if it has none; the row is then counted as dropped.
    pub(super) fn on_lane<T>(
        &self,
        table: TableId,
        work: impl FnOnce(&mut Lane) -> T,
    ) -> Option<T> {
        if self.shared.counts.stopped.load(Ordering::Acquire) {
            self.shared.counts.late.fetch_add(1, Ordering::Relaxed);
            return None;
        }
        let lane = threads::lane(&self.shared);
        // SAFETY: null or the calling thread's own lane, valid until the thread ends; no other
        // reference to it exists while `work` runs, which calls nothing of program or device.
        match unsafe { lane.as_mut() } {
            Some(lane) => Some(work(lane)),
            None => {
                self.shared.counts.no_ring(table, 1);
                None
            }
        }
    }
}
