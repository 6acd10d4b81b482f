//! `tables`: what can be asked by SQL.

use std::path::PathBuf;

use serde::Deserialize;
use serde_json::{Value, json};

use super::{Answer, Call, Digested, Object, Tool, list, object, parse, pick_known, section};
use crate::analyses;
use crate::program::{Failure, Request};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    path: String,
    table: Option<String>,
}

pub(super) struct Tables;

impl Tool for Tables {
    fn name(&self) -> &'static str {
        "tables"
    }

    fn title(&self) -> &'static str {
        "Tables and columns"
    }

    fn description(&self) -> &'static str {
        "List the tables that `query` can read, with rows; or, with `table`, the columns of one with type, unit, \
         provenance (measured, declared, identity, computed) and meaning. Tables of analyses are named ANALYSIS.TABLE, \
         such as critical_path.opportunity; naming one runs that analysis."
    }

    fn arguments(&self) -> (Value, &'static [&'static str]) {
        let arguments = json!({
            "path": {"type": "string", "description": "As for open."},
            "table": {"type": "string", "description": "A table, such as kernels or roofline.points."},
        });
        (arguments, &["path"])
    }

    fn answers(&self) -> Value {
        json!({
            "tables": {"type": "array"},
            "empty": {"type": "array", "items": {"type": "string"}, "description": "Tables without rows in this run."},
            "analyses": {"type": "array", "description": "Analyses whose tables can also be queried."},
            "table": {"type": "string"},
            "doc": {"type": "string"},
            "rows": {"type": ["integer", "null"]},
            "columns": {"type": "array"},
        })
    }

    fn more(&self) -> &'static str {
        "resources trueno://tables/TABLE and trueno://analyses/ANALYSIS have it in full"
    }

    fn call<'a>(&'a self, arguments: Object, call: &'a Call) -> Answer<'a> {
        Box::pin(async move {
            let Arguments { path, table } = parse(arguments, self)?;
            let run = call.roots.resolve(&path)?;
            let mut answer = Object::new();
            let of_analysis = table.as_deref().and_then(|name| name.split_once('.'));
            if let Some((analysis, name)) = of_analysis.filter(|(of, _)| *of != "timeline") {
                let columns = of_table(run, analysis, name, call, &mut answer).await?;
                answer.extend(columns);
                return Ok(answer);
            }
            let (listed, _) = call.ask_json(Request::Tables { run }, &mut answer).await?;
            match table {
                Some(name) => answer.extend(recorded(&listed, &name)?),
                None => answer.extend(all(&listed)),
            }
            Ok(answer)
        })
    }
}

fn all(listed: &Value) -> Object {
    let (held, empty): (Vec<&Value>, Vec<&Value>) =
        list(listed).iter().partition(|table| table["rows"] != 0);
    let held: Vec<Value> = held
        .into_iter()
        .map(|table| pick_known(table, &["name", "rows", "doc"]).into())
        .collect();
    let empty: Vec<&Value> = empty.into_iter().map(|table| &table["name"]).collect();
    object(json!({"tables": held, "empty": empty, "analyses": analyses::ids()}))
}

fn recorded(listed: &Value, name: &str) -> Result<Object, Failure> {
    let Some(table) = list(listed).iter().find(|table| table["name"] == name) else {
        let known = list(listed)
            .iter()
            .filter_map(|table| table["name"].as_str());
        return Err(Failure::Refused(format!(
            "there is no table {name} (next: choose of {}, or ANALYSIS.TABLE)",
            known.collect::<Vec<_>>().join(", ")
        )));
    };
    let keys = ["name", "type", "unit", "provenance", "nullable", "doc"];
    let columns = list(&table["columns"]).iter().map(|column| {
        let mut column = pick_known(column, &keys);
        column.retain(|key, value| key != "nullable" || *value == true);
        Value::Object(column)
    });
    Ok(object(json!({
        "table": name,
        "doc": table["doc"],
        "rows": table["rows"],
        "columns": columns.collect::<Vec<_>>(),
    })))
}

async fn of_table(
    run: PathBuf,
    analysis: &str,
    name: &str,
    call: &Call,
    answer: &mut Object,
) -> Result<Object, Failure> {
    let request = Request::Report {
        run,
        analyses: vec![analysis.to_owned()],
        window: None,
        baseline: None,
        what_if: Vec::new(),
        rows: 0,
    };
    let (digest, _) = call.ask_json(request, answer).await?;
    let section = section(&digest, analysis).unwrap_or(&Value::Null);
    let Some(table) = Digested::find(section, name) else {
        let made = list(&section["tables"])
            .iter()
            .filter_map(|table| table["name"].as_str());
        let made: Vec<&str> = made.collect();
        let why = section["message"].as_str().unwrap_or_default();
        return Err(Failure::Refused(format!(
            "{analysis} has no table {name} for this run{}{why} (next: it has {})",
            if why.is_empty() { "" } else { ": " },
            if made.is_empty() {
                "none".to_owned()
            } else {
                made.join(", ")
            }
        )));
    };
    let columns = list(&table.0["columns"]).iter().map(|column| {
        let mut column = pick_known(column, &["name", "type", "unit", "doc"]);
        let is_identity = column["type"] == "text" || column["name"] == "id";
        let provenance = if is_identity { "identity" } else { "computed" };
        column.insert("provenance".to_owned(), provenance.into());
        Value::Object(column)
    });
    Ok(object(json!({
        "table": format!("{analysis}.{name}"),
        "doc": section["summary"],
        "rows": table.0["row_count"],
        "columns": columns.collect::<Vec<_>>(),
    })))
}
