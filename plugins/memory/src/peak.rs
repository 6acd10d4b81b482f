//! Owners of the memory at the peak.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use trueno_plugin::{Table, TableBuilder};

use crate::Options;
use crate::events::Events;
use crate::ledger::Ledger;
use crate::owners::{Owner, Owners};
use crate::pools::{Pool, cell};
use crate::sample_weight::blocks as whole;

/// Owner of the remaining bytes of a tag some of whose bytes were released without an address.
pub const NOT_KNOWN: &str = "not known whose";
pub const REST: &str = "the rest";

/// Blocks and bytes by tag and owner; they add up to all live bytes. Blocks are `None` if it is unknown which are
/// live.
pub fn held(ledger: &Ledger, owners: &Owners) -> BTreeMap<(usize, Owner), (Option<u128>, i128)> {
    let mut out: BTreeMap<(usize, Owner), (Option<u128>, i128)> = BTreeMap::new();
    let mut rest = ledger.by_tag().clone();
    let mut add = |tag: usize, owner: Owner, blocks: Option<u128>, bytes: i128| {
        let entry = out.entry((tag, owner)).or_insert((Some(0), 0));
        entry.0 = entry.0.zip(blocks).map(|(a, b)| a + b);
        entry.1 += bytes;
        *rest.entry(tag).or_default() -= bytes;
    };
    for block in ledger.blocks() {
        add(
            block.tag,
            owners.owner(block.span),
            Some(u128::from(block.stands_for)),
            i128::from(block.bytes),
        );
    }
    for ((tag, span), (rows, bytes)) in ledger.loose() {
        if !ledger.released_loosely(*tag) {
            add(*tag, owners.owner(*span), Some(*rows), *bytes);
        }
    }
    for (tag, bytes) in rest {
        if bytes != 0 {
            let owner = Owner {
                kind: None,
                name: NOT_KNOWN.to_owned(),
                layer: None,
                iteration: None,
            };
            out.insert((tag, owner), (None, bytes));
        }
    }
    out
}

/// Table `peak_owners`: what was live at the peak of each place, largest first. `kind`, `name`, `layer` and
/// `iteration` are those of the row of bricks that allocated it. `blocks` is null if it is unknown which are live.
/// `peak_share` is relative to all that was live there.
pub fn table(events: &Events, pools: &[Pool], owners: &Owners, options: &Options) -> TableBuilder {
    let mut rows = Vec::new();
    for pool in pools {
        let Some(peak) = &pool.peak else { continue };
        let mut held: Vec<_> = held(&peak.ledger, owners).into_iter().collect();
        held.sort_by(|(a_key, a), (b_key, b)| (Reverse(a.1), a_key).cmp(&(Reverse(b.1), b_key)));
        let most = usize::try_from(options.rows)
            .unwrap_or(usize::MAX)
            .min(held.len());
        let rest: i128 = held[most..].iter().map(|(_, (_, bytes))| bytes).sum();
        let beyond = held.len() - most;
        held.truncate(most);
        let place = events.places[pool.place].name();
        rows.extend(held.into_iter().map(|((tag, owner), (blocks, bytes))| {
            let tag = events.tags[tag].clone();
            (place.clone(), tag, owner, blocks, bytes, peak.bytes)
        }));
        if beyond > 0 {
            let owner = Owner {
                kind: None,
                name: REST.to_owned(),
                layer: None,
                iteration: None,
            };
            rows.push((place, None, owner, None, rest, peak.bytes));
        }
    }
    Table::build("peak_owners")
        .text("place", rows.iter().map(|row| &row.0))
        .text("tag", rows.iter().map(|row| row.1.as_deref()))
        .text("kind", rows.iter().map(|row| row.2.kind.as_deref()))
        .text("name", rows.iter().map(|row| &row.2.name))
        .i64("layer", rows.iter().map(|row| row.2.layer))
        .u64("iteration", rows.iter().map(|row| row.2.iteration))
        .u64("blocks", rows.iter().map(|row| row.3.map(whole)))
        .i64("bytes", rows.iter().map(|row| cell(row.4)))
        .f64(
            "peak_share",
            rows.iter().map(|row| row.4 as f64 / row.5 as f64),
        )
}
