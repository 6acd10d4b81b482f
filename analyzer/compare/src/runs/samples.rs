//! Durations of a run by name.

use std::collections::{BTreeMap, HashMap};

use trueno_engine::frame::Rows;
use trueno_engine::query::{Database, OrderedTable, QueryError, RowOrder, collect};
use trueno_model::name_groups::NameGroups;
use trueno_model::shapes;
use trueno_statistics::{Kind, Name, Random, Sampled};

/// Tables of each kind: the kind, its table, the column of its names, and which rows it has.
const SOURCES: [(Kind, &str, &str, Chosen); 9] = [
    (Kind::Iteration, "bricks", "name", Chosen::Kind("iteration")),
    (Kind::Layer, "bricks", "name", Chosen::Kind("layer")),
    (Kind::Brick, "bricks", "name", Chosen::Kind("brick")),
    (Kind::Function, "bricks", "name", Chosen::Kind("function")),
    (Kind::Task, "bricks", "name", Chosen::Kind("task")),
    (Kind::Kernel, "kernels", "name", Chosen::OnHost),
    (Kind::DeviceKernel, "kernels", "name", Chosen::OnDevice),
    (Kind::Transfer, "transfers", "direction", Chosen::Started),
    (Kind::Call, "calls", "name", Chosen::Started),
];

/// Rows of a table.
#[derive(Clone, Copy)]
enum Chosen {
    /// Those of this kind.
    Kind(&'static str),
    OnHost,
    OnDevice,
    /// Those on devices that no brick launched.
    OnDeviceAlone,
    Started,
}

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
    for (kind, table, column, chosen) in SOURCES {
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
            by_name(
                database,
                (table, column, chosen),
                naming.groups,
                &mut samples,
            )?;
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
    (table, column, chosen): (&str, &str, Chosen),
    groups: &NameGroups,
    samples: &mut Samples,
) -> Result<(), QueryError> {
    let mut columns = vec![column, "start_ns", "dur_ns"];
    columns.extend(match table {
        "bricks" => &["timing", "kind"][..],
        "kernels" => &["timing", "valid", "device", "brick"],
        "transfers" => &["timing"],
        _ => &[],
    });
    let place = |name: &str| columns.iter().position(|column| *column == name);
    let (timing, valid) = (place("timing"), place("valid"));
    let (kind, device, brick) = (place("kind"), place("device"), place("brick"));
    let columns: Vec<String> = columns.iter().map(|name| (*name).to_owned()).collect();
    let windows = database.ordered_rows(&[OrderedTable {
        name: table,
        columns: &columns,
        order: RowOrder::AsStored,
    }])?;
    let texts = database.texts();
    let number_of = |text: &str| texts.as_ref()?.number(text);
    let bound = number_of("bound");
    let of_kind = match chosen {
        Chosen::Kind(kind) => match number_of(kind) {
            // No row has it.
            None => return Ok(()),
            of_kind => of_kind,
        },
        _ => None,
    };
    let mut numbers: HashMap<Option<u64>, usize> = HashMap::new();
    let mut last = None;
    for window in windows {
        for row in window?.tables[0].rows() {
            let value = |place: Option<usize>| place.and_then(|place| row.bits(place));
            let start_ns = row.bits(1).map(u64::cast_signed);
            let is_chosen = match chosen {
                Chosen::Kind(_) => value(kind) == of_kind,
                Chosen::OnHost => value(device).is_none(),
                Chosen::OnDevice => value(device).is_some(),
                Chosen::OnDeviceAlone => value(device).is_some() && value(brick).is_none(),
                Chosen::Started => start_ns.is_some(),
            };
            if !is_chosen {
                continue;
            }
            let is_bound = |timing: u64| Some(timing) == bound;
            let is_timed = (timing.is_none() || value(timing).is_some_and(|t| !is_bound(t)))
                && (valid.is_none() || value(valid) == Some(1));
            let dur_ns = row.bits(2).map(u64::cast_signed);
            let dur_ns = dur_ns.filter(|dur_ns| is_timed && *dur_ns >= 0);
            let name = row.bits(0);
            let number = match last {
                Some((same, number)) if same == name => number,
                _ => *numbers.entry(name).or_insert_with(|| {
                    let text = texts.as_ref().zip(name);
                    let text = text.and_then(|(texts, name)| texts.get(name)).unwrap_or("");
                    let group = groups.group(text);
                    samples.number(group.as_deref().unwrap_or(text))
                }),
            };
            last = Some((name, number));
            samples.add(number, start_ns, dur_ns);
        }
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
    let alone = ("kernels", "name", Chosen::OnDeviceAlone);
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
    // Of a column and its own numbers the dictionary knows the answer, in this form.
    let sql = format!("SELECT DISTINCT {number} AS number, {column} AS text FROM {table}");
    let frame = collect(database, &sql)?;
    let rows = Rows::new(&frame);
    let (number, text) = (rows.i64("number")?, rows.text("text")?);
    let pairs = number.iter().zip(text.iter());
    Ok(pairs
        .filter_map(|(number, text)| Some((number?, text?.to_owned())))
        .collect())
}
