//! The last rows and the last word.

use std::sync::atomic::Ordering;

use trueno_format::columns::Columns;
use trueno_format::dropped_names;
use trueno_format::live::LoggedThread;
use trueno_format::mapping::cut_pages;
use trueno_format::record_rows::run_facts;
use trueno_format::run_files::RunFiles;
use trueno_format::run_json::State;
use trueno_format::schema::{TABLES, TableId, TableRow};
use trueno_format::segment::BATCH_ROWS;
use trueno_format::text::Texts;
use trueno_format::timeline::ClockReading;
use trueno_format::{Ceiling, Collective, PtxHash, device_property, device_rows};

use super::lanes::LaneReader;
use super::{Tables, Writer};
use crate::lock::lock;
use crate::open_rows::OpenRows;
use crate::pauses::{PAUSED, paused};
use crate::perf::PerfShared;
use crate::thread_registry::ThreadInfo;

impl ThreadInfo {
    /// The thread's entry in the log, once it has ended.
    pub fn logged(&self) -> LoggedThread {
        LoggedThread {
            index: self.index,
            name: self.name.clone(),
            os_id: self.os_id,
            start_ticks: self.start_ticks,
            dropped: self.dropped.sum(),
        }
    }
}

impl Writer {
    /// Call after the rings have been read for the last time.
    pub(super) fn end(&mut self) {
        self.shared.counts.stopped.store(true, Ordering::Release);
        let asked = self.ending.ticks.load(Ordering::Relaxed);
        // Threads may have published a little after the end was asked for.
        let wall_ns = self
            .rows
            .timeline
            .ns(asked.max(self.rows.timeline.latest()));
        self.facts = self.tables.kept.is_some().then(Vec::new);
        self.thread_rows();
        self.shared
            .threads
            .leave(self.lanes.drain(..).map(LaneReader::into_ring));
        self.count_open();
        self.clock_rows();
        self.device_rows();
        self.diagnostic_rows();
        let wall_ns = if self.tables.kept.is_some() {
            self.end_window(wall_ns)
        } else {
            for number in 0..self.tables.tables.len() {
                self.tables.flush(number, &mut self.files);
            }
            wall_ns
        };
        self.ending.wall_ns.store(wall_ns as u64, Ordering::Release);
        self.tables.seal(&mut self.files);
        self.tables.count();
        self.look_for_segments();

        self.run.wall_ns = Some(wall_ns);
        self.run.state = State::Finished;
        self.describe();
        if self.tables.failure.is_some() {
            self.run.state = State::Failed;
        } else if let Some(paused) = self.run.values.get(PAUSED) {
            let text = format!(
                "the program paused the recorder {paused}: gaps and shares of the wall contain these times, of which nothing is known"
            );
            self.run.problems.push(text);
        }
        // On a full disk its room is wanted for run.json; what it held is in segments, or counted.
        if self.run.state == State::Failed {
            self.shared.live.remove();
        }
        if let Err(error) = self.files.run_json(&self.run) {
            self.tables.fail(error.into());
        }
        self.shared.live.remove();
    }

    /// Counts rows of missing segments as lost. Nothing else would report them, because they had been written.
    fn look_for_segments(&mut self) {
        let folder = self.files.folder();
        let tables = self.tables.tables.iter();
        let gone: u64 = tables.map(|table| table.rows_gone(folder)).sum();
        self.ending.gone.store(gone, Ordering::Release);
        if gone > 0 {
            let error = std::io::Error::other(format!(
                "segments with {gone} rows were removed by another process"
            ));
            let error = trueno_format::Error::io(&folder.path(), "find what was written", error);
            self.tables.fail(error.into());
        }
    }

    pub(super) fn describe(&mut self) {
        self.run.clock.ticks_per_second = self.rows.timeline.ticks_per_second();
        self.run.recorder.own_time = self
            .shared
            .own_time
            .describe(self.run.clock.ticks_per_second);
        self.run.tables.clear();
        self.run.dropped = 0;
        let names = self.shared.threads.dropped_names();
        for (number, table) in self.tables.tables.iter().enumerate() {
            let mut written = table.written.clone();
            written.dropped = self.shared.dropped(number);
            written.dropped_names = dropped_names::listed(&names, number, &mut self.tables.texts);
            self.run.dropped = self.run.dropped.saturating_add(written.dropped);
            if written.rows + written.dropped + written.discarded > 0 {
                self.run.tables.insert(table.table.name.to_owned(), written);
            }
        }
        self.run
            .problems
            .clone_from(&lock(&self.shared.mailbox.problems));
        let trouble = self.shared.live.trouble();
        self.run.recorder.perf = self.shared.perf.get().map(PerfShared::describe);
        self.run.recorder.crash_safe = Some(trouble.is_none());
        self.run.problems.extend(trouble);
        let foreign = self.shared.foreign.load(Ordering::Relaxed);
        if foreign > 0 {
            self.run.problems.push(format!(
                "a process or thread made by a raw `clone`, which shares the memory of another one, recorded in its place \
                 (seen {foreign} times): rows of both may be lost, how many is not known"
            ));
        }
        if cut_pages::any() {
            self.run.problems.push(
                "a file of live/ was cut by another process during recording: events of its threads may be missing"
                    .to_owned(),
            );
        }
        self.run
            .values
            .clone_from(&lock(&self.shared.mailbox.values));
        let pauses = lock(&self.shared.pauses).sum();
        if let (Some((count, ticks)), Some(rate)) = (pauses, self.run.clock.ticks_per_second) {
            let text = paused(count, ticks as f64 / rate);
            self.run.values.insert(PAUSED.to_owned(), text);
        }
    }

    /// Counts rows whose guards are dropped after the end or never.
    fn count_open(&mut self) {
        let open = OpenRows::count(&self.shared, lock(&self.ending.by).take());
        self.run.open = open.rows();
        self.ending.open.store(open.rows(), Ordering::Release);
        let Some(text) = open.text() else { return };
        self.add(|texts| run_facts::warning(texts, "open_rows", &text, open.rows()));
        lock(&self.shared.mailbox.problems).push(text);
    }

    pub(super) fn thread_rows(&mut self) {
        let ended = self.ended.iter().map(|ended| ended.thread.clone());
        let mut threads: Vec<_> = ended.collect();
        threads.extend(self.lanes.iter().map(|lane| lane.thread.logged()));
        threads.sort_unstable_by_key(|thread| thread.index);
        for thread in threads {
            let start_ns = self.rows.timeline.ns(thread.start_ticks);
            self.add(|texts| run_facts::thread(texts, &thread, start_ns));
        }
    }

    pub(super) fn clock_rows(&mut self) {
        for pair in self.pairs.clone() {
            let host_ns = self.rows.timeline.host_ns(pair);
            self.add(|_| run_facts::clock_pair(pair, host_ns, None));
        }
    }

    pub(super) fn device_rows(&mut self) {
        let values = lock(&self.shared.mailbox.values).clone();
        let is_any = values.keys().any(|key| device_property(key).is_some());
        if !is_any || self.is_off(TableId::Devices) {
            return;
        }
        let rows = device_rows(&values, &mut self.tables.texts);
        rows.into_iter().for_each(|row| self.add(|_| row));
    }

    pub(super) fn diagnostic_rows(&mut self) {
        for (number, table) in TABLES.iter().enumerate() {
            let dropped = self.shared.dropped(number);
            if dropped > 0 {
                let text = run_facts::dropped_text(dropped, table.name);
                self.add(|texts| run_facts::warning(texts, "dropped_rows", &text, dropped));
            }
        }
        if let Some(text) = self.shared.live.trouble() {
            self.add(|texts| run_facts::warning(texts, "not_crash_safe", &text, 1));
        }
    }

    /// Adds a row that the writer itself creates, unless its table is not recorded.
    fn add<R: TableRow>(&mut self, row: impl FnOnce(&mut dyn Texts) -> R) {
        if self.is_off(R::TABLE) {
            return;
        }
        if let Some(facts) = &mut self.facts {
            let row = row(&mut self.tables.texts);
            return add_fact(facts, &row);
        }
        if let Some((to, texts)) = self.tables.room(R::TABLE, 1, &mut self.files) {
            to.push_own(&row(texts));
        }
    }

    fn is_off(&self, table: TableId) -> bool {
        let name = table.schema().name;
        self.run.recorder.tables_off.iter().any(|off| off == name)
    }

    pub(super) fn keep_device_pair(&mut self, pair: ClockReading, device: u32, device_ns: u64) {
        let host_ns = self.rows.timeline.host_ns(pair);
        self.add(|_| run_facts::clock_pair(pair, host_ns, Some((device, device_ns))));
    }

    pub(super) fn keep_ceiling(&mut self, ceiling: &Ceiling) {
        self.add(|texts| ceiling.row(texts));
    }

    pub(super) fn keep_collective(&mut self, of: &Collective) {
        let [start_ns, end_ns] = [of.ticks.0, of.ticks.1].map(|ticks| self.rows.timeline.ns(ticks));
        self.add(|texts| of.row(texts, start_ns, end_ns));
    }

    pub(super) fn keep_signature(&mut self, id: u32, text: u32) {
        self.add(|texts| run_facts::signature(texts, id, text));
    }

    /// Stores a source and its row, once for each pair of source and name.
    pub(super) fn keep_ptx(&mut self, hash: u64, name: &str, source: &str) {
        if !self.sources.insert((hash, name.to_owned())) {
            return;
        }
        let text = PtxHash::from_number(hash).to_string();
        if self.tables.failure.is_none()
            && let Err(error) = self.files.ptx(&text, source)
        {
            self.tables.fail(error.into());
        }
        self.add(|texts| run_facts::ptx(texts, hash, name, source.len() as u64));
    }
}

/// Adds a row. Without memory for another batch, the row is left out.
fn add_fact<R: TableRow>(facts: &mut Vec<(TableId, Columns)>, row: &R) {
    let has_room = |columns: &Columns| columns.rows() < BATCH_ROWS;
    let last = facts
        .iter()
        .rposition(|(table, columns)| *table == R::TABLE && has_room(columns));
    if last.is_none() {
        facts.extend(Columns::anonymous(R::TABLE.schema()).map(|columns| (R::TABLE, columns)));
    }
    let last = last.or_else(|| facts.len().checked_sub(1));
    match last.and_then(|last| facts.get_mut(last)) {
        Some((table, columns)) if *table == R::TABLE => columns.push_own(row),
        _ => {}
    }
}

impl Tables {
    pub(super) fn seal(&mut self, files: &mut RunFiles) {
        for number in 0..self.tables.len() {
            if self.failure.is_some() {
                return;
            }
            if let Err(error) = self.tables[number].seal(files, &mut self.texts) {
                self.fail(error.into());
            }
        }
    }
}
