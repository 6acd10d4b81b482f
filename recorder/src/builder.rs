//! The builder of a recorder.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::checksum::sampling::MAX_SAMPLES;
use crate::device::Device;
use crate::overflow::Overflow;
use crate::sync_mode::SyncMode;
use crate::tile_sampling;
use trueno_format::CeilingSource;
use trueno_format::TileLevel;
use trueno_format::kept_rows::KeepLast;
use trueno_format::schema;

const GROWTH_BYTES: u64 = 256 << 20;
const KEEP_BYTES: u64 = 1 << 30;

/// Sets up a recorder; from [`Recorder::builder`](crate::Recorder::builder).
///
/// ```
/// use trueno_recorder::{Overflow, Recorder};
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("decode.run");
/// let rec = Recorder::builder(path)
///     .label("nightly")
///     .ring_records(1 << 14)
///     .overflow(Overflow::Block)
///     .without_table("tiles")
///     .create()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "nothing is recorded before `create`"]
pub struct Builder {
    pub(crate) path: PathBuf,
    pub(crate) label: Option<String>,
    pub(crate) ring_records: usize,
    pub(crate) overflow: Overflow,
    pub(crate) growth_bytes: u64,
    pub(crate) sync_mode: SyncMode,
    pub(crate) device: Option<Arc<dyn Device>>,
    pub(crate) tables_off: Vec<&'static str>,
    pub(crate) ceilings: Option<Arc<dyn CeilingSource>>,
    pub(crate) perf: Vec<crate::perf::PerfEvent>,
    #[cfg(feature = "alloc")]
    pub(crate) allocations: Option<crate::alloc::Allocations>,
    pub(crate) checksum_every: u64,
    pub(crate) checksum_samples: usize,
    pub(crate) tiles_every: tile_sampling::Every,
    pub(crate) checksum_baseline: Option<PathBuf>,
    pub(crate) unknown_table: Option<String>,
    pub(crate) overwrite: bool,
    pub(crate) keep_last: Option<Duration>,
    pub(crate) keep_bytes: u64,
    pub(crate) control: bool,
}

impl Builder {
    pub(crate) fn new(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            label: None,
            ring_records: 1 << 16,
            overflow: Overflow::default(),
            growth_bytes: GROWTH_BYTES,
            sync_mode: SyncMode::default(),
            device: None,
            tables_off: Vec::new(),
            ceilings: None,
            perf: Vec::new(),
            #[cfg(feature = "alloc")]
            allocations: None,
            checksum_every: 1,
            checksum_samples: 0,
            tiles_every: [1; TileLevel::ALL.len()],
            checksum_baseline: None,
            unknown_table: None,
            overwrite: false,
            keep_last: None,
            keep_bytes: KEEP_BYTES,
            control: false,
        }
    }

    /// Lets `trueno-record control RUN start|stop|cut|status` pause, resume and cut the recording from outside, through a socket
    /// in the run's folder that only the same user and root may use. Default: no. Takes a thread.
    pub fn control(mut self, control: bool) -> Self {
        self.control = control;
        self
    }

    /// Keeps the last `time` of the recording, and lets older rows go: a flight recorder, for programs that run for
    /// long. [`Recorder::cut`](crate::Recorder::cut) writes what it holds at a moment as a run of its own, and the end of the
    /// recording writes the rest. Default: everything is kept.
    ///
    /// A row belongs to the window if it began in it. Times of its run count from its beginning. The run says how much of
    /// the recording it is and how many rows were discarded ([`run_json::Kept`](crate::run_json::Kept)). If the process is killed,
    /// the window is in the run as everything else would be. [`Builder::keep_bytes`] bounds its memory.
    ///
    /// ```
    /// use std::time::Duration;
    /// use trueno_recorder::Recorder;
    /// # let folder = tempfile::tempdir()?;
    /// # let (path, slow) = (folder.path().join("server.run"), folder.path().join("slow.run"));
    /// let rec = Recorder::builder(path).keep_last(Duration::from_secs(30)).create()?;
    /// drop(rec.brick("request"));
    /// let cut = rec.cut(slow)?; // and the recording goes on
    /// assert_eq!(cut.tables["bricks"].rows, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn keep_last(mut self, time: Duration) -> Self {
        self.keep_last = Some(time);
        self
    }

    /// Bounds the memory of [`Builder::keep_last`]: on disk, in the folder `live/` of the run, where possible. If
    /// the rows of the time take more, the window is shorter, and the run says so. A row of `bricks` takes 176
    /// bytes. Default: 1 GiB. Without [`Builder::keep_last`] it means nothing.
    pub fn keep_bytes(mut self, bytes: u64) -> Self {
        self.keep_bytes = bytes;
        self
    }

    /// Records (64 bytes each) in a thread's ring: rounded up to a power of two from 64 to
    /// 2^24. Default 65,536, that is 4 MiB. With [`Overflow::Grow`], a thread begins with 256 at most, and
    /// gets longer rings up to this as it records.
    pub fn ring_records(mut self, records: usize) -> Self {
        self.ring_records = records.clamp(64, 1 << 24).next_power_of_two();
        self
    }

    /// Sets the policy for full rings. Default: [`Overflow::Grow`].
    pub fn overflow(mut self, overflow: Overflow) -> Self {
        self.overflow = overflow;
        self
    }

    /// Sets how much memory rings may take that follow full ones, of all threads together, with [`Overflow::Grow`].
    /// It is given back when they have been read. Default: 256 MiB, some 4 million events.
    pub fn growth_bytes(mut self, bytes: u64) -> Self {
        self.growth_bytes = bytes;
        self
    }

    pub(crate) fn limits(&self) -> Option<KeepLast> {
        self.keep_last.map(|time| KeepLast {
            last_ns: i64::try_from(time.as_nanos()).unwrap_or(i64::MAX),
            max_bytes: self.keep_bytes,
        })
    }

    /// Sets whether an existing run is replaced. Default: no, and [`Builder::create`] fails.
    ///
    /// Nothing else is ever replaced: no folder with other files, no run that is being recorded, and no target of a link.
    pub fn overwrite(mut self, overwrite: bool) -> Self {
        self.overwrite = overwrite;
        self
    }

    /// Sets when devices are synchronised. Default: [`SyncMode::None`].
    pub fn sync_mode(mut self, mode: SyncMode) -> Self {
        self.sync_mode = mode;
        self
    }

    /// The device that bricks give work to, for a [`SyncMode`] other than `None`.
    pub fn device(mut self, device: Arc<dyn Device>) -> Self {
        self.device = Some(device);
        self
    }

    /// Leaves a table out. Without `bricks`, iterations and layers still label other tables.
    pub fn without_table(mut self, name: &str) -> Self {
        match schema::table(name) {
            Some(table) if !self.tables_off.contains(&table.name) => {
                self.tables_off.push(table.name)
            }
            Some(_) => {}
            None => self.unknown_table = Some(name.to_owned()),
        }
        self
    }

    /// Puts what this machine can do at most into the run's table `ceilings`; default: nothing. `trueno_ceilings`
    /// has sources: what was measured before, or a new measurement. Without the table nothing is measured.
    pub fn ceilings(mut self, source: impl CeilingSource + 'static) -> Self {
        self.ceilings = Some(Arc::new(source));
        self
    }

    /// Records the program's allocations; its allocator must be an [`alloc::Recording`](crate::alloc::Recording).
    /// Default: no. One recorder of a process at a time can have it.
    #[cfg(feature = "alloc")]
    pub fn allocations(mut self, which: crate::alloc::Allocations) -> Self {
        self.allocations = Some(which);
        self
    }

    /// Records each `n`th checksum of a name, the first one included; the others are not read at all.
    /// Default: 1, every one. Calls of a name are counted over all threads.
    pub fn checksum_every(mut self, n: u64) -> Self {
        self.checksum_every = n.max(1);
        self
    }

    /// Keeps `samples` values of each tensor that is fingerprinted, up to 16, from places that depend on
    /// the number of elements alone: so two runs can be compared element by element. Default: none.
    pub fn checksum_samples(mut self, samples: usize) -> Self {
        self.checksum_samples = samples.min(MAX_SAMPLES);
        self
    }

    /// Records one in `n` tiles of a level on each thread, drawn at random from every `n` consecutive ones.
    /// The others read no clock. At most 16,383; default: 1, every tile. `tiles.sampled_every` has `n`, and
    /// the plugin `tiles` scales its sums by it. Use it for the innermost level: rows inside a tile that is
    /// not recorded get its parent instead.
    pub fn tiles_every(mut self, level: TileLevel, n: u32) -> Self {
        self.tiles_every[level as usize] =
            n.clamp(1, trueno_format::tile::MAX_SAMPLED_EVERY) as u16;
        self
    }

    /// Records only the hash of tensors whose hash is the same as in an earlier run. Counts, moments and values are
    /// recorded for changed tensors. Default: for all tensors.
    ///
    /// `golden` is a golden file of that run (`trueno-analyze golden save RUN`), read by [`Builder::create`]. Tensors
    /// are matched by name, layer, iteration, position and occurrence. Each is still read once. An unchanged row takes
    /// one record of a ring instead of three to six. The file's hashes stay in memory, about 80 bytes each.
    pub fn checksum_baseline(mut self, golden: impl Into<PathBuf>) -> Self {
        self.checksum_baseline = Some(golden.into());
        self
    }

    /// Sets a label for people, stored in `run.json`.
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }
}
