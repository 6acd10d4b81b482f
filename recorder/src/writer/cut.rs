//! A rolling window: what leaves it, and what it holds as a run.

use std::path::Path;
use std::sync::atomic::Ordering;

use trueno_format::columns::Columns;
use trueno_format::kept_rows::{WindowUse, WrittenWindow};
use trueno_format::run_directory::{Destination, new_run_id};
use trueno_format::run_files::RunFiles;
use trueno_format::run_json::State;
use trueno_format::schema::TableId;
use trueno_format::{PtxHash, regular_file};

use super::{Tables, Writer};
use crate::error::Error;
use crate::status::{Summary, TableStatus};

/// Sources of kernels in a run.
const PTX: &str = "ptx";

impl Writer {
    /// Lets rows go that have left the window.
    pub(super) fn discard_old(&mut self) {
        let Some(kept) = &mut self.tables.kept else {
            return;
        };
        let timeline = &mut self.rows.timeline;
        self.tables.now_ns = timeline.ns(self.shared.clock.ticks());
        kept.advance(self.tables.now_ns, self.shared.live.counts());
        let from_ns = kept.from_ns();
        timeline.forget_before(from_ns);
        self.pairs.retain(|pair| timeline.host_ns(*pair) >= from_ns);
        self.ended.retain(|ended| ended.ended_ns >= from_ns);
    }

    /// Writes the window as a separate run, and goes on.
    pub(super) fn cut(&mut self, path: &Path) -> Result<Summary, Error> {
        if self.tables.kept.is_none() {
            let problem = "this recorder keeps everything until its end (hint: Builder::keep_last)";
            return Err(Error::Option {
                option: "cut",
                problem: problem.to_owned(),
            });
        }
        let mut files = RunFiles::create(Destination::check(path, false)?.make()?)?;
        // What the caller recorded before it asked.
        self.read_rings();
        self.discard_old();
        let cut = self.write_cut(&mut files);
        if cut.is_err() {
            // Half a run is of no use to anyone.
            let _ = files.folder().remove(None);
        }
        cut
    }

    fn write_cut(&mut self, files: &mut RunFiles) -> Result<Summary, Error> {
        self.facts = Some(Vec::new());
        self.thread_rows();
        self.clock_rows();
        self.device_rows();
        self.diagnostic_rows();
        let facts = self.facts.take().unwrap_or_default();
        let mut written = self.tables.write_window(&facts, WindowUse::Cut, files)?;
        for table in &mut written.tables {
            table.seal(files, &mut self.tables.texts)?;
        }
        self.copy_sources(files)?;

        let end_ns = self.tables.now_ns;
        let own = std::mem::replace(&mut self.tables.tables, written.tables);
        self.describe();
        let mut run = self.run.clone();
        let tables = std::mem::replace(&mut self.tables.tables, own);
        let Some(kept) = &self.tables.kept else {
            return Ok(Summary::default());
        };
        let kept = kept.describe(end_ns, written.discarded);
        run.run_id = new_run_id();
        run.state = State::Finished;
        run.wall_ns = Some(end_ns - kept.from_ns);
        run.clock.origin_realtime_ns += kept.from_ns;
        run.kept = Some(kept);
        files.run_json(&run)?;

        let mut summary = Summary {
            path: files.folder().path(),
            wall_ns: run.wall_ns.unwrap_or_default().unsigned_abs(),
            dropped: run.dropped,
            discarded: written.discarded,
            ..Summary::default()
        };
        for (number, table) in tables.iter().enumerate() {
            let status = TableStatus {
                rows: table.written.rows,
                dropped: self.shared.dropped(number),
            };
            summary.rows += status.rows;
            if status != TableStatus::default() {
                summary.tables.insert(table.table.name, status);
            }
        }
        Ok(summary)
    }

    fn copy_sources(&self, files: &RunFiles) -> Result<(), Error> {
        let Ok(sources) = self.files.folder().folder(PTX) else {
            return Ok(());
        };
        for (hash, _) in &self.sources {
            let hash = PtxHash::from_number(*hash).to_string();
            // What is not there has been removed by another process.
            let source = sources.read(&format!("{hash}.ptx"), regular_file::MAX_TEXT_BYTES);
            if let Ok(source) = source {
                files.ptx(&hash, &String::from_utf8_lossy(&source))?;
            }
        }
        Ok(())
    }

    /// Writes the window as the recording's own run. Returns its length.
    pub(super) fn end_window(&mut self, end_ns: i64) -> i64 {
        let facts = self.facts.take().unwrap_or_default();
        let Some(kept) = &mut self.tables.kept else {
            return end_ns;
        };
        kept.advance(end_ns, self.shared.live.counts());
        match self
            .tables
            .write_window(&facts, WindowUse::End, &mut self.files)
        {
            Ok(written) => {
                self.tables.tables = written.tables;
                let kept = self.tables.kept.take();
                let Some(kept) = kept.map(|kept| kept.describe(end_ns, written.discarded)) else {
                    return end_ns;
                };
                self.run.clock.origin_realtime_ns += kept.from_ns;
                let wall_ns = end_ns - kept.from_ns;
                self.ending
                    .discarded
                    .store(kept.discarded, Ordering::Release);
                self.run.kept = Some(kept);
                wall_ns
            }
            Err(error) => {
                self.tables.lose_window();
                self.tables.fail(error);
                end_ns
            }
        }
    }
}

impl Tables {
    fn write_window(
        &mut self,
        facts: &[(TableId, Columns)],
        window_use: WindowUse,
        files: &mut RunFiles,
    ) -> Result<WrittenWindow, Error> {
        let Some(kept) = &self.kept else {
            return Ok(WrittenWindow::default());
        };
        let (encoder, texts) = (&mut self.encoder, &mut self.texts);
        Ok(kept.write(&self.tables, facts, window_use, files, encoder, texts)?)
    }

    /// Counts the rows of the window, which could not be written.
    fn lose_window(&mut self) {
        let Some(kept) = self.kept.take() else { return };
        for (number, table) in self.tables.iter_mut().enumerate() {
            let rows = kept.rows(number) + table.give_up();
            self.shared.counts.lose(number, rows);
        }
    }
}
