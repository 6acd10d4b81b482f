//! Durations of a run by name.

use std::collections::{BTreeMap, HashMap};

use trueno_engine::frame::Rows;
use trueno_engine::query::{Database, QueryError, collect};
use trueno_model::name_groups::NameGroups;
use trueno_statistics::{Kind, Name, Random, Sampled};

/// Tables of each kind: the kind, its table, the column of its names, and a condition on rows.
const SOURCES: [(Kind, &str, &str, &str); 9] = [
    (Kind::Iteration, "bricks", "name", "kind = 'iteration'"),
    (Kind::Layer, "bricks", "name", "kind = 'layer'"),
    (Kind::Brick, "bricks", "name", "kind = 'brick'"),
    (Kind::Function, "bricks", "name", "kind = 'function'"),
    (Kind::Task, "bricks", "name", "kind = 'task'"),
    (Kind::Kernel, "kernels", "name", "device IS NULL"),
    (Kind::DeviceKernel, "kernels", "name", "device IS NOT NULL"),
    (
        Kind::Transfer,
        "transfers",
        "direction",
        "start_ns IS NOT NULL",
    ),
    (Kind::Call, "calls", "name", "start_ns IS NOT NULL"),
];

/// All names of a run, and groups in the place of those in them, with at most `cap` samples each.
///
/// # Errors
/// The engine could not run a query.
pub fn sampled(
    database: &Database,
    groups: &NameGroups,
    cap: usize,
    seed: u64,
) -> Result<BTreeMap<Name, Sampled>, QueryError> {
    let mut all = BTreeMap::new();
    for (kind, table, column, rows) in SOURCES {
        let timed = match table {
            "calls" => "dur_ns >= 0",
            "kernels" => "valid AND timing <> 'bound' AND dur_ns >= 0",
            _ => "timing <> 'bound' AND dur_ns >= 0",
        };
        let sql = format!(
            "SELECT {column}_id AS name, start_ns, CASE WHEN {timed} THEN dur_ns ELSE NULL END AS dur_ns \
             FROM {table} WHERE {rows}"
        );
        let frame = collect(database, &sql)?;
        if frame.height() == 0 {
            continue;
        }
        let mut names = names(database, table, column)?;
        let firsts = grouped(&mut names, groups);
        let rows = Rows::new(&frame);
        let (number, start, dur) = (
            rows.i64("name")?,
            rows.i64("start_ns")?,
            rows.i64("dur_ns")?,
        );
        let mut by_number: HashMap<Option<i64>, (Sampled, Random)> = HashMap::new();
        for ((number, start), dur) in number.iter().zip(start.iter()).zip(dur.iter()) {
            let number = number.map(|number| firsts.get(&number).copied().unwrap_or(number));
            let (sampled, random) = by_number.entry(number).or_insert_with(|| {
                let name = number.and_then(|n| names.get(&n));
                let purpose = format!("sample {} {}", kind.word(), name.map_or("", String::as_str));
                (Sampled::default(), Random::new(seed, &purpose))
            });
            sampled.count += 1;
            match dur {
                Some(dur) => sampled.add(start.unwrap_or(0), dur, cap, random),
                None => sampled.untimed += 1,
            }
        }
        for (number, (mut sampled, _)) in by_number {
            sampled.sort_by_start();
            let name = number.and_then(|n| names.get(&n).cloned());
            let name = name.unwrap_or_default();
            all.insert(Name { kind, name }, sampled);
        }
    }
    Ok(all)
}

/// Puts groups in the place of the names in them; gives, by the number of such a name, the least number that has its
/// group.
fn grouped(names: &mut HashMap<i64, String>, groups: &NameGroups) -> HashMap<i64, i64> {
    for name in names.values_mut() {
        if let Some(group) = groups.group(name) {
            *name = group;
        }
    }
    let mut first_of: HashMap<&str, i64> = HashMap::new();
    for (number, name) in &*names {
        let first = first_of.entry(name).or_insert(*number);
        *first = (*first).min(*number);
    }
    let firsts = names
        .iter()
        .map(|(number, name)| (*number, first_of[name.as_str()]));
    firsts.filter(|(number, first)| number != first).collect()
}

/// Texts of a column by their numbers.
pub(super) fn names(
    database: &Database,
    table: &str,
    column: &str,
) -> Result<HashMap<i64, String>, QueryError> {
    let sql = format!(
        "SELECT DISTINCT {column}_id AS number, CAST({column} AS VARCHAR) AS text FROM {table}"
    );
    let frame = collect(database, &sql)?;
    let rows = Rows::new(&frame);
    let (number, text) = (rows.i64("number")?, rows.text("text")?);
    let pairs = number.iter().zip(text.iter());
    Ok(pairs
        .filter_map(|(number, text)| Some((number?, text?.to_owned())))
        .collect())
}
