//! Runs by hand.

use trueno_plugin::testing::{self, Output};
use trueno_plugin::{Table, TableBuilder};
use trueno_plugin_operators::Operators;

/// Dims, element types and values of a call, as JSON.
pub type Signature = (&'static str, &'static str, &'static str);

#[derive(Clone, Copy, Debug)]
pub struct Call {
    pub name: &'static str,
    pub parent: Option<usize>,
    pub thread: i64,
    pub start_ns: i64,
    pub dur_ns: i64,
    pub signature: Option<usize>,
}

#[derive(Clone, Copy, Debug)]
pub struct Kernel {
    pub name: &'static str,
    pub brick: Option<usize>,
    pub start_ns: i64,
    pub dur_ns: i64,
}

/// Device, kind, level, precision, threads, value, source.
pub type Ceiling = (
    &'static str,
    &'static str,
    &'static str,
    Option<&'static str>,
    Option<i64>,
    f64,
    &'static str,
);

#[derive(Clone, Debug, Default)]
pub struct Made {
    pub signatures: Vec<Signature>,
    pub calls: Vec<Call>,
    pub kernels: Vec<Kernel>,
    pub ceilings: Vec<Ceiling>,
    pub devices: Vec<(&'static str, &'static str)>,
    pub window: Option<(i64, i64)>,
}

/// Ids differ from indexes.
const FIRST_ID: usize = 1_000;

fn id(place: usize) -> u64 {
    (FIRST_ID + place) as u64
}

impl Made {
    pub fn output(&self) -> Output {
        self.with_options("{}")
    }

    pub fn with_options(&self, options: &str) -> Output {
        testing::run::<Operators>(self.inputs(), options).expect("the plugin runs")
    }

    pub fn against(&self, baseline: &Made) -> Output {
        let mut inputs = self.inputs();
        inputs.extend(baseline.inputs_named("baseline_"));
        testing::run::<Operators>(inputs, "{}").expect("the plugin runs")
    }

    pub fn inputs(&self) -> Vec<TableBuilder> {
        self.inputs_named("")
    }

    fn inputs_named(&self, prefix: &str) -> Vec<TableBuilder> {
        let input = |name: &str| Table::build(format!("{prefix}{name}"));
        let of = |texts: fn(&Signature) -> &'static str| {
            self.signatures
                .iter()
                .map(move |signature| Some(texts(signature)).filter(|text| !text.is_empty()))
        };
        let names: Vec<&str> = self.calls.iter().map(|call| call.name).collect();
        let kernel_names: Vec<&str> = self.kernels.iter().map(|kernel| kernel.name).collect();
        let mut inputs = vec![
            input("signatures")
                .u64("id", (0..self.signatures.len()).map(|at| 7 * at as u64))
                .text("input_dims", of(|signature| signature.0))
                .text("input_types", of(|signature| signature.1))
                .text("input_strides", of(|_| ""))
                .text("concrete_inputs", of(|signature| signature.2)),
            input("bricks")
                .u64("id", (0..self.calls.len()).map(id))
                .u64("parent", self.calls.iter().map(|call| call.parent.map(id)))
                .i64("thread", self.calls.iter().map(|call| call.thread))
                .i64("start_ns", self.calls.iter().map(|call| call.start_ns))
                .i64("name_id", numbers(&names))
                .i64("dur_ns", self.calls.iter().map(|call| call.dur_ns))
                .u64(
                    "signature",
                    self.calls
                        .iter()
                        .map(|call| call.signature.map(|at| 7 * at as u64)),
                ),
            distinct(input("brick_names"), &names),
            input("kernels")
                .u64(
                    "brick",
                    self.kernels.iter().map(|kernel| kernel.brick.map(id)),
                )
                .i64("device", self.kernels.iter().map(|_| 0))
                .i64("stream", self.kernels.iter().map(|_| 7))
                .i64("name_id", numbers(&kernel_names))
                .i64(
                    "start_ns",
                    self.kernels.iter().map(|kernel| kernel.start_ns),
                )
                .i64("dur_ns", self.kernels.iter().map(|kernel| kernel.dur_ns))
                .bool("is_bound", self.kernels.iter().map(|_| false))
                .bool("valid", self.kernels.iter().map(|_| true)),
            distinct(input("kernel_names"), &kernel_names),
            input("transfers")
                .u64("brick", std::iter::empty::<u64>())
                .i64("device", std::iter::empty::<i64>())
                .i64("stream", std::iter::empty::<i64>())
                .i64("start_ns", std::iter::empty::<i64>())
                .i64("dur_ns", std::iter::empty::<i64>())
                .bool("is_bound", std::iter::empty::<bool>()),
            self.ceilings(input("ceilings")),
            input("devices")
                .text("device", self.devices.iter().map(|device| device.0))
                .text("name", self.devices.iter().map(|device| device.1)),
        ];
        inputs.extend(self.window.map(|(from_ns, until_ns)| {
            Table::build("report_window")
                .i64("from_ns", [from_ns])
                .i64("until_ns", [until_ns])
        }));
        inputs
    }

    fn ceilings(&self, input: TableBuilder) -> TableBuilder {
        let all = || self.ceilings.iter();
        let unit = |kind: &str| {
            if kind == "compute" {
                "flop/s"
            } else {
                "bytes/s"
            }
        };
        input
            .text("device", all().map(|row| row.0))
            .text("kind", all().map(|row| row.1))
            .text("level", all().map(|row| row.2))
            .text("precision", all().map(|row| row.3))
            .i64("threads", all().map(|row| row.4))
            .f64("value", all().map(|row| row.5))
            .text("unit", all().map(|row| unit(row.1)))
            .text("source", all().map(|row| row.6))
            .text("operation", all().map(|_| None::<&str>))
            .f64("spread", all().map(|_| None))
            .bool("settled", all().map(|_| None))
            .f64("earlier", all().map(|_| None))
    }
}

/// Name ids: equal names share one, and ids do not start at 0.
fn numbers(names: &[&str]) -> Vec<i64> {
    let first = |name: &&str| names.iter().position(|other| other == name);
    names
        .iter()
        .filter_map(first)
        .map(|at| 40 + at as i64)
        .collect()
}

fn distinct(input: TableBuilder, names: &[&str]) -> TableBuilder {
    let mut rows: Vec<(i64, &str)> = numbers(names)
        .into_iter()
        .zip(names.iter().copied())
        .collect();
    rows.sort_unstable();
    rows.dedup();
    input
        .i64("id", rows.iter().map(|row| row.0))
        .text("text", rows.iter().map(|row| row.1))
}

pub fn call(name: &'static str, start_ns: i64, dur_ns: i64, signature: Option<usize>) -> Call {
    Call {
        name,
        parent: None,
        thread: 0,
        start_ns,
        dur_ns,
        signature,
    }
}

impl Call {
    pub fn inside(self, parent: usize) -> Self {
        Self {
            parent: Some(parent),
            ..self
        }
    }
}

pub fn kernel(brick: usize, start_ns: i64, dur_ns: i64) -> Kernel {
    Kernel {
        name: "kernel",
        brick: Some(brick),
        start_ns,
        dur_ns,
    }
}

/// A matrix product of 8 × 4 and 4 × 2 in FP32: 128 FLOPs; operands of 128 and 32 bytes, result of 64 bytes.
pub const MM: Signature = ("[[8,4],[4,2]]", r#"["float","float"]"#, r#"["",""]"#);

pub fn cell(output: &Output, table: &str, name: &str, column: &str) -> Option<f64> {
    let table = output.table(table);
    let names = table.text(first_column(table)).expect("names");
    let row = (0..table.rows())
        .find(|row| names.get(*row) == Some(name))
        .unwrap_or_else(|| panic!("{name} is not there"));
    number(table, column, row)
}

fn first_column(table: &Table) -> &str {
    let first = ["name", "category"];
    first
        .into_iter()
        .find(|column| table.has(column))
        .expect("a name")
}

pub fn number(table: &Table, column: &str, row: usize) -> Option<f64> {
    if let Ok(found) = table.f64(column) {
        return found.get(row);
    }
    match table.i64(column) {
        Ok(found) => found.get(row).map(|value| value as f64),
        Err(_) => table
            .u64(column)
            .expect(column)
            .get(row)
            .map(|value| value as f64),
    }
}
