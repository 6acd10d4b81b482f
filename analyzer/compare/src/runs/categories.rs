//! Time of each category in each iteration.

use std::collections::BTreeMap;

use trueno_engine::frame::Rows;
use trueno_engine::query::{Database, QueryError, collect};
use trueno_model::categories::CategoryRules;

use super::samples::names;
use trueno_statistics::{Kind, Name, Sampled};

/// Self time on host threads of what an iteration ran: the duration of a row less those of the rows in it on its thread.
const HOST: &str = "\
SELECT b.category, b.name, b.iteration, SUM(b.dur_ns - COALESCE(c.inner_ns, 0)) AS ns \
FROM (SELECT id, thread, category_id AS category, name_id AS name, iteration, dur_ns FROM bricks \
      WHERE iteration IS NOT NULL AND timing <> 'bound' AND kind <> 'run' AND kind <> 'iteration' AND kind <> 'layer') b \
LEFT JOIN \
  (SELECT parent, thread, SUM(dur_ns) AS inner_ns FROM bricks WHERE timing <> 'bound' GROUP BY parent, thread) c \
  ON b.id = c.parent AND b.thread = c.thread \
GROUP BY b.category, b.name, b.iteration";

/// Time of kernels on devices, in the iteration of the brick that launched them.
const DEVICE: &str = "\
SELECT b.category, k.name, b.of_name, b.iteration, SUM(k.dur_ns) AS ns \
FROM (SELECT brick, name_id AS name, dur_ns FROM kernels \
      WHERE device IS NOT NULL AND valid AND timing <> 'bound') k \
INNER JOIN (SELECT id, category_id AS category, name_id AS of_name, iteration FROM bricks \
      WHERE iteration IS NOT NULL) b ON k.brick = b.id \
GROUP BY b.category, k.name, b.of_name, b.iteration";

/// One sample an iteration; a category that is not there in an iteration has none for it.
///
/// # Errors
/// The engine could not run a query.
pub fn categories(
    database: &Database,
    rules: &CategoryRules,
) -> Result<BTreeMap<Name, Sampled>, QueryError> {
    let mut all = BTreeMap::new();
    for (kind, sql, table, brick) in [
        (Kind::Category, HOST, "bricks", "name"),
        (Kind::DeviceCategory, DEVICE, "kernels", "of_name"),
    ] {
        let frame = collect(database, sql)?;
        if frame.height() == 0 {
            continue;
        }
        let given = names(database, "bricks", "category")?;
        let bricks = names(database, "bricks", "name")?;
        let named = names(database, table, "name")?;
        let rows = Rows::new(&frame);
        let (category, name, brick) = (rows.i64("category")?, rows.i64("name")?, rows.i64(brick)?);
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
                let sum = iterations.entry(iteration).or_default();
                *sum = i64::saturating_add(*sum, ns);
            }
        }
        for (category, iterations) in sums {
            let durations = iterations.into_values().map(|ns| ns.max(0) as f64);
            let name = category.to_owned();
            all.insert(
                Name { kind, name },
                Sampled::from_durations(durations.collect()),
            );
        }
    }
    Ok(all)
}
