//! Sums over the rows that are not shown.

use std::collections::BTreeMap;

use trueno_model::{Cell, units};
use trueno_plugin::{Table, TextColumn, agreeing};

/// The column of shares to judge a table by: of wall time, else of busy time, else the first.
pub fn column(table: &Table) -> Option<&str> {
    let shares = || {
        table
            .columns()
            .map(|(name, _)| name)
            .filter(|name| name.ends_with("_share"))
    };
    ["wall_share", "busy_share"]
        .into_iter()
        .find_map(|name| shares().find(|share| *share == name))
        .or_else(|| shares().next())
}

/// `… and 37 more rows, 12.3 % of wall`, for the rows from `shown` on; `None` if there are none.
///
/// Shares of different `lane_kind` or `event` have different denominators, so they are listed separately. Null
/// shares are counted, not taken as 0.
pub fn rest(table: &Table, shown: usize) -> Option<String> {
    let hidden = table
        .rows()
        .checked_sub(shown)
        .filter(|hidden| *hidden > 0)?;
    let mut text = format!(
        "… and {} more {}",
        units::show(Cell::U64(hidden as u64), units::Unit::None),
        rows(hidden)
    );
    let Some(name) = column(table).filter(|name| adds_up(name)) else {
        return Some(text);
    };
    let Ok(shares) = table.column(name) else {
        return Some(text);
    };
    let kinds = ["lane_kind", "event"].map(|column| table.text(column).ok());
    let kinds = kinds.into_iter().flatten().next();
    let mut sums: BTreeMap<&str, f64> = BTreeMap::new();
    let mut unknown = 0;
    for row in shown..table.rows() {
        let kind = kinds.and_then(|kinds| kinds.get(row)).unwrap_or("");
        match Cell::at(shares, row).number() {
            Some(share) => *sums.entry(kind).or_default() += share,
            None => unknown += 1,
        }
    }
    let whole = name.trim_end_matches("_share").replace('_', " ");
    let several = kinds.is_some_and(several_kinds);
    let parts: Vec<String> = sums
        .into_iter()
        .map(|(kind, sum)| {
            let of = if several && !kind.is_empty() {
                format!("{kind} {whole}")
            } else {
                whole.clone()
            };
            format!("{} of {of}", units::percent(sum))
        })
        .collect();
    if !parts.is_empty() {
        text.push_str(&format!(", {}", parts.join(" and ")));
    }
    if unknown > 0 {
        text.push_str(&format!(
            " ({unknown} {} without a measured share)",
            rows(unknown)
        ));
    }
    Some(text)
}

/// Whether shares of a column are parts of one whole. Gains overlap, and an efficiency stands alone.
fn adds_up(column: &str) -> bool {
    let own = [
        "gain",
        "efficiency",
        "distance",
        "coverage",
        "brick",
        "total",
        "on_cpu",
        "life",
    ];
    !own.iter().any(|prefix| column.starts_with(prefix))
}

fn rows(count: usize) -> &'static str {
    agreeing(count, "row", "rows")
}

fn several_kinds(kinds: &TextColumn) -> bool {
    let mut known = kinds.iter().flatten();
    match known.next() {
        Some(first) => known.any(|kind| kind != first),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_keeps_the_full_denominator() {
        let table = Table::build("t")
            .f64("wall_share", [0.5, 0.3, 0.15, 0.05])
            .finish()
            .unwrap();
        assert_eq!(
            rest(&table, 2).unwrap(),
            "… and 2 more rows, 20.0 % of wall"
        );
        assert_eq!(rest(&table, 3).unwrap(), "… and 1 more row, 5.0 % of wall");
        assert_eq!(rest(&table, 4), None);
        assert_eq!(rest(&table, 9), None);
    }

    #[test]
    fn shares_of_hosts_and_devices_are_not_added_up() {
        let table = Table::build("t")
            .text("lane_kind", ["host", "host", "device"])
            .f64("wall_share", [Some(0.5), Some(0.25), Some(0.75)])
            .finish()
            .unwrap();
        assert_eq!(
            rest(&table, 1).unwrap(),
            "… and 2 more rows, 75.0 % of device wall and 25.0 % of host wall"
        );
    }

    #[test]
    fn a_share_that_was_not_measured_is_not_zero() {
        let table = Table::build("t")
            .f64("busy_share", [Some(0.5), None, Some(0.1)])
            .finish()
            .unwrap();
        assert_eq!(
            rest(&table, 1).unwrap(),
            "… and 2 more rows, 10.0 % of busy (1 row without a measured share)"
        );
    }

    #[test]
    fn gains_and_efficiencies_are_no_parts_of_a_whole() {
        for column in ["gain_100pct_share", "efficiency_share"] {
            let table = Table::build("t").f64(column, [0.9, 0.8, 0.7]);
            let table = table.finish().unwrap();
            assert_eq!(rest(&table, 1).unwrap(), "… and 2 more rows");
        }
    }
}
