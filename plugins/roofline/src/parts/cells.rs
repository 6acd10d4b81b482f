//! Cells of the tables of parts.

use trueno_analysis::interner::Texts;
use trueno_analysis::roofline::model::Reason;
use trueno_plugin::{Error, Result};

use crate::label::{Label, Provenance, Source};

/// Label of declared work from the columns that the tables share.
pub(super) fn declared_label(
    texts: &mut Texts,
    source_cell: Option<&str>,
    name: Option<&str>,
    backend: Option<&str>,
    device: Option<i64>,
) -> Result<Label> {
    Ok(Label {
        source: source(source_cell)?,
        name: texts.number(needed(name, "name")?),
        backend: backend.map(|text| texts.number(text)),
        device,
        provenance: Provenance::Declared,
        precision: None,
    })
}

pub(super) fn needed<T>(cell: Option<T>, column: &str) -> Result<T> {
    cell.ok_or_else(|| Error::bad_input(format!("{column} of a part is null")))
}

pub(super) fn source(cell: Option<&str>) -> Result<Source> {
    Source::named(needed(cell, "source")?).ok_or_else(|| unknown("source", cell))
}

pub(super) fn provenance(cell: Option<&str>) -> Result<Provenance> {
    Provenance::named(needed(cell, "provenance")?).ok_or_else(|| unknown("provenance", cell))
}

pub(super) fn reason(cell: Option<&str>) -> Result<Reason> {
    let words = needed(cell, "reason")?;
    let mut all = std::iter::successors(Some(Reason::BoundRow), |reason| next(*reason));
    let found = all.find(|reason| reason.to_string() == words);
    found.ok_or_else(|| unknown("reason", cell))
}

/// The next reason. A match, so that a new reason missing here does not compile.
fn next(reason: Reason) -> Option<Reason> {
    Some(match reason {
        Reason::BoundRow => Reason::InvalidRow,
        Reason::InvalidRow => Reason::NoTime,
        Reason::NoTime => Reason::Cut,
        Reason::Cut => Reason::OnDevice,
        Reason::OnDevice => Reason::SeveralThreads,
        Reason::SeveralThreads => Reason::NoFlops,
        Reason::NoFlops => Reason::NoBytes,
        Reason::NoBytes => Reason::ZeroFlops,
        Reason::ZeroFlops => Reason::ZeroBytes,
        Reason::ZeroBytes => Reason::BadFlops,
        Reason::BadFlops => Reason::BadBytes,
        Reason::BadBytes => Reason::MixedPrecision,
        Reason::MixedPrecision => Reason::BadCeiling,
        Reason::BadCeiling => Reason::OutOfRange,
        Reason::OutOfRange => return None,
    })
}

const LANE_KINDS: [&str; 2] = ["host", "device"];

pub(super) fn lane_kind_name(lane_kind: usize) -> &'static str {
    LANE_KINDS[lane_kind]
}

pub(super) fn lane_kind(cell: Option<&str>) -> Result<usize> {
    let name = needed(cell, "lane_kind")?;
    let found = LANE_KINDS.iter().position(|kind| *kind == name);
    found.ok_or_else(|| unknown("lane_kind", cell))
}

/// Parses a sum of FLOPs or bytes. It may need more than 64 bits, so it is stored as text.
pub(super) fn figure(cell: Option<&str>) -> Result<u128> {
    let figure = needed(cell, "a sum")?.parse();
    figure.map_err(|_| unknown("a sum", cell))
}

fn unknown(column: &str, cell: Option<&str>) -> Error {
    Error::bad_input(format!(
        "{column} of a part is {:?}",
        cell.unwrap_or_default()
    ))
}
