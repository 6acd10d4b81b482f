//! Runs by hand.

use std::collections::BTreeMap;

pub use trueno_analysis::testing::lines_significant as lines;
use trueno_plugin::testing::{Output, run};
use trueno_plugin::{Parts, Table, TableBuilder};
use trueno_plugin_roofline::Roofline;

#[derive(Clone, Debug, Default)]
pub struct Row {
    pub id: u64,
    /// Parent of a brick, or brick of a kernel.
    pub parent: Option<u64>,
    pub thread: Option<i64>,
    pub device: Option<i64>,
    pub kind: &'static str,
    pub name: &'static str,
    pub category: Option<&'static str>,
    pub backend: Option<&'static str>,
    pub start_ns: i64,
    pub dur_ns: i64,
    pub flops: Option<u64>,
    pub bytes: Option<u64>,
    pub is_bound: bool,
    pub is_invalid: bool,
}

/// A row on thread 0.
pub fn at(id: u64, name: &'static str, start_ns: i64, dur_ns: i64) -> Row {
    Row {
        id,
        name,
        start_ns,
        dur_ns,
        thread: Some(0),
        kind: "brick",
        ..Row::default()
    }
}

impl Row {
    pub fn work(self, flops: u64, bytes: u64) -> Self {
        Self {
            flops: Some(flops),
            bytes: Some(bytes),
            ..self
        }
    }

    pub fn backend(self, backend: &'static str) -> Self {
        Self {
            backend: Some(backend),
            ..self
        }
    }

    pub fn inside(self, parent: u64) -> Self {
        Self {
            parent: Some(parent),
            ..self
        }
    }

    pub fn thread(self, thread: i64) -> Self {
        Self {
            thread: Some(thread),
            ..self
        }
    }

    pub fn kind(self, kind: &'static str) -> Self {
        Self { kind, ..self }
    }

    pub fn category(self, category: &'static str) -> Self {
        Self {
            category: Some(category),
            ..self
        }
    }

    pub fn device(self, device: i64) -> Self {
        Self {
            device: Some(device),
            ..self
        }
    }
}

/// Splits `DRAM copy_nt` into level and operation.
fn level(text: &'static str) -> (&'static str, Option<&'static str>) {
    text.split_once(' ')
        .map_or((text, None), |(level, operation)| (level, Some(operation)))
}

/// Device, kind, level with an optional operation, precision, threads, value, source.
pub type Ceiling = (
    &'static str,
    &'static str,
    &'static str,
    Option<&'static str>,
    Option<i64>,
    f64,
    &'static str,
);

pub fn ceiling(kind: &'static str, level: &'static str, value: f64) -> Ceiling {
    let precision = (kind == "compute").then_some("f32");
    ("cpu", kind, level, precision, Some(1), value, "measured")
}

/// 100 GFLOP/s (AVX2) and 10 GB/s (DRAM): the ridge is at 10 FLOP/byte.
pub fn usual() -> Vec<Ceiling> {
    vec![
        ceiling("compute", "avx2", 100e9),
        ceiling("bandwidth", "dram", 10e9),
    ]
}

#[derive(Clone, Copy, Debug, Default)]
pub struct How {
    pub spread: Option<f64>,
    pub settled: Option<bool>,
    pub earlier: Option<f64>,
}

#[derive(Clone, Debug, Default)]
pub struct Fixture {
    pub bricks: Vec<Row>,
    pub kernels: Vec<Row>,
    /// Id of the kernel or brick, name, value.
    pub counters: Vec<(u64, &'static str, f64)>,
    pub ceilings: Vec<Ceiling>,
    /// Quality of measurements, by index of the ceiling. The others have none.
    pub how: Vec<(usize, How)>,
    pub window: Option<(i64, i64)>,
    pub rules: Vec<(&'static str, &'static str)>,
    pub baseline: Option<Box<Fixture>>,
}

fn texts(
    rows: &[Row],
    of: impl Fn(&Row) -> Option<&'static str>,
) -> (BTreeMap<&'static str, i64>, Vec<&'static str>) {
    let mut all: Vec<&'static str> = rows.iter().filter_map(of).collect();
    all.sort_unstable();
    all.dedup();
    (all.iter().copied().zip(10..).collect(), all)
}

fn distinct(name: String, texts: &BTreeMap<&'static str, i64>) -> TableBuilder {
    Table::build(name)
        .i64("id", texts.values())
        .text("text", texts.keys())
}

impl Fixture {
    fn measured(&self) -> impl Iterator<Item = How> {
        (0..self.ceilings.len()).map(|at| {
            let how = self.how.iter().find(|(of, _)| *of == at);
            how.map_or(How::default(), |(_, how)| *how)
        })
    }

    fn tables(&self, prefix: &str) -> Vec<TableBuilder> {
        let named = |name: &str| format!("{prefix}{name}");
        let (bricks, kernels) = (&self.bricks, &self.kernels);
        let (names, _) = texts(bricks, |row| Some(row.name));
        let (categories, _) = texts(bricks, |row| row.category);
        let (backends, _) = texts(bricks, |row| row.backend);
        let (kernel_names, _) = texts(kernels, |row| Some(row.name));
        let (kernel_backends, _) = texts(kernels, |row| row.backend);
        let tasks = || {
            let tasks = bricks.iter().filter(|row| row.kind == "task");
            tasks.filter(|row| row.parent.is_some())
        };
        let is = |row: &Row, kinds: &[&str]| kinds.contains(&row.kind);
        vec![
            Table::build(named("bricks"))
                .u64("id", bricks.iter().map(|row| row.id))
                .i64("thread", bricks.iter().map(|row| row.thread))
                .i64("start_ns", bricks.iter().map(|row| row.start_ns))
                .i64("dur_ns", bricks.iter().map(|row| row.dur_ns))
                .i64("name_id", bricks.iter().map(|row| names[row.name]))
                .i64(
                    "category_id",
                    bricks.iter().map(|row| row.category.map(|c| categories[c])),
                )
                .i64(
                    "backend_id",
                    bricks.iter().map(|row| row.backend.map(|b| backends[b])),
                )
                .u64("flops", bricks.iter().map(|row| row.flops))
                .u64("bytes", bricks.iter().map(|row| row.bytes))
                .bool("is_bound", bricks.iter().map(|row| row.is_bound))
                .bool(
                    "is_frame",
                    bricks
                        .iter()
                        .map(|row| is(row, &["run", "iteration", "layer"])),
                ),
            Table::build(named("tasks"))
                .u64("parent", tasks().map(|row| row.parent))
                .i64("thread", tasks().map(|row| row.thread)),
            distinct(named("brick_names"), &names),
            distinct(named("brick_categories"), &categories),
            distinct(named("brick_backends"), &backends),
            Table::build(named("kernel_links"))
                .u64("id", kernels.iter().map(|row| row.id))
                .u64("brick", kernels.iter().map(|row| row.parent))
                .i64("device", kernels.iter().map(|row| row.device))
                .u64("flops", kernels.iter().map(|row| row.flops)),
            Table::build(named("kernels"))
                .u64("id", kernels.iter().map(|row| row.id))
                .u64("brick", kernels.iter().map(|row| row.parent))
                .i64("thread", kernels.iter().map(|row| row.thread))
                .i64("device", kernels.iter().map(|row| row.device))
                .i64("stream", kernels.iter().map(|row| row.device.map(|_| 7)))
                .i64("start_ns", kernels.iter().map(|row| row.start_ns))
                .i64("dur_ns", kernels.iter().map(|row| row.dur_ns))
                .i64("name_id", kernels.iter().map(|row| kernel_names[row.name]))
                .i64(
                    "backend_id",
                    kernels
                        .iter()
                        .map(|row| row.backend.map(|b| kernel_backends[b])),
                )
                .u64("flops", kernels.iter().map(|row| row.flops))
                .u64("bytes", kernels.iter().map(|row| row.bytes))
                .bool("is_bound", kernels.iter().map(|row| row.is_bound))
                .bool("valid", kernels.iter().map(|row| !row.is_invalid)),
            distinct(named("kernel_names"), &kernel_names),
            distinct(named("kernel_backends"), &kernel_backends),
            Table::build(named("counters"))
                .u64("span", self.counters.iter().map(|row| row.0))
                .text("name", self.counters.iter().map(|row| row.1))
                .f64("value", self.counters.iter().map(|row| row.2)),
            Table::build(named("ceilings"))
                .text("device", self.ceilings.iter().map(|row| row.0))
                .text("kind", self.ceilings.iter().map(|row| row.1))
                .text("level", self.ceilings.iter().map(|row| level(row.2).0))
                .text("precision", self.ceilings.iter().map(|row| row.3))
                .i64("threads", self.ceilings.iter().map(|row| row.4))
                .f64("value", self.ceilings.iter().map(|row| row.5))
                .text(
                    "unit",
                    self.ceilings.iter().map(|row| {
                        if row.1 == "compute" {
                            "flop/s"
                        } else {
                            "bytes/s"
                        }
                    }),
                )
                .text("source", self.ceilings.iter().map(|row| row.6))
                .text("operation", self.ceilings.iter().map(|row| level(row.2).1))
                .f64("spread", self.measured().map(|found| found.spread))
                .bool("settled", self.measured().map(|found| found.settled))
                .f64("earlier", self.measured().map(|found| found.earlier)),
        ]
    }

    pub fn analyse(&self) -> Output {
        self.analyse_with("{}")
    }

    pub fn analyse_with(&self, options: &str) -> Output {
        self.analysed(options, Vec::new())
    }

    pub fn analyse_beside(&self, others: Vec<TableBuilder>) -> Output {
        self.analysed("{}", others)
    }

    fn analysed(&self, options: &str, others: Vec<TableBuilder>) -> Output {
        let mut inputs = self.inputs();
        inputs.extend(others);
        run::<Roofline>(inputs, options).unwrap()
    }

    pub fn inputs(&self) -> Vec<TableBuilder> {
        let mut inputs = self.tables("");
        if let Some((from_ns, until_ns)) = self.window {
            inputs.push(
                Table::build("report_window")
                    .i64("from_ns", [from_ns])
                    .i64("until_ns", [until_ns]),
            );
        }
        if !self.rules.is_empty() {
            inputs.push(
                Table::build("category_rules")
                    .text("name", self.rules.iter().map(|rule| rule.0))
                    .text("category", self.rules.iter().map(|rule| rule.1)),
            );
        }
        if let Some(baseline) = &self.baseline {
            inputs.extend(baseline.tables("baseline_"));
        }
        inputs
    }

    /// The inputs that merging reads besides the parts.
    pub fn inputs_of_merge(&self) -> Vec<TableBuilder> {
        let names = Roofline::MERGE_INPUTS.iter().map(|input| input.name());
        let names: Vec<&str> = names.collect();
        let mut inputs = self.inputs();
        inputs.retain(|table| names.contains(&table.name()));
        inputs
    }
}
