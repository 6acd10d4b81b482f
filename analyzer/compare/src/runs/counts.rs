//! Numbers of rows by name: what is new, gone, or more or less often there.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::side::Member;
use trueno_statistics::{Kind, Name};

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CountRow {
    #[serde(flatten)]
    pub name: Name,
    pub change: Change,
    pub base: Vec<u64>,
    pub run: Vec<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    New,
    Gone,
    /// Each run has more than each run of the base.
    More,
    Fewer,
    /// Runs of one side differ.
    Varies,
}

impl Change {
    pub fn word(self) -> &'static str {
        match self {
            Change::New => "new",
            Change::Gone => "gone",
            Change::More => "more often",
            Change::Fewer => "less often",
            Change::Varies => "varies",
        }
    }
}

/// Sorted names whose counts are not the same in all runs.
pub fn counts(base: &[Member], run: &[Member]) -> Vec<CountRow> {
    let is_rows = |name: &&Name| !matches!(name.kind, Kind::Category | Kind::DeviceCategory);
    let names: BTreeSet<&Name> = base
        .iter()
        .chain(run)
        .flat_map(|member| member.names.keys())
        .filter(is_rows)
        .collect();
    let of = |members: &[Member], name: &Name| -> Vec<u64> {
        let count = |names: &BTreeMap<Name, _>| {
            names
                .get(name)
                .map_or(0, |s: &trueno_statistics::Sampled| s.count)
        };
        members.iter().map(|member| count(&member.names)).collect()
    };
    let mut rows: Vec<CountRow> = names
        .into_iter()
        .filter_map(|name| {
            let (base, run) = (of(base, name), of(run, name));
            Some(CountRow {
                name: name.clone(),
                change: change(&base, &run)?,
                base,
                run,
            })
        })
        .collect();
    rows.sort_by(|a, b| (a.change, &a.name).cmp(&(b.change, &b.name)));
    rows
}

fn change(base: &[u64], run: &[u64]) -> Option<Change> {
    let ends = |counts: &[u64]| Some((*counts.iter().min()?, *counts.iter().max()?));
    let (a, b) = (ends(base)?, ends(run)?);
    match (a, b) {
        _ if a == b && a.0 == a.1 => None,
        ((_, 0), _) => Some(Change::New),
        (_, (_, 0)) => Some(Change::Gone),
        _ if b.0 > a.1 => Some(Change::More),
        _ if b.1 < a.0 => Some(Change::Fewer),
        _ => Some(Change::Varies),
    }
}

#[cfg(test)]
mod tests {
    use super::{Change::*, change};

    #[test]
    fn a_change_is_one_that_all_runs_show() {
        for (base, run, expected) in [
            (&[3][..], &[3][..], None),
            (&[0], &[3], Some(New)),
            (&[3, 3], &[0, 0], Some(Gone)),
            (&[3, 4], &[5, 6], Some(More)),
            (&[3, 4], &[1], Some(Fewer)),
            (&[3, 4], &[4, 5], Some(Varies)),
            (&[3, 4], &[3, 4], Some(Varies)),
        ] {
            assert_eq!(change(base, run), expected, "{base:?} {run:?}");
        }
    }
}
