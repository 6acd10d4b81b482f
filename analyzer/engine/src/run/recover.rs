//! Makes a run with an unclean end one whose segments are all sealed.
//!
//! The recovered run is put together in a folder beside the old one, read and compared with
//! it, and then both change places in one step of the file system. So whenever this is
//! stopped, the run's path holds the old run, whole, or the recovered one; what else is left
//! over is removed the next time.

mod error;
mod place;
mod seal;
mod stage;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use trueno_format::run_json::{RunJson, State, Table};

pub use error::RecoverError;

use super::completeness::Writer;
use super::scan::Gathered;
use super::{Run, rank_folders};
use place::Place;
use stage::Stage;
use trueno_model::{Level, Problem, RunState};

#[derive(Debug)]
pub enum Recovered {
    /// The run has ended in this state, and everything it should contain can be read.
    Nothing(RunState),
    /// The run has ended, and part of it is unreadable and cannot be recovered.
    Damaged(Damage),
    Done(Recovery),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    pub state: RunState,
    pub rows: u64,
    /// Rows that were written and are no longer readable, as far as they can be counted.
    pub rows_lost: u64,
    pub problems: Vec<Problem>,
}

#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Recovery {
    pub run: PathBuf,
    pub rows: u64,
    pub rows_from_live: u64,
    /// Rows that were written and are no longer readable.
    pub rows_lost: u64,
    /// Rows dropped while recording; `None` if unknown.
    pub rows_dropped: Option<u64>,
    /// End of the last interval, in nanoseconds of the run's time.
    pub reach_ns: Option<i64>,
    pub segments_sealed: u64,
    /// Segments created from rows that were in none.
    pub segments_added: u64,
    pub problems: Vec<Problem>,
}

impl Recovery {
    pub fn has_losses(&self) -> bool {
        self.rows_lost > 0 || self.problems.iter().any(|p| p.severity == Level::Error)
    }
}

/// Recovers the run at `path`, in place or as a new run at `to`. Calls `on_step` before each step.
///
/// # Errors
/// The run cannot be opened, is being recorded, has no readable `run.json`, or cannot be written. It is then
/// unchanged.
pub fn recover(
    path: &Path,
    to: Option<&Path>,
    on_step: &mut dyn FnMut(&str),
) -> Result<Recovered, RecoverError> {
    if let rank_folders::Found::Ranks(_) = rank_folders::find(path) {
        return Err(RecoverError::Ranks(path.to_path_buf()));
    }
    let place = Place::new(path, to)?;
    let gathered = Gathered::read(path)?;
    let Some(manifest) = &gathered.manifest else {
        return Err(RecoverError::Unknown(path.to_path_buf()));
    };
    match gathered.writer {
        Writer::Alive { .. } => return Err(RecoverError::Recording(path.to_path_buf())),
        Writer::Gone { .. } => {}
        Writer::Ended => {
            // What is left of the old run is of no harm, and another recovery may be at it.
            let _ = place.clear(&manifest.run_id);
            return Ok(ended(&Run::from_gathered(&gathered)));
        }
    }
    let before = Run::from_gathered(&gathered);
    let _lock = place.lock()?;

    on_step("removing what an earlier recovery left");
    place.clear(&manifest.run_id)?;
    on_step("copying the segments that are whole");
    let mut stage = Stage::new(&place)?;
    let done = stage.sort(&gathered, &before).and_then(|sorted| {
        stage.carry(&sorted.replaced)?;
        on_step("sealing the open segments");
        stage.seal(&gathered, &sorted)?;
        on_step("writing what lay in no segment");
        stage.add_rest(&gathered)?;
        on_step("writing the journal");
        stage.journal()?;
        on_step("writing run.json");
        stage.run_json(
            &describe(manifest, &gathered, &before, &stage),
            &gathered.path,
        )?;
        on_step("reading the recovered run");
        stage.compare(&before)
    });
    let after = match done {
        Ok(after) => after,
        Err(error) => {
            // The old run is untouched; if this cannot be removed, the next recovery tries again.
            let _ = place.clear(&manifest.run_id);
            return Err(error);
        }
    };
    let summary = summary(&place, &before, &after, &stage);
    drop((before, after));
    on_step("putting it in its place");
    if let Err(error) = place.publish() {
        let _ = place.clear(&manifest.run_id);
        return Err(error);
    }
    // The old files go next: their successors must be on disk by then.
    place.sync()?;
    on_step("removing the old files");
    place.clear(&manifest.run_id)?;
    Ok(Recovered::Done(summary))
}

/// Outcome for a run that nothing writes and that needs no recovery.
fn ended(run: &Run) -> Recovered {
    let facts = run.facts();
    let is_error = |problem: &Problem| problem.severity == Level::Error;
    if facts.rows_lost == 0 && !run.problems().iter().any(is_error) {
        return Recovered::Nothing(facts.state);
    }
    Recovered::Damaged(Damage {
        state: facts.state,
        rows: facts.rows,
        rows_lost: facts.rows_lost,
        problems: run.problems().to_vec(),
    })
}

fn describe(manifest: &RunJson, gathered: &Gathered, before: &Run, stage: &Stage<'_>) -> RunJson {
    let facts = before.facts();
    let mut run = manifest.clone();
    run.state = State::Recovered;
    run.wall_ns = facts.wall_ns;
    run.clock.ticks_per_second = facts.clock.ticks_per_second;
    if let Some(kept) = gathered.rest.as_ref().and_then(|rest| rest.kept.clone()) {
        run.clock.origin_realtime_ns += kept.from_ns;
        run.kept = Some(kept);
    }
    run.values = facts.values.clone();
    let mut tables: BTreeMap<String, Table> = stage.tables();
    for table in &facts.tables {
        let counts = tables.entry(table.name.clone()).or_default();
        let recorded = manifest.tables.get(&table.name).map_or(0, |t| t.dropped);
        counts.dropped = table.dropped.unwrap_or(recorded);
        // What damaged segments have lost shows in them, as long as they are there.
        let lost = table.rows_lost.unwrap_or(0);
        counts.lost = lost.saturating_sub(stage.still_lost(before, &table.name));
    }
    run.dropped = facts.dropped.unwrap_or(manifest.dropped);
    tables.retain(|_, table| table.rows + table.dropped + table.lost > 0);
    run.tables = tables;
    run.problems.extend(stage.problems.iter().cloned());
    let rest = gathered.rest.iter();
    run.problems
        .extend(rest.clone().flat_map(|rest| rest.problems.iter().cloned()));
    run.recovery = Some(trueno_format::run_json::Recovery {
        rows_from_live: rest.flat_map(|rest| &rest.segments).map(|s| s.rows).sum(),
        dropped_known: facts.dropped.is_some(),
        loss_not_known: facts
            .tables
            .iter()
            .filter(|table| table.rows_lost.is_none())
            .map(|table| table.name.clone())
            .collect(),
    });
    run
}

fn summary(place: &Place, before: &Run, after: &Run, stage: &Stage<'_>) -> Recovery {
    let facts = after.facts();
    let live = before.segments().iter();
    let live = live.filter(|s| s.state == super::segment::SegmentState::Live);
    Recovery {
        run: place.target().to_path_buf(),
        rows: facts.rows,
        rows_from_live: live.map(|segment| segment.rows_read).sum(),
        rows_lost: facts.rows_lost,
        rows_dropped: facts.dropped,
        reach_ns: facts.wall_ns,
        segments_sealed: stage.sealed,
        segments_added: stage.added,
        problems: after.problems().to_vec(),
    }
}
