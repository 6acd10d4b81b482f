//! Input of `tree`, `export dot` and `tui`: the graph of a run, marked.

use trueno_engine::run::Run;
use trueno_execution_graph::{self, Content, Critical, Filter, Graph};
use trueno_host::plugin::Registry;
use trueno_model::RunFacts;
use trueno_plugin::{agreeing, counted};

use super::runs::Runs;
use super::search::gather;
use super::stderr::Stderr;
use crate::cli::GraphArgs;

/// Runs with more rows compute graph and path one after the other to save memory.
const SIDE_BY_SIDE_ROWS: u64 = 4_000_000;

pub struct GraphInput {
    pub run: Run,
    pub graph: Graph,
    /// `None` if it was not requested or not found.
    pub critical: Option<Critical>,
    /// Set if the path was put off: the plugins to find it with.
    later: Option<Registry>,
}

#[derive(Clone, Copy, Default)]
pub struct Want {
    pub edges: bool,
    pub slack: bool,
    /// If set, the path and slack of a large run are left to [`GraphInput::find_path`].
    pub path_later: bool,
}

impl GraphInput {
    pub fn open(
        args: &GraphArgs,
        want: Want,
        runs: &Runs<'_>,
        stderr: &Stderr,
    ) -> anyhow::Result<GraphInput> {
        // A library that was named must be one, whether or not it is needed.
        let registry = gather(&args.plugins, stderr)?;
        let run = runs.open(&args.run)?;
        let tiles = args.tiles;
        let edges = want.edges;
        stderr.step("reading the rows");
        let load = || trueno_execution_graph::load(&run, Content { tiles, edges });
        let find = || trueno_execution_graph::path(&run, &registry, want.slack);
        let is_large = run.facts().intervals() > SIDE_BY_SIDE_ROWS;
        let is_later = want.path_later && is_large && !args.no_path;
        if !args.no_path && !is_later {
            stderr.step("running critical_path");
        }
        let (graph, path) = if args.no_path || is_later {
            (load(), None)
        } else if is_large {
            // The path first: what finding it takes is free again when the graph is made.
            let path = find();
            (load(), Some(path))
        } else {
            // Neither needs the other before the path is marked.
            std::thread::scope(|scope| {
                let path = scope.spawn(find);
                let graph = load();
                let panicked = |_| Err("it panicked".to_owned());
                (graph, Some(path.join().unwrap_or_else(panicked)))
            })
        };
        let mut graph = graph?;
        if graph.circles > 0 {
            stderr.warn(&format!(
                "{}, directly or through others: shown below {}",
                counted(
                    graph.circles,
                    "row is its own parent",
                    "rows are their own parents"
                ),
                agreeing(graph.circles, "its lane", "their lanes")
            ));
        }
        let mut critical = None;
        if let Some(path) = path.filter(|_| graph.rows() > 0) {
            match path.and_then(|path| trueno_execution_graph::mark(&mut graph, path)) {
                Ok(found) => critical = Some(found),
                Err(why) => stderr.warn(&format!("the critical path is not marked: {why}")),
            }
        }
        Ok(GraphInput {
            run,
            graph,
            critical,
            later: is_later.then_some(registry),
        })
    }

    #[cfg(test)]
    pub fn of_graph(run: Run, graph: Graph) -> GraphInput {
        GraphInput {
            run,
            graph,
            critical: None,
            later: None,
        }
    }

    pub fn can_find_path(&self) -> bool {
        self.later.is_some()
    }

    pub fn find_path(&mut self) -> Result<(), String> {
        if let Some(registry) = self.later.take() {
            let path = trueno_execution_graph::path(&self.run, &registry, true)?;
            self.critical = Some(trueno_execution_graph::mark(&mut self.graph, path)?);
        }
        Ok(())
    }

    /// Compiles `--name`. Errors if nothing matches.
    pub fn filter(&self, only: Option<&str>) -> anyhow::Result<Option<Filter>> {
        let Some(text) = only else { return Ok(None) };
        let filter = Filter::new(&self.graph, text);
        if filter.fits == 0 {
            let lanes: Vec<&str> = self
                .graph
                .lanes
                .iter()
                .map(|lane| lane.name.as_str())
                .collect();
            anyhow::bail!(
                "--name {text}: no lane or name matches (hint: the lanes are {})",
                lanes.join(", ")
            );
        }
        Ok(Some(filter))
    }

    pub fn facts(&self) -> &RunFacts {
        self.run.facts()
    }

    pub fn completeness(&self) -> &'static str {
        match self.facts().complete {
            Some(true) => "",
            None => "; whether these are all rows is not known",
            Some(false) => {
                "; the run is incomplete (hint: `trueno-analyze info RUN` says what is missing)"
            }
        }
    }

    /// Numbers of rows without usable times, in words; `None` if there are none.
    pub fn untimed(&self) -> Option<String> {
        let mut counts = [0_u64; 4];
        for timing in self.graph.timings() {
            counts[*timing as usize] += 1;
        }
        let words = ["bound to a wait", "not valid", "with impossible times"];
        let parts: Vec<String> = counts[1..]
            .iter()
            .zip(words)
            .filter(|(count, _)| **count > 0)
            .map(|(count, word)| format!("{count} {word}"))
            .collect();
        (!parts.is_empty()).then(|| format!("{}: in no sum", parts.join(", ")))
    }
}
