//! All ceilings, in turn.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use super::memory::Memory;
use super::plan::{Step, plan};
use super::repeat::{Effort, Found, MOMENTS};
use super::threads::{Team, Visited};
use super::{CoreClock, CpuCeilings, Machine, clock};

/// Progress of a measurement.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    /// Visits done.
    pub done: usize,
    /// Visits in all; those that unsettled ceilings need beyond them are not counted.
    pub all: usize,
    /// Name of the current step.
    pub now: &'a str,
}

/// Measures all ceilings of this machine; `progress` hears of each before it is measured.
///
/// All are visited in turn, again and again, for a few repetitions each, until they have been
/// measured as often as `effort` says and the best of each is settled, or the time is over.
/// Ceilings that cannot be measured are named in the notes and left out.
pub fn measure(effort: &Effort, mut progress: impl FnMut(Progress<'_>)) -> CpuCeilings {
    let machine = Machine::here();
    let mut notes = Vec::new();
    let mut rows: Vec<Row> = plan(&machine, &mut notes)
        .into_iter()
        .map(Row::new)
        .collect();
    let team = Team::new(memories(&mut rows));
    let count = rows.len();
    let all = effort.moments() * count;
    let mut done = 0;
    let start = Instant::now();
    'moments: for moment in 0.. {
        if !rows.iter().any(|row| row.needs_more(effort)) {
            break;
        }
        // All of them again, settled or not: a machine may be twice as fast a second later.
        for row in rows.iter_mut().filter(|row| row.failed.is_none()) {
            if moment > 0 && start.elapsed() >= effort.longest {
                break 'moments;
            }
            progress(Progress {
                done,
                all,
                now: &row.step.name(),
            });
            done = (done + 1).min(all - 1);
            row.visit(&team, effort);
        }
    }
    drop(team);
    let mut clock = CoreClock::here();
    let mut ceilings = Vec::new();
    let mut unsettled = Vec::new();
    let mut too_few = 0;
    for row in rows {
        let name = row.step.name();
        let why = match (row.failed, row.found.repeated()) {
            (None, Some(repeated)) => {
                if row.found.moments() < MOMENTS {
                    too_few += 1;
                } else if !repeated.is_settled {
                    let times = repeated.best / repeated.reached;
                    unsettled.push(format!("{name} (x {times:.2})"));
                }
                match row.step.ceiling(repeated) {
                    Some(ceiling) => ceilings.push(ceiling),
                    None => clock.hz = clock::reached(&row.found),
                }
                continue;
            }
            (Some(why), _) => why,
            (None, None) => "it took no time".to_owned(),
        };
        notes.push(format!("{name}: not measured: {why}"));
    }
    if too_few > 0 {
        notes.push(format!(
            "not settled, because measured at fewer than {MOMENTS} moments: {too_few} of {count}"
        ));
    }
    if !unsettled.is_empty() {
        notes.push(format!(
            "not settled, faster than the ceiling in fewer than {MOMENTS} measurements: {}",
            unsettled.join("; ")
        ));
    }
    CpuCeilings {
        machine,
        measured_at_s: SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |since| since.as_secs()),
        clock,
        notes,
        ceilings,
    }
}

/// Memory for each thread, sized for the rows. Rows that need more than there is fail.
fn memories(rows: &mut [Row]) -> Vec<Memory> {
    let mut memories = Vec::new();
    let threads = rows.iter().map(|row| row.step.threads).max().unwrap_or(1);
    for number in 0..threads {
        let memory = loop {
            let takes_part = |row: &&mut Row| row.failed.is_none() && row.step.threads > number;
            let needs = |row: &Row| row.step.memory_bytes();
            let most = rows
                .iter_mut()
                .filter(takes_part)
                .map(|row| needs(row))
                .max();
            let most = most.unwrap_or(0);
            match Memory::new(most) {
                Ok(memory) => break Some(memory),
                Err(error) => {
                    let takers = rows.iter_mut().filter(takes_part);
                    for row in takers.filter(|row| needs(row) == most) {
                        row.failed = Some(error.to_string());
                    }
                    if most == 0 {
                        break None;
                    }
                }
            }
        };
        match memory {
            Some(memory) => memories.push(memory),
            None => break,
        }
    }
    memories
}

struct Row {
    step: Step,
    visited: Visited,
    found: Found,
    failed: Option<String>,
}

impl Row {
    fn new(step: Step) -> Self {
        Self {
            visited: Visited::new((0..step.threads).map(|_| step.work()).collect()),
            found: Found::default(),
            failed: None,
            step,
        }
    }

    fn needs_more(&self, effort: &Effort) -> bool {
        // A few repetitions are all that was asked for: they settle nothing.
        let is_once = effort.moments() < MOMENTS;
        let is_enough = self.found.moments() >= effort.moments();
        self.failed.is_none() && !(is_enough && (is_once || self.found.is_settled()))
    }

    fn visit(&mut self, team: &Team, effort: &Effort) {
        match team.visit(&mut self.visited, effort.at_once(), effort.repetition) {
            Some(rates) => self.found.add(&rates),
            None => self.failed = Some("a thread could not start".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use std::time::Duration;

    use trueno_format::CeilingKind;
    use trueno_format::Source;

    /// Figures are not compared with each other: that could fail on a busy machine.
    #[test]
    fn everything_planned_is_measured_and_finite() {
        let effort = Effort {
            repetitions: 2,
            repetition: Duration::from_micros(200),
            longest: Duration::ZERO,
        };
        let mut told = Vec::new();
        let measured = measure(&effort, |at| told.push((at.done, at.all)));
        assert!(!measured.ceilings.is_empty(), "{:?}", measured.notes);
        let all = told[0].1;
        assert_eq!(told.len(), all);
        assert_eq!(told.last(), Some(&(all - 1, all)));
        assert_eq!(measured.ceilings.len() + 1, all, "{:?}", measured.notes);
        assert!(measured.clock.hz.is_some() || !cfg!(target_arch = "x86_64"));
        let note = format!("not settled, because measured at fewer than 3 moments: {all} of {all}");
        assert!(measured.notes.contains(&note), "{:?}", measured.notes);
        let mut seen = HashSet::new();
        for c in &measured.ceilings {
            assert!(c.value.is_finite() && c.value > 0.0, "{c:?}");
            assert!(c.median.unwrap() > 0.0 && c.median.unwrap() <= c.value);
            assert!(c.spread.unwrap() >= 0.0 && c.spread.unwrap().is_finite());
            assert_eq!((c.repetitions, c.source), (Some(2), Source::Measured));
            assert_eq!(c.settled, Some(false), "one moment settles nothing");
            assert_eq!(c.precision.is_some(), c.kind == CeilingKind::Compute);
            let key = (
                c.level.clone(),
                c.precision.clone(),
                c.threads,
                c.operation.clone(),
            );
            assert!(seen.insert(key), "twice: {c:?}");
        }
        let levels: HashSet<_> = measured
            .ceilings
            .iter()
            .flat_map(|c| c.level.as_deref())
            .collect();
        assert!(levels.contains("DRAM"));
        let is_x86 = cfg!(target_arch = "x86_64");
        assert!(!is_x86 || (levels.contains("scalar") && levels.contains("sse2")));
    }
}
