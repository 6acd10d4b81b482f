//! Plugins that get the rows of all ranks at once.

use std::collections::BTreeSet;

use trueno_engine::query::Database;

use crate::plan::tables_of;
use crate::plugin::{Outcome, Plugin};
use crate::request::Request;
use crate::sections::Sections;
use crate::side_by_side::Watch;

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

/// Why a plugin that needs all rows at once does not run, if there are too many.
pub(crate) fn too_many(request: &Request<'_>, plugin: &Plugin) -> Option<String> {
    let read = run_tables(plugin);
    let tables = request.run.tables().into_iter();
    let rows = tables.filter(|table| read.contains(&table.name));
    let rows = rows.filter_map(|table| table.rows);
    let rows = rows.fold(0, u64::saturating_add);
    let most = request.over_ranks.max_rows;
    (rows > most).then(|| {
        format!(
            "it reads {rows} rows of all ranks at once, and at most {most} are allowed (hint: --window iteration=N, or --from and \
             --to, for a part of all ranks; --max-rows N, at some 80 bytes of memory a row; or open fewer ranks)"
        )
    })
}

impl Watch for Together<'_, '_> {
    fn begin(&mut self, step: usize) -> Option<String> {
        let place = self.places[step];
        let options = self.sections.begin(place)?;
        let why_not = match self.rows {
            Rows::All => too_many(self.sections.request(), self.sections.plugin(place)),
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
