//! Facts that rules judge by, read once.

mod bricks;
mod captures;
mod checksums;
mod device;
mod idle;
mod launch_runs;
mod loader_names;
mod path;
mod ranks;
mod roof;
mod slow_start;
mod steps;
mod tasks;
mod window;

pub use bricks::{Bricks, FirstOfApi, Load, Name, Size, count};
pub use captures::Captures;
pub use checksums::Tensor;
pub use device::{Device, Model, Wait, Work, condition, name_of};
pub use idle::{Cause, Gap, Idle, Limits, Scale};
pub use launch_runs::LaunchRuns;
pub use path::{Alone, Opportunity, Path, Piece, Without};
pub use ranks::{Arrival, JobCause, Ranks};
pub use roof::{AboveRoof, Point, Roof};
pub use slow_start::SlowStart;
pub use steps::Steps;
pub use tasks::{Task, Tasks};
use trueno_analysis::producer::Producer;
pub use window::Window;

use std::collections::BTreeMap;

use trueno_analysis::evidence::{Evidence, Pattern};
use trueno_analysis::intervals::IntervalSet;
use trueno_analysis::name_groups::NameGroups;
use trueno_plugin::{Result, Run, Table, rank};

#[derive(Debug)]
pub struct Facts {
    /// Groups of names with ids in them. All names here are group names, except those of tensors and their
    /// bricks.
    pub name_groups: NameGroups,
    pub window: Window,
    pub producer: Producer,
    pub path: Path,
    pub device: Device,
    pub idle: Idle,
    pub scale: Scale,
    pub bricks: Bricks,
    pub captures: Captures,
    pub launch_runs: LaunchRuns,
    pub slow_starts: Vec<SlowStart>,
    pub tasks: Tasks,
    pub roof: Roof,
    pub steps: Steps,
    /// By brick: the number of tensors that differ from the baseline.
    pub diverged: BTreeMap<String, u64>,
    pub tensors: Vec<Tensor>,
    pub ranks: Ranks,
    pub growth: Table,
    pub fragmentation: Table,
    pub out_of_memory: Table,
    /// Operators for devices of which no work is in the imported file.
    pub unrecorded_operators: u64,
    /// The profiler ran kernels one by one, to collect counters of each.
    pub ran_one_by_one: bool,
    /// The run records dependencies between rows.
    has_edges: bool,
    /// Share of the wall with a row on any lane; `None`: unknown, of a part of the run, or a mean of ranks.
    covered: Option<f64>,
}

impl Facts {
    /// Reads all inputs.
    ///
    /// # Errors
    /// An input lacks a column or has it in another type.
    pub fn load(run: &mut Run, limits: &Limits) -> Result<Self> {
        let window = Window::load(run)?;
        let path = Path::load(run)?;
        let name_groups = NameGroups::read(run)?;
        let mut bricks = Bricks::load(run, &window, &name_groups)?;
        let device = Device::load(run, &window, &name_groups)?;
        bricks.busy_by_rank(&device, &window);
        let scale = Scale::new(limits, &device);
        let idle = Idle::find(&device, &bricks, &window, &scale);
        let has_edges = !run.table("any_edge")?.is_empty();
        let coverage = run.table("coverage")?;
        let coverage = coverage.text("found")?.iter().flatten().next();
        let is_whole = !window.is_part && window.ranks < 2;
        let covered = coverage.and_then(|found| found.parse().ok());
        let covered = covered.filter(|_| is_whole);
        let unrecorded = run.table("unrecorded_devices")?;
        let unrecorded = unrecorded.u64("count")?.iter().flatten();
        Ok(Self {
            producer: window.producer,
            path,
            idle,
            scale,
            captures: Captures::load(run, &window)?,
            slow_starts: slow_start::slow_starts(&device, &bricks, &window),
            launch_runs: LaunchRuns::load(run, &window, &device, &bricks)?,
            tasks: Tasks::load(run, &window, &name_groups)?,
            roof: Roof::load(run, &name_groups)?,
            steps: Steps::load(run, &window)?,
            diverged: steps::diverged(run)?,
            tensors: checksums::load(run, &window)?,
            ranks: Ranks::load(run)?,
            growth: run.table("growth")?,
            fragmentation: run.table("fragmentation")?,
            out_of_memory: run.table("out_of_memory")?,
            unrecorded_operators: unrecorded.fold(0, u64::saturating_add),
            ran_one_by_one: !run.table("kernels_one_by_one")?.is_empty(),
            has_edges,
            covered,
            name_groups,
            window,
            device,
            bricks,
        })
    }

    /// Time of unexplained waits on the path that device work at `times` may account for. A wait that names no
    /// stream is `sync_wait` on the path, and the host waited for whatever ran. With a device, only waits of
    /// its rank count.
    pub fn waited_ns(&self, times: &IntervalSet<i64>, device: Option<i64>) -> i64 {
        let rank = device.map(|device| rank::of_place(device).0);
        let of_rank = |id: u64| rank.is_none() || i64::try_from(rank::of_key(id)).ok() == rank;
        let waits = self.device.waits.iter();
        let waits = waits.filter(|wait| !wait.is_join && of_rank(wait.id));
        let waits: IntervalSet<i64> = waits.map(|wait| (wait.start_ns, wait.end_ns)).collect();
        waits.common_ns(times).min(self.path.kind_ns("sync_wait"))
    }

    /// Upper bound of what a fix can save that removes `without`. Devices still have to do their work.
    pub fn most_ns(&self, without: &Without<'_>) -> i64 {
        let busy = self.idle.spans.iter().map(|span| span.3).max();
        let busy_ns = busy.filter(|_| without.keeps_devices_busy()).unwrap_or(0);
        let idle_ns = self.window.wall_ns.saturating_sub(busy_ns);
        self.path.without_ns(without).min(idle_ns).max(0)
    }

    /// Whether anything says what device work waits for: the host, a launch or a recorded dependency. Otherwise re-timing
    /// leaves its starts where they are, and bounds no gain.
    pub fn has_dependencies(&self) -> bool {
        let has_host = self.bricks.threads > 0 || !self.bricks.calls.is_empty();
        let mut work = self.device.work.iter();
        let is_launched = work.any(|work| work.launch.is_some());
        has_host || self.has_edges || is_launched || self.device.work.is_empty()
    }

    /// Whether anything says what follows what on several lanes: recorded dependencies, or launches. Otherwise re-timing
    /// leaves work where it is that waited for work on another lane, and a small gain says nothing.
    pub fn has_order_between_lanes(&self) -> bool {
        let mut work = self.device.work.iter();
        let is_host_alone = self.device.work.is_empty() && self.producer != Producer::Timeline;
        self.has_edges || is_host_alone || work.any(|work| work.launch.is_some())
    }

    /// Time on the path in gaps without rows on other lanes either, and in gaps beside which other lanes have rows.
    pub fn gaps_ns(&self) -> (i64, i64) {
        let gap_ns = self.path.kind_ns("gap");
        let empty = self.covered.map_or(1.0, |covered| 1.0 - covered);
        let empty_ns = (empty.max(0.0) * self.window.wall_ns as f64) as i64;
        let empty_ns = empty_ns.min(gap_ns);
        (empty_ns, gap_ns - empty_ns)
    }

    /// Category of device work: that of the brick in which it was launched, else its own.
    pub fn category(&self, work: &Work) -> Option<&str> {
        let of = |number: u32| self.category_of(&self.device.names[number as usize]);
        let own = || work.is_kernel().then(|| of(work.name)).flatten();
        work.within.and_then(of).or_else(own)
    }

    pub fn category_of(&self, name: &str) -> Option<&str> {
        let category = self.bricks.categories.get(name)?;
        Self::is_category(category).then_some(category)
    }

    pub fn is_category(category: &str) -> bool {
        !["uncategorised", "outside bricks", "waiting", ""].contains(&category)
    }

    pub fn evidence(&self, rows: u64, times: &IntervalSet<i64>) -> Evidence {
        let evidence = Evidence::new(rows, times.total_ns());
        if self.steps.is_in_one(times) {
            let pattern = Pattern::InOneIteration;
            Evidence {
                pattern,
                ..evidence
            }
        } else {
            evidence
        }
    }

    pub fn is_enough(&self, evidence: Evidence) -> bool {
        evidence.is_enough(self.window.wall_ns)
    }

    pub fn share(&self, ns: i64) -> f64 {
        if self.window.wall_ns > 0 {
            ns as f64 / self.window.wall_ns as f64
        } else {
            0.0
        }
    }
}
