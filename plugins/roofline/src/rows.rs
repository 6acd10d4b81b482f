//! From the published tables to rows with work, lane by lane.

mod bricks;
mod kernels;
mod texts;

use std::collections::BTreeMap;

use trueno_analysis::hash::{FastMap, FastSet};
use trueno_analysis::id_index::IdIndex;
use trueno_analysis::interner::{Interner, Texts};
use trueno_analysis::intervals::IntervalSetBuilder;
use trueno_analysis::lanes::category_rules;
use trueno_analysis::roofline::instruction_set::{Backend, backend};
use trueno_analysis::roofline::model::{Reason, Work, achieved};
use trueno_analysis::start_order::Interval;
use trueno_analysis::window::Window;
use trueno_plugin::{Result, Run};

use crate::counted::{self, Counted};
use crate::excluded::Excluded;
use crate::label::{Group, Label, OneFigure, Provenance, Source};

/// No index: without a label, or without counted work.
pub const NONE: u32 = u32::MAX;

/// Of a brick that kernels name, until its row is read.
const NO_GROUP: u32 = u32::MAX - 1;

/// A row with work, or one that says something about the work of those around it.
#[derive(Clone, Copy, Debug)]
pub struct WorkRow {
    /// Start.
    pub start_ns: i64,
    /// End.
    pub end_ns: i64,
    /// Unique in the run.
    pub id: u64,
    /// Declared FLOPs.
    pub flops: f64,
    /// Declared bytes.
    pub bytes: f64,
    /// Of what is declared; [`NONE`]: nothing usable is.
    pub label: u32,
    /// Index into [`Rows::counted`], or [`NONE`].
    pub counted: u32,
    /// Number of its [`Group`]; of a row [with one figure only](WorkRow::has_one_figure) its number in
    /// [`Rows::one_figure`], as it is booked nowhere.
    pub group: u32,
}

impl WorkRow {
    /// True if it says FLOPs or bytes and has no other use for the roofline.
    pub fn has_one_figure(&self) -> bool {
        let is_work = self.label != NONE || self.counted != NONE;
        !is_work && (self.flops > 0.0 || self.bytes > 0.0)
    }
}

impl Interval for WorkRow {
    #[inline]
    fn times(&self) -> (i64, i64, u64) {
        (self.start_ns, self.end_ns, self.id)
    }
}

/// Usable counts of one kernel or brick.
#[derive(Clone, Copy, Debug)]
pub struct CountedWork {
    /// FLOPs.
    pub flops: f64,
    /// Bytes.
    pub bytes: f64,
    /// Its label.
    pub label: u32,
}

/// One thread or stream.
#[derive(Default)]
pub struct Lane {
    /// Rows with work.
    pub work: Vec<WorkRow>,
    /// Bricks and kernels; their union is when the lane was busy.
    pub top: IntervalSetBuilder<i64>,
}

/// Device and stream, or `-1` and the thread.
pub type LaneKey = (i64, i64);

/// A run.
#[derive(Default)]
pub struct Rows {
    /// Names, categories, backends, precisions.
    pub texts: Texts,
    /// Labels that [`WorkRow::label`] refers to.
    pub labels: Interner<Label>,
    /// Groups that [`WorkRow::group`] refers to.
    pub groups: Interner<Group>,
    /// Lanes by device and stream, or thread.
    pub lanes: BTreeMap<LaneKey, Lane>,
    /// Counted work; see [`WorkRow::counted`].
    pub counted: Vec<CountedWork>,
    /// Labels of rows with one figure only, by [`WorkRow::group`].
    pub one_figure: Interner<OneFigure>,
    /// Rows without figures.
    pub excluded: Excluded,
    /// Bricks whose kernels ran on a device.
    pub on_device: FastSet<u64>,
    /// Bricks with tasks on other threads.
    pub several_threads: FastSet<u64>,
    window: Option<Window>,
    rules: BTreeMap<String, String>,
    /// For each backend's text: true if it is an accelerator.
    accelerators: FastMap<u32, bool>,
    /// By name, where kernels without a brick are booked.
    kernel_groups: FastMap<u32, u32>,
}

/// Category of what has none.
pub const UNCATEGORISED: &str = "uncategorised";

/// Reads the inputs whose names begin with `prefix`.
///
/// # Errors
/// An input lacks a column or has it in another type.
pub fn load(run: &mut Run, prefix: &str) -> Result<Rows> {
    let mut rows = Rows::default();
    if prefix.is_empty() {
        rows.read_settings(run)?;
    }
    let counters = counted::read(run, &format!("{prefix}counters"), &mut rows.texts)?;
    let kernels = run.table(&format!("{prefix}kernels"))?;
    let (kernel_bricks, flops) = (kernels.u64("brick")?, kernels.u64("flops")?);
    let (id, device) = (kernels.u64("id")?, kernels.i64("device")?);
    let with_brick = || {
        let bricks = kernel_bricks.iter().enumerate();
        bricks.filter_map(|(row, brick)| Some((row, brick?)))
    };
    let on_device = with_brick().filter(|(row, _)| device.get(*row).is_some());
    rows.on_device.extend(on_device.map(|(_, brick)| brick));
    let has_work = |row: usize| {
        flops.get(row).is_some() || (!counters.is_empty() && counters.contains_key(&id.value(row)))
    };
    let mut bricks_of_kernels = IdIndex::new(|| {
        let with_work = with_brick().filter(|(row, _)| has_work(*row));
        with_work.map(|(_, brick)| (brick, NO_GROUP))
    });
    rows.bricks(run, prefix, &mut bricks_of_kernels, &counters)?;
    run.check_cancelled()?;
    rows.kernels(run, prefix, kernels, &bricks_of_kernels, &counters)?;
    Ok(rows)
}

impl Rows {
    fn read_settings(&mut self, run: &mut Run) -> Result<()> {
        self.window = Window::read(run)?;
        self.rules = category_rules(run)?;
        Ok(())
    }

    /// Books one row: as work, or with the reason why not.
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
        self.push(row, label, counted_at);
    }

    /// Keeps a row without an intensity for the rate of the figure that it has.
    fn keep_one_figure(&mut self, row: &Row, counted: Option<&Counted>, reason: Reason) {
        let is_missing = matches!(
            reason,
            Reason::NoFlops | Reason::NoBytes | Reason::ZeroFlops | Reason::ZeroBytes
        );
        let (flops, bytes, provenance) = match counted {
            Some(counted) => (counted.flops, counted.bytes, Provenance::Counted),
            None => {
                let [flops, bytes] = [row.flops, row.bytes].map(|figure| figure.map(|n| n as f64));
                (flops, bytes, Provenance::Declared)
            }
        };
        let [flops, bytes] = [flops, bytes].map(|figure| figure.unwrap_or(0.0));
        let is_figure = |figure: f64| figure.is_finite() && figure > 0.0;
        if !is_missing || row.dur_ns <= 0 || !(is_figure(flops) || is_figure(bytes)) {
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
        self.lanes.entry(row.lane).or_default().work.push(WorkRow {
            start_ns: row.start_ns,
            end_ns: row.start_ns.saturating_add(row.dur_ns),
            id: row.id,
            flops,
            bytes,
            label: NONE,
            counted: NONE,
            group,
        });
    }

    /// True if a backend is one; its name is looked at once.
    fn is_accelerator(&mut self, name: Option<u32>) -> bool {
        let Some(name) = name else { return false };
        let texts = &self.texts;
        let known = self.accelerators.entry(name);
        *known.or_insert_with(|| backend(texts.text(name)) == Backend::Accelerator)
    }

    fn push(&mut self, row: &Row, label: u32, counted: u32) {
        let lane = self.lanes.entry(row.lane).or_default();
        lane.work.push(WorkRow {
            start_ns: row.start_ns,
            end_ns: row.start_ns.saturating_add(row.dur_ns.max(0)),
            id: row.id,
            flops: row.flops.unwrap_or(0) as f64,
            bytes: row.bytes.unwrap_or(0) as f64,
            label,
            counted,
            group: row.group,
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

struct Row {
    source: Source,
    id: u64,
    lane: LaneKey,
    start_ns: i64,
    dur_ns: i64,
    is_bound: bool,
    is_valid: bool,
    name: u32,
    backend: Option<u32>,
    device: Option<i64>,
    flops: Option<u64>,
    bytes: Option<u64>,
    group: u32,
    is_top: bool,
    tells: bool,
}

impl Row {
    fn usable(&self, flops: f64, bytes: f64) -> std::result::Result<(), Reason> {
        let dur_ns = self.dur_ns as f64;
        achieved(&Work {
            flops,
            bytes,
            dur_ns,
        })
        .map(|_| ())
    }
}
