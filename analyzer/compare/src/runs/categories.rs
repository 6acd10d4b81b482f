//! Time of each category in each iteration.

use std::collections::{BTreeMap, HashMap};

use trueno_analysis::hash::{FastMap, FastSet};
use trueno_analysis::id_index::IdIndex;
use trueno_engine::frame::Rows;
use trueno_engine::query::{Database, OrderedTable, QueryError, RowOrder, collect};
use trueno_model::categories::CategoryRules;

use super::samples::names;
use trueno_statistics::{Kind, Name, Sampled};

/// Device time of kernels, in the iteration of the brick that launched them.
const DEVICE: &str = "\
SELECT b.category, k.name, b.of_name, b.iteration, SUM(k.dur_ns) AS ns \
FROM (SELECT brick, name_id AS name, dur_ns FROM kernels \
      WHERE device IS NOT NULL AND valid AND timing <> 'bound') k \
INNER JOIN (SELECT id, category_id AS category, name_id AS of_name, iteration FROM bricks \
      WHERE iteration IS NOT NULL) b ON k.brick = b.id \
GROUP BY b.category, k.name, b.of_name, b.iteration";

/// One sample per iteration. A category has no sample for an iteration in which it does not occur.
///
/// # Errors
/// The engine could not run a query.
pub fn categories(
    database: &Database,
    rules: &CategoryRules,
) -> Result<BTreeMap<Name, Sampled>, QueryError> {
    let mut all = BTreeMap::new();
    let mut add = |kind, sums: Sums| {
        for (category, iterations) in sums {
            let durations = iterations.into_values().map(|ns| ns.max(0) as f64);
            let sampled = Sampled::from_durations(durations.collect());
            all.insert(
                Name {
                    kind,
                    name: category,
                },
                sampled,
            );
        }
    };
    add(Kind::Category, host(database, rules)?);
    add(Kind::DeviceCategory, on_devices(database, rules)?);
    Ok(all)
}

/// Nanoseconds by category and iteration.
type Sums = BTreeMap<String, BTreeMap<i64, i64>>;

fn on_devices(database: &Database, rules: &CategoryRules) -> Result<Sums, QueryError> {
    let mut sums = Sums::new();
    let frame = collect(database, DEVICE)?;
    if frame.height() == 0 {
        return Ok(sums);
    }
    let given = names(database, "bricks", "category")?;
    let bricks = names(database, "bricks", "name")?;
    let named = names(database, "kernels", "name")?;
    let rows = Rows::new(&frame);
    let (category, name) = (rows.i64("category")?, rows.i64("name")?);
    let brick = rows.i64("of_name")?;
    let (iteration, ns) = (rows.i64("iteration")?, rows.i64("ns")?);
    for row in 0..frame.height() {
        let text = |number: Option<i64>, texts: &HashMap<i64, String>| texts.get(&number?).cloned();
        let by_rule = |name: Option<String>| rules.category(&name?).map(str::to_owned);
        let category = text(category.get(row), &given)
            .or_else(|| by_rule(text(name.get(row), &named)))
            .or_else(|| by_rule(text(brick.get(row), &bricks)));
        add(&mut sums, category, iteration.get(row), ns.get(row));
    }
    Ok(sums)
}

fn add(sums: &mut Sums, category: Option<String>, iteration: Option<i64>, ns: Option<i64>) {
    let category = category.unwrap_or_else(|| "uncategorised".to_owned());
    let iterations = sums.entry(category).or_default();
    if let (Some(iteration), Some(ns)) = (iteration, ns) {
        let sum = iterations.entry(iteration).or_default();
        *sum = i64::saturating_add(*sum, ns);
    }
}

/// Columns of rows that are summed; [`INNER`] are those of rows inside them.
const SUMMED: [&str; 8] = [
    "id",
    "thread",
    "category",
    "name",
    "iteration",
    "dur_ns",
    "timing",
    "kind",
];
const INNER: [&str; 4] = ["parent", "thread", "dur_ns", "timing"];

const AROUND: [&str; 3] = ["run", "iteration", "layer"];

#[derive(Default)]
struct Summed {
    /// Text ids of category and name, and the iteration.
    keys: FastMap<(Option<u64>, Option<u64>, u64), u32>,
    /// By key; `None` if none of its rows has a duration.
    sums_ns: Vec<Option<i64>>,
    /// Ids of the bricks with durations. `bricks` has their threads and keys.
    ids: Vec<u64>,
    bricks: Vec<(u32, u32)>,
    threads: FastMap<u64, u32>,
}

const NO_THREAD: u32 = u32::MAX;

impl Summed {
    fn thread(&mut self, thread: Option<u64>) -> u32 {
        let Some(thread) = thread else {
            return NO_THREAD;
        };
        let next = self.threads.len() as u32;
        *self.threads.entry(thread).or_insert(next)
    }

    fn brick(
        &mut self,
        id: Option<u64>,
        thread: Option<u64>,
        key: (Option<u64>, Option<u64>, u64),
        dur_ns: Option<i64>,
    ) {
        let next = self.keys.len() as u32;
        let key = *self.keys.entry(key).or_insert(next);
        if key == next {
            self.sums_ns.push(None);
        }
        let Some(dur_ns) = dur_ns else { return };
        let sum = self.sums_ns[key as usize].get_or_insert(0);
        *sum = sum.wrapping_add(dur_ns);
        if let (Some(id), Some(_)) = (id, thread) {
            let thread = self.thread(thread);
            self.ids.push(id);
            self.bricks.push((thread, key));
        }
    }
}

/// Self time on host threads by iteration: a row's duration minus those of its children on the same thread.
fn host(database: &Database, rules: &CategoryRules) -> Result<Sums, QueryError> {
    let texts = database.texts();
    let number = |text: &str| texts.as_ref()?.number(text);
    let bound = number("bound");
    let around = AROUND.map(number);
    let is_timed = |timing: Option<u64>| timing.is_some() && timing != bound;
    let mut summed = Summed::default();
    each_row(database, SUMMED, |row| {
        let [id, thread, category, name, iteration, dur_ns, timing, kind] = row;
        if let (true, Some(iteration), Some(_)) = (is_timed(timing), iteration, kind)
            && !around.contains(&kind)
        {
            let dur_ns = dur_ns.map(u64::cast_signed);
            summed.brick(id, thread, (category, name, iteration), dur_ns);
        }
    })?;
    let by_id: IdIndex<u32> = IdIndex::new(|| summed.ids.iter().copied().zip(0..));
    let other = |id: u64, at: u32| by_id.get(id).filter(|last| *last != at);
    // Of one id there is one row, unless the run is damaged.
    let twice: FastSet<u64> = (summed.ids.iter().zip(0..))
        .filter(|(id, at)| other(**id, *at).is_some())
        .map(|(id, _)| *id)
        .collect();
    each_row(database, INNER, |row| {
        let [Some(parent), Some(thread), Some(dur_ns), timing] = row else {
            return;
        };
        let Some(at) = by_id.get(parent).filter(|_| is_timed(timing)) else {
            return;
        };
        let Some(&thread) = summed.threads.get(&thread) else {
            return;
        };
        let mut take = |at: usize| {
            let (of_parent, key) = summed.bricks[at];
            if of_parent == thread
                && let Some(sum) = &mut summed.sums_ns[key as usize]
            {
                *sum = sum.wrapping_sub(dur_ns.cast_signed());
            }
        };
        if twice.contains(&parent) {
            let all = (0..summed.ids.len()).filter(|at| summed.ids[*at] == parent);
            all.for_each(take);
        } else {
            take(at as usize);
        }
    })?;
    let mut sums = Sums::new();
    let text = |number: Option<u64>| {
        texts
            .as_ref()
            .zip(number)
            .and_then(|(texts, number)| texts.get(number))
    };
    for ((category, name, iteration), key) in summed.keys {
        let category = text(category).or_else(|| rules.category(text(name)?));
        let category = category.map(str::to_owned);
        let ns = summed.sums_ns[key as usize];
        add(&mut sums, category, Some(iteration.cast_signed()), ns);
    }
    Ok(sums)
}

fn each_row<const N: usize>(
    database: &Database,
    columns: [&str; N],
    mut each: impl FnMut([Option<u64>; N]),
) -> Result<(), QueryError> {
    let columns = columns.map(str::to_owned);
    let windows = database.ordered_rows(&[OrderedTable {
        name: "bricks",
        columns: &columns,
        order: RowOrder::AsStored,
    }])?;
    for window in windows {
        for batch in window?.tables[0].batches() {
            for row in 0..batch.rows() {
                each(std::array::from_fn(|column| batch.bits(column, row)));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use trueno_engine::run::Run;
    use trueno_testing::{Made, Value};

    use super::*;

    /// Self time on host threads by iteration: a row's duration minus those of its children on the same thread.
    const HOST: &str = "\
SELECT b.category, b.name, b.iteration, SUM(b.dur_ns - COALESCE(c.inner_ns, 0)) AS ns \
FROM (SELECT id, thread, category_id AS category, name_id AS name, iteration, dur_ns FROM bricks \
      WHERE iteration IS NOT NULL AND timing <> 'bound' AND kind <> 'run' AND kind <> 'iteration' AND kind <> 'layer') b \
LEFT JOIN \
  (SELECT parent, thread, SUM(dur_ns) AS inner_ns FROM bricks WHERE timing <> 'bound' GROUP BY parent, thread) c \
  ON b.id = c.parent AND b.thread = c.thread \
GROUP BY b.category, b.name, b.iteration";

    fn by_query(database: &Database) -> BTreeMap<(String, String, i64), i64> {
        let frame = collect(database, HOST).unwrap();
        let given = names(database, "bricks", "category").unwrap();
        let named = names(database, "bricks", "name").unwrap();
        let rows = Rows::new(&frame);
        let (category, name) = (rows.i64("category").unwrap(), rows.i64("name").unwrap());
        let (iteration, ns) = (rows.i64("iteration").unwrap(), rows.i64("ns").unwrap());
        let text = |number: Option<i64>, texts: &HashMap<i64, String>| {
            number.and_then(|number| texts.get(&number)).cloned()
        };
        let mut sums = BTreeMap::new();
        for row in 0..frame.height() {
            let category = text(category.get(row), &given).unwrap_or_default();
            let name = text(name.get(row), &named).unwrap_or_default();
            if let (Some(iteration), Some(ns)) = (iteration.get(row), ns.get(row)) {
                *sums.entry((category, name, iteration)).or_default() += ns;
            }
        }
        sums
    }

    #[derive(Clone, Debug)]
    struct Drawn {
        id: i64,
        parent: Option<i64>,
        thread: Option<i64>,
        iteration: Option<i64>,
        dur_ns: Option<i64>,
        texts: [usize; 4],
    }

    fn drawn() -> impl Strategy<Value = Drawn> {
        let small = |to: i64| proptest::option::weighted(0.9, 1..to);
        (
            1..9_i64,
            small(9),
            small(3),
            small(3),
            small(50),
            [0..3_usize, 0..3, 0..3, 0..5],
        )
            .prop_map(|(id, parent, thread, iteration, dur_ns, texts)| Drawn {
                id,
                parent,
                thread,
                iteration,
                dur_ns,
                texts,
            })
    }

    const CATEGORIES: [Option<&str>; 3] = [Some("attention"), Some("norm"), None];
    const NAMES: [&str; 3] = ["a", "b", "c"];
    const TIMINGS: [Option<&str>; 3] = [Some("host"), Some("bound"), None];
    const KINDS: [Option<&str>; 5] = [
        Some("brick"),
        Some("layer"),
        Some("run"),
        Some("task"),
        None,
    ];

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// The rows include duplicate ids and missing values.
        #[test]
        fn self_times_are_those_of_the_query(rows in proptest::collection::vec(drawn(), 0..20)) {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("made.run");
            let mut made = Made::new(&path);
            for row in &rows {
                let [category, name, timing, kind] = row.texts;
                let mut cells: Vec<(&str, Value<'_>)> = vec![
                    ("id", row.id.into()),
                    ("name", NAMES[name].into()),
                    ("start_ns", 1.into()),
                ];
                let mut put = |column, value: Option<Value<'static>>| cells.extend(value.map(|value| (column, value)));
                put("category", CATEGORIES[category].map(Into::into));
                put("timing", TIMINGS[timing].map(Into::into));
                put("kind", KINDS[kind].map(Into::into));
                put("parent", row.parent.map(Into::into));
                put("thread", row.thread.map(Into::into));
                put("iteration", row.iteration.map(Into::into));
                put("dur_ns", row.dur_ns.map(Into::into));
                made.row("bricks", &cells);
            }
            made.finish(100);
            let run = Run::open(&path).unwrap();
            let database = run.sql_context().unwrap();
            let mut expected = Sums::new();
            for ((category, _, iteration), ns) in by_query(&database) {
                let category = (!category.is_empty()).then_some(category);
                add(&mut expected, category, Some(iteration), Some(ns));
            }
            let mut found = host(&database, &CategoryRules::default()).unwrap();
            found.retain(|_, iterations| !iterations.is_empty());
            prop_assert_eq!(found, expected);
        }
    }
}
