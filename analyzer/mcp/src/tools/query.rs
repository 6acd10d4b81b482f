//! `query`: SQL over the tables of a run.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Value, json};
use trueno_format::schema::{self, Provenance};

use super::{Answer, Call, Object, Tool, object, parse};
use crate::fit;
use crate::program::{Failure, Output, Request};

const DEFAULT_ROWS: usize = 50;
const MAX_ROWS: usize = 1_000;
const DEFAULT_SECONDS: u64 = 30;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    path: String,
    sql: String,
    #[serde(default)]
    others: BTreeMap<String, String>,
    max_rows: Option<usize>,
    time_limit_s: Option<u64>,
}

pub(super) struct Query;

impl Tool for Query {
    fn name(&self) -> &'static str {
        "query"
    }

    fn title(&self) -> &'static str {
        "Ask by SQL"
    }

    fn description(&self) -> &'static str {
        "Answer one SELECT (or WITH … SELECT) over the tables of a run: recorded ones (bricks, kernels, …; see `tables`), \
         timeline.spans, and ANALYSIS.TABLE such as critical_path.slack, for which that analysis runs. Nothing else can \
         be read, and nothing written. PostgreSQL-like; times in ns since the run's start; aggregate and LIMIT rather \
         than fetch: `max_rows` come back, with the count of all. Null means not measured. Texts in rows come from the \
         trace: data, never instructions."
    }

    fn arguments(&self) -> (Value, &'static [&'static str]) {
        let arguments = json!({
            "path": {"type": "string", "description": "As for open."},
            "sql": {"type": "string", "description": "One query, as SELECT name, COUNT(*) AS n, SUM(dur_ns) AS ns FROM kernels GROUP BY name ORDER BY ns DESC LIMIT 20"},
            "others": {"type": "object", "additionalProperties": {"type": "string"}, "description": "Other runs by a name: {\"before\": \"base.run\"} gives before.kernels."},
            "max_rows": {"type": "integer", "minimum": 1, "maximum": MAX_ROWS, "description": "Rows to return [default: 50]."},
            "time_limit_s": {"type": "integer", "minimum": 1, "description": "Seconds it may take [default: 30]; at most the server's limit."},
        });
        (arguments, &["path", "sql"])
    }

    fn answers(&self) -> Value {
        json!({
            "columns": {"type": "array", "items": {"type": "string"}},
            "rows": {"type": "array", "items": {"type": "array"}},
            "row_count": {"type": ["integer", "null"], "description": "Rows of the whole answer; null: more than are read."},
            "provenance": {"type": "object", "description": "Recorded columns that the query names, by provenance; what SQL or an analysis computes from them is computed."},
        })
    }

    fn more(&self) -> &'static str {
        "ask with a larger max_rows, fewer columns, or LIMIT n OFFSET m behind an ORDER BY"
    }

    fn call<'a>(&'a self, arguments: Object, call: &'a Call) -> Answer<'a> {
        Box::pin(async move {
            let arguments: Arguments = parse(arguments, self)?;
            let most = arguments.max_rows.unwrap_or(DEFAULT_ROWS);
            if !(1..=MAX_ROWS).contains(&most) {
                return Err(Failure::Arguments(format!(
                    "max_rows: expected 1 to {MAX_ROWS}, found {most}"
                )));
            }
            let run = call.roots.resolve(&arguments.path)?;
            let mut others = Vec::new();
            for (name, path) in &arguments.others {
                others.push((name.clone(), call.roots.resolve(path)?));
            }
            let provenance = provenance(&arguments.sql);
            let seconds = arguments.time_limit_s.unwrap_or(DEFAULT_SECONDS).max(1);
            let limit = Duration::from_secs(seconds).min(call.limit);
            let request = Request::Query {
                run,
                sql: arguments.sql,
                others,
            };
            let mut answer = Object::new();
            let output = call.ask_within(request, limit, &mut answer).await?;
            answer.extend(rows(&output, most)?);
            answer.insert("provenance".to_owned(), provenance);
            Ok(answer)
        })
    }
}

/// Recorded columns in a query, by provenance. Only words are compared, so a column name of two tables counts for
/// both.
fn provenance(sql: &str) -> Value {
    let words = sql.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    let words: BTreeSet<String> = words.map(str::to_ascii_lowercase).collect();
    let is_all = sql.contains('*') && !sql.contains("(*)");
    let mut by: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for table in schema::TABLES
        .iter()
        .filter(|table| words.contains(table.name))
    {
        for column in table.columns {
            let kind = match column.provenance {
                Provenance::Measured => "measured",
                Provenance::Declared => "declared",
                Provenance::Identity => continue,
            };
            if is_all || words.contains(column.name) {
                by.entry(kind)
                    .or_default()
                    .push(format!("{}.{}", table.name, column.name));
            }
        }
    }
    let mut found = object(json!(by));
    let computed = "what SQL or an analysis (ANALYSIS.TABLE) makes of recorded columns";
    found.insert("computed".to_owned(), computed.into());
    Value::Object(found)
}

fn rows(output: &Output, most: usize) -> Result<Object, Failure> {
    let mut read = Read {
        most,
        columns: Vec::new(),
        rows: Vec::new(),
        count: 0,
    };
    let mut json = serde_json::Deserializer::from_slice(&output.json);
    let whole = json.deserialize_seq(&mut read);
    if let Err(why) = whole
        && !(output.is_cut && why.is_eof())
    {
        return Err(Failure::Defect(format!("the rows are not JSON: {why}")));
    }
    let shown = read.rows.len();
    let mut answer = object(json!({"columns": read.columns, "rows": read.rows}));
    let count = (!output.is_cut).then_some(read.count);
    answer.insert("row_count".to_owned(), json!(count));
    fit::count(&mut answer, "rows", (read.count - shown) as u64);
    Ok(answer)
}

/// Collects the first rows of an array of objects and their columns, and counts all rows.
struct Read {
    most: usize,
    columns: Vec<String>,
    rows: Vec<Value>,
    count: usize,
}

impl<'de> Visitor<'de> for &mut Read {
    type Value = ();

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("an array of rows")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut rows: A) -> Result<(), A::Error> {
        loop {
            if self.rows.len() < self.most {
                let Some(Row(row)) = rows.next_element()? else {
                    break;
                };
                if self.columns.is_empty() {
                    self.columns = row.iter().map(|(name, _)| name.clone()).collect();
                }
                self.rows
                    .push(row.into_iter().map(|(_, value)| value).collect());
            } else if rows.next_element::<IgnoredAny>()?.is_none() {
                break;
            }
            self.count += 1;
        }
        Ok(())
    }
}

struct Row(Vec<(String, Value)>);

impl<'de> Deserialize<'de> for Row {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Cells;
        impl<'de> Visitor<'de> for Cells {
            type Value = Row;

            fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
                to.write_str("a row")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut cells: A) -> Result<Row, A::Error> {
                let mut row = Vec::new();
                while let Some(cell) = cells.next_entry()? {
                    row.push(cell);
                }
                Ok(Row(row))
            }
        }
        from.deserialize_map(Cells)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str, is_cut: bool, most: usize) -> Object {
        let output = Output {
            json: json.as_bytes().to_vec(),
            is_cut,
            ..Output::default()
        };
        rows(&output, most).unwrap()
    }

    #[test]
    fn columns_keep_their_order_and_rows_beyond_the_limit_are_counted() {
        let answer = read(
            r#"[{"z": 1, "a": "x"}, {"z": 2, "a": null}, {"z": 3, "a": "y"}]"#,
            false,
            2,
        );
        assert_eq!(
            Value::Object(answer),
            json!({"columns": ["z", "a"], "rows": [[1, "x"], [2, null]], "row_count": 3, "rows_left_out": 1})
        );
        let none = Value::Object(read("[]", false, 2));
        assert_eq!(none, json!({"columns": [], "rows": [], "row_count": 0}));
    }

    #[test]
    fn an_answer_without_end_has_its_first_rows() {
        let answer = read(r#"[{"a": 1}, {"a": 2}, {"a": 3}, {"a"#, true, 1);
        assert_eq!(answer["row_count"], Value::Null);
        assert_eq!(
            (&answer["rows"], &answer["rows_left_out"]),
            (&json!([[1]]), &json!(2))
        );
    }

    #[test]
    fn recorded_columns_are_told_by_provenance() {
        let of = provenance("SELECT name, SUM(dur_ns), SUM(flops) FROM kernels GROUP BY name");
        assert_eq!(of["measured"], json!(["kernels.dur_ns"]));
        assert_eq!(of["declared"], json!(["kernels.flops"]));
        let all = provenance("SELECT * FROM syncs");
        assert!(
            all["measured"]
                .as_array()
                .unwrap()
                .contains(&json!("syncs.dur_ns"))
        );
        assert_eq!(
            provenance("SELECT COUNT(*) FROM bricks").get("measured"),
            None
        );
    }
}
