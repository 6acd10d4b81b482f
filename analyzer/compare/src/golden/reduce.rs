//! From a run to its golden form.

use std::collections::BTreeMap;

use trueno_engine::frame::Rows;
use trueno_engine::query::{Database, QueryError, collect};
use trueno_engine::run::{Run, RunError};
use trueno_host::name_tables;
use trueno_model::Losses;
use trueno_model::categories::CategoryRules;

use super::distribution::Distribution;
use super::file::{Golden, Memory, NameRow, Source, TensorRow};
use crate::allocated::allocated;
use crate::runs::{self, Naming, Options, ReadError};

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReduceError {
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error(transparent)]
    Run(#[from] RunError),
    #[error("{run}: {error}")]
    Query {
        run: String,
        /// Error of the query engine.
        error: QueryError,
    },
    /// Numbers of several ranks would be mixed up.
    #[error("{run}: holds ranks, and a golden run has one (hint: save {run}/rank=0)")]
    Ranks {
        /// Path of the run, as typed.
        run: String,
    },
}

impl Golden {
    /// Summarizes a run. `shown` is its path as typed.
    ///
    /// # Errors
    /// See [`ReduceError`].
    pub fn from_run(run: &Run, shown: &str, rules: &CategoryRules) -> Result<Self, ReduceError> {
        if !run.facts().ranks.is_empty() {
            return Err(ReduceError::Ranks {
                run: shown.to_owned(),
            });
        }
        let database = run.sql_context()?;
        let wrong = |error| ReduceError::Query {
            run: shown.to_owned(),
            error,
        };
        let groups = name_tables::learn(&database).map_err(wrong)?;
        let options = Options::default();
        let naming = Naming::as_recorded(&groups);
        let member = runs::read(shown, run, rules, &naming, None, &options, &|_| {})?;
        let names = member.names.into_iter().map(|(name, sampled)| NameRow {
            name,
            count: sampled.count,
            untimed: sampled.untimed,
            distribution: Distribution::from_samples(&sampled.durations),
        });
        Ok(Self {
            source: source(run),
            backends: member.backends.into_iter().collect(),
            memory: memory(&database).map_err(wrong)?,
            names: names.collect(),
            tensors: tensors(&database).map_err(wrong)?,
        })
    }
}

fn source(run: &Run) -> Source {
    let facts = run.facts().clone();
    let complete = match Losses::find(&facts, run.problems(), &|_| true) {
        Some(_) => Some(false),
        // Bytes that no hash vouches for are no loss.
        None => facts.complete.filter(|is_complete| *is_complete),
    };
    Source {
        label: facts.label,
        program: facts.program.argv,
        os: facts.host.os,
        arch: facts.host.arch,
        cpu_model: facts.host.cpu_model,
        logical_cpus: facts.host.logical_cpus,
        memory_bytes: facts.host.memory_bytes,
        cpu_features: facts.host.cpu_features,
        clock: facts.clock.source,
        clock_resolution_ns: facts.clock.resolution_ns,
        recorder: facts.producer,
        complete,
        values: facts
            .values
            .into_iter()
            .filter(|(_, value)| !is_date(value))
            .collect(),
    }
}

/// True for `2026-01-31…`, and for microseconds or nanoseconds since 1970 in this century. A date differs each time
/// and says nothing about the run.
fn is_date(value: &str) -> bool {
    let is_number = |text: Option<&str>| {
        text.is_some_and(|text| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()))
    };
    let is_written = value.get(4..5) == Some("-")
        && value.get(7..8) == Some("-")
        && [0..4, 5..7, 8..10].map(|part| is_number(value.get(part))) == [true; 3];
    let century = 946_684_800..4_102_444_800_u64;
    let is_moment = |value: u64| {
        [1_000_000, 1_000_000_000]
            .iter()
            .any(|unit| value >= 1_000_000_000_000_000 && century.contains(&(value / unit)))
    };
    is_written || value.parse().is_ok_and(is_moment)
}

fn memory(database: &Database) -> Result<BTreeMap<String, Memory>, QueryError> {
    let places = allocated(database)?.into_iter().map(|(device, memory)| {
        let place = device.map_or_else(|| "host".to_owned(), |device| format!("gpu{device}"));
        let memory = Memory {
            peak_bytes: memory.peak_bytes,
            kept_bytes: memory.kept_bytes,
        };
        (place, memory)
    });
    Ok(places.collect())
}

fn tensors(database: &Database) -> Result<Vec<TensorRow>, QueryError> {
    let sql = "SELECT CAST(name AS VARCHAR) AS name, layer, iteration, position, thread, time_ns, \
               CAST(backend AS VARCHAR) AS backend, CAST(dtype AS VARCHAR) AS dtype, \
               CAST(shape AS VARCHAR) AS shape, elements, hash, nan_count, inf_count, zero_count, \
               min, max, absmax, mean, l2 FROM checksums ORDER BY time_ns, thread, name";
    let frame = collect(database, sql)?;
    let rows = Rows::new(&frame);
    let (name, backend) = (rows.text("name")?, rows.text("backend")?);
    let (dtype, shape) = (rows.text("dtype")?, rows.text("shape")?);
    let (layer, iteration) = (rows.i64("layer")?, rows.i64("iteration")?);
    let (position, thread) = (rows.i64("position")?, rows.i64("thread")?);
    let (elements, hash) = (rows.i64("elements")?, rows.u64("hash")?);
    let counts = [
        rows.i64("nan_count")?,
        rows.i64("inf_count")?,
        rows.i64("zero_count")?,
    ];
    let moments = [
        rows.f64("min")?,
        rows.f64("max")?,
        rows.f64("absmax")?,
        rows.f64("mean")?,
        rows.f64("l2")?,
    ];
    let own = |text: Option<&str>| text.unwrap_or_default().to_owned();
    let unsigned = |value: Option<i64>| value.and_then(|value| u64::try_from(value).ok());
    let row = |at: usize| TensorRow {
        name: own(name.get(at)),
        layer: unsigned(layer.get(at)),
        iteration: unsigned(iteration.get(at)),
        position: unsigned(position.get(at)),
        thread: unsigned(thread.get(at)).unwrap_or(0),
        backend: backend.get(at).map(str::to_owned),
        dtype: own(dtype.get(at)),
        shape: own(shape.get(at)),
        elements: unsigned(elements.get(at)).unwrap_or(0),
        hash: hash.get(at).unwrap_or(0),
        counts: [0, 1, 2].map(|of| unsigned(counts[of].get(at))),
        moments: [0, 1, 2, 3, 4].map(|of| moments[of].get(at)),
    };
    Ok((0..frame.height()).map(row).collect())
}

#[cfg(test)]
mod tests {
    use super::is_date;

    #[test]
    fn moments_are_dates_and_amounts_are_none() {
        for date in [
            "1751410836000000000",
            "1751410836000000",
            "2026-01-31T10:00:00Z",
            "2026-01-31",
        ] {
            assert!(is_date(date), "{date}");
        }
        for amount in [
            "84929347584",
            "1000000000000",
            "12090",
            "4.1",
            "",
            "rank-0-of-8",
            "2-1",
        ] {
            assert!(!is_date(amount), "{amount}");
        }
    }
}
