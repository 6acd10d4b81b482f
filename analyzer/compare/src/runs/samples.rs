//! Durations of a run by name.

use std::collections::{BTreeMap, HashMap};

use trueno_engine::frame::Rows;
use trueno_engine::query::{Database, QueryError, collect};
use trueno_model::name_groups::NameGroups;
use trueno_model::shapes;
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

/// How rows are named, so that those of two sides meet.
#[derive(Clone, Copy, Debug)]
pub struct Naming<'n> {
    /// Groups in the place of the names in them.
    pub groups: &'n NameGroups,
    /// Names work of devices by the operator and shapes that launched it: kernels of other vendors have other names. A
    /// sample is then the device time of one call.
    pub by_operator: bool,
}

impl<'n> Naming<'n> {
    /// Names as recorded, but for groups.
    pub fn as_recorded(groups: &'n NameGroups) -> Self {
        Self {
            groups,
            by_operator: false,
        }
    }
}

/// All names of a run with at most `cap` samples each.
///
/// # Errors
/// The engine could not run a query.
pub fn sampled(
    database: &Database,
    naming: &Naming<'_>,
    cap: usize,
    seed: u64,
) -> Result<BTreeMap<Name, Sampled>, QueryError> {
    let mut all = BTreeMap::new();
    for (kind, table, column, rows) in SOURCES {
        let mut samples = Samples {
            kind,
            cap,
            seed,
            numbers: HashMap::new(),
            all: Vec::new(),
        };
        if kind == Kind::DeviceKernel && naming.by_operator {
            by_operator(database, naming.groups, &mut samples)?;
        } else {
            by_name(database, (table, column, rows), naming.groups, &mut samples)?;
        }
        samples.end(&mut all);
    }
    Ok(all)
}

/// Samples of one kind, by name.
struct Samples {
    kind: Kind,
    cap: usize,
    seed: u64,
    numbers: HashMap<String, usize>,
    all: Vec<(Sampled, Random)>,
}

impl Samples {
    fn number(&mut self, name: &str) -> usize {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let purpose = format!("sample {} {name}", self.kind.word());
        self.all
            .push((Sampled::default(), Random::new(self.seed, &purpose)));
        let number = self.all.len() - 1;
        self.numbers.insert(name.to_owned(), number);
        number
    }

    fn add(&mut self, number: usize, start_ns: Option<i64>, dur_ns: Option<i64>) {
        let (sampled, random) = &mut self.all[number];
        sampled.count += 1;
        match dur_ns {
            Some(dur_ns) => sampled.add(start_ns.unwrap_or(0), dur_ns, self.cap, random),
            None => sampled.untimed += 1,
        }
    }

    fn end(mut self, all: &mut BTreeMap<Name, Sampled>) {
        for (name, number) in self.numbers {
            let mut sampled = std::mem::take(&mut self.all[number].0);
            sampled.sort_by_start();
            let kind = self.kind;
            all.insert(Name { kind, name }, sampled);
        }
    }
}

fn by_name(
    database: &Database,
    (table, column, rows): (&str, &str, &str),
    groups: &NameGroups,
    samples: &mut Samples,
) -> Result<(), QueryError> {
    let timed = match table {
        "calls" => "dur_ns >= 0",
        "kernels" => TIMED_KERNEL,
        _ => "timing <> 'bound' AND dur_ns >= 0",
    };
    let sql = format!(
        "SELECT {column}_id AS name, start_ns, CASE WHEN {timed} THEN dur_ns ELSE NULL END AS dur_ns \
         FROM {table} WHERE {rows}"
    );
    let frame = collect(database, &sql)?;
    if frame.height() == 0 {
        return Ok(());
    }
    let names = grouped(names(database, table, column)?, groups);
    let rows = Rows::new(&frame);
    let (number, start, dur) = (
        rows.i64("name")?,
        rows.i64("start_ns")?,
        rows.i64("dur_ns")?,
    );
    let mut numbers: HashMap<Option<i64>, usize> = HashMap::new();
    for ((number, start_ns), dur_ns) in number.iter().zip(start.iter()).zip(dur.iter()) {
        let number = *numbers.entry(number).or_insert_with(|| {
            let name = number.and_then(|number| names.get(&number));
            samples.number(name.map_or("", String::as_str))
        });
        samples.add(number, start_ns, dur_ns);
    }
    Ok(())
}

/// Kernels with a duration that can be compared.
const TIMED_KERNEL: &str = "valid AND timing <> 'bound' AND dur_ns >= 0";

/// Device time of each call that launched kernels; kernels that no call is known of stand for themselves.
fn by_operator(
    database: &Database,
    groups: &NameGroups,
    samples: &mut Samples,
) -> Result<(), QueryError> {
    let timed = format!(
        "CASE WHEN {TIMED_KERNEL} THEN dur_ns ELSE NULL END AS dur_ns, \
         CASE WHEN {TIMED_KERNEL} THEN 0 ELSE 1 END AS untimed"
    );
    let of_operators = format!(
        "SELECT k.brick, b.name, b.signature, MIN(k.start_ns) AS start_ns, SUM(k.dur_ns) AS dur_ns, SUM(k.untimed) AS untimed \
         FROM (SELECT brick, start_ns, {timed} FROM kernels WHERE device IS NOT NULL) k \
         INNER JOIN (SELECT id, name_id AS name, signature FROM bricks) b ON k.brick = b.id \
         GROUP BY k.brick, b.name, b.signature"
    );
    let frame = collect(database, &of_operators)?;
    if frame.height() > 0 {
        let names = grouped(names(database, "bricks", "name")?, groups);
        let dims = names_by(database, "signatures", "id", "input_dims")?;
        let rows = Rows::new(&frame);
        let (name, signature) = (rows.i64("name")?, rows.i64("signature")?);
        let (start, dur) = (rows.i64("start_ns")?, rows.i64("dur_ns")?);
        let untimed = rows.i64("untimed")?;
        for row in 0..frame.height() {
            let name = name.get(row).and_then(|number| names.get(&number));
            let name = name.map_or("", String::as_str);
            let dims = signature.get(row).and_then(|number| dims.get(&number));
            let dims = dims.and_then(|dims| shapes::short(dims));
            let label = match dims {
                Some(dims) => format!("{name} ({dims})"),
                None => name.to_owned(),
            };
            let dur_ns = dur.get(row).filter(|_| untimed.get(row) == Some(0));
            let number = samples.number(&label);
            samples.add(number, start.get(row), dur_ns);
        }
    }
    let alone = ("kernels", "name", "device IS NOT NULL AND brick IS NULL");
    by_name(database, alone, groups, samples)
}

/// Puts groups in the place of the names in them.
fn grouped(mut names: HashMap<i64, String>, groups: &NameGroups) -> HashMap<i64, String> {
    for name in names.values_mut() {
        if let Some(group) = groups.group(name) {
            *name = group;
        }
    }
    names
}

/// Texts of a column by their numbers.
pub(super) fn names(
    database: &Database,
    table: &str,
    column: &str,
) -> Result<HashMap<i64, String>, QueryError> {
    names_by(database, table, &format!("{column}_id"), column)
}

/// Texts of a column by the numbers in another.
fn names_by(
    database: &Database,
    table: &str,
    number: &str,
    column: &str,
) -> Result<HashMap<i64, String>, QueryError> {
    let sql = format!(
        "SELECT DISTINCT {number} AS number, CAST({column} AS VARCHAR) AS text FROM {table}"
    );
    let frame = collect(database, &sql)?;
    let rows = Rows::new(&frame);
    let (number, text) = (rows.i64("number")?, rows.text("text")?);
    let pairs = number.iter().zip(text.iter());
    Ok(pairs
        .filter_map(|(number, text)| Some((number?, text?.to_owned())))
        .collect())
}
