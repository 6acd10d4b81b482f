//! Checksums with the bricks they were taken in.

use std::collections::BTreeSet;

use trueno_plugin::{Result, Run};

use super::Window;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tensor {
    pub tensor: String,
    pub hash: u64,
    pub is_zero: bool,
    pub time_ns: i64,
    pub span: u64,
    pub brick: String,
    pub dur_ns: i64,
}

/// Reads input `checksums`.
///
/// # Errors
/// It lacks a column or has it in another type.
pub fn load(run: &mut Run, window: &Window) -> Result<Vec<Tensor>> {
    let table = run.table("checksums")?;
    let (tensor, hash) = (table.text("tensor")?, table.u64("hash")?);
    let (elements, zeros) = (table.u64("elements")?, table.u64("zeros")?);
    let (time, span, brick) = (
        table.i64("time_ns")?,
        table.u64("span")?,
        table.text("brick")?,
    );
    let dur = table.i64("dur_ns")?;
    // A row that lacks a part of its result cannot be compared.
    let unknown: BTreeSet<u64> = (0..table.rows())
        .filter(|row| tensor.get(*row).is_none() || hash.get(*row).is_none())
        .filter_map(|row| span.get(row))
        .collect();
    let tensors = (0..table.rows()).filter_map(|row| {
        Some(Tensor {
            tensor: tensor.get(row)?.to_owned(),
            hash: hash.get(row)?,
            is_zero: elements.get(row) == Some(0)
                || (zeros.get(row).is_some() && zeros.get(row) == elements.get(row)),
            time_ns: time.get(row)?,
            span: span.get(row).filter(|span| !unknown.contains(span))?,
            brick: brick.get(row)?.to_owned(),
            dur_ns: dur.get(row)?,
        })
    });
    let times = window.from_ns..=window.until_ns;
    Ok(tensors
        .filter(|tensor| times.contains(&tensor.time_ns))
        .collect())
}
