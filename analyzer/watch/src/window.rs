//! Sums over the last seconds, made from events as they come.
//!
//! Time is cut into slots. A row's own time, that is its duration without the rows right inside it, is added to the
//! slots that it lies in as soon as the row has ended; slots that have left the window are dropped. So memory is that
//! of the names of a window and of the rows that are open, whatever the length of the run and the number of events.
//!
//! The time of a kernel counts to the brick around it; outside of bricks it stands for itself.

use std::collections::{BTreeMap, VecDeque};

use trueno_analysis::hash::FastMap;
use trueno_format::observe::{Event, EventKind};

/// Limit on open rows. If there are more, parent ids are wrong.
const MAX_OPEN: usize = 1 << 16;
/// Limit on kernels of an open row that are searched for an equal name.
const MAX_LOOKED_AT: usize = 64;
/// Events further ahead of the clock are damaged.
const MAX_AHEAD_NS: i64 = 10_000_000_000;

/// Identifies rows that are summed together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Label {
    pub kind: EventKind,
    pub name: u32,
    /// Number of the category stated by the program; 0 for none.
    pub category: u32,
}

/// Identifies kernels that are summed together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KernelLabel {
    /// On a thread, on a device, or on a device that reported no times.
    pub kind: EventKind,
    pub name: u32,
    pub backend: u32,
    pub device: Option<u32>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RowSum {
    pub time_ns: u64,
    pub ended: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KernelSum {
    pub calls: u64,
    pub time_ns: u64,
    /// Calls that state both floating-point operations and bytes.
    pub stated_calls: u64,
    pub stated_ns: u64,
    pub flops: u64,
    pub bytes: u64,
    /// Calls that state no FLOPs.
    pub without_flops: u64,
    /// Calls that state FLOPs but no bytes.
    pub without_bytes: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct IterationSum {
    pub ended: u64,
    pub time_ns: u64,
    pub longest_ns: u64,
    /// `None` if no iteration declares any.
    pub tokens: Option<f64>,
    /// `None` if no iteration declares any.
    pub samples: Option<f64>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sums {
    pub from_ns: i64,
    pub to_ns: i64,
    pub rows: BTreeMap<Label, RowSum>,
    pub kernels: BTreeMap<KernelLabel, KernelSum>,
    pub iterations: IterationSum,
    /// Rows that have not ended, but contain rows that ended in the window.
    pub open_rows: u64,
}

impl Sums {
    pub fn length_ns(&self) -> i64 {
        self.to_ns - self.from_ns
    }

    pub fn covered_ns(&self) -> u64 {
        self.rows.values().map(|sum| sum.time_ns).sum()
    }
}

#[derive(Default)]
struct Slot {
    rows: FastMap<Label, RowSum>,
    kernels: FastMap<KernelLabel, KernelSum>,
    iterations: IterationSum,
}

#[derive(Clone, Copy, Default)]
enum Declared {
    #[default]
    Nothing,
    Once(f64),
    Twice,
}

/// A row that has not ended, as far as rows inside it show.
#[derive(Default)]
struct OpenRow {
    /// Time of its direct children, by slot.
    inside_ns: Vec<(i64, u64)>,
    /// Its direct kernels, by slot: name, time, and whether they ended there.
    kernels: Vec<(i64, Label, RowSum)>,
    latest_ns: i64,
    /// A nested row has ended inside it.
    is_open: bool,
    tokens: Declared,
    samples: Declared,
}

impl OpenRow {
    fn add_kernel(&mut self, slot: i64, label: Label, time_ns: u64, ended: u64) {
        let newest = self.kernels.iter_mut().rev().take(MAX_LOOKED_AT);
        let mut same = newest.filter(|(at, of, _)| (*at, *of) == (slot, label));
        match same.next() {
            Some((.., sum)) => {
                sum.time_ns += time_ns;
                sum.ended += ended;
            }
            None => self.kernels.push((slot, label, RowSum { time_ns, ended })),
        }
    }
}

impl Declared {
    fn add(&mut self, value: f64) {
        *self = match self {
            Self::Nothing => Self::Once(value),
            _ => Self::Twice,
        };
    }

    fn add_to(self, sum: &mut Option<f64>) {
        if let Self::Once(value) = self {
            *sum = Some(sum.unwrap_or(0.0) + value);
        }
    }
}

/// Name numbers of the counters that iterations declare.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CounterNames {
    pub tokens: Option<u32>,
    pub samples: Option<u32>,
}

pub struct Window {
    slot_ns: i64,
    length: i64,
    first: i64,
    slots: VecDeque<Slot>,
    open: FastMap<u64, OpenRow>,
    now_ns: i64,
    pub counters: CounterNames,
}

impl Window {
    pub fn new(slot_ns: i64, slots: usize) -> Self {
        Self {
            slot_ns: slot_ns.max(1),
            length: slots.max(1) as i64,
            first: 0,
            slots: VecDeque::new(),
            open: FastMap::default(),
            now_ns: 0,
            counters: CounterNames::default(),
        }
    }

    /// Advances the window and forgets what lies before it.
    pub fn advance(&mut self, now_ns: i64) {
        self.now_ns = self.now_ns.max(now_ns);
        let first = (self.now_ns.div_euclid(self.slot_ns) - self.length).max(0);
        if first <= self.first {
            return;
        }
        let gone = (first - self.first).min(self.slots.len() as i64);
        self.slots.drain(..gone as usize);
        self.first = first;
        let from_ns = first * self.slot_ns;
        self.open.retain(|_, row| {
            row.inside_ns.retain(|(slot, _)| *slot >= first);
            row.kernels.retain(|(slot, ..)| *slot >= first);
            row.latest_ns >= from_ns
        });
    }

    /// Adds an event. Events of a thread must be in order of their ends.
    pub fn add(&mut self, event: &Event) {
        if event.end_ns > self.now_ns + MAX_AHEAD_NS {
            return;
        }
        match event.kind {
            EventKind::Counter => self.counter(event),
            EventKind::DeviceKernel | EventKind::UntimedDeviceKernel => self.kernel(event),
            EventKind::Transfer => {}
            _ => self.row(event),
        }
    }

    fn counter(&mut self, event: &Event) {
        let name = Some(event.name);
        let (is_tokens, is_samples) = (name == self.counters.tokens, name == self.counters.samples);
        if !(is_tokens || is_samples) {
            return;
        }
        let Some(row) = self.open_row(event.parent, event.end_ns) else {
            return;
        };
        if is_tokens {
            row.tokens.add(event.value)
        } else {
            row.samples.add(event.value)
        }
    }

    fn kernel(&mut self, event: &Event) {
        let label = KernelLabel {
            kind: event.kind,
            name: event.name,
            backend: event.backend,
            device: event.device,
        };
        let time_ns = (event.end_ns - event.start_ns).max(0) as u64;
        let Some(slot) = self.slot(event.end_ns.div_euclid(self.slot_ns)) else {
            return;
        };
        let sum = slot.kernels.entry(label).or_default();
        sum.calls += 1;
        sum.time_ns += time_ns;
        match (event.flops, event.bytes) {
            (Some(flops), Some(bytes)) => {
                sum.stated_calls += 1;
                sum.stated_ns += time_ns;
                sum.flops = sum.flops.saturating_add(flops);
                sum.bytes = sum.bytes.saturating_add(bytes);
            }
            (None, _) => sum.without_flops += 1,
            (Some(_), None) => sum.without_bytes += 1,
        }
    }

    fn row(&mut self, event: &Event) {
        let inside = self.open.remove(&event.id).unwrap_or_default();
        // Rows of other threads go on beside it.
        let around = event.parent_on_thread();
        let is_kernel = event.kind == EventKind::Kernel;
        if is_kernel {
            self.kernel(event);
        }
        // Kernels inside of a brick are a part of it; those that lie in an iteration, a layer or a wait stand alone.
        let takes_kernels = !matches!(
            event.kind,
            EventKind::Iteration | EventKind::Layer | EventKind::Wait
        );
        let label = Label {
            kind: event.kind,
            name: event.name,
            category: event.category,
        };
        let last = event.end_ns.div_euclid(self.slot_ns);
        let first = event.start_ns.div_euclid(self.slot_ns).max(self.first);
        for number in first..=last {
            let begin = number * self.slot_ns;
            let end = event.end_ns.min(begin + self.slot_ns);
            let whole = (end - event.start_ns.max(begin)).max(0) as u64;
            let of_slot = inside.inside_ns.iter().filter(|(slot, _)| *slot == number);
            let mut taken: u64 = of_slot.map(|(_, ns)| *ns).sum();
            if !takes_kernels {
                let of_slot = inside.kernels.iter().filter(|(slot, ..)| *slot == number);
                for (_, kernel, sum) in of_slot {
                    taken += sum.time_ns;
                    self.add_row(number, *kernel, *sum);
                }
            }
            let sum = RowSum {
                // Rows that began on other threads need not nest.
                time_ns: whole.saturating_sub(taken),
                ended: u64::from(number == last),
            };
            match (is_kernel, around) {
                (true, Some(_)) => {
                    if let Some(around) = self.open_row(around, event.end_ns) {
                        // With the time of rows in it.
                        around.is_open = true;
                        around.add_kernel(number, label, whole, sum.ended);
                    }
                }
                _ => {
                    self.add_row(number, label, sum);
                    if let Some(around) = self.open_row(around, event.end_ns) {
                        around.is_open |= !event.is_detached;
                        match around.inside_ns.last_mut() {
                            Some((slot, ns)) if *slot == number => *ns += whole,
                            _ => around.inside_ns.push((number, whole)),
                        }
                    }
                }
            }
        }
        if event.kind == EventKind::Iteration
            && let Some(slot) = self.slot(last)
        {
            let sum = &mut slot.iterations;
            let time_ns = (event.end_ns - event.start_ns).max(0) as u64;
            sum.ended += 1;
            sum.time_ns += time_ns;
            sum.longest_ns = sum.longest_ns.max(time_ns);
            inside.tokens.add_to(&mut sum.tokens);
            inside.samples.add_to(&mut sum.samples);
        }
    }

    fn add_row(&mut self, number: i64, label: Label, sum: RowSum) {
        if let Some(slot) = self.slot(number) {
            let row = slot.rows.entry(label).or_default();
            row.time_ns += sum.time_ns;
            row.ended += sum.ended;
        }
    }

    fn open_row(&mut self, id: Option<u64>, latest_ns: i64) -> Option<&mut OpenRow> {
        let id = id?;
        if self.open.len() >= MAX_OPEN && !self.open.contains_key(&id) {
            return None;
        }
        let row = self.open.entry(id).or_default();
        row.latest_ns = row.latest_ns.max(latest_ns);
        Some(row)
    }

    /// A slot that is in the window or will be.
    fn slot(&mut self, number: i64) -> Option<&mut Slot> {
        let at = usize::try_from(number - self.first).ok()?;
        while self.slots.len() <= at {
            self.slots.push_back(Slot::default());
        }
        self.slots.get_mut(at)
    }

    /// Sums over the last full slots, but only from `complete_from_ns` on, before which events are missing.
    pub fn sums(&self, complete_from_ns: i64) -> Sums {
        let end = self.now_ns.div_euclid(self.slot_ns);
        let complete = complete_from_ns.max(0).saturating_add(self.slot_ns - 1);
        let from = (end - self.length)
            .max(self.first)
            .max(complete.div_euclid(self.slot_ns))
            .min(end);
        let mut sums = Sums {
            from_ns: from * self.slot_ns,
            to_ns: end * self.slot_ns,
            ..Sums::default()
        };
        for number in from..end {
            let Some(slot) = usize::try_from(number - self.first)
                .ok()
                .and_then(|at| self.slots.get(at))
            else {
                continue;
            };
            for (label, sum) in &slot.rows {
                let row = sums.rows.entry(*label).or_default();
                row.time_ns += sum.time_ns;
                row.ended += sum.ended;
            }
            for (label, sum) in &slot.kernels {
                let all = sums.kernels.entry(*label).or_default();
                all.calls += sum.calls;
                all.time_ns += sum.time_ns;
                all.stated_calls += sum.stated_calls;
                all.stated_ns += sum.stated_ns;
                all.flops = all.flops.saturating_add(sum.flops);
                all.bytes = all.bytes.saturating_add(sum.bytes);
                all.without_flops += sum.without_flops;
                all.without_bytes += sum.without_bytes;
            }
            let (all, part) = (&mut sums.iterations, &slot.iterations);
            all.ended += part.ended;
            all.time_ns += part.time_ns;
            all.longest_ns = all.longest_ns.max(part.longest_ns);
            for (all, part) in [
                (&mut all.tokens, part.tokens),
                (&mut all.samples, part.samples),
            ] {
                if let Some(part) = part {
                    *all = Some(all.unwrap_or(0.0) + part);
                }
            }
        }
        let from_ns = sums.from_ns;
        let is_open = |row: &&OpenRow| row.is_open && row.latest_ns >= from_ns;
        sums.open_rows = self.open.values().filter(is_open).count() as u64;
        sums
    }
}

#[cfg(test)]
#[path = "window_tests.rs"]
mod tests;
