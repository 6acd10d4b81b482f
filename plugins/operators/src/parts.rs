//! Tables of parts: sums of one rank, or of several.
//!
//! Texts stand in a table of their own, once each. A number of a text or of an operator is one of its part, and a part
//! is known by its first rank that has signatures: no other part has that one.

use std::collections::BTreeMap;

use trueno_analysis::hash::FastMap;
use trueno_analysis::interner::Texts;
use trueno_plugin::{Error, Input, Result, Run, Table, TableBuilder};

use crate::calls::Recorded;
use crate::device_classes::DeviceClasses;
use crate::device_time::Totals;
use crate::groups::Sums;
use crate::run_sums::{Facts, Key, OperatorSums, RunSums};
use crate::work::Work;

/// One row per part with what holds for the whole part.
pub const FACTS: Input = Input::sql(
    "facts",
    "SELECT has_signatures, is_pytorch, is_any_known, total_ns, with_signature_ns, modelled_ns, not_linked_ns, \
     inferred_ns, recomputed_ns, operations, left_out FROM operators.facts",
);
/// Texts that the other tables refer to by number.
pub const TEXTS: Input = Input::sql("texts", "SELECT part, id, text FROM operators.texts");
/// Sums by operator, signature, work and device.
pub const SHAPES: Input = Input::sql(
    "shapes",
    "SELECT part, shape, name, dims, types, strides, concrete, reason, precision, family, rule, assumption, flops, \
     moved_bytes, is_matrix, is_container, host_ns, host_self_ns, device_ns, counted_ns, host_counted_ns, \
     not_modelled_ns, inferred_ns, calls, recomputed_calls, device_calls, counted_calls, host_counted_calls, \
     operations, device FROM operators.shapes",
);
pub const KERNELS: Input = Input::sql(
    "shape_kernels",
    "SELECT part, shape, name, dur_ns FROM operators.shape_kernels",
);

type Field<T, N> = (&'static str, fn(&mut T) -> &mut N);

const TIMES: [Field<Sums, i64>; 7] = [
    ("host_ns", |sums| &mut sums.host_ns),
    ("host_self_ns", |sums| &mut sums.host_self_ns),
    ("device_ns", |sums| &mut sums.device_ns),
    ("counted_ns", |sums| &mut sums.counted_ns),
    ("host_counted_ns", |sums| &mut sums.host_counted_ns),
    ("not_modelled_ns", |sums| &mut sums.not_modelled_ns),
    ("inferred_ns", |sums| &mut sums.inferred_ns),
];
const COUNTS: [Field<Sums, u64>; 6] = [
    ("calls", |sums| &mut sums.calls),
    ("recomputed_calls", |sums| &mut sums.recomputed_calls),
    ("device_calls", |sums| &mut sums.device_calls),
    ("counted_calls", |sums| &mut sums.counted_calls),
    ("host_counted_calls", |sums| &mut sums.host_counted_calls),
    ("operations", |sums| &mut sums.operations),
];
const TOTAL_TIMES: [Field<Totals, i64>; 6] = [
    ("total_ns", |totals| &mut totals.total_ns),
    ("with_signature_ns", |totals| &mut totals.with_signature_ns),
    ("modelled_ns", |totals| &mut totals.modelled_ns),
    ("not_linked_ns", |totals| &mut totals.not_linked_ns),
    ("inferred_ns", |totals| &mut totals.inferred_ns),
    ("recomputed_ns", |totals| &mut totals.recomputed_ns),
];
const TOTAL_COUNTS: [Field<Totals, u64>; 2] = [
    ("operations", |totals| &mut totals.count),
    ("left_out", |totals| &mut totals.left_out),
];
const KEY_TEXTS: [&str; 10] = [
    "name",
    "dims",
    "types",
    "strides",
    "concrete",
    "reason",
    "precision",
    "family",
    "rule",
    "assumption",
];

/// Emits sums as a part.
///
/// # Errors
/// The host refuses a table.
pub fn emit(run: &mut Run, sums: &RunSums) -> Result<()> {
    run.emit(facts(&sums.facts))?;
    let mut texts = Texts::default();
    let part = |rows: usize| std::iter::repeat_n(sums.first_rank, rows);
    let (shapes, kernels) = (shapes(sums, &mut texts), kernels(sums, &mut texts));
    let all = texts.all();
    run.emit(
        Table::build(TEXTS.name())
            .u64("part", part(all.len()))
            .u64("id", 0..all.len() as u64)
            .text("text", all),
    )?;
    run.emit(shapes)?;
    run.emit(kernels)
}

fn facts(facts: &Facts) -> TableBuilder {
    let table = Table::build(FACTS.name())
        .bool("has_signatures", [facts.has_signatures])
        .bool("is_pytorch", [facts.is_pytorch])
        .bool("is_any_known", [facts.is_any_known]);
    let mut totals = facts.device;
    let table = TOTAL_TIMES.iter().fold(table, |table, (name, field)| {
        table.i64(name, [*field(&mut totals)])
    });
    TOTAL_COUNTS.iter().fold(table, |table, (name, field)| {
        table.u64(name, [*field(&mut totals)])
    })
}

fn shapes(sums: &RunSums, texts: &mut Texts) -> TableBuilder {
    let all = &sums.operators;
    let count = all.len() as u64;
    let mut table = Table::build(SHAPES.name())
        .u64("part", (0..count).map(|_| sums.first_rank))
        .u64("shape", 0..count);
    for (at, column) in KEY_TEXTS.into_iter().enumerate() {
        let numbers = all.keys().map(|key| {
            let text = key_texts(key)[at];
            text.map(|text| u64::from(texts.number(text)))
        });
        table = table.u64(column, numbers.collect::<Vec<_>>());
    }
    let work = || all.keys().map(|key| key.work.as_ref().ok());
    let sums = || all.values().map(|of| of.sums);
    table = table
        .u64("flops", work().map(|work| work.map(|work| work.flops)))
        .u64(
            "moved_bytes",
            work().map(|work| work.map(|work| work.moved_bytes)),
        )
        .bool(
            "is_matrix",
            work().map(|work| work.map(|work| work.is_matrix)),
        )
        .bool(
            "is_container",
            work().map(|work| work.map(|work| work.is_container)),
        );
    for (column, field) in TIMES {
        table = table.i64(column, sums().map(|mut sums| *field(&mut sums)));
    }
    for (column, field) in COUNTS {
        table = table.u64(column, sums().map(|mut sums| *field(&mut sums)));
    }
    table.u64("device", sums().map(|sums| u64::from(sums.device)))
}

fn kernels(sums: &RunSums, texts: &mut Texts) -> TableBuilder {
    let shapes = (0_u64..).zip(sums.operators.values());
    let rows = shapes.flat_map(|(shape, of)| of.kernels.iter().map(move |row| (shape, row)));
    let rows: Vec<(u64, (&String, &i64))> = rows.collect();
    let names = rows.iter().map(|row| u64::from(texts.number(row.1.0)));
    Table::build(KERNELS.name())
        .u64("part", rows.iter().map(|_| sums.first_rank))
        .u64("shape", rows.iter().map(|row| row.0))
        .u64("name", names)
        .i64("dur_ns", rows.iter().map(|row| *row.1.1))
}

/// Reads table `facts` of the parts.
///
/// # Errors
/// It lacks a column or has it in another type.
pub fn read_facts(run: &mut Run) -> Result<Facts> {
    let table = run.table(FACTS.name())?;
    let mut out = Facts::default();
    for row in 0..table.rows() {
        let is = |column: &str| Ok::<_, Error>(table.bool(column)?.get(row) == Some(true));
        let mut device = Totals::default();
        for (column, field) in TOTAL_TIMES {
            *field(&mut device) = table.i64(column)?.get(row).unwrap_or(0);
        }
        for (column, field) in TOTAL_COUNTS {
            *field(&mut device) = table.u64(column)?.get(row).unwrap_or(0);
        }
        out.add(&Facts {
            has_signatures: is("has_signatures")?,
            is_pytorch: is("is_pytorch")?,
            is_any_known: is("is_any_known")?,
            device,
        });
    }
    Ok(out)
}

/// Reads the other tables and adds their rows; equal devices are merged.
///
/// # Errors
/// A table lacks a column or has it in another type, or a row names what is not there.
pub fn read(run: &mut Run, facts: Facts, classes: &DeviceClasses) -> Result<RunSums> {
    let texts = PartTexts::read(run)?;
    let mut kernels = read_kernels(run, &texts)?;
    let table = run.table(SHAPES.name())?;
    let (part, shape) = (table.u64("part")?, table.u64("shape")?);
    let mut out = RunSums {
        facts,
        first_rank: part.iter().flatten().min().unwrap_or(0),
        ..RunSums::default()
    };
    for row in 0..table.rows() {
        let (Some(part), Some(shape)) = (part.get(row), shape.get(row)) else {
            return Err(missing("shape"));
        };
        let mut sums = Sums::default();
        for (column, field) in TIMES {
            *field(&mut sums) = table.i64(column)?.get(row).unwrap_or(0);
        }
        for (column, field) in COUNTS {
            *field(&mut sums) = table.u64(column)?.get(row).unwrap_or(0);
        }
        let device = table
            .u64("device")?
            .get(row)
            .and_then(|of| of.try_into().ok());
        sums.device = device.ok_or_else(|| missing("device"))?;
        let device_class = (sums.device_calls > 0).then(|| classes.of(sums.device));
        let key = read_key(&table, row, part, &texts, device_class)?;
        let kernels = kernels.remove(&(part, shape)).unwrap_or_default();
        out.add(key, &OperatorSums { sums, kernels });
    }
    Ok(out)
}

struct PartTexts {
    texts: Texts,
    numbers: FastMap<(u64, u64), u32>,
}

impl PartTexts {
    fn read(run: &mut Run) -> Result<Self> {
        let table = run.table(TEXTS.name())?;
        let (part, id, text) = (table.u64("part")?, table.u64("id")?, table.text("text")?);
        let (mut texts, mut numbers) = (Texts::default(), FastMap::default());
        for row in 0..table.rows() {
            let known = || Some(((part.get(row)?, id.get(row)?), text.get(row)?));
            let (key, text) = known().ok_or_else(|| missing("text"))?;
            numbers.insert(key, texts.number(text));
        }
        Ok(Self { texts, numbers })
    }

    fn text(&self, part: u64, number: u64) -> Result<&str> {
        let number = self.numbers.get(&(part, number));
        let text = number.and_then(|number| self.texts.get(*number));
        text.ok_or_else(|| missing("text"))
    }
}

/// Time of kernels by name, for each part and operator number in it.
type KernelTimes = BTreeMap<(u64, u64), BTreeMap<String, i64>>;

fn read_kernels(run: &mut Run, texts: &PartTexts) -> Result<KernelTimes> {
    let table = run.table(KERNELS.name())?;
    let (part, shape) = (table.u64("part")?, table.u64("shape")?);
    let (name, dur) = (table.u64("name")?, table.i64("dur_ns")?);
    let mut out = KernelTimes::new();
    for row in 0..table.rows() {
        let known = || {
            Some((
                (part.get(row)?, shape.get(row)?),
                name.get(row)?,
                dur.get(row)?,
            ))
        };
        let (key, name, dur_ns) = known().ok_or_else(|| missing("kernel"))?;
        let name = texts.text(key.0, name)?.to_owned();
        out.entry(key).or_default().insert(name, dur_ns);
    }
    Ok(out)
}

/// Texts of a key, in the order of [`KEY_TEXTS`].
fn key_texts(key: &Key) -> [Option<&str>; KEY_TEXTS.len()] {
    let Key { recorded, .. } = key;
    let work = key.work.as_ref().ok();
    [
        Some(key.name.as_str()),
        recorded.dims.as_deref(),
        recorded.types.as_deref(),
        recorded.strides.as_deref(),
        recorded.concrete.as_deref(),
        key.work.as_ref().err().map(String::as_str),
        work.and_then(|work| work.precision.as_deref()),
        work.map(|work| work.family.as_str()),
        work.map(|work| work.rule.as_str()),
        work.map(|work| work.assumption.as_str()),
    ]
}

fn read_key(
    table: &Table,
    row: usize,
    part: u64,
    texts: &PartTexts,
    device_class: Option<u32>,
) -> Result<Key> {
    let text = |column: &str| {
        let number = table.u64(column)?.get(row);
        let text = number.map(|number| texts.text(part, number));
        Ok::<_, Error>(text.transpose()?.map(str::to_owned))
    };
    let needed = |column: &str| text(column)?.ok_or_else(|| missing(column));
    let number = |column: &str| table.u64(column)?.get(row).ok_or_else(|| missing(column));
    let truth = |column: &str| table.bool(column)?.get(row).ok_or_else(|| missing(column));
    let work = match text("reason")? {
        Some(reason) => Err(reason),
        None => Ok(Work {
            flops: number("flops")?,
            moved_bytes: number("moved_bytes")?,
            precision: text("precision")?,
            is_matrix: truth("is_matrix")?,
            family: needed("family")?,
            rule: needed("rule")?,
            assumption: needed("assumption")?,
            is_container: truth("is_container")?,
        }),
    };
    Ok(Key {
        name: needed("name")?,
        recorded: Recorded {
            dims: text("dims")?,
            types: text("types")?,
            strides: text("strides")?,
            concrete: text("concrete")?,
        },
        work,
        device_class,
    })
}

fn missing(what: &str) -> Error {
    Error::bad_input(format!("a part lacks a {what} that a row of it names"))
}
