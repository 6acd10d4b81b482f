//! Functions of sampled runs: what each took of the processor, estimated from samples.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::Map;
use trueno_engine::run::Run;
use trueno_host::plugin::Registry;
use trueno_statistics::benjamini_hochberg::adjust;
use trueno_statistics::{MIN_SAMPLES, Options, half_interval, two_sided};

use super::plugin_section::{section, table};
use super::side::Member;

/// Name and module. Functions without a name are one for each module.
type Function = (String, Option<String>);

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Own {
    samples: u64,
    /// CPU time that these samples stand for, if the event counts time.
    estimated_ns: Option<i64>,
}

/// The samples of one event.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    event: String,
    functions: BTreeMap<Function, Own>,
}

/// Degrees of freedom of errors of sampling: nearly a normal distribution.
const OF_SAMPLES: f64 = 10_000.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Amount {
    /// CPU time in nanoseconds.
    TimeNs,
    /// Share of the samples: the event counts no time, or a sample has no period.
    Share,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Functions {
    pub event: String,
    pub amount: Amount,
    /// Samples of all runs of each side.
    pub base_samples: u64,
    pub run_samples: u64,
    /// The largest change first.
    pub rows: Vec<FunctionRow>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FunctionRow {
    pub function: String,
    pub module: Option<String>,
    /// Means over the runs of a side.
    pub base: f64,
    pub run: f64,
    pub change: f64,
    /// 95 % interval of `change`: errors of sampling, and where a side has several runs what those differ by if that is more.
    pub low: f64,
    pub high: f64,
    /// These errors do not explain the change: at most [`Options::alpha`] of such rows are expected to be wrong
    /// (Benjamini-Hochberg).
    pub is_certain: bool,
}

/// The samples of a run, events that count time first; empty if it was not sampled.
///
/// # Errors
/// The reason for there being none, for people.
pub fn profiles(run: &Run, registry: &Registry) -> Result<Vec<Profile>, String> {
    let is_sampled = |name: &str| {
        let mut tables = run.facts().tables.iter();
        tables.any(|table| table.name == name && table.rows_read > 0)
    };
    if !is_sampled("samples") {
        return Ok(Vec::new());
    }
    let section = section(run, registry, "samples", Map::new())?;
    let Some(rows) = table(&section, "functions") else {
        return Ok(Vec::new());
    };
    let wrong = |error: trueno_plugin::Error| error.to_string();
    let text = |column: &str| rows.text(column).map_err(wrong);
    let (event, function, module) = (text("event")?, text("function")?, text("module")?);
    let samples = rows.u64("self_samples").map_err(wrong)?;
    let estimated = rows.i64("self_estimated_ns").map_err(wrong)?;
    let mut out: Vec<Profile> = Vec::new();
    for row in 0..rows.rows() {
        let event = event.get(row).unwrap_or_default();
        if out.last().is_none_or(|last| last.event != event) {
            out.push(Profile {
                event: event.to_owned(),
                functions: BTreeMap::new(),
            });
        }
        let (Some(last), Some(function)) = (out.last_mut(), function.get(row)) else {
            continue;
        };
        let own = Own {
            samples: samples.get(row).unwrap_or(0),
            estimated_ns: estimated.get(row),
        };
        let key = (function.to_owned(), module.get(row).map(str::to_owned));
        last.functions.insert(key, own);
    }
    Ok(out)
}

/// Compares the samples of the first event of which all runs have enough; `None` if there is none.
pub fn compare(base: &[Member], run: &[Member], options: &Options) -> Option<Functions> {
    let first = &base.first()?.profiles;
    first.iter().find_map(|profile| {
        let of_event = |side: &[Member]| {
            let all = side.iter().map(|member| {
                let mut profiles = member.profiles.iter().cloned();
                profiles.find(|other| other.event == profile.event)
            });
            all.collect::<Option<Vec<Profile>>>()
        };
        compared(&of_event(base)?, &of_event(run)?, options)
    })
}

/// Modules by their file names: the same program lies in other folders on other machines. A module stays with its folder
/// if one run has a function in two modules of that name.
fn without_folders(profiles: &[Profile]) -> Vec<Profile> {
    let file = |module: &str| module.rsplit('/').next().unwrap_or(module).to_owned();
    let mut twice: BTreeSet<(&str, String)> = BTreeSet::new();
    for profile in profiles {
        let mut seen = BTreeSet::new();
        for (function, module) in profile.functions.keys() {
            let Some(module) = module else { continue };
            let short = (function.as_str(), file(module));
            if !seen.insert(short.clone()) {
                twice.insert(short);
            }
        }
    }
    let shortened = profiles.iter().map(|profile| Profile {
        event: profile.event.clone(),
        functions: profile
            .functions
            .iter()
            .map(|((function, module), own)| {
                let module = module.as_ref().map(|module| {
                    let short = (function.as_str(), file(module));
                    if twice.contains(&short) {
                        module.clone()
                    } else {
                        short.1
                    }
                });
                ((function.clone(), module), *own)
            })
            .collect(),
    });
    shortened.collect()
}

fn compared(base: &[Profile], run: &[Profile], options: &Options) -> Option<Functions> {
    let all: Vec<Profile> = base.iter().chain(run).cloned().collect();
    let all = without_folders(&all);
    let (base, run) = all.split_at(base.len());
    let all = || base.iter().chain(run);
    let is_timed = |profile: &Profile| {
        let mut owns = profile.functions.values();
        owns.all(|own| own.samples == 0 || own.estimated_ns.is_some())
    };
    let amount = if all().all(is_timed) {
        Amount::TimeNs
    } else {
        Amount::Share
    };
    if all().any(|profile| profile.samples() < MIN_SAMPLES as u64) {
        return None;
    }
    let freedom = match base.len() + run.len() {
        0..=2 => OF_SAMPLES,
        runs => runs as f64 - 2.0,
    };
    let standard_errors = half_interval(freedom);
    let functions: BTreeSet<&Function> = all().flat_map(|p| p.functions.keys()).collect();
    let mut probabilities = Vec::new();
    let mut rows: Vec<FunctionRow> = functions
        .into_iter()
        .filter_map(|function| {
            let of = |side: &[Profile]| {
                Estimate::mean(side.iter().map(|p| p.estimate(function, amount)))
            };
            let (base, run) = (of(base), of(run));
            let change = run.value - base.value;
            if base.value <= 0.0 && run.value <= 0.0 {
                return None;
            }
            let error = (base.variance + run.variance).sqrt();
            probabilities.push(two_sided(change / error, freedom));
            let off = standard_errors * error;
            Some(FunctionRow {
                function: function.0.clone(),
                module: function.1.clone(),
                base: base.value,
                run: run.value,
                change,
                low: change - off,
                high: change + off,
                is_certain: false,
            })
        })
        .collect();
    for (row, p) in rows.iter_mut().zip(adjust(&probabilities)) {
        row.is_certain = p <= options.alpha;
    }
    // By name where they are equal: the sort is stable.
    rows.sort_by(|a, b| b.change.abs().total_cmp(&a.change.abs()));
    let samples = |side: &[Profile]| side.iter().map(Profile::samples).sum();
    Some(Functions {
        event: base.first()?.event.clone(),
        amount,
        base_samples: samples(base),
        run_samples: samples(run),
        rows,
    })
}

impl Profile {
    fn samples(&self) -> u64 {
        let samples = self.functions.values().map(|own| own.samples);
        samples.fold(0, u64::saturating_add)
    }

    fn estimate(&self, function: &Function, amount: Amount) -> Estimate {
        let own = self.functions.get(function).copied().unwrap_or_default();
        let (samples, all) = (own.samples as f64, self.samples() as f64);
        // What was never sampled may have run as long as a sample stands for.
        let at_least = samples.max(1.0);
        match amount {
            Amount::TimeNs => {
                let all_ns = self.functions.values().filter_map(|own| own.estimated_ns);
                let all_ns = all_ns.map(|ns| ns as f64).sum::<f64>();
                let value = own.estimated_ns.unwrap_or(0) as f64;
                let each = if samples > 0.0 {
                    value / samples
                } else {
                    all_ns / all
                };
                Estimate {
                    value,
                    variance: each * each * at_least,
                }
            }
            Amount::Share => {
                let share = samples / all;
                Estimate {
                    value: share,
                    variance: (at_least / all * (1.0 - share) / all).max(0.0),
                }
            }
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Estimate {
    value: f64,
    variance: f64,
}

impl Estimate {
    /// The mean of runs. Its variance is that of sampling, or what the runs differ by if that is more.
    fn mean(all: impl Iterator<Item = Self> + Clone) -> Self {
        let count = all.clone().count() as f64;
        let value = all.clone().map(|one| one.value).sum::<f64>() / count;
        let sampling = all.clone().map(|one| one.variance).sum::<f64>() / (count * count);
        let squares = all.map(|one| (one.value - value) * (one.value - value));
        let between = if count > 1.0 {
            squares.sum::<f64>() / (count - 1.0) / count
        } else {
            0.0
        };
        Self {
            value,
            variance: sampling.max(between),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile(functions: &[(&str, u64, Option<i64>)]) -> Profile {
        let own = |samples, estimated_ns| Own {
            samples,
            estimated_ns,
        };
        let rows = functions.iter();
        Profile {
            event: "cpu-clock".to_owned(),
            functions: rows
                .map(|(name, samples, ns)| (((*name).to_owned(), None), own(*samples, *ns)))
                .collect(),
        }
    }

    #[test]
    fn a_function_in_another_folder_is_the_same_function() {
        let profile = |functions: &[(&str, &str, u64)]| {
            let functions = functions.iter().map(|(name, module, samples)| {
                let own = Own {
                    samples: *samples,
                    estimated_ns: None,
                };
                (((*name).to_owned(), Some((*module).to_owned())), own)
            });
            Profile {
                event: "cycles".to_owned(),
                functions: functions.collect(),
            }
        };
        let base = profile(&[
            ("f", "/a/prog", 300),
            ("g", "/lib/x.so", 50),
            ("g", "/usr/x.so", 50),
        ]);
        let run = profile(&[("f", "/b/prog", 300), ("g", "/lib/x.so", 100)]);
        let found = compared(&[base], &[run], &Options::default()).unwrap();
        let rows = found.rows.iter();
        let rows: Vec<_> = rows
            .map(|row| (row.function.as_str(), row.module.as_deref(), row.change))
            .collect();
        let of_f = rows.iter().find(|row| row.0 == "f").unwrap();
        assert_eq!((of_f.1, of_f.2), (Some("prog"), 0.0));
        // Two libraries of one name in a run are two.
        assert_eq!(rows.iter().filter(|row| row.0 == "g").count(), 2);
    }

    /// A function that appears has an interval without 0; one within the errors of sampling has not.
    #[test]
    fn changes_come_with_the_errors_of_sampling() {
        let ms = |n: i64| Some(n * 1_000_000);
        let base = profile(&[("a", 400, ms(400)), ("b", 100, ms(100))]);
        let run = profile(&[("a", 410, ms(410)), ("b", 20, ms(20)), ("c", 90, ms(90))]);
        let found = compared(&[base], &[run], &Options::default()).unwrap();
        let shown: Vec<(&str, f64, bool)> = found
            .rows
            .iter()
            .map(|row| (row.function.as_str(), row.change / 1e6, row.is_certain))
            .collect();
        assert_eq!(
            shown,
            [("c", 90.0, true), ("b", -80.0, true), ("a", 10.0, false)]
        );
        assert_eq!(
            (found.amount, found.base_samples, found.run_samples),
            (Amount::TimeNs, 500, 520)
        );
        let a = &found.rows[2];
        let off = 1.96 * (400.0_f64 + 410.0).sqrt();
        assert!((a.high / 1e6 - (10.0 + off)).abs() < 0.1, "{a:?}");
    }

    #[test]
    fn events_without_time_are_compared_by_share() {
        let base = profile(&[("a", 50, None), ("b", 50, None)]);
        let run = profile(&[("a", 150, None), ("b", 50, None)]);
        let found = compared(&[base], &[run], &Options::default()).unwrap();
        assert_eq!(found.amount, Amount::Share);
        assert_eq!((found.rows[0].base, found.rows[0].run), (0.5, 0.75));
        assert!(found.rows[0].is_certain);
    }

    /// 400 against 500 samples is certain for sampling alone, not if runs of a side differ by as much.
    #[test]
    fn runs_of_a_side_that_differ_widen_the_interval() {
        let of = |samples: u64| profile(&[("a", samples, Some(samples.cast_signed() * 1_000_000))]);
        let certain = |base: &[u64], run: &[u64]| {
            let [base, run] = [base, run].map(|all| all.iter().map(|n| of(*n)).collect::<Vec<_>>());
            compared(&base, &run, &Options::default()).unwrap().rows[0].is_certain
        };
        assert!(certain(&[400], &[500]));
        assert!(certain(&[400, 401, 399], &[500, 501, 499]));
        assert!(!certain(&[300, 400, 500], &[400, 500, 600]));
    }
}
