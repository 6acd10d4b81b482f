//! System calls by hand.

use std::collections::BTreeMap;

pub use trueno_analysis::testing::lines_rounded as lines;
use trueno_plugin::testing::{Output, run};
use trueno_plugin::{Table, TableBuilder};
use trueno_plugin_syscalls::Syscalls;

/// A row of `calls` with kind `syscall`, or an instant if it has no duration.
#[derive(Clone, Copy, Debug, Default)]
pub struct Call {
    pub name: &'static str,
    pub thread: i64,
    pub start_ns: i64,
    pub dur_ns: Option<i64>,
    pub status: Option<i64>,
    pub target: Option<&'static str>,
    pub bytes: Option<u64>,
    pub errno: Option<&'static str>,
    /// The call is also a row of `syncs`.
    pub waits: bool,
}

/// A call without an error.
pub fn call(name: &'static str, start_ns: i64, dur_ns: i64) -> Call {
    Call {
        name,
        start_ns,
        dur_ns: Some(dur_ns),
        status: Some(0),
        ..Call::default()
    }
}

#[derive(Clone, Debug, Default)]
pub struct Fixture {
    pub calls: Vec<Call>,
    pub wall_ns: Option<i64>,
    pub window: Option<(i64, i64)>,
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

fn arguments(call: &Call) -> String {
    let text = |key: &str, value: Option<String>| {
        value.map_or(String::new(), |value| format!(", \"{key}\": {value}"))
    };
    format!(
        "{{\"kind\": \"syscall\"{}{}{}{}}}",
        text("target", call.target.map(|of| format!("\"{of}\""))),
        text("errno", call.errno.map(|of| format!("\"{of}\""))),
        text("status", call.status.map(|of| of.to_string())),
        text("bytes", call.bytes.map(|of| of.to_string()))
    )
}

impl Fixture {
    pub fn analyse(&self) -> Output {
        self.analyse_with("{}")
    }

    pub fn analyse_with(&self, options: &str) -> Output {
        run::<Syscalls>(self.inputs(), options).unwrap()
    }

    pub fn inputs(&self) -> Vec<TableBuilder> {
        let (mut names, mut targets) = (Numbers::default(), Numbers::default());
        let mut errors = Numbers::default();
        let of = |is_timed: bool| {
            let calls = self.calls.iter();
            calls.filter(move |call| call.dur_ns.is_some() == is_timed)
        };
        let timed = || of(true);
        let name_ids: Vec<_> = timed().map(|row| names.number(Some(row.name))).collect();
        let target_ids: Vec<_> = timed().map(|row| targets.number(row.target)).collect();
        let errno_ids: Vec<_> = timed().map(|row| errors.number(row.errno)).collect();
        let waits = || timed().filter(|row| row.waits);
        let mut inputs = vec![
            Table::build("calls")
                .i64("name_id", name_ids)
                .i64("thread", timed().map(|row| row.thread))
                .i64("start_ns", timed().map(|row| row.start_ns))
                .i64("dur_ns", timed().map(|row| row.dur_ns))
                .i64("status", timed().map(|row| row.status))
                .i64("target_id", target_ids)
                .u64("bytes", timed().map(|row| row.bytes))
                .i64("errno_id", errno_ids),
            names.table("names"),
            targets.table("targets"),
            errors.table("errors"),
            Table::build("waits")
                .i64("thread", waits().map(|row| row.thread))
                .i64("start_ns", waits().map(|row| row.start_ns))
                .i64("dur_ns", waits().map(|row| row.dur_ns)),
            Table::build("instants")
                .i64("time_ns", of(false).map(|row| row.start_ns))
                .text("name", of(false).map(|row| row.name))
                .text("arguments", of(false).map(arguments)),
            Table::build("run").i64("wall_ns", [self.wall_ns]),
        ];
        if let Some((from_ns, until_ns)) = self.window {
            let window = Table::build("report_window");
            inputs.push(window.i64("from_ns", [from_ns]).i64("until_ns", [until_ns]));
        }
        inputs
    }
}
