//! The tables that tell of the run itself: `run`, `segments`, `problems`.

use polars::prelude::{Column, DataFrame, IntoColumn, NamedFrom, PolarsResult, Series};
use trueno_model::{Problem, RunFacts};

use super::segment::Segment;

pub(super) fn run(facts: &RunFacts) -> PolarsResult<DataFrame> {
    let text = |name: &str, value: Option<&str>| column(name, [value]);
    frame(vec![
        text("run_id", facts.run_id.as_deref()),
        text("label", facts.label.as_deref()),
        text("state", Some(facts.state.as_str())),
        column("format_minor", [facts.format_minor]),
        text("clock_source", facts.clock.source.as_deref()),
        column("wall_ns", [facts.wall_ns]),
        text("wall_source", Some(facts.wall_source.as_str())),
        column("complete", [facts.complete]),
        column("clean_end", [facts.clean_end]),
        column("dropped", [facts.dropped]),
        column("rows", [facts.rows]),
        text("host_name", facts.host.name.as_deref()),
        text("cpu_model", facts.host.cpu_model.as_deref()),
        column("logical_cpus", [facts.host.logical_cpus]),
        text(
            "cpu_features",
            facts
                .host
                .cpu_features
                .as_ref()
                .map(|f| f.join(" "))
                .as_deref(),
        ),
        column("cost_ns_per_span", [facts.cost_ns_per_span]),
        column("recorder_ns", [facts.recorder_ns]),
        column("recorder_cpu_ns", [facts.recorder_cpu_ns]),
    ])
}

pub(super) fn segments(segments: &[Segment]) -> PolarsResult<DataFrame> {
    fn all<'a, T>(segments: &'a [Segment], of: impl Fn(&'a Segment) -> T) -> Vec<T> {
        segments.iter().map(of).collect()
    }
    frame(vec![
        column("table", all(segments, |s| s.table())),
        column("segment", all(segments, |s| s.name.as_str())),
        column("state", all(segments, |s| s.state.as_str())),
        column("rows_expected", all(segments, |s| s.rows_expected)),
        column("rows_read", all(segments, |s| s.rows_read)),
        column("rows_lost", all(segments, Segment::rows_lost)),
        column("verified", all(segments, |s| s.verified)),
        column(
            "problem",
            all(segments, |s| s.faults.first().map(String::as_str)),
        ),
    ])
}

pub(super) fn problems(problems: &[Problem]) -> PolarsResult<DataFrame> {
    frame(vec![
        column(
            "severity",
            problems
                .iter()
                .map(|p| p.severity.as_str())
                .collect::<Vec<_>>(),
        ),
        column(
            "code",
            problems.iter().map(|p| p.code.as_ref()).collect::<Vec<_>>(),
        ),
        column(
            "text",
            problems.iter().map(|p| p.text.as_str()).collect::<Vec<_>>(),
        ),
    ])
}

fn column<T: AsRef<[V]>, V>(name: &str, values: T) -> Column
where
    Series: NamedFrom<T, [V]>,
{
    Series::new(name.into(), values).into_column()
}

fn frame(columns: Vec<Column>) -> PolarsResult<DataFrame> {
    let height = columns.first().map_or(0, Column::len);
    DataFrame::new(height, columns)
}
