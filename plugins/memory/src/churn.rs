//! Memory that each name takes and gives back.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use trueno_plugin::{Table, TableBuilder};

use crate::Options;
use crate::events::Events;
use crate::owners::Owners;
use crate::pools::cell;
use crate::sample_weight::{blocks, number};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Churn {
    pub place: usize,
    /// `None`: outside bricks, or the row is unknown.
    pub kind: Option<String>,
    pub name: String,
    /// Number of rows of that kind and name, with or without memory.
    pub calls: Option<u64>,
    /// Allocated blocks (see [`crate::sample_weight`]) and bytes.
    pub taken: (u128, i128),
    /// Released blocks and bytes; both are positive.
    pub given_back: (u128, i128),
}

impl Churn {
    pub fn per_call(&self, sum: f64) -> Option<f64> {
        self.calls
            .filter(|calls| *calls > 0)
            .map(|calls| sum / calls as f64)
    }
}

/// Blocks and bytes, allocated and released.
type Sums = [(u128, i128); 2];

fn add(to: &mut Sums, sums: Sums) {
    for (to, sum) in to.iter_mut().zip(sums) {
        *to = (to.0 + sum.0, to.1 + sum.1);
    }
}

/// Sorted by place, then by allocations, most first.
pub fn rows(events: &Events, owners: &Owners) -> Vec<Churn> {
    let mut out: BTreeMap<(usize, Option<String>, String), Churn> = BTreeMap::new();
    for (place, rows) in events.rows.iter().enumerate() {
        // By row of bricks first: texts are looked at once for each of those.
        let mut spans: BTreeMap<Option<u64>, Sums> = BTreeMap::new();
        let mut of_last: Option<(Option<u64>, Sums)> = None;
        for event in rows.range(events.begin(place)..rows.len()) {
            let same = of_last.as_mut().filter(|(span, _)| *span == event.span);
            let sums = match same {
                Some((_, sums)) => sums,
                None => {
                    if let Some((span, sums)) = of_last.take() {
                        add(spans.entry(span).or_default(), sums);
                    }
                    &mut of_last.insert((event.span, Sums::default())).1
                }
            };
            let sum = &mut sums[usize::from(event.bytes < 0)];
            sum.0 += u128::from(event.stands_for);
            sum.1 += i128::from(event.bytes).abs();
        }
        if let Some((span, sums)) = of_last {
            add(spans.entry(span).or_default(), sums);
        }
        for (span, [taken, given_back]) in spans {
            let owner = owners.owner(span);
            let key = (place, owner.kind.clone(), owner.name.clone());
            let churn = out.entry(key).or_insert_with(|| Churn {
                place,
                calls: owner
                    .kind
                    .as_deref()
                    .and_then(|kind| owners.calls(events.places[place].rank, kind, &owner.name)),
                kind: owner.kind,
                name: owner.name,
                ..Churn::default()
            });
            churn.taken = (churn.taken.0 + taken.0, churn.taken.1 + taken.1);
            churn.given_back = (
                churn.given_back.0 + given_back.0,
                churn.given_back.1 + given_back.1,
            );
        }
    }
    let mut out: Vec<Churn> = out.into_values().collect();
    out.sort_by_key(|churn| (churn.place, Reverse(churn.taken)));
    out
}

/// Table `by_brick`: allocations and releases by place and by the row of bricks that was open, most allocations
/// first. `calls` counts rows of that kind and name. `allocations_per_call` and `allocated_bytes_per_call` are null
/// outside bricks.
pub fn table(events: &Events, rows: &[Churn], options: &Options) -> TableBuilder {
    let most = usize::try_from(options.rows).unwrap_or(usize::MAX);
    let rows = &rows[..rows.len().min(most)];
    Table::build("by_brick")
        .text(
            "place",
            rows.iter().map(|row| events.places[row.place].name()),
        )
        .text("kind", rows.iter().map(|row| row.kind.as_deref()))
        .text("name", rows.iter().map(|row| &row.name))
        .u64("calls", rows.iter().map(|row| row.calls))
        .u64("allocations", rows.iter().map(|row| blocks(row.taken.0)))
        .i64("allocated_bytes", rows.iter().map(|row| cell(row.taken.1)))
        .u64("releases", rows.iter().map(|row| blocks(row.given_back.0)))
        .i64(
            "released_bytes",
            rows.iter().map(|row| cell(row.given_back.1)),
        )
        .f64(
            "allocations_per_call",
            rows.iter().map(|row| row.per_call(number(row.taken.0))),
        )
        .f64(
            "allocated_bytes_per_call",
            rows.iter().map(|row| row.per_call(row.taken.1 as f64)),
        )
}
