//! The CSV itself, in both of its forms: a column a metric, or a row a metric.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use super::name::{arguments, base};
use super::number::{Number, number, unit};
use crate::source::{Source, no_progress};
use crate::{Error, Notes, Options};

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    pub name: String,
    pub grid: [u32; 3],
    pub block: [u32; 3],
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Launch {
    pub key: Option<Key>,
    pub arguments: Option<String>,
    pub process: u64,
    /// ncu's device number; `None` if the file does not say.
    pub device: Option<u32>,
    pub metrics: BTreeMap<String, (f64, String)>,
}

/// Columns that identify the launch; in the wide form all others are metrics.
const IDENTITY: [&str; 12] = [
    "ID",
    "Process ID",
    "Process Name",
    "Host Name",
    "Kernel Name",
    "Kernel Time",
    "Context",
    "Stream",
    "Block Size",
    "Grid Size",
    "Device",
    "CC",
];

pub fn is_header(line: &str) -> bool {
    let line = line.trim_start_matches('\u{feff}').trim_start();
    (line.starts_with("\"ID\",") || line.starts_with("ID,")) && line.contains("Kernel Name")
}

/// Reads all launches, sorted by process and then in launch order.
pub fn read(path: &Path, notes: &mut Notes) -> Result<Vec<Launch>, Error> {
    let mut lines = BufReader::new(Source::open(path, &Options::default(), no_progress())?);
    let head = loop {
        let mut line = Vec::new();
        let read = lines
            .read_until(b'\n', &mut line)
            .map_err(|e| lines.get_ref().refusal("head", e))?;
        if read == 0 {
            return Err(Error::format(
                path,
                "expected a line that begins with \"ID\" and names \"Kernel Name\", found none; make \
                          one with `ncu --csv --page raw --print-units base`",
            ));
        }
        let line = String::from_utf8_lossy(&line).into_owned();
        if is_header(&line) {
            break line;
        }
    };
    let head = head.trim_start_matches('\u{feff}').to_owned();
    let mut reader = csv::ReaderBuilder::new()
        .flexible(true)
        .from_reader(head.as_bytes().chain(lines));
    let columns: Vec<String> = match reader.headers() {
        Ok(headers) => headers.iter().map(|name| name.trim().to_owned()).collect(),
        Err(error) => return Err(damaged(path, "head", &error.to_string())),
    };
    for needed in ["ID", "Kernel Name", "Block Size", "Grid Size"] {
        if !columns.iter().any(|column| column == needed) {
            let problem = format!("expected a column {needed:?}, found none; print all columns");
            return Err(damaged(path, "head", &problem));
        }
    }
    let sheet = Sheet {
        path,
        columns,
        launches: BTreeMap::new(),
        units: Vec::new(),
    };
    let launches = sheet.rows(&mut reader, notes)?;
    let (_, mut lines) = reader.into_inner().into_inner();
    lines.get_mut().end(notes);
    Ok(launches)
}

fn damaged(path: &Path, place: &str, problem: &str) -> Error {
    Error::damaged(path, place.to_owned(), problem.to_owned())
}

struct Sheet<'p> {
    path: &'p Path,
    columns: Vec<String>,
    launches: BTreeMap<(u64, u64), Launch>,
    units: Vec<String>,
}

impl Sheet<'_> {
    fn rows(
        mut self,
        reader: &mut csv::Reader<impl Read>,
        notes: &mut Notes,
    ) -> Result<Vec<Launch>, Error> {
        let mut record = csv::ByteRecord::new();
        loop {
            match reader.read_byte_record(&mut record) {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => {
                    notes.warn(format!("the CSV could not be read to its end: {error}"));
                    break;
                }
            }
            let line = record.position().map_or(0, csv::Position::line);
            let cells: Vec<String> = record
                .iter()
                .map(|cell| String::from_utf8_lossy(cell).into_owned())
                .collect();
            if cells.first().is_some_and(|cell| cell.starts_with("==")) {
                continue;
            }
            self.row(&cells, line, notes)?;
        }
        notes
            .read
            .insert("profiled kernels".to_owned(), self.launches.len() as u64);
        Ok(self.launches.into_values().collect())
    }

    fn row(&mut self, cells: &[String], line: u64, notes: &mut Notes) -> Result<(), Error> {
        if cells.len() < self.columns.len() {
            notes.leave_out("row with too few cells");
            return Ok(());
        }
        let cell = |name: &str| {
            let at = self.columns.iter().position(|column| column == name)?;
            cells.get(at).map(String::as_str)
        };
        let whole =
            |name| cell(name).and_then(|text| text.replace(',', "").trim().parse::<u64>().ok());
        let Some(id) = whole("ID") else {
            // The units of the wide form stand in a row without an id.
            if self.units.is_empty() && cell("ID").is_some_and(str::is_empty) {
                self.units = cells.to_vec();
            } else {
                notes.leave_out("row without an ID");
            }
            return Ok(());
        };
        let key = match (
            cell("Kernel Name"),
            shape(cell("Grid Size")),
            shape(cell("Block Size")),
        ) {
            (Some(name), Some(grid), Some(block)) => Some(Key {
                name: base(name).to_owned(),
                grid,
                block,
            }),
            _ => None,
        };
        let process = whole("Process ID").unwrap_or(0);
        let device = whole("Device").and_then(|device| u32::try_from(device).ok());
        let mut metrics = Vec::new();
        if let (Some(name), Some(value)) = (cell("Metric Name"), cell("Metric Value")) {
            metrics.push((name, cell("Metric Unit").unwrap_or(""), value));
        } else {
            let units = self
                .units
                .iter()
                .map(String::as_str)
                .chain(std::iter::repeat(""));
            for ((name, value), unit) in self.columns.iter().zip(cells).zip(units) {
                if !IDENTITY.contains(&name.as_str()) {
                    metrics.push((name, unit, value));
                }
            }
        }
        let launch = self.launches.entry((process, id)).or_default();
        launch.key = launch.key.take().or(key);
        if launch.arguments.is_none() {
            launch.arguments = cell("Kernel Name").and_then(arguments);
        }
        (launch.process, launch.device) = (process, launch.device.or(device));
        for (name, unit_of, value) in metrics {
            match number(value) {
                Number::Is(value) if !name.is_empty() => {
                    let (factor, base) = unit(unit_of);
                    let measured = (value * factor, base.to_owned());
                    match launch.metrics.get(name) {
                        // Pages for people give one name to several metrics.
                        Some(before) if *before != measured => {
                            notes.leave_out("second metric of the same name");
                        }
                        _ => {
                            launch.metrics.insert(name.to_owned(), measured);
                        }
                    }
                }
                Number::Is(_) | Number::None => notes.leave_out("metric without a number"),
                Number::Comma => {
                    let problem = format!(
                        "expected numbers with a decimal point, found {value:?}, so 1,234 could mean two \
                         numbers; run ncu with LC_ALL=C"
                    );
                    return Err(damaged(self.path, &format!("line {line}"), &problem));
                }
            }
        }
        Ok(())
    }
}

/// Parses `(256, 1, 1)`.
fn shape(cell: Option<&str>) -> Option<[u32; 3]> {
    let inner = cell?.trim().strip_prefix('(')?.strip_suffix(')')?;
    let sizes: Vec<u32> = inner
        .split(',')
        .map(|size| size.trim().parse().ok())
        .collect::<Option<_>>()?;
    sizes.try_into().ok()
}
