//! The trial: each rule in turn.

use std::collections::BTreeSet;
use std::path::Path;

use polars::prelude::{DataFrame, PolarsResult};
use trueno_engine::closed_types::{self, ClosedRows};
use trueno_engine::query::{Database, tables_of};
use trueno_engine::run::Run;
use trueno_engine::spans;
use trueno_model::TableInfo;
use trueno_model::categories::CategoryRules;
use trueno_plugin::counted;

use super::outcome::{difference, message, taken};
use super::over_ranks::over_ranks;
use super::{Checked, RULES, Verdict, checked, tables, variants};
use crate::name_tables;
use crate::plan::{self, PluginSelection};
use crate::plugin::{
    FailureKind, OptionSchema, Outcome, Plugin, Registry, Sources, Stage, gather, id_of,
    known_options, run_on,
};
use crate::{Request, build};

pub struct Subject<'a> {
    pub file: &'a Path,
    pub plugin: &'a Plugin,
    pub others: &'a Registry,
    /// A run, which is also its own baseline.
    pub run: &'a Run,
}

const NO_OPTIONS: &str = "{}";

pub fn trial(subject: &Subject<'_>) -> Vec<Checked> {
    let plugin = subject.plugin;
    let mut all = vec![
        checked("loads", Verdict::Kept, plugin.descriptor.build.clone()),
        named(subject),
        options(plugin),
    ];
    let database = database(subject).map_err(|why| checked("inputs", Verdict::NotTried, why));
    let with_inputs = database.and_then(|database| {
        let frames = inputs(subject, &database)?;
        Ok((database, frames))
    });
    match with_inputs {
        Ok((database, frames)) => {
            let rows: usize = frames.iter().flatten().map(DataFrame::height).sum();
            let queries = if frames.len() == 1 {
                "query"
            } else {
                "queries"
            };
            let seen = format!("{} {queries}, {rows} rows in all", frames.len());
            all.push(checked("inputs", Verdict::Kept, seen));
            over_tables(subject, &database, &frames, &mut all);
        }
        Err(failed) => all.push(failed),
    }
    let tried: BTreeSet<&str> = all.iter().map(|checked| checked.rule).collect();
    let left = RULES.iter().filter(|(rule, _)| !tried.contains(rule));
    let left: Vec<Checked> = left
        .map(|(rule, _)| checked(rule, Verdict::NotTried, "it did not get that far"))
        .collect();
    all.extend(left);
    all
}

fn named(subject: &Subject<'_>) -> Checked {
    let descriptor = &subject.plugin.descriptor;
    let id = &descriptor.id;
    if descriptor.summary.trim().is_empty() || descriptor.summary.contains('\n') {
        return checked(
            "named",
            Verdict::Broken,
            format!("summary: {:?}", descriptor.summary),
        )
        .mend("describe in one line what it reports");
    }
    if descriptor.version.trim().is_empty() {
        return checked("named", Verdict::Broken, "it has no version")
            .mend("give it one, for bug reports");
    }
    match id_of(subject.file) {
        Some(_) => checked(
            "named",
            Verdict::Kept,
            format!("{id} {}", descriptor.version),
        ),
        None => checked(
            "named",
            Verdict::Advice,
            "folders are not searched for a file of this name",
        )
        .mend(format!(
            "name it {}trueno_plugin_{id}{}",
            std::env::consts::DLL_PREFIX,
            std::env::consts::DLL_SUFFIX
        )),
    }
}

fn options(plugin: &Plugin) -> Checked {
    match known_options(plugin) {
        OptionSchema::Keys(names) if names.is_empty() => {
            checked("options", Verdict::Kept, "it takes none, and says so")
        }
        OptionSchema::Keys(names) => {
            checked("options", Verdict::Kept, format!("it takes {}", names.join(", ")))
        }
        OptionSchema::Unknown => checked("options", Verdict::Advice, "an unknown one is not refused, or not by name")
            .mend("return BAD_OPTION with \"unknown option `x` (known options: `a`, `b`)\", as the SDK does, or \"this plugin takes none\""),
    }
}

fn inputs(subject: &Subject<'_>, database: &Database) -> Result<Vec<Option<DataFrame>>, Checked> {
    let broken = |seen: String| {
        checked("inputs", Verdict::Broken, seen)
            .mend("try the query with `trueno-analyze query RUN \"SELECT …\"`; `trueno-analyze tables RUN` shows what there is")
    };
    let sources = Sources {
        subject: database,
        baseline: Some(database),
    };
    let claims = subject.plugin.descriptor.inputs.iter();
    let claims = claims.map(|input| database.claims(&input.sql));
    let inputs = gather(subject.plugin, Stage::Whole, sources, claims.collect())
        .map_err(|outcome| broken(message(&outcome).unwrap_or_default().to_owned()))?;
    let frames = inputs
        .into_iter()
        .map(|rows| rows.map(ClosedRows::into_frame).transpose());
    frames
        .collect::<Result<_, _>>()
        .map_err(|error| broken(error.to_string()))
}

fn database(subject: &Subject<'_>) -> Result<Database, String> {
    let mut database = subject
        .run
        .sql_context()
        .map_err(|error| error.to_string())?;
    let rules = CategoryRules::default();
    name_tables::publish(&rules, &mut database, None)?;
    let needs = plan::needs_of(&subject.plugin.descriptor);
    let is_there = |id: &str| subject.others.get(id).is_some();
    if let Some(need) = needs
        .iter()
        .find(|need| !need.optional && !is_there(&need.plugin))
    {
        return Err(format!(
            "it reads {}.{}, and there is no plugin {} (hint: --plugin-dir DIR)",
            need.plugin, need.table, need.plugin
        ));
    }
    let ids: BTreeSet<&String> = needs
        .iter()
        .map(|need| &need.plugin)
        .filter(|id| is_there(id))
        .collect();
    if ids.is_empty() {
        return Ok(database);
    }
    let report = build(&Request {
        baseline: Some(subject.run),
        categories: &rules,
        ..Request::new(
            subject.run,
            subject.others,
            &PluginSelection::only(ids.into_iter().cloned()),
        )
    })
    .map_err(|error| error.to_string())?;
    for section in &report.sections {
        for table in &section.tables {
            let name = format!("{}.{}", section.plugin, table.name());
            database.register(&name, closed_types::to_frame(table)?);
        }
    }
    Ok(database)
}

fn over_tables(
    subject: &Subject<'_>,
    database: &Database,
    frames: &[Option<DataFrame>],
    all: &mut Vec<Checked>,
) {
    let plugin = subject.plugin;
    let run =
        |frames: &[Option<DataFrame>]| run_on(plugin, Stage::Whole, frames.to_vec(), NO_OPTIONS);
    let first = run(frames);
    match message(&first) {
        Some(message) => {
            all.push(checked("runs", Verdict::Broken, message).mend(
                "a crash: step through it with a debugger in `cargo test`; a panic names its place",
            ));
        }
        None => all.push(checked("runs", Verdict::Kept, "it finished")),
    }
    if let Some(taken) = taken(&first) {
        all.push(match &taken.wrote {
            Some(note) => checked("prints_nothing", Verdict::Broken, note.as_str())
                .mend("remove what prints; results are tables and findings"),
            None => checked("prints_nothing", Verdict::Kept, "nothing"),
        });
        let seen = format!(
            "{}, {}, {}",
            counted(taken.tables.len(), "table", "tables"),
            counted(taken.findings.len(), "finding", "findings"),
            counted(taken.charts.len(), "chart", "charts")
        );
        let is_empty = taken.tables.is_empty() && taken.findings.is_empty();
        all.push(if is_empty {
            checked("gives", Verdict::Advice, seen).mend("emit its table also when it has no rows")
        } else {
            checked("gives", Verdict::Kept, seen)
        });
        all.push(tables::columns(&taken.tables));
        all.push(tables::numbers(&taken.tables));
    }
    if matches!(first, Outcome::Finished(_)) {
        match difference(&first, &run(frames)) {
            Some(what) => {
                all.push(checked("same_twice", Verdict::Broken, format!("differs: {what}")).mend(
                    "no order of a HashMap (use BTreeMap, or sort), no clock, no address, no random number",
                ));
                let why = "it differs although the order is the same";
                all.push(checked("row_order", Verdict::NotTried, why));
            }
            None => {
                let seen = "two processes, the same bytes";
                all.push(checked("same_twice", Verdict::Kept, seen));
                all.push(row_order(plugin, frames, &first));
                all.push(over_ranks(plugin, database, frames, &first));
            }
        }
    }
    all.push(odd_inputs(subject, frames));
}

fn row_order(plugin: &Plugin, frames: &[Option<DataFrame>], first: &Outcome) -> Checked {
    let inputs = &plugin.descriptor.inputs;
    let is_open = |sql: &str| !sql.to_ascii_uppercase().contains("ORDER BY");
    let open: Vec<&str> = inputs
        .iter()
        .filter(|input| is_open(&input.sql))
        .map(|input| input.name.as_str())
        .collect();
    if open.is_empty() {
        return checked("row_order", Verdict::Kept, "each query states its order");
    }
    let turned = inputs.iter().zip(frames).map(|(input, frame)| {
        let frame = frame.as_ref()?;
        Some(if is_open(&input.sql) {
            variants::reversed(frame)
        } else {
            frame.clone()
        })
    });
    let turned = run_on(plugin, Stage::Whole, turned.collect(), NO_OPTIONS);
    match difference(first, &turned) {
        Some(what) => checked(
            "row_order",
            Verdict::Broken,
            format!(
                "with the rows of {} in another order the result differs: {what}",
                open.join(", ")
            ),
        )
        .mend("add ORDER BY to the query; ties are broken by id"),
        None => checked(
            "row_order",
            Verdict::Kept,
            format!("the order of {} does not matter", open.join(", ")),
        ),
    }
}

fn odd_inputs(subject: &Subject<'_>, frames: &[Option<DataFrame>]) -> Checked {
    let plugin = subject.plugin;
    let inputs = &plugin.descriptor.inputs;
    let mut seen = Vec::new();
    let mut verdict = Verdict::Kept;
    let mut kinds = Vec::new();
    for (what, variant) in variants::ALL {
        let made = frames
            .iter()
            .map(|frame| frame.as_ref().map(variant).transpose());
        kinds.push((
            what,
            Verdict::Broken,
            made.collect::<PolarsResult<Vec<_>>>(),
        ));
    }
    let mut tables = subject.run.tables();
    tables.extend(spans::computed_tables());
    let with_nulls = |of: &dyn Fn(&str, &str) -> bool| {
        let made = inputs.iter().zip(frames).map(|(input, frame)| {
            let frame = frame.as_ref();
            frame
                .map(|frame| variants::nulls(frame, |column| of(&input.sql, column)))
                .transpose()
        });
        made.collect::<PolarsResult<Vec<_>>>()
    };
    let may_lack = |sql: &str, column: &str| may_lack(&tables, sql, column);
    kinds.push((
        "nulls where runs have them",
        Verdict::Broken,
        with_nulls(&may_lack),
    ));
    kinds.push((
        "nothing but nulls",
        Verdict::Advice,
        with_nulls(&|_, _| true),
    ));
    if inputs.iter().any(|input| input.optional) {
        let all = inputs.iter().zip(frames);
        let needed = all.map(|(input, frame)| frame.clone().filter(|_| !input.optional));
        kinds.push((
            "without optional inputs",
            Verdict::Broken,
            Ok(needed.collect()),
        ));
    }
    for (what, if_not, frames) in kinds {
        let frames = match frames {
            Ok(frames) => frames,
            Err(error) => {
                seen.push(format!("{what}: not tried ({error})"));
                continue;
            }
        };
        match run_on(plugin, Stage::Whole, frames, NO_OPTIONS) {
            Outcome::Finished(_) | Outcome::Skipped { .. } => seen.push(format!("{what}: fine")),
            Outcome::Failed {
                kind: FailureKind::Reported,
                message,
                ..
            } => seen.push(format!("{what}: refused ({message})")),
            Outcome::Failed { message, .. } => {
                verdict = verdict.max(if_not);
                seen.push(format!("{what}: {message}"));
            }
        }
    }
    let checked = checked("odd_inputs", verdict, seen.join("; "));
    match verdict {
        Verdict::Broken => checked.mend(
            "read with .get(row), which is None for null; add with checked_add; return Error::bad_input for invalid values",
        ),
        Verdict::Advice => {
            checked.mend("it fails only on nulls that no run has: use .get(row) instead of .value(row)")
        }
        _ => checked,
    }
}

fn may_lack(tables: &[TableInfo], sql: &str, column: &str) -> bool {
    let names = tables_of(sql).unwrap_or_default();
    let read = tables.iter().filter(|table| names.contains(&table.name));
    let mut columns = read.flat_map(|table| &table.columns);
    columns.any(|other| other.name == column && other.nullable)
}
