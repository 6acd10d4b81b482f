//! From the published tables to rows with work, lane by lane.

mod alike;
mod bricks;
mod kernels;
mod row;
mod texts;

use std::collections::BTreeMap;

use trueno_analysis::hash::{FastMap, FastSet};
use trueno_analysis::id_index::IdIndex;
use trueno_analysis::interner::{Interner, Texts};
use trueno_analysis::intervals::IntervalSetBuilder;
use trueno_analysis::lanes::category_rules;
use trueno_analysis::name_groups::NameGroups;
use trueno_analysis::roofline::instruction_set::{Backend, backend};
use trueno_analysis::roofline::model::Reason;
use trueno_analysis::start_order::Interval;
use trueno_analysis::window::Window;
use trueno_plugin::{Result, Run};

use self::alike::AlikeCache;
use self::row::Row;
use crate::counted::{self, Counted};
use crate::excluded::Excluded;
use crate::label::{Group, Label, OneFigure, Provenance, Source};

/// No index: no label, or no counted work.
pub const NONE: u32 = u32::MAX;

/// Group of a brick referenced by kernels, until its own row is read.
const NO_GROUP: u32 = u32::MAX - 1;

/// A row with work, or one that affects how enclosing rows count.
#[derive(Clone, Copy, Debug)]
pub struct WorkRow {
    pub start_ns: i64,
    pub end_ns: i64,
    pub id: u64,
    /// Index into [`Rows::declared`].
    pub declared: u32,
    /// Index into [`Rows::counted`], or [`NONE`].
    pub counted: u32,
}

/// Declared work. Rows with equal work mostly share one entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeclaredWork {
    pub flops: u64,
    pub bytes: u64,
    /// Index of the label; [`NONE`]: nothing usable is declared.
    pub label: u32,
    /// Index of the [`Group`]. For a row with one figure only, its index in [`Rows::one_figure`] instead,
    /// because such rows belong to no group.
    pub group: u32,
}

impl Interval for WorkRow {
    #[inline]
    fn times(&self) -> (i64, i64, u64) {
        (self.start_ns, self.end_ns, self.id)
    }
}

#[derive(Clone, Copy, Debug)]
pub struct CountedWork {
    pub flops: u64,
    pub bytes: u64,
    pub label: u32,
}

#[derive(Default)]
pub struct Lane {
    pub work: Vec<WorkRow>,
    /// Union of bricks and kernels: when the lane was busy.
    pub top: IntervalSetBuilder<i64>,
}

/// Device and stream, or `-1` and the thread.
pub type LaneKey = (i64, i64);

#[derive(Default)]
pub struct Rows {
    pub texts: Texts,
    pub labels: Interner<Label>,
    pub groups: Interner<Group>,
    pub lanes: BTreeMap<LaneKey, Lane>,
    pub declared: Vec<DeclaredWork>,
    pub counted: Vec<CountedWork>,
    /// Labels of rows with one figure only, indexed by [`DeclaredWork::group`].
    pub one_figure: Interner<OneFigure>,
    pub excluded: Excluded,
    pub on_device: FastSet<u64>,
    pub several_threads: FastSet<u64>,
    window: Option<Window>,
    rules: BTreeMap<String, String>,
    name_groups: NameGroups,
    /// Whether a backend is an accelerator, by its text number.
    accelerators: FastMap<u32, bool>,
    /// By name: group of kernels without a brick.
    kernel_groups: FastMap<u32, u32>,
    alike: AlikeCache,
}

pub const UNCATEGORISED: &str = "uncategorised";

/// Reads the inputs whose names begin with `prefix`. Names with ids are replaced by their group.
///
/// # Errors
/// An input lacks a column or has it in another type.
pub fn load(run: &mut Run, prefix: &str, name_groups: &NameGroups) -> Result<Rows> {
    let mut rows = Rows {
        name_groups: name_groups.clone(),
        ..Rows::default()
    };
    if prefix.is_empty() {
        rows.read_settings(run)?;
    }
    let counters = counted::read(run, &format!("{prefix}counters"), &mut rows.texts)?;
    let mut bricks_of_kernels = rows.kernel_links(run, prefix, &counters)?;
    rows.bricks(run, prefix, &mut bricks_of_kernels, &counters)?;
    run.check_cancelled()?;
    rows.kernels(run, prefix, &bricks_of_kernels, &counters)?;
    Ok(rows)
}

impl Rows {
    fn read_settings(&mut self, run: &mut Run) -> Result<()> {
        self.window = Window::read(run)?;
        self.rules = category_rules(run)?;
        Ok(())
    }

    /// Bricks with kernels that have work. Also records which bricks had kernels on a device.
    fn kernel_links(
        &mut self,
        run: &mut Run,
        prefix: &str,
        counters: &FastMap<u64, Counted>,
    ) -> Result<IdIndex<u32>> {
        let mut with_work = IdIndex::default();
        let mut batches = run.batches(&format!("{prefix}kernel_links"))?;
        while let Some(batch) = batches.next_batch()? {
            let (id, brick) = (batch.u64("id")?, batch.u64("brick")?);
            let (device, flops) = (batch.i64("device")?, batch.u64("flops")?);
            for row in 0..batch.rows() {
                let Some(brick) = brick.get(row) else {
                    continue;
                };
                if device.get(row).is_some() {
                    self.on_device.insert(brick);
                }
                if flops.get(row).is_some() || count_of(counters, id.value(row)).is_some() {
                    with_work.insert_first(brick, NO_GROUP);
                }
            }
        }
        Ok(with_work)
    }

    pub fn renumber_labels(&mut self, numbers: &[u32]) {
        let declared = self.declared.iter_mut().map(|work| &mut work.label);
        let counted = self.counted.iter_mut().map(|work| &mut work.label);
        for label in declared.chain(counted).filter(|label| **label != NONE) {
            *label = numbers[*label as usize];
        }
    }

    /// Adds a row as work, or counts why it cannot be used.
    fn row(&mut self, row: &Row, counted: Option<&Counted>) {
        let end_ns = row.start_ns.saturating_add(row.dur_ns);
        let mut excluded = None;
        if let Some(window) = self.window {
            if !window.overlaps(row.start_ns, end_ns) {
                return;
            }
            if !window.contains(row.start_ns, end_ns) {
                excluded = Some(Reason::Cut);
            }
        }
        if row.is_bound {
            excluded = Some(Reason::BoundRow);
        } else if !row.is_valid {
            excluded = Some(Reason::InvalidRow);
        } else if row.dur_ns < 0 {
            excluded = Some(Reason::NoTime);
        } else if row.is_top {
            let whole = Some((row.start_ns, end_ns));
            let inside = self.window.map_or(whole, |w| w.clip(row.start_ns, end_ns));
            let lane = self.lanes.entry(row.lane).or_default();
            if let Some((from_ns, to_ns)) = inside {
                lane.top.add(from_ns, to_ns);
            }
        }
        if let Some(reason) = excluded {
            self.excluded.add(row.source, reason, row.name, row.dur_ns);
            return;
        }
        // Most rows are like many others: what they declare is looked at once.
        let is_plain = counted.is_none() && row.dur_ns > 0;
        if is_plain && let Some(declared) = self.alike.get(row) {
            self.push(row, declared, NONE);
            return;
        }
        let host_time = row.device.is_none() && self.is_accelerator(row.backend);
        let declared = match (host_time, row.flops, row.bytes) {
            (true, ..) => Err(Reason::OnDevice),
            (_, None, _) => Err(Reason::NoFlops),
            (_, _, None) => Err(Reason::NoBytes),
            (_, Some(flops), Some(bytes)) => row.usable(flops as f64, bytes as f64),
        };
        // What a host counts while a device works is not the device's work.
        let counted = counted.filter(|_| !(host_time && row.source == Source::Brick));
        let counted_work = counted.map(|counted| {
            let (flops, bytes, provenance) = counted.work(row.bytes)?;
            row.usable(flops, bytes)?;
            let (flops, bytes) = (counted::whole(flops)?, counted::whole(bytes)?);
            Ok((flops, bytes, provenance, counted.precision))
        });
        let mut counted_at = NONE;
        if let Some(Ok((flops, bytes, provenance, precision))) = counted_work {
            let label = self.label(row, provenance, precision);
            counted_at = self.counted.len() as u32;
            self.counted.push(CountedWork {
                flops,
                bytes,
                label,
            });
        }
        let label = match declared {
            Ok(()) => self.label(row, Provenance::Declared, None),
            Err(_) => NONE,
        };
        if label == NONE && counted_at == NONE {
            // What was counted tells more about why than what nobody declared.
            let why = match (declared, counted_work) {
                (Err(Reason::NoFlops | Reason::NoBytes), Some(Err(reason))) => reason,
                (Err(reason), _) => reason,
                (Ok(()), _) => return,
            };
            self.excluded.add(row.source, why, row.name, row.dur_ns);
            if !row.tells {
                let counted = counted.filter(|_| matches!(counted_work, Some(Err(_))));
                self.keep_one_figure(row, counted, why);
                return;
            }
        }
        let declared = self.declare(row.declared(label, row.group));
        if is_plain && label != NONE {
            self.alike.put(row, declared);
        }
        self.push(row, declared, counted_at);
    }

    fn declare(&mut self, work: DeclaredWork) -> u32 {
        if self.declared.last() != Some(&work) {
            self.declared.push(work);
        }
        (self.declared.len() - 1) as u32
    }

    /// Keeps a row without an intensity to report the rate of the figure it has.
    fn keep_one_figure(&mut self, row: &Row, counted: Option<&Counted>, reason: Reason) {
        let is_missing = matches!(
            reason,
            Reason::NoFlops | Reason::NoBytes | Reason::ZeroFlops | Reason::ZeroBytes
        );
        let (flops, bytes, provenance) = match counted {
            Some(counted) => {
                let figure = |of: Option<f64>| counted::whole(of?).ok();
                let (flops, bytes) = (figure(counted.flops), figure(counted.bytes));
                (flops, bytes, Provenance::Counted)
            }
            None => (row.flops, row.bytes, Provenance::Declared),
        };
        let [flops, bytes] = [flops, bytes].map(|figure| figure.unwrap_or(0));
        if !is_missing || row.dur_ns <= 0 || (flops == 0 && bytes == 0) {
            return;
        }
        let group = self.one_figure.number(OneFigure {
            source: row.source,
            name: row.name,
            backend: row.backend,
            device: row.device,
            provenance,
            reason,
        });
        let work = DeclaredWork {
            flops,
            bytes,
            label: NONE,
            group,
        };
        let declared = self.declare(work);
        self.push(row, declared, NONE);
    }

    /// Checks each backend name only once.
    fn is_accelerator(&mut self, name: Option<u32>) -> bool {
        let Some(name) = name else { return false };
        let texts = &self.texts;
        let known = self.accelerators.entry(name);
        *known.or_insert_with(|| backend(texts.text(name)) == Backend::Accelerator)
    }

    #[inline]
    fn push(&mut self, row: &Row, declared: u32, counted: u32) {
        let lane = self.lanes.entry(row.lane).or_default();
        lane.work.push(WorkRow {
            start_ns: row.start_ns,
            end_ns: row.start_ns.saturating_add(row.dur_ns.max(0)),
            id: row.id,
            declared,
            counted,
        });
    }

    fn label(&mut self, row: &Row, provenance: Provenance, precision: Option<u32>) -> u32 {
        self.labels.number(Label {
            source: row.source,
            name: row.name,
            backend: row.backend,
            device: row.device,
            provenance,
            precision,
        })
    }

    fn group(&mut self, brick: Option<u32>, category: Option<u32>) -> u32 {
        let category = category.unwrap_or_else(|| {
            let rule = brick.and_then(|name| self.rules.get(self.texts.text(name)).cloned());
            self.texts.number(rule.as_deref().unwrap_or(UNCATEGORISED))
        });
        self.groups.number(Group { brick, category })
    }
}

#[inline]
fn count_of(counters: &FastMap<u64, Counted>, id: u64) -> Option<&Counted> {
    (!counters.is_empty()).then(|| counters.get(&id))?
}
