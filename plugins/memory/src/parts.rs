//! Tables of parts: those of the section, and its places and findings as rows.

use std::collections::BTreeMap;

use trueno_analysis::producer::Producer;
use trueno_plugin::{Error, Evidence, Finding, Input, Result, Run, Severity, Table, TableBuilder};

use crate::Options;
use crate::events::{Heap, Place};
use crate::section::{PlaceFindings, Section, TABLES, builder, dropped};

pub const MERGE_INPUTS: [Input; 15] = [
    Input::sql("places", "SELECT * FROM memory.places"),
    Input::sql("live", "SELECT * FROM memory.live"),
    Input::sql("peak_owners", "SELECT * FROM memory.peak_owners"),
    Input::sql("growth", "SELECT * FROM memory.growth"),
    Input::sql("lifetimes", "SELECT * FROM memory.lifetimes"),
    Input::sql("fragmentation", "SELECT * FROM memory.fragmentation"),
    Input::sql("by_brick", "SELECT * FROM memory.by_brick"),
    Input::sql("measures", "SELECT * FROM memory.measures"),
    Input::sql("problems", "SELECT * FROM memory.problems"),
    Input::sql("suspects", "SELECT * FROM memory.suspects"),
    Input::sql("out_of_memory", "SELECT * FROM memory.out_of_memory"),
    Input::sql("place_keys", "SELECT * FROM memory.place_keys"),
    Input::sql("place_findings", "SELECT * FROM memory.place_findings"),
    Input::sql("row_counts", "SELECT * FROM memory.row_counts"),
    Input::sql("run", "SELECT dropped, clock_source FROM run"),
];

/// Emits a section as a part.
///
/// # Errors
/// The host refuses a table.
pub fn emit(run: &mut Run, section: Section) -> Result<()> {
    let places = &section.places;
    let keys: Vec<Place> = places.iter().map(|of| of.place).collect();
    run.emit(
        with_keys(Table::build("place_keys"), &keys)
            .i64("peak_bytes", places.iter().map(|of| of.peak_bytes)),
    )?;
    let findings: Vec<(Place, &Finding)> = places
        .iter()
        .flat_map(|of| of.findings.iter().map(|finding| (of.place, finding)))
        .collect();
    let keys: Vec<Place> = findings.iter().map(|row| row.0).collect();
    let query = |finding: &&Finding| match &finding.evidence {
        Some(Evidence::Query(query)) => Some(query.clone()),
        _ => None,
    };
    let all = || findings.iter().map(|row| &row.1);
    run.emit(
        with_keys(Table::build("place_findings"), &keys)
            .text("code", all().map(|finding| &finding.code))
            .text("severity", all().map(|of| of.severity.to_string()))
            .text("title", all().map(|finding| &finding.title))
            .text("detail", all().map(|of| of.detail.as_deref()))
            .text("suggestion", all().map(|of| of.suggestion.as_deref()))
            .text("evidence", all().map(query)),
    )?;
    run.emit(
        Table::build("row_counts")
            .u64("zero_rows", [section.zero_rows])
            .u64("broken_rows", [section.broken_rows]),
    )?;
    for table in section.tables {
        run.emit(builder(table))?;
    }
    Ok(())
}

fn with_keys(table: TableBuilder, places: &[Place]) -> TableBuilder {
    table
        .u64("rank", places.iter().map(|place| place.rank))
        .i64("device", places.iter().map(|place| place.device))
        .bool("is_heap", places.iter().map(|place| place.heap.is_some()))
        .u64(
            "sample_bytes",
            places.iter().map(|place| place.sample_bytes()),
        )
}

fn keys(table: &Table) -> Result<Vec<Place>> {
    let (rank, device) = (table.u64("rank")?, table.i64("device")?);
    let (is_heap, sample) = (table.bool("is_heap")?, table.u64("sample_bytes")?);
    let place = |row: usize| Place {
        rank: rank.get(row),
        device: device.get(row),
        heap: (is_heap.get(row) == Some(true)).then(|| Heap {
            sample_bytes: sample.get(row),
        }),
    };
    Ok((0..table.rows()).map(place).collect())
}

/// Reads and merges parts.
///
/// # Errors
/// An input lacks a column or has it in another type, or a finding has no text.
pub fn read(run: &mut Run, options: &Options) -> Result<Section> {
    let counts = run.table("row_counts")?;
    let sum = |column: &str| -> Result<u64> {
        let counts = counts.u64(column)?.iter().flatten();
        Ok(counts.fold(0, u64::saturating_add))
    };
    let of_run = run.table("run")?;
    let section = Section {
        places: places(run)?,
        zero_rows: sum("zero_rows")?,
        broken_rows: sum("broken_rows")?,
        dropped: dropped(&of_run)?,
        producer: Producer::of_run(&of_run),
        ..Section::default()
    };
    let mut tables = Vec::with_capacity(TABLES.len());
    for name in TABLES {
        tables.push(vec![run.table(name)?]);
    }
    section.with_tables(tables, options)
}

fn places(run: &mut Run) -> Result<Vec<PlaceFindings>> {
    let mut findings = place_findings(&run.table("place_findings")?)?;
    let table = run.table("place_keys")?;
    let keys = keys(&table)?.into_iter();
    let places = keys.zip(table.i64("peak_bytes")?.iter());
    Ok(places
        .map(|(place, peak_bytes)| PlaceFindings {
            place,
            peak_bytes,
            findings: findings.remove(&place).unwrap_or_default(),
        })
        .collect())
}

fn place_findings(table: &Table) -> Result<BTreeMap<Place, Vec<Finding>>> {
    let code = table.text("code")?;
    let (severity, title) = (table.text("severity")?, table.text("title")?);
    let (detail, suggestion) = (table.text("detail")?, table.text("suggestion")?);
    let evidence = table.text("evidence")?;
    let mut out: BTreeMap<Place, Vec<Finding>> = BTreeMap::new();
    for (row, place) in keys(table)?.into_iter().enumerate() {
        let (Some(code), Some(title)) = (code.get(row), title.get(row)) else {
            return Err(Error::failed("a finding of a part has no text"));
        };
        let severity = match severity.get(row) {
            Some("error") => Severity::Error,
            Some("warning") => Severity::Warning,
            _ => Severity::Info,
        };
        let mut finding = Finding::new(code, severity, title);
        finding.detail = detail.get(row).map(str::to_owned);
        finding.suggestion = suggestion.get(row).map(str::to_owned);
        finding.evidence = evidence.get(row).map(Evidence::from);
        out.entry(place).or_default().push(finding);
    }
    Ok(out)
}
