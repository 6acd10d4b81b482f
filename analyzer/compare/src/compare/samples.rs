//! Durations of a run by name.

use std::collections::{BTreeMap, HashMap};

use trueno_engine::frame::Rows;
use trueno_engine::query::{Database, QueryError, collect};

use super::random::Random;

/// What a name names.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Rows of `bricks` of that kind.
    Iteration,
    /// Self time of the bricks of a category on host threads in one iteration.
    Category,
    /// Time of the kernels of a category on devices in one iteration.
    DeviceCategory,
    /// Rows of `bricks` of that kind.
    Layer,
    /// Rows of `bricks` of that kind.
    Brick,
    /// Rows of `bricks` of that kind.
    Function,
    /// Rows of `bricks` of that kind.
    Task,
    /// Kernels on the host.
    Kernel,
    /// Kernels on a device.
    DeviceKernel,
    /// Transfers of one direction.
    Transfer,
    /// Calls of one function.
    Call,
}

impl Kind {
    /// For people.
    pub fn word(self) -> &'static str {
        match self {
            Kind::Iteration => "iteration",
            Kind::Category => "category",
            Kind::DeviceCategory => "device category",
            Kind::Layer => "layer",
            Kind::Brick => "brick",
            Kind::Function => "function",
            Kind::Task => "task",
            Kind::Kernel => "kernel",
            Kind::DeviceKernel => "device kernel",
            Kind::Transfer => "transfer",
            Kind::Call => "call",
        }
    }
}

/// What is compared with its like.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
pub struct Name {
    /// What it names.
    pub kind: Kind,
    /// As recorded.
    pub name: String,
}

/// The rows of one name in one run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sampled {
    /// All of them.
    pub count: u64,
    /// Those without a duration of their own: bound to a wait, not valid, negative.
    pub untimed: u64,
    /// Sum of the others, nanoseconds.
    pub total_ns: f64,
    /// Their durations in the order of their starts, nanoseconds; at most as many as were asked for, drawn from all.
    pub durations: Vec<f64>,
    pub(super) starts: Vec<i64>,
}

impl Sampled {
    /// Rows with a duration.
    pub fn timed(&self) -> u64 {
        self.count - self.untimed
    }

    /// Algorithm R (Vitter 1985): each row is kept with the same probability.
    fn add(&mut self, start_ns: i64, dur_ns: i64, cap: usize, random: &mut Random) {
        self.total_ns += dur_ns as f64;
        let seen = self.timed() as usize;
        if self.durations.len() < cap {
            self.durations.push(dur_ns as f64);
            self.starts.push(start_ns);
        } else {
            let at = random.below(seen);
            if at < cap {
                self.durations[at] = dur_ns as f64;
                self.starts[at] = start_ns;
            }
        }
    }

    fn order(&mut self) {
        let mut pairs: Vec<(i64, f64)> = self
            .starts
            .drain(..)
            .zip(self.durations.drain(..))
            .collect();
        pairs.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
        self.durations = pairs.into_iter().map(|(_, dur)| dur).collect();
    }

    /// From samples in order.
    pub fn of(durations: Vec<f64>) -> Self {
        Self {
            count: durations.len() as u64,
            untimed: 0,
            total_ns: durations.iter().sum(),
            durations,
            starts: Vec::new(),
        }
    }
}

/// A kind, its table, the column of its names, and which rows.
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

/// All names of a run, with at most `cap` samples each.
///
/// # Errors
/// The engine could not run a query.
pub fn sampled(
    database: &Database,
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
        let names = names(database, table, column)?;
        let rows = Rows::new(&frame);
        let (number, start, dur) = (
            rows.i64("name")?,
            rows.i64("start_ns")?,
            rows.i64("dur_ns")?,
        );
        let mut by_number: HashMap<Option<i64>, (Sampled, Random)> = HashMap::new();
        for ((number, start), dur) in number.iter().zip(start.iter()).zip(dur.iter()) {
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
            sampled.order();
            let name = number.and_then(|n| names.get(&n).cloned());
            let name = name.unwrap_or_default();
            all.insert(Name { kind, name }, sampled);
        }
    }
    Ok(all)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reservoir_is_a_fair_draw_in_the_order_of_time() {
        let mut late = 0;
        for seed in 0..200 {
            let mut random = Random::new(seed, "x");
            let mut sampled = Sampled::default();
            for row in 0..100 {
                sampled.count += 1;
                sampled.add(row, row, 10, &mut random);
            }
            sampled.order();
            assert_eq!(sampled.durations.len(), 10);
            assert!(sampled.durations.is_sorted());
            late += sampled.durations.iter().filter(|d| **d >= 50.0).count();
        }
        // Half of 2000 on average, with a standard deviation of 21.
        assert!((900..1100).contains(&late), "{late}");
    }
}
