//! The machine form without what is long: JSON of a few thousand bytes, as a program wants it that hands it on to a
//! reader with little room.
//!
//! Parts are those of [`super::json`]. Of each table it has the first rows and the number of all, with the meaning of
//! columns that are terms of art; of a finding the first rows that it rests on; and no charts.

use std::io::{self, Write};

use serde_json::{Value, json, to_value};
use trueno_model::evidence::Evidence;
use trueno_model::units::Unit;
use trueno_model::{Report, Section};
use trueno_plugin::Table;

use super::form::{DEFAULT_ROWS, Layout, ReportForm};
use super::glossary::explain;
use super::header_text;
use super::json::{AsJson, Row};
use super::top::Top;

#[derive(Debug)]
pub(crate) struct Digest;

impl ReportForm for Digest {
    fn name(&self) -> &'static str {
        "digest"
    }

    fn is_json(&self) -> bool {
        true
    }

    fn about(&self) -> &'static str {
        "Compact JSON: --top rows of each table, and of the evidence of findings"
    }

    fn shows_evidence(&self) -> bool {
        true
    }

    fn write(&self, report: &Report, layout: &Layout<'_>, to: &mut dyn Write) -> io::Result<()> {
        let rows = layout.top.unwrap_or(DEFAULT_ROWS);
        let mut sections = Vec::new();
        for (number, of) in report.sections.iter().enumerate() {
            sections.push(section(of, number, layout.evidence, rows)?);
        }
        let digest = json!({
            "headline": header_text::headline(report),
            "run": to_value(AsJson(&report.header))?,
            "top": to_value(Top::from_report(report))?,
            "sections": sections,
            "problems": to_value(&report.problems)?,
        });
        serde_json::to_writer(&mut *to, &digest)?;
        to.write_all(b"\n")
    }
}

fn section(
    section: &Section,
    number: usize,
    evidence: Option<&Evidence>,
    rows: usize,
) -> io::Result<Value> {
    let mut findings = Vec::new();
    for (nth, finding) in section.findings.iter().enumerate() {
        let mut value = to_value(finding)?;
        if let Some(shown) = evidence.and_then(|all| all.get(number, nth)) {
            value["evidence_rows"] = table(&shown.rows, rows, shown.of)?;
        }
        findings.push(value);
    }
    let tables = section.tables.iter();
    let tables = tables.map(|one| table(one, rows, one.rows()));
    Ok(json!({
        "plugin": section.plugin,
        "summary": section.summary,
        "status": to_value(section.status)?,
        "message": section.message,
        "tables": tables.collect::<io::Result<Vec<_>>>()?,
        "findings": findings,
    }))
}

/// Converts at most `rows` rows of a table that has `of`.
fn table(table: &Table, rows: usize, of: usize) -> io::Result<Value> {
    let heads = table.columns().map(|(name, column)| {
        json!({
            "name": name,
            "type": column.ty().name(),
            "unit": Unit::from_column(name).symbol(),
            "doc": explain(name),
        })
    });
    let heads: Vec<Value> = heads.collect();
    let columns: Vec<_> = table.columns().map(|(_, column)| column).collect();
    let row = |row| {
        to_value(Row {
            columns: &columns,
            row,
        })
    };
    let shown = (0..table.rows().min(rows)).map(row);
    Ok(json!({
        "name": table.name(),
        "columns": heads,
        "rows": shown.collect::<Result<Vec<_>, _>>()?,
        "row_count": of,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::Commands;
    use crate::form::Detail;
    use crate::style::Palette;
    use crate::testing;

    fn digest(report: &Report, top: Option<usize>, evidence: Option<&Evidence>) -> Value {
        let layout = Layout {
            width: 80,
            top,
            detail: Detail::Full,
            is_summary: false,
            palette: Palette::new(false),
            timeline: None,
            stacks: &[],
            evidence,
            commands: &Commands::default(),
        };
        let mut bytes = Vec::new();
        Digest.write(report, &layout, &mut bytes).unwrap();
        serde_json::from_slice(&bytes).unwrap()
    }

    fn numbers(name: &str, rows: i64) -> Table {
        let table = Table::build(name).i64("slack_ns", 0..rows);
        table.finish().unwrap()
    }

    #[test]
    fn rows_beyond_the_first_are_counted() {
        let report = testing::report(vec![testing::section("p", vec![numbers("t", 100)])]);
        let table = &digest(&report, Some(2), None)["sections"][0]["tables"][0];
        assert_eq!(table["rows"], json!([[0], [1]]));
        assert_eq!(table["row_count"], 100);
        assert_eq!(table["columns"][0]["unit"], "ns");
        assert!(table["columns"][0]["doc"].is_string());
        let table = &digest(&report, None, None)["sections"][0]["tables"][0];
        assert_eq!(table["rows"].as_array().unwrap().len(), DEFAULT_ROWS);
    }

    #[test]
    fn a_finding_has_the_rows_it_rests_on() {
        let mut section = testing::section("p", Vec::new());
        section.findings = vec![testing::finding(trueno_model::Level::Warning, "slow")];
        let report = testing::report(vec![section]);
        let mut evidence = Evidence::default();
        let shown = trueno_model::evidence::Shown {
            rows: numbers("rows", 12),
            of: 700,
            place: None,
        };
        evidence.shown.insert((0, 0), shown);
        let value = digest(&report, Some(3), Some(&evidence));
        let rows = &value["sections"][0]["findings"][0]["evidence_rows"];
        assert_eq!(rows["rows"].as_array().unwrap().len(), 3);
        assert_eq!(rows["row_count"], 700);
    }
}
