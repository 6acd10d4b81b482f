//! Operators by name and shapes of what they were called with: device time, rates, share of the roof.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::Map;
use trueno_engine::run::Run;
use trueno_host::plugin::Registry;

use super::plugin_section::{section, table};
use super::side::Member;

/// Operator, dimensions of its operands, and their types, as recorded.
pub type Key = [String; 3];

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sums {
    calls: u64,
    counted_ns: i64,
    flops: f64,
    bytes: f64,
    /// Time of the calls whose work is known.
    timed_ns: f64,
    /// The part of it with a known roof, and what it would take at the roof.
    placed_ns: f64,
    at_roof_ns: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Figures {
    pub calls: f64,
    /// Time that counts for it; see the plugin `operators`.
    pub counted_ns: f64,
    pub flops_per_s: Option<f64>,
    pub bytes_per_s: Option<f64>,
    /// Time at the roof divided by the actual time.
    pub efficiency_share: Option<f64>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SignatureRow {
    pub name: String,
    pub input_dims: String,
    pub input_types: String,
    pub base: Option<Figures>,
    pub run: Option<Figures>,
}

impl SignatureRow {
    pub fn change_ns(&self) -> f64 {
        let of = |side: &Option<Figures>| side.map_or(0.0, |figures| figures.counted_ns);
        of(&self.run) - of(&self.base)
    }
}

/// Sums of a run by operator and shapes; empty if no shapes were recorded.
///
/// # Errors
/// The reason for there being none, for people.
pub fn signatures(run: &Run, registry: &Registry) -> Result<BTreeMap<Key, Sums>, String> {
    let has_shapes = run.tables().iter().any(|table| table.name == "signatures");
    if !has_shapes {
        return Ok(BTreeMap::new());
    }
    let section = section(run, registry, "operators", Map::new())?;
    let Some(rows) = table(&section, "by_shape") else {
        return Ok(BTreeMap::new());
    };
    let text = |column: &str| rows.text(column).map_err(|error| error.to_string());
    let number = |column: &str| rows.i64(column).map_err(|error| error.to_string());
    let real = |column: &str| rows.f64(column).map_err(|error| error.to_string());
    let (name, dims, types) = (text("name")?, text("input_dims")?, text("input_types")?);
    let (calls, timed_on) = (
        rows.u64("calls").map_err(|error| error.to_string())?,
        text("timed_on")?,
    );
    let (counted, device, host) = (
        number("counted_ns")?,
        number("device_ns")?,
        number("host_ns")?,
    );
    let (flops, bytes, efficiency) = (
        real("flops")?,
        real("moved_bytes")?,
        real("efficiency_share")?,
    );
    let mut out: BTreeMap<Key, Sums> = BTreeMap::new();
    for row in 0..rows.rows() {
        let Some(counted_ns) = counted.get(row).filter(|ns| *ns > 0) else {
            continue;
        };
        let key = [name.get(row), dims.get(row), types.get(row)];
        let sums = out
            .entry(key.map(|text| text.unwrap_or_default().to_owned()))
            .or_default();
        sums.calls += calls.get(row).unwrap_or(0);
        sums.counted_ns = sums.counted_ns.saturating_add(counted_ns);
        let time = match timed_on.get(row) {
            Some("device") => device.get(row),
            Some(_) => host.get(row),
            None => None,
        };
        if let (Some(time_ns), Some(flops), Some(bytes)) = (time, flops.get(row), bytes.get(row)) {
            sums.timed_ns += time_ns as f64;
            sums.flops += flops;
            sums.bytes += bytes;
            if let Some(efficiency) = efficiency.get(row) {
                sums.placed_ns += time_ns as f64;
                sums.at_roof_ns += time_ns as f64 * efficiency;
            }
        }
    }
    Ok(out)
}

/// Rows of both sides, the largest change first; `None` if no run of a side has any.
pub fn compare(base: &[Member], run: &[Member]) -> Option<Vec<SignatureRow>> {
    let has_some = |side: &[Member]| side.iter().any(|member| !member.signatures.is_empty());
    if !has_some(base) || !has_some(run) {
        return None;
    }
    let all = base.iter().chain(run);
    let keys: BTreeSet<&Key> = all.flat_map(|member| member.signatures.keys()).collect();
    let mut rows: Vec<SignatureRow> = keys
        .into_iter()
        .map(|key| SignatureRow {
            name: key[0].clone(),
            input_dims: key[1].clone(),
            input_types: key[2].clone(),
            base: figures(base, key),
            run: figures(run, key),
        })
        .collect();
    // By key where they are equal: the sort is stable.
    rows.sort_by_key(|row| Reverse(row.change_ns().abs().round() as u64));
    Some(rows)
}

/// Means over the runs of a side, with 0 for runs that lack it.
fn figures(members: &[Member], key: &Key) -> Option<Figures> {
    let mut sum = Sums::default();
    let mut is_there = false;
    for one in members
        .iter()
        .filter_map(|member| member.signatures.get(key))
    {
        is_there = true;
        sum.calls += one.calls;
        sum.counted_ns = sum.counted_ns.saturating_add(one.counted_ns);
        sum.flops += one.flops;
        sum.bytes += one.bytes;
        sum.timed_ns += one.timed_ns;
        sum.placed_ns += one.placed_ns;
        sum.at_roof_ns += one.at_roof_ns;
    }
    let runs = members.len() as f64;
    let rate = |amount: f64| (sum.timed_ns > 0.0).then(|| amount / (sum.timed_ns / 1e9));
    is_there.then(|| Figures {
        calls: sum.calls as f64 / runs,
        counted_ns: sum.counted_ns as f64 / runs,
        flops_per_s: rate(sum.flops),
        bytes_per_s: rate(sum.bytes),
        efficiency_share: (sum.placed_ns > 0.0).then(|| sum.at_roof_ns / sum.placed_ns),
    })
}
