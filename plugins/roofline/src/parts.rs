//! Tables of parts: sums over the rows of one rank, or of several, and their distinct calls.

mod cells;

use trueno_analysis::interner::{Interner, Texts};
use trueno_analysis::roofline::model::Reason;
use trueno_plugin::{Input, Result, Run, Table};

use self::cells::{declared_label, figure, lane_kind, lane_kind_name, needed, provenance, source};
use crate::calls::{Call, CallCounts};
use crate::label::{Group, Label, OneFigure};
use crate::rows::NONE;
use crate::sums::{InnermostKey, Sum, Sums};

/// Distinct calls with figures and their count, by label.
pub const CALLS: Input = Input::sql(
    "calls",
    "SELECT source, name, backend, device, provenance, precision, flops, bytes, dur_ns, calls FROM roofline.calls",
);
/// Innermost rows with work, by lane kind, group and the labels of declared and counted work.
pub const INNERMOST: Input = Input::sql(
    "innermost",
    "SELECT lane_kind, brick, category, source, name, backend, device, provenance, precision, is_declared, calls, \
     dur_ns, declared_flops, declared_bytes, counted_flops, counted_bytes FROM roofline.innermost",
);
pub const BUSY: Input = Input::sql("busy", "SELECT lane_kind, busy_ns FROM roofline.busy");
pub const EXCLUDED: Input = Input::sql(
    "excluded",
    "SELECT source, reason, name, calls, dur_ns FROM roofline.excluded",
);
pub const ONE_FIGURE: Input = Input::sql(
    "one_figure",
    "SELECT source, name, backend, device, provenance, reason, calls, dur_ns, flops, bytes FROM roofline.one_figure",
);

/// Emits the tables of a part.
///
/// # Errors
/// The host refuses a table.
pub fn emit(run: &mut Run, sums: &Sums, calls: &CallCounts) -> Result<()> {
    emit_calls(run, sums, calls)?;
    emit_innermost(run, sums)?;
    let busy = || {
        (0..)
            .zip(sums.busy_ns)
            .filter_map(|(kind, ns)| Some((kind, ns?)))
    };
    run.emit(
        Table::build(BUSY.name())
            .text("lane_kind", busy().map(|(kind, _)| lane_kind_name(kind)))
            .i64("busy_ns", busy().map(|(_, busy_ns)| busy_ns)),
    )?;
    let excluded = || sums.excluded.iter();
    run.emit(
        Table::build(EXCLUDED.name())
            .text("source", excluded().map(|((source, ..), _)| source.name()))
            .text(
                "reason",
                excluded().map(|((_, reason, _), _)| reason.to_string()),
            )
            .text(
                "name",
                excluded().map(|((.., name), _)| sums.texts.text(*name)),
            )
            .u64("calls", excluded().map(|(_, sum)| sum.calls))
            .i64("dur_ns", excluded().map(|(_, sum)| sum.dur_ns)),
    )?;
    let rows = || sums.one_figure.iter();
    let backend = |of: &OneFigure| of.backend.map(|backend| sums.texts.text(backend));
    run.emit(
        Table::build(ONE_FIGURE.name())
            .text("source", rows().map(|(of, _)| of.source.name()))
            .text("name", rows().map(|(of, _)| sums.texts.text(of.name)))
            .text("backend", rows().map(|(of, _)| backend(of)))
            .i64("device", rows().map(|(of, _)| of.device))
            .text("provenance", rows().map(|(of, _)| of.provenance.name()))
            .text("reason", rows().map(|(of, _)| of.reason.to_string()))
            .u64("calls", rows().map(|(_, sum)| sum.calls))
            .i64("dur_ns", rows().map(|(_, sum)| sum.dur_ns))
            .text("flops", rows().map(|(_, sum)| sum.flops.to_string()))
            .text("bytes", rows().map(|(_, sum)| sum.bytes.to_string())),
    )
}

fn emit_calls(run: &mut Run, sums: &Sums, calls: &CallCounts) -> Result<()> {
    let rows = || calls.iter();
    let label = |call: &Call| sums.labels[call.label as usize];
    let text = |number: Option<u32>| number.map(|number| sums.texts.text(number));
    run.emit(
        Table::build(CALLS.name())
            .text("source", rows().map(|(call, _)| label(call).source.name()))
            .text(
                "name",
                rows().map(|(call, _)| sums.texts.text(label(call).name)),
            )
            .text("backend", rows().map(|(call, _)| text(label(call).backend)))
            .i64("device", rows().map(|(call, _)| label(call).device))
            .text(
                "provenance",
                rows().map(|(call, _)| label(call).provenance.name()),
            )
            .text(
                "precision",
                rows().map(|(call, _)| text(label(call).precision)),
            )
            .u64("flops", rows().map(|(call, _)| call.flops))
            .u64("bytes", rows().map(|(call, _)| call.bytes))
            .i64("dur_ns", rows().map(|(call, _)| call.dur_ns))
            .u64("calls", rows().map(|(_, count)| *count)),
    )
}

/// The labels of a row's declared and counted work differ only in provenance and precision.
fn emit_innermost(run: &mut Run, sums: &Sums) -> Result<()> {
    let rows = || sums.innermost.iter();
    let text = |number: Option<u32>| number.map(|number| sums.texts.text(number));
    let counted = |key: &InnermostKey| sums.labels.get(key.counted as usize);
    let label = |key: &InnermostKey| match key.declared {
        NONE => sums.labels[key.counted as usize],
        declared => sums.labels[declared as usize],
    };
    let either = |key: &InnermostKey, of: &crate::sums::Innermost| match key.declared {
        NONE => of.counted,
        _ => of.declared,
    };
    run.emit(
        Table::build(INNERMOST.name())
            .text(
                "lane_kind",
                rows().map(|(key, _)| lane_kind_name(key.lane_kind)),
            )
            .text("brick", rows().map(|(key, _)| text(key.group.brick)))
            .text(
                "category",
                rows().map(|(key, _)| sums.texts.text(key.group.category)),
            )
            .text("source", rows().map(|(key, _)| label(key).source.name()))
            .text(
                "name",
                rows().map(|(key, _)| sums.texts.text(label(key).name)),
            )
            .text("backend", rows().map(|(key, _)| text(label(key).backend)))
            .i64("device", rows().map(|(key, _)| label(key).device))
            .text(
                "provenance",
                rows().map(|(key, _)| counted(key).map(|of| of.provenance.name())),
            )
            .text(
                "precision",
                rows().map(|(key, _)| text(counted(key)?.precision)),
            )
            .bool("is_declared", rows().map(|(key, _)| key.declared != NONE))
            .u64("calls", rows().map(|(key, of)| either(key, of).calls))
            .i64("dur_ns", rows().map(|(key, of)| either(key, of).dur_ns))
            .text(
                "declared_flops",
                rows().map(|(_, of)| of.declared.flops.to_string()),
            )
            .text(
                "declared_bytes",
                rows().map(|(_, of)| of.declared.bytes.to_string()),
            )
            .text(
                "counted_flops",
                rows().map(|(_, of)| of.counted.flops.to_string()),
            )
            .text(
                "counted_bytes",
                rows().map(|(_, of)| of.counted.bytes.to_string()),
            ),
    )
}

/// Reads and merges parts.
///
/// # Errors
/// An input lacks a column or has it in another type; a cell says nothing that a part says.
pub fn read(run: &mut Run) -> Result<(Sums, CallCounts)> {
    let mut reader = Reader::default();
    let calls = reader.calls(run)?;
    reader.innermost(run)?;
    reader.busy(run)?;
    reader.excluded(run)?;
    reader.one_figure(run)?;
    let mut sums = reader.sums;
    sums.texts = reader.texts;
    sums.labels = reader.labels.all().to_vec();
    sums.points.resize(sums.labels.len(), Sum::default());
    let numbers = sums.sort();
    let renumbered = calls.into_iter().map(|(call, count)| {
        let label = numbers[call.label as usize];
        (Call { label, ..call }, count)
    });
    Ok((sums, CallCounts::merge(renumbered.collect())))
}

#[derive(Default)]
struct Reader {
    texts: Texts,
    labels: Interner<Label>,
    sums: Sums,
}

impl Reader {
    fn calls(&mut self, run: &mut Run) -> Result<Vec<(Call, u64)>> {
        let mut out = Vec::new();
        let mut batches = run.batches(CALLS.name())?;
        while let Some(batch) = batches.next_batch()? {
            let (of, name, backend) = (
                batch.text("source")?,
                batch.text("name")?,
                batch.text("backend")?,
            );
            let device = batch.i64("device")?;
            let (from, precision) = (batch.text("provenance")?, batch.text("precision")?);
            let (flops, bytes) = (batch.u64("flops")?, batch.u64("bytes")?);
            let (dur_ns, calls) = (batch.i64("dur_ns")?, batch.u64("calls")?);
            for row in 0..batch.rows() {
                let label = Label {
                    provenance: provenance(from.get(row))?,
                    precision: precision.get(row).map(|text| self.texts.number(text)),
                    ..declared_label(
                        &mut self.texts,
                        of.get(row),
                        name.get(row),
                        backend.get(row),
                        device.get(row),
                    )?
                };
                let call = Call {
                    label: self.labels.number(label),
                    flops: needed(flops.get(row), "flops")?,
                    bytes: needed(bytes.get(row), "bytes")?,
                    dur_ns: needed(dur_ns.get(row), "dur_ns")?,
                };
                let count = needed(calls.get(row), "calls")?;
                let number = call.label as usize;
                if number == self.sums.points.len() {
                    self.sums.points.push(Sum::default());
                }
                self.sums.points[number].add_times(call.dur_ns, call.flops, call.bytes, count);
                out.push((call, count));
            }
        }
        Ok(out)
    }

    fn innermost(&mut self, run: &mut Run) -> Result<()> {
        let table = run.table(INNERMOST.name())?;
        let (of, name, backend) = (
            table.text("source")?,
            table.text("name")?,
            table.text("backend")?,
        );
        let device = table.i64("device")?;
        let (kind, brick) = (table.text("lane_kind")?, table.text("brick")?);
        let category = table.text("category")?;
        let (from, precision) = (table.text("provenance")?, table.text("precision")?);
        let is_declared = table.bool("is_declared")?;
        let (calls, dur_ns) = (table.u64("calls")?, table.i64("dur_ns")?);
        let figures = [
            table.text("declared_flops")?,
            table.text("declared_bytes")?,
            table.text("counted_flops")?,
            table.text("counted_bytes")?,
        ];
        for row in 0..table.rows() {
            let label = declared_label(
                &mut self.texts,
                of.get(row),
                name.get(row),
                backend.get(row),
                device.get(row),
            )?;
            let (mut declared, mut counted) = (NONE, NONE);
            if is_declared.get(row) == Some(true) {
                declared = self.labels.number(label);
            }
            if let Some(from) = from.get(row) {
                counted = self.labels.number(Label {
                    provenance: provenance(Some(from))?,
                    precision: precision.get(row).map(|text| self.texts.number(text)),
                    ..label
                });
            }
            let key = InnermostKey {
                lane_kind: lane_kind(kind.get(row))?,
                group: Group {
                    brick: brick.get(row).map(|text| self.texts.number(text)),
                    category: self.texts.number(needed(category.get(row), "category")?),
                },
                declared,
                counted,
            };
            let calls = needed(calls.get(row), "calls")?;
            let dur_ns = needed(dur_ns.get(row), "dur_ns")?;
            let [of_declared, of_counted] = [0, 2].map(|at| -> Result<Sum> {
                Ok(Sum {
                    calls,
                    dur_ns,
                    flops: figure(figures[at].get(row))?,
                    bytes: figure(figures[at + 1].get(row))?,
                })
            });
            let sums = self.sums.innermost.entry(key).or_default();
            if declared != NONE {
                sums.declared.merge(&of_declared?);
            }
            if counted != NONE {
                sums.counted.merge(&of_counted?);
            }
        }
        Ok(())
    }

    fn busy(&mut self, run: &mut Run) -> Result<()> {
        let table = run.table(BUSY.name())?;
        let (kind, busy_ns) = (table.text("lane_kind")?, table.i64("busy_ns")?);
        for row in 0..table.rows() {
            let busy_ns = needed(busy_ns.get(row), "busy_ns")?;
            self.sums.add_busy(lane_kind(kind.get(row))?, busy_ns);
        }
        Ok(())
    }

    fn excluded(&mut self, run: &mut Run) -> Result<()> {
        let table = run.table(EXCLUDED.name())?;
        let (from, why, name) = (
            table.text("source")?,
            table.text("reason")?,
            table.text("name")?,
        );
        let (calls, dur_ns) = (table.u64("calls")?, table.i64("dur_ns")?);
        for row in 0..table.rows() {
            let name = self.texts.number(needed(name.get(row), "name")?);
            let key = (source(from.get(row))?, cells::reason(why.get(row))?, name);
            let sum = self.sums.excluded.entry(key).or_default();
            sum.calls = sum.calls.saturating_add(needed(calls.get(row), "calls")?);
            sum.dur_ns = sum
                .dur_ns
                .saturating_add(needed(dur_ns.get(row), "dur_ns")?);
        }
        Ok(())
    }

    fn one_figure(&mut self, run: &mut Run) -> Result<()> {
        let table = run.table(ONE_FIGURE.name())?;
        let (of, name, backend) = (
            table.text("source")?,
            table.text("name")?,
            table.text("backend")?,
        );
        let device = table.i64("device")?;
        let (from, why) = (table.text("provenance")?, table.text("reason")?);
        let (calls, dur_ns) = (table.u64("calls")?, table.i64("dur_ns")?);
        let (flops, bytes) = (table.text("flops")?, table.text("bytes")?);
        for row in 0..table.rows() {
            let label = declared_label(
                &mut self.texts,
                of.get(row),
                name.get(row),
                backend.get(row),
                device.get(row),
            )?;
            let reason: Reason = cells::reason(why.get(row))?;
            let one_figure = OneFigure {
                source: label.source,
                name: label.name,
                backend: label.backend,
                device: label.device,
                provenance: provenance(from.get(row))?,
                reason,
            };
            self.sums
                .one_figure
                .entry(one_figure)
                .or_default()
                .merge(&Sum {
                    calls: needed(calls.get(row), "calls")?,
                    dur_ns: needed(dur_ns.get(row), "dur_ns")?,
                    flops: figure(flops.get(row))?,
                    bytes: figure(bytes.get(row))?,
                });
        }
        Ok(())
    }
}
