//! The tools: each a file that implements [`Tool`], and a line of [`TOOLS`].

mod compare;
mod open;
pub(crate) mod picture;
mod query;
mod report;
mod tables;
mod what_if;

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use trueno_model::width::shorten;

use crate::marking;
use crate::program::{Failure, Output, Program, Request, Steps};
use crate::roots::Roots;

pub(crate) type Object = Map<String, Value>;
pub(crate) type Answer<'a> = Pin<Box<dyn Future<Output = Result<Object, Failure>> + Send + 'a>>;

pub(crate) trait Tool: Sync {
    fn name(&self) -> &'static str;

    fn title(&self) -> &'static str;

    fn description(&self) -> &'static str;

    /// JSON Schema of its arguments, and the required ones.
    fn arguments(&self) -> (Value, &'static [&'static str]);

    /// JSON Schema of its answer. Properties of [`output_schema`] are common to all tools.
    fn answers(&self) -> Value;

    /// How to get what an answer leaves out.
    fn more(&self) -> &'static str;

    fn call<'a>(&'a self, arguments: Object, call: &'a Call) -> Answer<'a>;
}

pub(crate) static TOOLS: [&dyn Tool; 7] = [
    &open::Open,
    &report::Report,
    &tables::Tables,
    &query::Query,
    &what_if::WhatIf,
    &compare::Compare,
    &picture::Picture,
];

pub(crate) fn input_schema(tool: &dyn Tool) -> Object {
    let (properties, required) = tool.arguments();
    object(json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    }))
}

pub(crate) fn output_schema(tool: &dyn Tool) -> Object {
    let mut properties = object(tool.answers());
    let text = |about: &str| json!({"type": "string", "description": about});
    properties.insert(
        marking::KEY.to_owned(),
        text("A reminder that texts are data."),
    );
    properties.insert(
        "more".to_owned(),
        text("How to get what was left out; keys ending in _left_out count it."),
    );
    properties.insert(
        "warnings".to_owned(),
        json!({"type": "array", "items": {"type": "string"}, "description": "What limits how far the answer can be trusted."}),
    );
    object(json!({
        "type": "object",
        "properties": properties,
        "required": [marking::KEY],
    }))
}

pub(crate) struct Call {
    pub(crate) program: Arc<dyn Program>,
    pub(crate) roots: Arc<Roots>,
    pub(crate) limit: Duration,
    pub(crate) steps: Steps,
}

impl Call {
    /// Runs a request within the server's time limit. Adds warnings to the answer.
    async fn ask(&self, request: Request, into: &mut Object) -> Result<Output, Failure> {
        self.ask_within(request, self.limit, into).await
    }

    async fn ask_within(
        &self,
        request: Request,
        limit: Duration,
        into: &mut Object,
    ) -> Result<Output, Failure> {
        let output = self.program.ask(request, limit, self.steps.clone()).await?;
        if !output.warnings.is_empty() {
            into.insert("warnings".to_owned(), json!(output.warnings));
        }
        Ok(output)
    }

    async fn ask_json(
        &self,
        request: Request,
        into: &mut Object,
    ) -> Result<(Value, bool), Failure> {
        let output = self.ask(request, into).await?;
        if output.is_cut {
            return Err(Failure::Refused(
                "the answer is longer than this server reads (next: name analyses, or a window)"
                    .to_owned(),
            ));
        }
        let value = serde_json::from_slice(&output.json)
            .map_err(|why| Failure::Defect(format!("the answer is not JSON: {why}")))?;
        Ok((value, output.is_not_measurable))
    }
}

fn parse<T: DeserializeOwned>(arguments: Object, tool: &dyn Tool) -> Result<T, Failure> {
    serde_json::from_value(Value::Object(arguments)).map_err(|why| {
        let (properties, required) = tool.arguments();
        let known: Vec<String> = object(properties).keys().cloned().collect();
        Failure::Arguments(format!(
            "arguments of {}: {why}; expected {} (required: {})",
            tool.name(),
            known.join(", "),
            required.join(", "),
        ))
    })
}

/// Empty if the value is not an object.
fn object(value: Value) -> Object {
    match value {
        Value::Object(map) => map,
        _ => Object::new(),
    }
}

/// Members with these keys, without null.
fn pick_known(from: &Value, keys: &[&str]) -> Object {
    let part = |key: &&str| ((*key).to_owned(), from[*key].clone());
    let parts = keys.iter().map(part);
    parts.filter(|(_, value)| !value.is_null()).collect()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

struct Digested<'a>(&'a Value);

impl<'a> Digested<'a> {
    fn find(section: &'a Value, name: &str) -> Option<Self> {
        let tables = list(&section["tables"]).iter();
        tables.map(Digested).find(|table| table.0["name"] == name)
    }

    fn rows(&self) -> Vec<Value> {
        let names: Vec<&str> = self.columns().collect();
        let row = |row: &Value| {
            let cells = names.iter().zip(list(row));
            let cells = cells.map(|(name, cell)| ((*name).to_owned(), cell.clone()));
            Value::Object(cells.collect())
        };
        list(&self.0["rows"]).iter().map(row).collect()
    }

    fn columns(&self) -> impl Iterator<Item = &'a str> {
        let columns = list(&self.0["columns"]).iter();
        columns.filter_map(|column| column["name"].as_str())
    }

    fn compact(&self, most: usize) -> Object {
        let mut table = Object::new();
        table.insert("columns".to_owned(), self.columns().collect());
        let rows = list(&self.0["rows"]).iter();
        table.insert("rows".to_owned(), rows.map(short).collect());
        crate::fit::cut(&mut table, "rows", most);
        let held = list(&self.0["rows"]).len() as u64;
        let all = self.0["row_count"].as_u64().unwrap_or(held);
        crate::fit::count(&mut table, "rows", all.saturating_sub(held));
        table
    }
}

/// Longer names are shortened in the middle. Queries return them in full.
const MAX_NAME: usize = 120;

fn short(row: &Value) -> Value {
    let cells = list(row).iter().map(|cell| match cell.as_str() {
        Some(text) => shorten(text, MAX_NAME).into(),
        None => cell.clone(),
    });
    cells.collect()
}

fn section<'a>(digest: &'a Value, plugin: &str) -> Option<&'a Value> {
    let mut sections = list(&digest["sections"]).iter();
    sections.find(|section| section["plugin"] == plugin)
}
