//! Table `points`: rows of bricks, kernels and operators.

use std::cmp::Reverse;

use trueno_analysis::interner::Texts;
use trueno_analysis::roofline::ceilings::Ceilings;
use trueno_plugin::{Table, TableBuilder};

use crate::operators::Operator;
use crate::points::{Point, doubt};

#[derive(Clone, Debug, Default, PartialEq)]
pub struct PointRow {
    pub source: &'static str,
    pub name: String,
    pub input_dims: Option<String>,
    pub backend: Option<String>,
    pub is_valid: Option<bool>,
    pub device: String,
    pub provenance: &'static str,
    pub precision: Option<String>,
    pub instruction_set: Option<String>,
    pub memory: String,
    pub threads: Option<i64>,
    pub assumed: Option<String>,
    pub calls: u64,
    pub dur_ns: i64,
    pub flops: f64,
    pub bytes: f64,
    pub flops_per_byte: Option<f64>,
    pub ridge_flops_per_byte: Option<f64>,
    pub flops_per_s: Option<f64>,
    pub bytes_per_s: Option<f64>,
    pub attainable_flops_per_s: Option<f64>,
    pub bound_by: Option<String>,
    pub efficiency_share: Option<f64>,
    pub calls_above: Option<u64>,
    pub reason: Option<String>,
    pub doubt: Option<String>,
}

pub fn of_points(points: &[&Point], ceilings: &Ceilings, texts: &Texts) -> Vec<PointRow> {
    let row = |p: &&Point| {
        let compute = p.choice.as_ref().ok().map(|at| &ceilings.rows[at.compute]);
        let assumed = p
            .choice
            .as_ref()
            .ok()
            .map(|choice| choice.assumed.join("; "));
        PointRow {
            source: p.label.source.name(),
            name: texts.text(p.label.name).to_owned(),
            input_dims: None,
            backend: p.label.backend.map(|b| texts.text(b).to_owned()),
            is_valid: p.place.map(|_| p.sound().is_some()),
            device: p.device.clone(),
            provenance: p.label.provenance.name(),
            precision: Some(p.precision.clone()),
            instruction_set: compute.and_then(|row| row.level.clone()),
            memory: p.memory.to_owned(),
            threads: compute.and_then(|row| row.threads),
            assumed: assumed.filter(|words| !words.is_empty()),
            calls: p.sum.calls,
            dur_ns: p.sum.dur_ns,
            flops: p.sum.flops as f64,
            bytes: p.sum.bytes as f64,
            flops_per_byte: p.achieved.map(|a| a.intensity),
            ridge_flops_per_byte: p.place.map(|at| at.ridge),
            flops_per_s: p.achieved.map(|a| a.flops_per_s),
            bytes_per_s: p.achieved.map(|a| a.bytes_per_s),
            attainable_flops_per_s: p.place.map(|at| at.attainable),
            bound_by: p.place.map(|at| at.bound.name().to_owned()),
            efficiency_share: p.efficiency(),
            calls_above: p.place.map(|_| p.above.calls),
            reason: p.reason.clone(),
            doubt: doubt(p, ceilings),
        }
    };
    points.iter().map(row).collect()
}

pub fn of_operators(shapes: &[Operator]) -> Vec<PointRow> {
    let row = |shape: &Operator| PointRow {
        source: "operator",
        name: shape.name.clone(),
        input_dims: shape.input_dims.clone(),
        is_valid: shape.is_valid(),
        device: shape.device.clone(),
        provenance: "shapes",
        precision: shape.precision.clone(),
        memory: "dram".to_owned(),
        assumed: (shape.roof_source.as_deref() == Some("nominal"))
            .then(|| "nominal roof".to_owned()),
        calls: shape.calls,
        dur_ns: shape.dur_ns,
        flops: shape.flops,
        bytes: shape.bytes,
        flops_per_byte: shape.flops_per_byte,
        flops_per_s: shape.flops_per_s,
        bytes_per_s: shape.bytes_per_s,
        attainable_flops_per_s: shape.attainable(),
        bound_by: shape.bound.clone(),
        efficiency_share: shape.efficiency,
        reason: shape.reason.clone(),
        ..PointRow::default()
    };
    shapes.iter().map(row).collect()
}

pub fn merged(mut own: Vec<PointRow>, operators: Vec<PointRow>) -> Vec<PointRow> {
    own.extend(operators);
    // As they came where they are equal: the sort is stable.
    own.sort_by_key(|row| Reverse(row.dur_ns));
    own
}

/// Table `points`: a row for each name, backend, device and provenance, and for each operator and shape (`source`
/// `operator`, `provenance` `shapes`). `calls`, `dur_ns`, `flops` and `bytes` are sums over calls with figures,
/// including nested ones; intensity = `flops` / `bytes`; rates = sum / `dur_ns`; `attainable_flops_per_s` =
/// min(compute ceiling, intensity × bandwidth); `efficiency_share` = achieved / attainable; `distance_share` = 1 −
/// that. `is_valid` is false above the roof or if at least half of the calls lie above it (then there is no
/// efficiency), null without a ceiling; `reason` says why. `calls_above` counts calls that lie above the roof by
/// themselves. `assumed` lists what was not recorded. `doubt` says why the efficiency may be wrong.
pub fn table(rows: &[PointRow]) -> TableBuilder {
    let all = || rows.iter();
    Table::build("points")
        .text("source", all().map(|row| row.source))
        .text("name", all().map(|row| row.name.as_str()))
        .text("input_dims", all().map(|row| row.input_dims.as_deref()))
        .text("backend", all().map(|row| row.backend.as_deref()))
        // Beside the name on a narrow page: more than 100 % of a roof cannot be.
        .bool("is_valid", all().map(|row| row.is_valid))
        .text("device", all().map(|row| row.device.as_str()))
        .text("provenance", all().map(|row| row.provenance))
        .text("precision", all().map(|row| row.precision.as_deref()))
        .text(
            "instruction_set",
            all().map(|row| row.instruction_set.as_deref()),
        )
        .text("memory", all().map(|row| row.memory.as_str()))
        .i64("threads", all().map(|row| row.threads))
        .text("assumed", all().map(|row| row.assumed.as_deref()))
        .u64("calls", all().map(|row| row.calls))
        .i64("dur_ns", all().map(|row| row.dur_ns))
        .f64("flops", all().map(|row| row.flops))
        .f64("bytes", all().map(|row| row.bytes))
        .f64("flops_per_byte", all().map(|row| row.flops_per_byte))
        .f64(
            "ridge_flops_per_byte",
            all().map(|row| row.ridge_flops_per_byte),
        )
        .f64("flops_per_s", all().map(|row| row.flops_per_s))
        .f64("bytes_per_s", all().map(|row| row.bytes_per_s))
        .f64(
            "attainable_flops_per_s",
            all().map(|row| row.attainable_flops_per_s),
        )
        .text("bound_by", all().map(|row| row.bound_by.as_deref()))
        .f64("efficiency_share", all().map(|row| row.efficiency_share))
        .f64(
            "distance_share",
            all().map(|row| row.efficiency_share.map(|share| 1.0 - share)),
        )
        .u64("calls_above", all().map(|row| row.calls_above))
        .text("reason", all().map(|row| row.reason.as_deref()))
        .text("doubt", all().map(|row| row.doubt.as_deref()))
}
