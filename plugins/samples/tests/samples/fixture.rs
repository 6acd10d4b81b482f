//! Samples by hand.

use std::collections::BTreeMap;

pub use trueno_analysis::testing::lines_rounded as lines;
use trueno_plugin::testing::{Output, run};
use trueno_plugin::{Table, TableBuilder};
use trueno_plugin_samples::Samples;

#[derive(Clone, Copy, Debug)]
pub struct Sample {
    pub time_ns: i64,
    pub thread: i64,
    pub stack: Option<u64>,
    pub event: &'static str,
    pub period: Option<u64>,
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Frame {
    pub id: u64,
    pub caller: Option<u64>,
    pub function: Option<&'static str>,
    pub module: Option<&'static str>,
    pub line: Option<(&'static str, i64)>,
    pub inlined: Option<bool>,
}

/// A row of `bricks`, or a host kernel if `kind` is `None`.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    pub thread: i64,
    pub kind: Option<&'static str>,
    pub name: &'static str,
    pub start_ns: i64,
    pub dur_ns: i64,
}

/// A time in which a thread did not run. Without a call and a stack, it was ready to run.
#[derive(Clone, Copy, Debug)]
pub struct Wait {
    pub thread: i64,
    pub call: Option<&'static str>,
    pub start_ns: i64,
    pub dur_ns: i64,
    pub stack: Option<u64>,
    pub is_runnable: bool,
    /// Thread that ended it, and true if by its own end.
    pub waker: Option<(i64, bool)>,
}

#[derive(Clone, Debug, Default)]
pub struct Fixture {
    pub samples: Vec<Sample>,
    pub stacks: Vec<Frame>,
    pub rows: Vec<Row>,
    pub thread_names: Vec<(i64, &'static str)>,
    pub waits: Vec<Wait>,
    /// Threads that ended, and when. Each began at 0.
    pub ended: Vec<(i64, i64)>,
    pub stretches: i64,
    pub window: Option<(i64, i64)>,
}

/// A sample of one millisecond of CPU time.
pub fn sample(time_ns: i64, stack: u64) -> Sample {
    Sample {
        time_ns,
        thread: 0,
        stack: Some(stack),
        event: "cpu-clock",
        period: Some(1_000_000),
    }
}

pub fn frame(id: u64, caller: Option<u64>, function: &'static str) -> Frame {
    Frame {
        id,
        caller,
        function: Some(function),
        module: Some("/opt/app"),
        line: None,
        inlined: None,
    }
}

/// Numbers of texts, as in a run's dictionary.
#[derive(Default)]
struct Numbers(BTreeMap<&'static str, i64>);

impl Numbers {
    fn number(&mut self, text: Option<&'static str>) -> Option<i64> {
        let next = self.0.len() as i64 + 7;
        text.map(|text| *self.0.entry(text).or_insert(next))
    }

    fn table(&self, name: &str) -> TableBuilder {
        Table::build(name)
            .i64("id", self.0.values())
            .text("text", self.0.keys())
    }
}

impl Fixture {
    pub fn analyse(&self) -> Output {
        self.analyse_with("{}")
    }

    pub fn analyse_with(&self, options: &str) -> Output {
        run::<Samples>(self.inputs(), options).unwrap()
    }

    pub fn inputs(&self) -> Vec<TableBuilder> {
        let (mut events, mut functions) = (Numbers::default(), Numbers::default());
        let (mut modules, mut files) = (Numbers::default(), Numbers::default());
        let samples = || self.samples.iter();
        let stacks = || self.stacks.iter();
        let event_ids: Vec<_> = samples()
            .map(|row| events.number(Some(row.event)))
            .collect();
        let function_ids: Vec<_> = stacks().map(|row| functions.number(row.function)).collect();
        let module_ids: Vec<_> = stacks().map(|row| modules.number(row.module)).collect();
        let file_ids: Vec<_> = stacks()
            .map(|row| files.number(row.line.map(|line| line.0)))
            .collect();
        let mut inputs = vec![
            Table::build("samples")
                .i64("time_ns", samples().map(|row| row.time_ns))
                .i64("thread", samples().map(|row| row.thread))
                .u64("stack", samples().map(|row| row.stack))
                .i64("event_id", event_ids)
                .u64("period", samples().map(|row| row.period)),
            Table::build("stacks")
                .u64("id", stacks().map(|row| row.id))
                .u64("caller", stacks().map(|row| row.caller))
                .i64("function_id", function_ids)
                .i64("module_id", module_ids)
                .i64("file_id", file_ids)
                .i64("line", stacks().map(|row| row.line.map(|line| line.1)))
                .bool("inlined", stacks().map(|row| row.inlined)),
            events.table("events"),
            functions.table("functions"),
            modules.table("modules"),
            files.table("files"),
            Table::build("threads")
                .i64("thread", self.thread_names.iter().map(|row| row.0))
                .text("name", self.thread_names.iter().map(|row| row.1))
                .i64("start_ns", self.thread_names.iter().map(|_| 0)),
        ];
        inputs.extend(self.scheduling());
        inputs.extend(self.intervals());
        if let Some((from_ns, until_ns)) = self.window {
            let window = Table::build("report_window");
            inputs.push(window.i64("from_ns", [from_ns]).i64("until_ns", [until_ns]));
        }
        inputs
    }

    fn scheduling(&self) -> [TableBuilder; 5] {
        let mut calls = Numbers::default();
        let waits = || self.waits.iter();
        let woken: Vec<(u64, (i64, bool))> = (1..)
            .zip(&self.waits)
            .filter_map(|(id, wait)| Some((id, wait.waker?)))
            .collect();
        let woken = || woken.iter();
        let call_ids: Vec<_> = waits().map(|row| calls.number(row.call)).collect();
        [
            Table::build("waits")
                .u64("id", (1..).zip(&self.waits).map(|(id, _)| id))
                .i64("thread", waits().map(|row| row.thread))
                .i64("call_id", call_ids)
                .i64("start_ns", waits().map(|row| row.start_ns))
                .i64("dur_ns", waits().map(|row| row.dur_ns))
                .u64("stack", waits().map(|row| row.stack))
                .bool("is_runnable", waits().map(|row| row.is_runnable)),
            calls.table("wait_calls"),
            Table::build("wakings")
                .u64("wait", woken().map(|row| row.0))
                .i64("waker", woken().map(|row| row.1.0))
                .i64("by_end", woken().map(|row| i64::from(row.1.1))),
            Table::build("stretches").i64("stretches", [self.stretches]),
            Table::build("cpu_times")
                .i64("thread", self.ended.iter().map(|row| row.0))
                .i64("time_ns", self.ended.iter().map(|row| row.1)),
        ]
    }

    fn intervals(&self) -> Vec<TableBuilder> {
        let (mut kinds, mut names) = (Numbers::default(), Numbers::default());
        let mut kernel_names = Numbers::default();
        let numbered: Vec<(u64, &Row)> = (1..).zip(&self.rows).collect();
        let bricks: Vec<_> = numbered.iter().filter(|row| row.1.kind.is_some()).collect();
        let kernels: Vec<_> = numbered.iter().filter(|row| row.1.kind.is_none()).collect();
        let kind_ids: Vec<_> = bricks.iter().map(|row| kinds.number(row.1.kind)).collect();
        let name_ids: Vec<_> = bricks
            .iter()
            .map(|row| names.number(Some(row.1.name)))
            .collect();
        let kernel_ids: Vec<_> = kernels
            .iter()
            .map(|row| kernel_names.number(Some(row.1.name)))
            .collect();
        let times = |name: &str, rows: &[&(u64, &Row)]| {
            Table::build(name)
                .u64("id", rows.iter().map(|row| row.0))
                .i64("thread", rows.iter().map(|row| row.1.thread))
                .i64("start_ns", rows.iter().map(|row| row.1.start_ns))
                .i64("dur_ns", rows.iter().map(|row| row.1.dur_ns))
        };
        vec![
            times("bricks", &bricks)
                .i64("kind_id", kind_ids)
                .i64("name_id", name_ids),
            times("kernels", &kernels).i64("name_id", kernel_ids),
            kinds.table("brick_kinds"),
            names.table("brick_names"),
            kernel_names.table("kernel_names"),
        ]
    }
}
