//! From the published tables to lanes.

use std::collections::BTreeMap;

use trueno_plugin::rank::of_key;
use trueno_plugin::{Result, counted};

use super::categories::{INHERITED, OUTSIDE, RESERVED, WAITING};
use super::elements::ElementsCache;
use super::inherit::inherit;
use super::rows::{Filler, Filling, Rows};
use super::rules::{Rules, plain};
use super::span::{Class, Label, Labels, Lane, LaneKey, LaneKind, NO_ELEMENTS, Span};
use crate::hash::FastMap;
use crate::id_index::IdIndex;
use crate::interner::Texts;
use crate::name_groups::NameGroups;
use crate::source::Source;
use crate::start_order::sort_by_start;
use crate::vendors;
use crate::waits::names_a_wait;
use crate::window::Window;

/// Rows that became no interval, and why.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// `timing = bound`: only known to contain the work.
    pub bound: u64,
    /// Kernels with `valid = false`.
    pub invalid: u64,
    /// A negative duration, or an end beyond the range of times.
    pub impossible: u64,
}

impl LeftOut {
    /// Number of rows.
    pub fn rows(&self) -> u64 {
        self.bound + self.invalid + self.impossible
    }

    /// The reasons that apply, with their counts, as text.
    pub fn reasons(&self) -> String {
        let reasons = [
            (
                self.bound,
                counted(
                    self.bound,
                    "bound row, whose time is only an upper bound of its work",
                    "bound rows, whose times are only upper bounds of their work",
                ),
            ),
            (
                self.invalid,
                counted(
                    self.invalid,
                    "kernel marked not valid",
                    "kernels marked not valid",
                ),
            ),
            (
                self.impossible,
                counted(
                    self.impossible,
                    "row with an impossible duration",
                    "rows with an impossible duration",
                ),
            ),
        ];
        let reasons = reasons.into_iter().filter(|(rows, _)| *rows > 0);
        let texts: Vec<String> = reasons.map(|(_, text)| text).collect();
        texts.join("; ")
    }
}

/// A run as lanes.
pub struct Lanes {
    /// Host threads by number, then device streams.
    pub lanes: Vec<Lane>,
    /// Labels that [`Span::label`] refers to.
    pub labels: Labels,
    /// Texts that labels refer to; the first four are categories ([`OUTSIDE`] and its neighbours).
    pub texts: Texts,
    /// Declared elements, most values once; see [`Span::elements`].
    pub elements: Vec<u64>,
    /// Start of the window on the run's timeline; times here are counted from it.
    pub origin_ns: i64,
    /// True if the window is a part that was asked for.
    pub is_part: bool,
    /// Length of the window; up to the last end where the run has no end.
    pub wall_ns: i64,
    /// Length of the whole recording, counted from its own start; `None`: not recorded.
    pub recorded_ns: Option<i64>,
    /// Rows wholly outside the part that was asked for.
    pub outside: u64,
    /// Rows that became no interval.
    pub left_out: LeftOut,
    /// Bound rows by kind of lane and label.
    pub bound: BTreeMap<(LaneKind, u32), u64>,
}

impl Default for Lanes {
    fn default() -> Self {
        Self {
            lanes: Vec::new(),
            labels: Labels::default(),
            texts: Texts::from_iter(RESERVED),
            elements: Vec::new(),
            origin_ns: 0,
            is_part: false,
            wall_ns: 0,
            recorded_ns: None,
            outside: 0,
            left_out: LeftOut::default(),
            bound: BTreeMap::new(),
        }
    }
}

/// Reads all of [`INPUTS`](super::INPUTS).
///
/// Bound, invalid and impossible rows become no intervals and are counted. A
/// row with a device lies on its stream; a wait lies on the thread that waited.
///
/// # Errors
/// An input lacks a column or has it in another type.
pub fn load(run: &mut impl Source) -> Result<Lanes> {
    let mut loader = Loader {
        rules: Rules::read(run)?,
        groups: NameGroups::read(run)?,
        window: Window::read(run)?,
        of_ranks: !run.table("ranks")?.is_missing(),
        ..Loader::default()
    };
    if let Some(window) = loader.window {
        (loader.out.origin_ns, loader.out.is_part) = (window.from_ns, true);
    }
    let bricks = loader.bricks(run)?;
    for table in &WORK {
        loader.work(run, table, &bricks)?;
    }
    drop(bricks);
    loader.finish(run)
}

struct WorkTable {
    input: &'static str,
    texts: &'static str,
    name_id: &'static str,
    kind: &'static str,
    class: Class,
}

const WORK: [WorkTable; 5] = [
    WorkTable {
        input: "kernels",
        texts: "kernel_names",
        name_id: "name_id",
        kind: "kernel",
        class: Class::Kernel,
    },
    WorkTable {
        input: "tiles",
        texts: "tile_levels",
        name_id: "level_id",
        kind: "tile",
        class: Class::Tile,
    },
    WorkTable {
        input: "syncs",
        texts: "sync_kinds",
        name_id: "kind_id",
        kind: "sync",
        class: Class::Wait,
    },
    WorkTable {
        input: "calls",
        texts: "call_names",
        name_id: "name_id",
        kind: "call",
        class: Class::Call,
    },
    WorkTable {
        input: "transfers",
        texts: "transfer_directions",
        name_id: "direction_id",
        kind: "transfer",
        class: Class::Transfer,
    },
];

#[derive(Default)]
struct Loader {
    out: Lanes,
    rules: Rules,
    groups: NameGroups,
    window: Option<Window>,
    of_ranks: bool,
    lanes: BTreeMap<LaneKey, Filling>,
    elements: ElementsCache,
}

impl Loader {
    /// Reads the bricks; returns the category of each by its id.
    fn bricks(&mut self, run: &mut impl Source) -> Result<IdIndex<u32>> {
        let kinds = self.out.texts.read_distinct(run, "brick_kinds")?;
        let mut names = self.out.texts.read_distinct(run, "brick_names")?;
        self.groups.apply(&mut names, &mut self.out.texts);
        let categories = self.out.texts.read_distinct(run, "brick_categories")?;
        let mut labels: FastMap<(i64, i64, Option<i64>), (u32, u32)> = FastMap::default();
        let mut lane = Filler::default();
        let (mut ids, mut categories_of_ids) = (Vec::new(), Vec::new());
        let mut batches = run.batches("bricks")?;
        while let Some(batch) = batches.next_batch()? {
            let rows = Rows::read(&batch)?;
            let (kind_id, name_id) = (batch.i64("kind_id")?, batch.i64("name_id")?);
            let category_id = batch.i64("category_id")?;
            for row in 0..batch.rows() {
                let found = (kind_id.value(row), name_id.value(row), category_id.get(row));
                let (label, category) = match labels.get(&found) {
                    Some(&known) => known,
                    None => {
                        let label = self.brick_label(found, [&kinds, &names, &categories])?;
                        let known = (self.out.labels.number(label), label.category);
                        labels.insert(found, known);
                        known
                    }
                };
                ids.push(rows.id.value(row));
                categories_of_ids.push(category);
                self.row(&rows, row, self.thread(&rows, row), label, true, &mut lane);
            }
        }
        lane.back(&mut self.lanes);
        let both = || ids.iter().copied().zip(categories_of_ids.iter().copied());
        Ok(IdIndex::new(both))
    }

    fn brick_label(
        &mut self,
        (kind, name, category): (i64, i64, Option<i64>),
        [kinds, names, categories]: [&FastMap<i64, u32>; 3],
    ) -> Result<Label> {
        let kind = self.known(kinds, kind, "brick_kinds")?;
        let name = self.known(names, name, "brick_names")?;
        let class = match self.out.texts.text(kind) {
            "run" | "iteration" | "layer" => Class::Scope,
            "task" => Class::Task,
            _ => Class::Brick,
        };
        let category = match (class, category) {
            (Class::Scope, _) => OUTSIDE,
            (_, Some(id)) => self.known(categories, id, "brick_categories")?,
            (_, None) => self.rules.brick_category(name, &mut self.out.texts),
        };
        Ok(Label {
            class,
            kind,
            name,
            category,
        })
    }

    /// Reads another table. Rows whose link matches no brick are attributed by nesting.
    fn work(
        &mut self,
        run: &mut impl Source,
        table: &WorkTable,
        bricks: &IdIndex<u32>,
    ) -> Result<()> {
        let mut names = self.out.texts.read_distinct(run, table.texts)?;
        self.groups.apply(&mut names, &mut self.out.texts);
        let kind = self.out.texts.number(table.kind);
        let mut labels: FastMap<(i64, u32), u32> = FastMap::default();
        let mut lane = Filler::default();
        let mut batches = run.batches(table.input)?;
        while let Some(batch) = batches.next_batch()? {
            let rows = Rows::read(&batch)?;
            let name_id = batch.i64(table.name_id)?;
            let brick = batch.has("brick").then(|| batch.u64("brick")).transpose()?;
            let valid = batch
                .has("valid")
                .then(|| batch.bool("valid"))
                .transpose()?;
            for row in 0..batch.rows() {
                let around = match (table.class, brick) {
                    (Class::Wait, _) => WAITING,
                    (_, None) => INHERITED,
                    (_, Some(brick)) => {
                        let link = brick.get(row).and_then(|brick| bricks.get(brick));
                        link.unwrap_or(INHERITED)
                    }
                };
                let found = (name_id.value(row), around);
                let label = match labels.get(&found) {
                    Some(&label) => label,
                    None => {
                        let name = self.known(&names, found.0, table.texts)?;
                        let category = match around {
                            INHERITED => INHERITED,
                            _ => {
                                let texts = &mut self.out.texts;
                                self.rules.work_category(table.class, name, around, texts)
                            }
                        };
                        let label = Label {
                            class: table.class,
                            kind,
                            name,
                            category,
                        };
                        let label = self.out.labels.number(label);
                        labels.insert(found, label);
                        label
                    }
                };
                let device = rows.device.and_then(|column| column.get(row));
                let thread = rows.thread.get(row);
                let key = match device {
                    Some(device) if table.class != Class::Wait || thread.is_none() => {
                        LaneKey::Stream(device, rows.stream.and_then(|column| column.get(row)))
                    }
                    _ => self.thread(&rows, row),
                };
                let valid = valid.is_none_or(|column| column.value(row));
                self.row(&rows, row, key, label, valid, &mut lane);
            }
        }
        lane.back(&mut self.lanes);
        Ok(())
    }

    /// The host lane of a row. Each rank has its own lane for rows without a thread.
    fn thread(&self, rows: &Rows<'_>, row: usize) -> LaneKey {
        match rows.thread.get(row) {
            None if self.of_ranks => {
                LaneKey::ThreadOfRank(of_key(rows.id.value(row)).cast_signed())
            }
            thread => LaneKey::Thread(thread),
        }
    }

    /// Adds a row as an interval, or counts why it cannot be one.
    fn row(
        &mut self,
        rows: &Rows<'_>,
        row: usize,
        key: LaneKey,
        label: u32,
        valid: bool,
        lane: &mut Filler,
    ) {
        let (start_ns, dur_ns) = (rows.start_ns.value(row), rows.dur_ns.value(row));
        let is_bound = rows.is_bound.is_some_and(|column| column.value(row));
        // What is only known to be open between two moments is on no thread.
        let is_apart = is_bound && self.out.labels.get(label).class == Class::Task;
        if !is_apart {
            let lane = lane.lane(key, &mut self.lanes);
            lane.lived(start_ns, dur_ns);
        }
        if let Some(window) = self.window {
            let end_ns = start_ns.saturating_add(dur_ns);
            let is_instant = start_ns == end_ns && window.clip(start_ns, end_ns).is_some();
            if !is_instant && !window.overlaps(start_ns, end_ns) {
                self.out.outside += 1;
                return;
            }
        }
        if is_bound {
            self.out.left_out.bound += 1;
            *self.out.bound.entry((key.kind(), label)).or_default() += 1;
            return;
        }
        if !valid {
            self.out.left_out.invalid += 1;
            return;
        }
        let times = start_ns.checked_sub(self.out.origin_ns).and_then(|start| {
            let end = start.checked_add(dur_ns).filter(|_| dur_ns >= 0)?;
            Some((start, end))
        });
        let Some((start_ns, end_ns)) = times else {
            self.out.left_out.impossible += 1;
            return;
        };
        let elements = match rows.elements.and_then(|column| column.get(row)) {
            Some(elements) => self.elements.index(elements, &mut self.out.elements),
            None => NO_ELEMENTS,
        };
        lane.lane(key, &mut self.lanes).spans.push(Span {
            start_ns,
            end_ns,
            id: rows.id.value(row),
            label,
            elements,
        });
    }

    fn finish(mut self, run: &mut impl Source) -> Result<Lanes> {
        let threads = run.table("threads")?;
        let (thread, name) = (threads.i64("thread")?, threads.text("name")?);
        let mut thread_names: BTreeMap<i64, String> = BTreeMap::new();
        for row in 0..threads.rows() {
            if let (Some(thread), Some(name)) = (thread.get(row), name.get(row)) {
                thread_names.insert(thread, name.to_owned());
            }
        }
        let inner = Inner::new(&self.out.labels, &self.out.texts);
        for (key, Filling { mut spans, life }) in self.lanes {
            sort_by_start(&mut spans);
            if matches!(key, LaneKey::Thread(_)) {
                inner.leave_out(&mut spans);
            }
            let thread_name = match key {
                LaneKey::Thread(Some(thread)) => thread_names.get(&thread).map(String::as_str),
                _ => None,
            };
            let mut lane = Lane {
                key,
                name: if self.of_ranks {
                    key.name_in_rank(thread_name)
                } else {
                    key.name(thread_name)
                },
                kind: key.kind(),
                life: life.map(|(first_ns, last_ns)| {
                    let counted = |ns: i64| ns.saturating_sub(self.out.origin_ns);
                    (counted(first_ns), counted(last_ns))
                }),
                spans,
            };
            let out = &mut self.out;
            inherit(&mut lane, &mut out.labels, &self.rules, &mut out.texts);
            self.out.lanes.push(lane);
            run.check_cancelled()?;
        }
        // A bound row lies in no sorted lane, so it can inherit nothing.
        let mut bound: BTreeMap<(LaneKind, u32), u64> = BTreeMap::new();
        for ((kind, label), count) in self.out.bound {
            let mut found = self.out.labels.get(label);
            if found.category == INHERITED {
                let texts = &mut self.out.texts;
                found.category = self
                    .rules
                    .work_category(found.class, found.name, OUTSIDE, texts);
            }
            found.category = plain(found.category);
            *bound
                .entry((kind, self.out.labels.number(found)))
                .or_default() += count;
        }
        self.out.bound = bound;
        let table = run.table("run")?;
        let recorded = table.i64("wall_ns")?.iter().next().flatten();
        self.out.recorded_ns = recorded;
        let last_end = || {
            self.out
                .lanes
                .iter()
                .flat_map(|lane| &lane.spans)
                .map(|span| span.end_ns)
                .max()
        };
        let all_ns = || recorded.or_else(last_end).unwrap_or(0).max(0);
        self.out.wall_ns = match self.window {
            Some(window) => window.length_ns(),
            None => all_ns(),
        };
        Ok(self.out)
    }

    fn known(&self, texts: &FastMap<i64, u32>, id: i64, input: &str) -> Result<u32> {
        texts.get(&id).copied().ok_or_else(|| {
            trueno_plugin::Error::bad_input(format!(
                "text number {id} is not in `{input}`, which should list all of them"
            ))
        })
    }
}

/// What the labels of a lane are, for [`Inner::leave_out`].
struct Inner {
    states_wait: Vec<bool>,
    is_of_device: Vec<bool>,
    is_of_system: Vec<bool>,
    is_off_cpu: Vec<bool>,
}

impl Inner {
    fn new(labels: &Labels, texts: &Texts) -> Self {
        let of = |class: Class, is_named: fn(&str) -> bool| {
            let labels = labels.all().iter();
            let is_it = |label: &Label| label.class == class && is_named(texts.text(label.name));
            labels.map(is_it).collect::<Vec<bool>>()
        };
        Self {
            states_wait: of(Class::Call, |name| {
                vendors::call(name).is_some() || names_a_wait(name, true)
            }),
            is_of_device: of(Class::Call, |name| vendors::call(name).is_some()),
            is_of_system: of(Class::Call, is_call_of_system),
            is_off_cpu: of(Class::Wait, |name| name == "off_cpu"),
        }
    }

    /// Removes what a call around it states better: calls of the operating system within a call of a device's API, and
    /// waits that a scheduler reports within one or within a call that waits.
    fn leave_out(&self, spans: &mut Vec<Span>) {
        let any = |of: &[bool]| of.contains(&true);
        let calls_system = any(&self.is_of_device) && any(&self.is_of_system);
        if !any(&self.is_off_cpu) && !calls_system {
            return;
        }
        let (mut in_wait_until_ns, mut in_device_call_until_ns) = (i64::MIN, i64::MIN);
        spans.retain(|span| {
            let label = span.label as usize;
            let is_inner = self.is_of_system[label] && span.end_ns <= in_device_call_until_ns
                || self.is_off_cpu[label] && span.end_ns <= in_wait_until_ns;
            if self.states_wait[label] {
                in_wait_until_ns = in_wait_until_ns.max(span.end_ns);
            }
            if self.is_of_device[label] {
                in_device_call_until_ns = in_device_call_until_ns.max(span.end_ns);
            }
            !is_inner
        });
    }
}

/// True for the names of functions of the C library and the kernel, such as `ioctl` and `pthread_cond_timedwait`. Calls of
/// devices' APIs have capitals, or a prefix of their own.
fn is_call_of_system(name: &str) -> bool {
    let is_plain = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_');
    name.bytes().all(is_plain) && vendors::call(name).is_none()
}
