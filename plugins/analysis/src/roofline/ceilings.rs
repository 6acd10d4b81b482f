//! Ceilings of a machine, and the ones that limit a piece of work.
//!
//! A roof of memory is what plain loads and stores reach: before a plain store the processor reads the line, so a triad
//! gets 0.7 of the bandwidth of streaming stores, and could do nothing about it. Only work above that roof is held
//! against stores that pass the caches by ([`Ceilings::streaming`]).

use trueno_plugin::{Input, Result, Run};

use super::model::Bound;

/// The table `ceilings`.
pub const CEILINGS: Input = Input::sql("ceilings", QUERY);
/// The same of the baseline.
pub const BASELINE_CEILINGS: Input = Input::sql("baseline_ceilings", QUERY).baseline().optional();

const QUERY: &str = "SELECT device, kind, level, precision, threads, value, unit, source, operation, spread, settled, \
     earlier FROM ceilings ORDER BY device, kind, level, precision, threads, value, unit, source, operation, spread, settled, earlier";

/// Measurements of one ceiling disagree if they differ by more than this share of the lower one. On a quiet machine
/// they agree within it.
const AGREE: f64 = 0.1;

/// One ceiling.
#[derive(Clone, Debug, PartialEq)]
pub struct Ceiling {
    /// `cpu` or `gpu:<number>`.
    pub device: String,
    /// `compute` or `bandwidth`.
    pub kind: String,
    /// Of the memory, or an instruction set; lower case.
    pub level: Option<String>,
    /// `f32`, ...; lower case.
    pub precision: Option<String>,
    /// Threads it was measured with.
    pub threads: Option<i64>,
    /// FLOP/s or bytes/s.
    pub value: f64,
    /// `flop/s` or `bytes/s`.
    pub unit: String,
    /// `measured` or `nominal`.
    pub source: String,
    /// Operation it was measured with: `read`, `copy`, `copy_nt`, `triad`, `fma`, ...
    pub operation: Option<String>,
    /// Interquartile range of the repetitions over their median.
    pub spread: Option<f64>,
    /// True if no moment of the measurement was faster by more than 3 %.
    pub settled: Option<bool>,
    /// Value of the measurement before it on the same machine.
    pub earlier: Option<f64>,
}

impl Ceiling {
    /// Reasons why an efficiency against it may be off by more than a tenth; `None`: nothing that was measured
    /// says so.
    pub fn doubt(&self) -> Option<String> {
        let mut why = Vec::new();
        if self.settled == Some(false) {
            why.push("single measurements were faster, so it has not settled".to_owned());
        }
        if let Some(spread) = self.spread.filter(|spread| *spread > AGREE) {
            why.push(format!(
                "the interquartile range of its repetitions is {:.0} % of their median",
                spread * 100.0
            ));
        }
        let is_apart =
            |before: &f64| self.value.max(*before) > (1.0 + AGREE) * self.value.min(*before);
        if let Some(before) = self.earlier.filter(is_apart) {
            why.push(format!(
                "the previous measurement on this machine gave {:.2} times as much",
                before / self.value
            ));
        }
        if why.is_empty() {
            return None;
        }
        let words = [&self.level, &self.precision, &self.operation];
        let words: Vec<&str> = words.into_iter().flatten().map(String::as_str).collect();
        Some(format!(
            "{} ({}): {}",
            self.kind,
            words.join(" "),
            why.join(", ")
        ))
    }

    fn is_sane(&self) -> bool {
        self.value.is_finite() && self.value > 0.0
    }

    /// Returns whether the ceiling was measured with streaming stores, which bypass the caches. Ordinary stores
    /// first read the line they write, and that traffic is not counted, so ordinary code cannot reach this
    /// ceiling.
    fn is_streaming(&self) -> bool {
        let operation = self.operation.as_deref();
        operation.is_some_and(|operation| operation.ends_with("_nt"))
    }
}

/// All ceilings of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ceilings {
    /// Ceilings in the order of the query.
    pub rows: Vec<Ceiling>,
    /// True if nominal ones may be used, where none was measured.
    pub nominal: bool,
    /// True for work of as many threads as there are: of a processor those of any number of threads count, where
    /// otherwise only those of one do.
    pub any_threads: bool,
}

/// Ceilings that a piece of work needs.
#[derive(Clone, Debug, PartialEq)]
pub struct Need<'a> {
    /// `cpu` or `gpu:<number>`.
    pub device: &'a str,
    /// `None`: not known.
    pub instruction_set: Option<&'a str>,
    /// `f32`, ...
    pub precision: &'a str,
    /// `l1`, `l2`, `l3` or `dram`.
    pub memory: &'a str,
}

/// The two that were chosen, by their places in [`Ceilings::rows`], and what was assumed for that.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// FLOP/s.
    pub compute: usize,
    /// Bytes/s.
    pub bandwidth: usize,
    /// Assumptions, in words.
    pub assumed: Vec<String>,
}

impl Ceilings {
    /// Reads an input.
    ///
    /// # Errors
    /// It lacks a column or has it in another type.
    pub fn read(run: &mut Run, input: &str, nominal: bool) -> Result<Self> {
        let table = run.table(input)?;
        let lower = |text: Option<&str>| text.map(str::to_lowercase);
        let (device, kind) = (table.text("device")?, table.text("kind")?);
        let (level, precision) = (table.text("level")?, table.text("precision")?);
        let (threads, value) = (table.i64("threads")?, table.f64("value")?);
        let (unit, source) = (table.text("unit")?, table.text("source")?);
        let operation = table.text("operation")?;
        let (spread, settled) = (table.f64("spread")?, table.bool("settled")?);
        let earlier = table.f64("earlier")?;
        let row = |row: usize| Ceiling {
            device: lower(device.get(row)).unwrap_or_default(),
            kind: lower(kind.get(row)).unwrap_or_default(),
            level: lower(level.get(row)),
            precision: lower(precision.get(row)),
            threads: threads.get(row),
            value: value.get(row).unwrap_or(f64::NAN),
            unit: unit.get(row).unwrap_or_default().to_owned(),
            source: lower(source.get(row)).unwrap_or_default(),
            operation: lower(operation.get(row)),
            spread: spread.get(row),
            settled: settled.get(row),
            earlier: earlier.get(row),
        };
        Ok(Self {
            rows: (0..table.rows()).map(row).collect(),
            nominal,
            any_threads: false,
        })
    }

    /// The ceilings over work of one thread, or of a device.
    ///
    /// # Errors
    /// In words, which one is missing.
    pub fn choose(&self, need: &Need<'_>) -> std::result::Result<Choice, String> {
        let mut assumed = Vec::new();
        let compute = self.compute(need, &mut assumed)?;
        let bandwidth = self.bandwidth(need.device, need.memory, &mut assumed)?;
        Ok(Choice {
            compute,
            bandwidth,
            assumed,
        })
    }

    /// The ceiling that an efficiency was computed from: the one that binds.
    pub fn binding(&self, choice: &Choice, bound: Bound) -> &Ceiling {
        match bound {
            Bound::Memory => &self.rows[choice.bandwidth],
            Bound::Compute => &self.rows[choice.compute],
        }
    }

    fn compute(
        &self,
        need: &Need<'_>,
        assumed: &mut Vec<String>,
    ) -> std::result::Result<usize, String> {
        let what = match need.instruction_set {
            Some(set) => format!("{set} {} compute ceiling", need.precision),
            None => format!("{} compute ceiling", need.precision),
        };
        let of_kind = |row: &Ceiling| {
            row.kind == "compute"
                && row.device == need.device
                && row.precision.as_deref() == Some(need.precision)
                && need
                    .instruction_set
                    .is_none_or(|set| row.level.as_deref() == Some(set))
        };
        let found = self.highest(need.device, &what, of_kind, assumed)?;
        if need.instruction_set.is_none()
            && need.device == "cpu"
            && let Some(level) = &self.rows[found].level
        {
            assumed.push(format!("instruction set {level}, the highest measured"));
        }
        Ok(found)
    }

    /// The bandwidth of a level of memory, as plain loads and stores reach it.
    ///
    /// # Errors
    /// In words, that it is missing.
    pub fn bandwidth(
        &self,
        device: &str,
        memory: &str,
        assumed: &mut Vec<String>,
    ) -> std::result::Result<usize, String> {
        let is_plain = |row: &Ceiling| !row.is_streaming();
        let of_level = |row: &Ceiling| {
            row.kind == "bandwidth" && row.device == device && row.level.as_deref() == Some(memory)
        };
        let there_is = self.rows.iter().any(|row| of_level(row) && is_plain(row));
        let of_kind = |row: &Ceiling| of_level(row) && (!there_is || is_plain(row));
        self.highest(
            device,
            &format!("{memory} bandwidth ceiling"),
            of_kind,
            assumed,
        )
    }

    /// The highest matching ceiling, measured ones before nominal ones. On a processor it must be of one
    /// thread, unless any number counts; if there is none, one without a thread count.
    fn highest(
        &self,
        device: &str,
        what: &str,
        of_kind: impl Fn(&Ceiling) -> bool,
        assumed: &mut Vec<String>,
    ) -> std::result::Result<usize, String> {
        let is_cpu = device == "cpu" && !self.any_threads;
        let is_measured = |row: &Ceiling| row.source == "measured";
        let usable = |row: &Ceiling| self.nominal || is_measured(row);
        let best = |threads: &dyn Fn(Option<i64>) -> bool| {
            (0..self.rows.len())
                .filter(|&at| of_kind(&self.rows[at]) && usable(&self.rows[at]))
                .filter(|&at| self.rows[at].is_sane() && threads(self.rows[at].threads))
                .max_by(|&a, &b| {
                    let [a, b] = [(a, &self.rows[a]), (b, &self.rows[b])];
                    let by_source = is_measured(a.1).cmp(&is_measured(b.1));
                    let by_value = a.1.value.total_cmp(&b.1.value);
                    by_source.then(by_value).then(b.0.cmp(&a.0)) // the first of equals
                })
        };
        if !is_cpu {
            if let Some(at) = best(&|_| true) {
                return Ok(at);
            }
        } else if let Some(at) = best(&|threads| threads == Some(1)) {
            return Ok(at);
        } else if let Some(at) = best(&|threads| threads.is_none()) {
            assumed.push(format!("the {what} is assumed to be of 1 thread"));
            return Ok(at);
        }
        let of_threads = if is_cpu { " of 1 thread" } else { "" };
        let there: Vec<&Ceiling> = self.rows.iter().filter(|row| of_kind(row)).collect();
        let why = if there.iter().any(|row| row.is_sane() && usable(row)) {
            " (there are ceilings of more threads)"
        } else if there.iter().any(|row| row.is_sane()) {
            " (there are nominal ceilings)"
        } else if there.is_empty() {
            ""
        } else {
            " (the recorded values are not positive finite numbers)"
        };
        Err(format!("no measured {what}{of_threads} on {device}{why}"))
    }

    /// For work that is faster than plain stores are: the same with the bandwidth of stores that pass
    /// the caches by, where that is higher.
    pub fn streaming(&self, choice: &Choice) -> Option<Choice> {
        let plain = &self.rows[choice.bandwidth];
        let is_like = |row: &Ceiling| {
            (&row.device, &row.kind, &row.level, row.threads, &row.source)
                == (
                    &plain.device,
                    &plain.kind,
                    &plain.level,
                    plain.threads,
                    &plain.source,
                )
        };
        let faster = self.rows.iter().enumerate().filter(|(_, row)| {
            row.is_streaming() && row.is_sane() && is_like(row) && row.value > plain.value
        });
        let (bandwidth, _) = faster.max_by(|a, b| a.1.value.total_cmp(&b.1.value))?;
        let mut assumed = choice.assumed.clone();
        assumed.push("stores that bypass the caches".to_owned());
        Some(Choice {
            compute: choice.compute,
            bandwidth,
            assumed,
        })
    }

    /// The slowest level of a device's memory that is not slower than this, and its bandwidth.
    pub fn memory_for(&self, device: &str, bytes_per_s: f64) -> Option<(&'static str, f64)> {
        let mut out: Option<(&'static str, f64)> = None;
        for level in ["dram", "l3", "l2", "l1"] {
            let Ok(at) = self.bandwidth(device, level, &mut Vec::new()) else {
                continue;
            };
            let value = self.rows[at].value;
            if value >= bytes_per_s && out.is_none() {
                out = Some((level, value));
            }
        }
        out
    }
}
