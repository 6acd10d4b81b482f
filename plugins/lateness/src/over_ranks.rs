//! Tables of parts: uses of stretches, as rows.

use std::collections::BTreeMap;

use trueno_analysis::lanes::Class;
use trueno_plugin::{Error, Input, Result, Run, Table};

use crate::usage::{Label, Stretch, Usage, Usages};

/// Number of pipeline stages of the job, if there are several.
pub const PIPELINE: Input = Input::sql(
    "pipeline",
    "SELECT stages FROM stragglers.job WHERE stages > 1",
)
.optional();

pub const MERGE_INPUTS: [Input; 3] = [
    PIPELINE,
    Input::sql(
        "uses",
        "SELECT instance, rank, is_other, start_ns, end_ns, caused_ns, has_devices, compute_ns, copy_ns, communication_ns, \
         idle_ns FROM lateness.uses",
    ),
    Input::sql(
        "names",
        "SELECT instance, rank, class, name, category, dur_ns FROM lateness.names",
    ),
];

/// Emits a part.
///
/// # Errors
/// The host refuses a table.
pub fn emit(run: &mut Run, usages: &Usages) -> Result<()> {
    let (of, usage) = (|| usages.0.keys(), || usages.0.values());
    run.emit(
        Table::build("uses")
            .u64("instance", of().map(|of| of.instance))
            .u64("rank", of().map(|of| u64::from(of.rank)))
            .bool("is_other", of().map(|of| of.is_other))
            .i64("start_ns", of().map(|of| of.times_ns.0))
            .i64("end_ns", of().map(|of| of.times_ns.1))
            .i64("caused_ns", of().map(|of| of.caused_ns))
            .bool("has_devices", usage().map(|usage| usage.has_devices))
            .i64("compute_ns", usage().map(|usage| usage.compute_ns))
            .i64("copy_ns", usage().map(|usage| usage.copy_ns))
            .i64(
                "communication_ns",
                usage().map(|usage| usage.communication_ns),
            )
            .i64("idle_ns", usage().map(|usage| usage.idle_ns)),
    )?;
    let rows = || {
        let all = usages.0.iter();
        all.flat_map(|(of, usage)| {
            usage
                .by_label
                .iter()
                .map(move |(label, ns)| (of, label, ns))
        })
    };
    run.emit(
        Table::build("names")
            .u64("instance", rows().map(|(of, ..)| of.instance))
            .u64("rank", rows().map(|(of, ..)| u64::from(of.rank)))
            .text("class", rows().map(|(_, label, _)| label.class.name()))
            .text("name", rows().map(|(_, label, _)| &label.name))
            .text("category", rows().map(|(_, label, _)| &label.category))
            .i64("dur_ns", rows().map(|(.., ns)| *ns)),
    )
}

fn required<T>(cell: Option<T>, column: &str) -> Result<T> {
    cell.ok_or_else(|| Error::bad_input(format!("column `{column}` of a part is null or odd")))
}

/// Reads all parts there are.
///
/// # Errors
/// An input lacks a column, or has it in another type or null.
pub fn read(run: &mut Run) -> Result<Usages> {
    let mut by_label: BTreeMap<(u64, u64), BTreeMap<Label, i64>> = BTreeMap::new();
    let table = run.table("names")?;
    let (instance, rank) = (table.u64("instance")?, table.u64("rank")?);
    let (class, name) = (table.text("class")?, table.text("name")?);
    let (category, dur) = (table.text("category")?, table.i64("dur_ns")?);
    for row in 0..table.rows() {
        let label = Label {
            class: required(class.get(row).and_then(Class::parse), "class")?,
            name: required(name.get(row), "name")?.to_owned(),
            category: required(category.get(row), "category")?.to_owned(),
        };
        let key = (
            required(instance.get(row), "instance")?,
            required(rank.get(row), "rank")?,
        );
        let labels = by_label.entry(key).or_default();
        labels.insert(label, required(dur.get(row), "dur_ns")?);
    }
    let table = run.table("uses")?;
    let (instance, rank) = (table.u64("instance")?, table.u64("rank")?);
    let (is_other, has_devices) = (table.bool("is_other")?, table.bool("has_devices")?);
    let times = ["start_ns", "end_ns", "caused_ns"];
    let uses = ["compute_ns", "copy_ns", "communication_ns", "idle_ns"];
    let ns = |column: &str, row: usize| required(table.i64(column)?.get(row), column);
    let mut out = Usages::default();
    for row in 0..table.rows() {
        let key = (
            required(instance.get(row), "instance")?,
            required(rank.get(row), "rank")?,
        );
        let [start_ns, end_ns, caused_ns] = times.map(|column| ns(column, row));
        let [compute_ns, copy_ns, communication_ns, idle_ns] = uses.map(|column| ns(column, row));
        let stretch = Stretch {
            instance: key.0,
            is_other: required(is_other.get(row), "is_other")?,
            rank: required(u32::try_from(key.1).ok(), "rank")?,
            times_ns: (start_ns?, end_ns?),
            caused_ns: caused_ns?,
        };
        let usage = Usage {
            has_devices: required(has_devices.get(row), "has_devices")?,
            compute_ns: compute_ns?,
            copy_ns: copy_ns?,
            communication_ns: communication_ns?,
            idle_ns: idle_ns?,
            by_label: by_label.remove(&key).unwrap_or_default(),
        };
        out.0.insert(stretch, usage);
    }
    Ok(out)
}
