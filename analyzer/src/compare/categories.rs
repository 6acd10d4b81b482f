//! Time of each category in each iteration.

use std::collections::BTreeMap;

use super::samples::{Kind, Name, Sampled, names};
use crate::categories::CategoryRules;
use crate::query::{Database, QueryError, collect};
use crate::rows::Rows;

/// Self time on host threads of what an iteration ran: the duration of a row less those of the rows in it on its thread.
const HOST: &str = "\
SELECT b.category_id AS category, b.name_id AS name, b.name_id AS brick, b.iteration AS iteration, \
  SUM(b.dur_ns - COALESCE(c.inner_ns, 0)) AS ns, COUNT(*) AS n \
FROM bricks b LEFT JOIN \
  (SELECT parent, thread, SUM(dur_ns) AS inner_ns FROM bricks WHERE timing <> 'bound' GROUP BY parent, thread) c \
  ON b.id = c.parent AND b.thread = c.thread \
WHERE b.iteration IS NOT NULL AND b.timing <> 'bound' AND b.kind <> 'run' AND b.kind <> 'iteration' AND b.kind <> 'layer' \
GROUP BY b.category_id, b.name_id, b.iteration";

/// Time of kernels on devices, in the iteration of the brick that launched them.
const DEVICE: &str = "\
SELECT b.category_id AS category, k.name_id AS name, b.name_id AS brick, b.iteration AS iteration, \
  SUM(k.dur_ns) AS ns, COUNT(*) AS n \
FROM kernels k INNER JOIN bricks b ON k.brick = b.id \
WHERE b.iteration IS NOT NULL AND k.device IS NOT NULL AND k.valid AND k.timing <> 'bound' \
GROUP BY b.category_id, k.name_id, b.name_id, b.iteration";

/// One sample an iteration; a category that is not there in an iteration has none for it.
///
/// # Errors
/// The engine could not run a query.
pub fn categories(
    database: &Database,
    rules: &CategoryRules,
) -> Result<BTreeMap<Name, Sampled>, QueryError> {
    let mut all = BTreeMap::new();
    for (kind, sql, table) in [
        (Kind::Category, HOST, "bricks"),
        (Kind::DeviceCategory, DEVICE, "kernels"),
    ] {
        let frame = collect(database, sql)?;
        if frame.height() == 0 {
            continue;
        }
        let given = names(database, "bricks", "category")?;
        let bricks = names(database, "bricks", "name")?;
        let named = names(database, table, "name")?;
        let rows = Rows::new(&frame);
        let (category, name, brick) =
            (rows.i64("category")?, rows.i64("name")?, rows.i64("brick")?);
        let (iteration, ns) = (rows.i64("iteration")?, rows.i64("ns")?);
        let mut sums: BTreeMap<&str, BTreeMap<i64, i64>> = BTreeMap::new();
        for row in 0..frame.height() {
            let by_rule = |name: Option<&String>| rules.category(name?);
            let category = category
                .get(row)
                .and_then(|n| given.get(&n))
                .map(String::as_str);
            let category = category
                .or_else(|| by_rule(named.get(&name.get(row)?)))
                .or_else(|| by_rule(bricks.get(&brick.get(row)?)))
                .unwrap_or("uncategorised");
            let iterations = sums.entry(category).or_default();
            if let (Some(iteration), Some(ns)) = (iteration.get(row), ns.get(row)) {
                *iterations.entry(iteration).or_default() += ns;
            }
        }
        for (category, iterations) in sums {
            let durations = iterations.into_values().map(|ns| ns.max(0) as f64);
            let name = category.to_owned();
            all.insert(Name { kind, name }, Sampled::of(durations.collect()));
        }
    }
    Ok(all)
}
