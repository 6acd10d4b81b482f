//! Durations of a run by name.

use std::collections::{BTreeMap, HashMap};

use trueno_analysis::hash::FastMap;
use trueno_engine::frame::Rows;
use trueno_engine::query::{Database, OrderedTable, QueryError, RowOrder, Texts, collect};
use trueno_model::name_groups::NameGroups;
use trueno_model::shapes;
use trueno_statistics::{Kind, Name, Random, Sampled};

struct Source {
    table: &'static str,
    column: &'static str,
    /// Disjoint kinds of rows.
    kinds: &'static [(Kind, Chosen)],
}

const SOURCES: [Source; 4] = [
    Source {
        table: "bricks",
        column: "name",
        kinds: &[
            (Kind::Iteration, Chosen::Kind("iteration")),
            (Kind::Layer, Chosen::Kind("layer")),
            (Kind::Brick, Chosen::Kind("brick")),
            (Kind::Function, Chosen::Kind("function")),
            (Kind::Task, Chosen::Kind("task")),
        ],
    },
    Source {
        table: "kernels",
        column: "name",
        kinds: &[
            (Kind::Kernel, Chosen::OnHost),
            (Kind::DeviceKernel, Chosen::OnDevice),
        ],
    },
    Source {
        table: "transfers",
        column: "direction",
        kinds: &[(Kind::Transfer, Chosen::Started)],
    },
    Source {
        table: "calls",
        column: "name",
        kinds: &[(Kind::Call, Chosen::Started)],
    },
];

#[derive(Clone, Copy)]
enum Chosen {
    Kind(&'static str),
    OnHost,
    OnDevice,
    /// On devices, not launched by a brick.
    OnDeviceAlone,
    Started,
}

/// How rows are named, so that names of both sides match.
#[derive(Clone, Copy, Debug)]
pub struct Naming<'n> {
    /// Names in groups are replaced by their group.
    pub groups: &'n NameGroups,
    /// Names device work by the operator and shapes that launched it, because kernels of other vendors have
    /// other names. A sample is then the device time of one call.
    pub by_operator: bool,
}

impl<'n> Naming<'n> {
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
    for Source {
        table,
        column,
        kinds,
    } in SOURCES
    {
        let of_operators = |kind| kind == Kind::DeviceKernel && naming.by_operator;
        let kinds = kinds.iter().map(|(kind, chosen)| Samples {
            kind: *kind,
            chosen: *chosen,
            cap,
            seed,
            numbers: HashMap::new(),
            all: Vec::new(),
        });
        let (mut by_operators, mut by_names): (Vec<_>, Vec<_>) =
            kinds.partition(|samples| of_operators(samples.kind));
        by_name(database, table, column, naming.groups, &mut by_names)?;
        for samples in &mut by_operators {
            by_operator(database, naming.groups, samples)?;
        }
        for samples in by_names.into_iter().chain(by_operators) {
            samples.end(&mut all);
        }
    }
    Ok(all)
}

struct Samples {
    kind: Kind,
    chosen: Chosen,
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
    table: &str,
    column: &str,
    groups: &NameGroups,
    kinds: &mut [Samples],
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
    let texts = database.texts();
    let number_of = |text: &str| texts.as_ref()?.number(text);
    let bound = number_of("bound");
    let mut kinds: Vec<Names<'_>> = kinds
        .iter_mut()
        .map(|samples| Names {
            of_kind: match samples.chosen {
                Chosen::Kind(kind) => number_of(kind),
                _ => None,
            },
            numbers: FastMap::default(),
            last: None,
            samples,
        })
        .collect();
    let windows = database.ordered_rows(&[OrderedTable {
        name: table,
        columns: &columns,
        order: RowOrder::AsStored,
    }])?;
    for window in windows {
        for row in window?.tables[0].rows() {
            let value = |place: Option<usize>| place.and_then(|place| row.bits(place));
            let start_ns = row.bits(1).map(u64::cast_signed);
            let is_of = |names: &&mut Names<'_>| match names.samples.chosen {
                // Of a kind without a number there is no row.
                Chosen::Kind(_) => names.of_kind.is_some() && value(kind) == names.of_kind,
                Chosen::OnHost => value(device).is_none(),
                Chosen::OnDevice => value(device).is_some(),
                Chosen::OnDeviceAlone => value(device).is_some() && value(brick).is_none(),
                Chosen::Started => start_ns.is_some(),
            };
            let Some(names) = kinds.iter_mut().find(is_of) else {
                continue;
            };
            let is_bound = |timing: u64| Some(timing) == bound;
            let is_timed = (timing.is_none() || value(timing).is_some_and(|t| !is_bound(t)))
                && (valid.is_none() || value(valid) == Some(1));
            let dur_ns = row.bits(2).map(u64::cast_signed);
            let dur_ns = dur_ns.filter(|dur_ns| is_timed && *dur_ns >= 0);
            let number = names.number(row.bits(0), texts.as_ref(), groups);
            names.samples.add(number, start_ns, dur_ns);
        }
    }
    Ok(())
}

struct Names<'s> {
    samples: &'s mut Samples,
    of_kind: Option<u64>,
    numbers: FastMap<Option<u64>, usize>,
    last: Option<(Option<u64>, usize)>,
}

impl Names<'_> {
    fn number(&mut self, name: Option<u64>, texts: Option<&Texts>, groups: &NameGroups) -> usize {
        if let Some((_, number)) = self.last.filter(|(same, _)| *same == name) {
            return number;
        }
        let number = *self.numbers.entry(name).or_insert_with(|| {
            let text = texts.zip(name);
            let text = text.and_then(|(texts, name)| texts.get(name)).unwrap_or("");
            let group = groups.group(text);
            self.samples.number(group.as_deref().unwrap_or(text))
        });
        self.last = Some((name, number));
        number
    }
}

const TIMED_KERNEL: &str = "valid AND timing <> 'bound' AND dur_ns >= 0";

/// Device time of each call that launched kernels. Kernels without a known call form their own samples.
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
    samples.chosen = Chosen::OnDeviceAlone;
    by_name(
        database,
        "kernels",
        "name",
        groups,
        std::slice::from_mut(samples),
    )
}

fn grouped(mut names: HashMap<i64, String>, groups: &NameGroups) -> HashMap<i64, String> {
    for name in names.values_mut() {
        if let Some(group) = groups.group(name) {
            *name = group;
        }
    }
    names
}

pub(super) fn names(
    database: &Database,
    table: &str,
    column: &str,
) -> Result<HashMap<i64, String>, QueryError> {
    names_by(database, table, &format!("{column}_id"), column)
}

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
