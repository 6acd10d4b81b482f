//! Work of devices, and the calls that asked for it.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use trueno_analysis::intervals::IntervalSet;
use trueno_analysis::name_groups::NameGroups;
use trueno_analysis::vendors;
use trueno_plugin::{Result, Run, Table, rank};

use super::Window;

#[derive(Clone, Debug, PartialEq)]
pub struct Work {
    pub id: u64,
    /// Kernel name or transfer direction, as an index into `Device::names`.
    pub name: u32,
    /// `None`: not recorded, which happens only for transfers.
    pub device: Option<i64>,
    pub stream: Option<i64>,
    /// Clipped to the window.
    pub start_ns: i64,
    pub end_ns: i64,
    /// The call that launched it, or if that was not recorded the brick.
    pub launch: Option<(i64, i64)>,
    pub is_call_recorded: bool,
    pub blocks: Option<i64>,
    pub threads: Option<i64>,
    pub copy: Option<Copy>,
    /// Brick in which it was launched, as an index into `Device::names`.
    pub within: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copy {
    pub bytes: Option<u64>,
    /// The host waits for it: the copy is synchronous or uses pageable memory.
    pub blocks: bool,
    pub is_pageable: bool,
    /// Pages of unified memory that the driver moved by itself.
    pub is_migration: bool,
    pub brick: Option<u64>,
}

impl Work {
    pub fn is_kernel(&self) -> bool {
        self.copy.is_none()
    }

    /// Returns whether this is a copy that the host waits for.
    pub fn blocks(&self) -> bool {
        self.copy.is_some_and(|copy| copy.blocks)
    }

    pub fn dur_ns(&self) -> i64 {
        self.end_ns.saturating_sub(self.start_ns)
    }

    /// Returns whether this is a blocking copy of at most `bytes`, so small that the host really waits for the
    /// device.
    pub fn is_read_back(&self, bytes: u64) -> bool {
        let is_small = |copy: Copy| copy.blocks && copy.bytes.is_some_and(|all| all <= bytes);
        // A call that came back before the copy ended held nobody.
        self.copy.is_some_and(is_small) && self.launch.is_some_and(|(_, to)| to >= self.end_ns)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    pub id: u64,
    pub thread: Option<i64>,
    pub start_ns: i64,
    pub end_ns: i64,
    /// It waited for host tasks, not for a device.
    pub is_join: bool,
    /// It waited for a device, a stream or an event.
    pub is_of_device: bool,
    /// The thread could run but had no processor.
    pub is_runnable: bool,
    /// Nothing is known except that the thread did not run.
    pub is_off_cpu: bool,
}

impl Wait {
    /// False if it was for tasks, or if only a scheduler reports that the thread did not run.
    pub fn may_be_for_device(&self) -> bool {
        !self.is_join && !self.is_runnable && !self.is_off_cpu
    }
}

/// Name and compute capability of a device, as recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Model {
    pub name: Option<String>,
    /// Major and minor number of its compute capability.
    pub capability: Option<(u32, u32)>,
}

#[derive(Clone, Debug, Default)]
pub struct Device {
    pub work: Vec<Work>,
    /// Indices of the work of each device, made when they are first used: `work` does not change then.
    by_device: OnceLock<BTreeMap<Option<i64>, Vec<usize>>>,
    pub names: Vec<String>,
    /// By start, without blocking copies.
    pub waits: Vec<Wait>,
    /// Ends of waits for devices by rank, sorted.
    returns_ns: BTreeMap<u64, Vec<i64>>,
    pub bound: u64,
    pub invalid: u64,
    /// By device: the number of kernels that ran inside the call that launched them, and of all with a known
    /// call.
    pub inside_calls: BTreeMap<i64, (u64, u64)>,
    /// Lower quartile of the durations of calls that launch one kernel. Longer ones may have waited or loaded
    /// code. `None`: no such call was recorded.
    pub usual_call_ns: Option<i64>,
    calls: Vec<(i64, i64)>,
    pub least_way_ns: Option<i64>,
    model: Option<String>,
    /// By number of the device; `None`: its place in the run has no number.
    models: Vec<(Option<i64>, Model)>,
    /// Multiprocessors of the smallest device; `None`: not recorded.
    pub multiprocessors: Option<i64>,
    /// Memory of a device was in use when the recording began, so the process may have launched work before.
    pub was_in_use: bool,
    /// By kernel, how long the tasks of a collective waited while none moved data.
    pub collective_waits: BTreeMap<u64, i64>,
}

struct Numbers<'a> {
    groups: &'a NameGroups,
    by_name: BTreeMap<String, u32>,
}

impl Device {
    /// Reads inputs `kernels`, `transfers` and `waits`.
    ///
    /// # Errors
    /// An input lacks a column or has it in another type.
    pub fn load(run: &mut Run, window: &Window, groups: &NameGroups) -> Result<Self> {
        let mut out = Self::default();
        let mut numbers = Numbers {
            groups,
            by_name: BTreeMap::new(),
        };
        let kernels = run.table("kernels")?;
        out.rows(&kernels, "name", window, &mut numbers)?;
        out.usual_call_ns = usual_call_ns(std::mem::take(&mut out.calls));
        let devices = run.table("device_sizes")?;
        let mut models = devices.text("name")?.iter().flatten();
        out.model = models.find(|model| !model.is_empty()).map(str::to_owned);
        out.models = models_of(&devices)?;
        let sizes = devices.i64("multiprocessors")?.iter().flatten().min();
        out.multiprocessors = sizes.filter(|count| *count > 0);
        out.was_in_use = !run.table("live_before")?.is_empty();
        let transfers = run.table("transfers")?;
        out.rows(&transfers, "direction", window, &mut numbers)?;
        out.work
            .sort_by_key(|work| (work.start_ns, work.end_ns, work.id));
        let waits = run.table("collective_waits")?;
        let (id, wait) = (waits.u64("id")?, waits.i64("wait_ns")?);
        let of_row = |row: usize| Some((id.get(row)?, wait.get(row)?));
        out.collective_waits = (0..waits.rows()).filter_map(of_row).collect();
        let waits = run.table("waits")?;
        let (id, kind, thread) = (waits.u64("id")?, waits.text("kind")?, waits.i64("thread")?);
        let (start, dur) = (waits.i64("start_ns")?, waits.i64("dur_ns")?);
        for row in 0..waits.rows() {
            let times = (start.get(row), dur.get(row));
            if let (Some(id), (Some(start_ns), Some(dur_ns)), Some(_)) =
                (id.get(row), times, window.row(times.0, times.1))
            {
                out.waits.push(Wait {
                    id,
                    thread: thread.get(row),
                    start_ns,
                    end_ns: start_ns.saturating_add(dur_ns),
                    is_join: kind.get(row) == Some("join"),
                    is_of_device: matches!(kind.get(row), Some("device" | "stream" | "event")),
                    is_runnable: kind.get(row) == Some("runnable"),
                    is_off_cpu: kind.get(row) == Some("off_cpu"),
                });
            }
        }
        for wait in out.waits.iter().filter(|wait| wait.may_be_for_device()) {
            let of = out.returns_ns.entry(rank::of_key(wait.id)).or_default();
            of.push(wait.end_ns);
        }
        for of in out.returns_ns.values_mut() {
            of.sort_unstable();
        }
        Ok(out)
    }

    fn rows(
        &mut self,
        table: &Table,
        name: &str,
        window: &Window,
        numbers: &mut Numbers<'_>,
    ) -> Result<()> {
        let is_copy = name == "direction";
        let (id, name) = (table.u64("id")?, table.text(name)?);
        let (device, stream) = (table.i64("device")?, table.i64("stream")?);
        let (start, dur, bound) = (
            table.i64("start_ns")?,
            table.i64("dur_ns")?,
            table.bool("is_bound")?,
        );
        let (called, returned) = (table.i64("called_ns")?, table.i64("returned_ns")?);
        let (brick, brick_end) = (table.i64("brick_ns")?, table.i64("brick_end_ns")?);
        let within = table.text("brick_name")?;
        let valid = (!is_copy).then(|| table.bool("valid")).transpose()?;
        let grid = |column: &str| (!is_copy).then(|| table.i64(column)).transpose();
        let (blocks, threads) = (grid("blocks")?, grid("threads")?);
        let bytes = is_copy.then(|| table.u64("bytes")).transpose()?;
        let is_async = is_copy.then(|| table.bool("is_async")).transpose()?;
        let of = is_copy.then(|| table.u64("brick")).transpose()?;
        let kind = |name: &str| is_copy.then(|| table.text(name)).transpose();
        let (from, to) = (kind("src_kind")?, kind("dst_kind")?);
        let mut last = None;
        for row in 0..table.rows() {
            // Several calls of one correlation: the first is the outer one.
            let (Some(id), Some(text)) = (id.get(row), name.get(row)) else {
                continue;
            };
            if last.replace(id) == Some(id) {
                continue;
            }
            let is_valid = valid.and_then(|valid| valid.get(row)) != Some(false);
            if bound.get(row) == Some(true) || !is_valid {
                self.bound += 1;
                self.invalid += u64::from(!is_valid);
                continue;
            }
            let Some((start_ns, end_ns)) = window.row(start.get(row), dur.get(row)) else {
                continue;
            };
            let call = called.get(row).zip(returned.get(row));
            if let Some((from_ns, to_ns)) = call.filter(|_| !is_copy) {
                self.calls.push((from_ns, to_ns));
                let of_device = self.inside_calls.entry(device.get(row).unwrap_or(0));
                let (inside, all) = of_device.or_default();
                *inside += u64::from(from_ns <= start_ns && end_ns <= to_ns);
                *all += 1;
                let way_ns = start_ns.saturating_sub(to_ns).max(0);
                let least_ns = self.least_way_ns.get_or_insert(way_ns);
                *least_ns = way_ns.min(*least_ns);
            }
            let copy = if is_copy {
                let kinds = [from, to].map(|kind| kind.and_then(|kind| kind.get(row)));
                let is_pageable = kinds.contains(&Some("pageable"));
                let is_async = is_async.and_then(|is| is.get(row));
                Some(Copy {
                    bytes: bytes.and_then(|bytes| bytes.get(row)),
                    blocks: is_pageable || is_async == Some(false),
                    is_pageable,
                    // A prefetch of the program is an asynchronous copy.
                    is_migration: kinds == [Some("managed"); 2]
                        && call.is_none()
                        && is_async != Some(true),
                    brick: of.and_then(|of| of.get(row)),
                })
            } else {
                None
            };
            let number = self.number(text, numbers);
            let within = within.get(row).map(|text| self.number(text, numbers));
            self.work.push(Work {
                id,
                name: number,
                within,
                device: device.get(row),
                stream: stream.get(row),
                start_ns,
                end_ns,
                is_call_recorded: call.is_some(),
                launch: call.or_else(|| brick.get(row).zip(brick_end.get(row))),
                blocks: blocks.and_then(|blocks| blocks.get(row)),
                threads: threads.and_then(|threads| threads.get(row)),
                copy,
            });
        }
        Ok(())
    }

    fn number(&mut self, text: &str, numbers: &mut Numbers<'_>) -> u32 {
        if let Some(number) = numbers.by_name.get(text) {
            return *number;
        }
        let group = numbers.groups.group(text);
        let number = match numbers.by_name.get(group) {
            Some(number) => *number,
            None => {
                self.names.push(group.to_owned());
                self.names.len() as u32 - 1
            }
        };
        numbers.by_name.insert(group.to_owned(), number);
        numbers.by_name.insert(text.to_owned(), number);
        number
    }

    /// What the devices are called.
    pub fn accelerator(&self) -> &'static str {
        let names = self.names.iter().map(String::as_str);
        vendors::accelerator(self.model.as_deref(), names)
    }

    /// The model of a device: as recorded for it, or of all devices if they are alike.
    pub fn model(&self, device: i64) -> Option<&Model> {
        let mut models = self.models.iter();
        let own = models.find(|(number, _)| *number == Some(device));
        let first = self.models.first();
        let alike = first.filter(|first| self.models.iter().all(|one| one.1 == first.1));
        own.or(alike).map(|(_, model)| model)
    }

    pub fn devices(&self) -> Vec<i64> {
        let mut out: Vec<i64> = self
            .work
            .iter()
            .filter(|work| work.is_kernel())
            .filter_map(|work| work.device)
            .collect();
        out.sort_unstable();
        out.dedup();
        out
    }

    pub fn has_unknown(&self) -> bool {
        self.work.iter().any(|work| work.device.is_none())
    }

    fn indices(&self, device: Option<i64>) -> &[usize] {
        let by_device = self.by_device.get_or_init(|| {
            let mut all: BTreeMap<Option<i64>, Vec<usize>> = BTreeMap::new();
            for (at, work) in self.work.iter().enumerate() {
                all.entry(work.device).or_default().push(at);
            }
            all
        });
        by_device.get(&device).map_or(&[], Vec::as_slice)
    }

    /// By rank, when its last device work was launched; when it started, if no launch is recorded.
    pub fn last_launches_ns(&self) -> BTreeMap<u64, i64> {
        let mut out = BTreeMap::new();
        for work in &self.work {
            let ns = work.launch.map_or(work.start_ns, |launch| launch.0);
            let last = out.entry(rank::of_key(work.id)).or_insert(ns);
            *last = ns.max(*last);
        }
        out
    }

    /// Work of a device, in the order of `work`. `None`: where the device is not recorded.
    pub fn of(&self, device: Option<i64>) -> impl Iterator<Item = &Work> + Clone {
        self.indices(device).iter().map(|at| &self.work[*at])
    }

    /// Work that ran on a device, or may have, as its device is not recorded.
    pub fn possibly_of(&self, device: i64) -> Vec<&Work> {
        let unknown = self.indices(None);
        let mut indices = [self.indices(Some(device)), unknown].concat();
        if !unknown.is_empty() {
            indices.sort_unstable();
        }
        indices.into_iter().map(|at| &self.work[at]).collect()
    }

    /// Times of work that `wanted` accepts, on `device`; `None`: on all devices.
    pub fn busy(&self, device: Option<i64>, wanted: impl Fn(&Work) -> bool) -> IntervalSet<i64> {
        let times = |work: &Work| (work.start_ns, work.end_ns);
        match device {
            None => {
                let all = self.work.iter().filter(|work| wanted(work));
                all.map(times).collect()
            }
            device => {
                let own = self.of(device).filter(|work| wanted(work));
                own.map(times).collect()
            }
        }
    }

    pub fn has_wait_ending(&self, rank: u64, from_ns: i64, until_ns: i64) -> bool {
        let Some(returns_ns) = self.returns_ns.get(&rank) else {
            return false;
        };
        let at = returns_ns.partition_point(|end| *end < from_ns);
        returns_ns.get(at).is_some_and(|end| *end <= until_ns)
    }

    pub fn name(&self, work: &Work) -> &str {
        &self.names[work.name as usize]
    }
}

fn models_of(devices: &Table) -> Result<Vec<(Option<i64>, Model)>> {
    let (place, name) = (devices.text("device")?, devices.text("name")?);
    let capability = devices.text("compute_capability")?;
    let of_row = |row: usize| {
        let number = place.get(row).and_then(|place| place.strip_prefix("gpu:"));
        let number = number.and_then(|number| number.parse().ok());
        let (major, minor) = capability.get(row)?.split_once('.')?;
        let model = Model {
            name: name.get(row).map(str::to_owned),
            capability: major.parse().ok().zip(minor.parse().ok()),
        };
        Some((number, model))
    };
    Ok((0..devices.rows()).filter_map(of_row).collect())
}

/// Leaves out graph launches: one call launches many kernels.
fn usual_call_ns(mut calls: Vec<(i64, i64)>) -> Option<i64> {
    calls.sort_unstable();
    let single = calls.chunk_by(|a, b| a == b).filter(|of| of.len() == 1);
    let mut times: Vec<i64> = single.map(|of| of[0].1.saturating_sub(of[0].0)).collect();
    times.sort_unstable();
    times.get(times.len().saturating_sub(1) / 4).copied()
}

/// The device's name in tables; `a GPU` if none was recorded.
pub fn name_of(device: Option<i64>) -> String {
    device.map_or_else(|| "a GPU".to_owned(), device_name)
}

pub fn condition(device: Option<i64>) -> String {
    device.map_or_else(
        || "device IS NULL".to_owned(),
        |device| format!("device = {device}"),
    )
}

/// `gpu0`, or `rank 1 gpu0` in a run of several ranks.
pub fn device_name(device: i64) -> String {
    match (device >> 16, device & 0xffff) {
        (0, device) => format!("gpu{device}"),
        (rank, device) => format!("rank {rank} gpu{device}"),
    }
}
