//! Plugins that get the rows of all ranks at once.

use std::collections::BTreeSet;

use trueno_engine::query::{Database, collect};
use trueno_engine::run::Run;

use crate::plan::tables_of;
use crate::plugin::{Outcome, Plugin};
use crate::request::Request;
use crate::sections::Sections;
use crate::side_by_side::Watch;
use crate::window;

pub(crate) enum Rows<'a> {
    /// All, unless there are too many.
    All,
    Excerpt,
    None(&'a str),
}

pub(crate) struct Together<'a, 'b> {
    /// Index of each step in the plan.
    pub(crate) places: Vec<usize>,
    pub(crate) rows: Rows<'a>,
    pub(crate) sections: &'a mut Sections<'b>,
}

pub(crate) fn run_tables(plugin: &Plugin) -> BTreeSet<String> {
    let inputs = plugin.descriptor.inputs.iter();
    let read = inputs.filter(|input| !input.baseline).flat_map(tables_of);
    read.collect()
}

/// How many rows a plugin that needs all at once would get, if there are too many.
pub(crate) fn too_many(request: &Request<'_>, plugin: &Plugin) -> Option<u64> {
    let read = run_tables(plugin);
    let tables = request.run.tables().into_iter();
    let rows = tables.filter(|table| read.contains(&table.name));
    let rows = rows.filter_map(|table| table.rows);
    let rows = rows.fold(0, u64::saturating_add);
    (rows > request.over_ranks.max_rows).then_some(rows)
}

fn refusal(request: &Request<'_>, plugin: &Plugin, rows: u64) -> String {
    let most = request.over_ranks.max_rows;
    let part = if plugin.descriptor.reads(window::TABLE) {
        "--from and --to, for a part of all ranks; "
    } else {
        ""
    };
    format!(
        "it reads {rows} rows of all ranks at once, and at most {most} are allowed (hint: {part}--max-rows N, at some 80 bytes \
         of memory a row; or open fewer ranks)"
    )
}

/// The iteration of median length on the first rank, and that rank.
pub(crate) fn typical_iteration(run: &Run) -> Option<(i64, u32)> {
    const LENGTHS: &str = "SELECT CAST(iteration AS BIGINT) AS iteration FROM bricks \
                           WHERE kind = 'iteration' AND iteration IS NOT NULL AND dur_ns IS NOT NULL ORDER BY dur_ns, iteration";
    let rank = *run.rank_numbers().first()?;
    let rows = run.rank_rows(rank, &["bricks"]).ok()??;
    let iterations = collect(&rows, LENGTHS).ok()?;
    let middle = iterations.height().checked_sub(1)? / 2;
    let iteration = iterations.columns().first()?.i64().ok()?.get(middle)?;
    Some((iteration, rank))
}

impl Watch for Together<'_, '_> {
    fn begin(&mut self, step: usize) -> Option<String> {
        let place = self.places[step];
        let options = self.sections.begin(place)?;
        let why_not = match self.rows {
            Rows::All => {
                let request = self.sections.request();
                let plugin = self.sections.plugin(place);
                too_many(request, plugin).map(|rows| refusal(request, plugin, rows))
            }
            Rows::Excerpt => None,
            Rows::None(why) => Some(why.to_owned()),
        };
        let Some(why_not) = why_not else {
            return Some(options);
        };
        self.sections.skip(place, why_not);
        None
    }

    fn end(&mut self, step: usize, outcome: Outcome, database: &mut Database) {
        self.sections.end(self.places[step], outcome, database);
    }
}
