//! Rows of `ceilings`: what was there, and what is there then.

use std::fs;
use std::path::Path;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type, UInt32Type};
use arrow_array::{Array, RecordBatch};
use arrow_ipc::reader::FileReader;

use super::AttachError;
use crate::CpuCeilings;
use trueno_format::regular_file;
use trueno_format::run_json::Table;
use trueno_format::run_writer::{Cell, RunWriter};
use trueno_format::schema::{ColumnType, TableId};

pub(super) const CEILINGS: &str = "ceilings";

#[derive(Clone, Debug, PartialEq)]
enum CellValue {
    Null,
    U32(u32),
    F64(f64),
    Bool(bool),
    Text(String),
}

#[derive(Debug, Default)]
pub(super) struct Old {
    /// Measured ceilings of the processor.
    pub measured: u64,
    kept: Vec<Vec<CellValue>>,
    /// Counts of the segments that are left out.
    pub dropped: Table,
}

impl Old {
    /// Returns whether the segments stay: nothing in them is replaced.
    pub fn stays(&self) -> bool {
        self.measured == 0
    }

    /// Reads the table of a run whose files are as they were written.
    pub fn read(run: &Path) -> Result<Self, AttachError> {
        let mut old = Self::default();
        let folder = run.join(CEILINGS);
        if !folder.is_dir() {
            return Ok(old);
        }
        let failed = || AttachError::io(&folder, "list the folder");
        let mut files = Vec::new();
        for entry in fs::read_dir(&folder).map_err(failed())? {
            files.push(entry.map_err(failed())?.path());
        }
        files.sort();
        for path in files
            .iter()
            .filter(|path| path.extension().is_some_and(|e| e == "arrow"))
        {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let damaged =
                |problem: String| AttachError::damaged(run, &format!("{CEILINGS}/{name}"), problem);
            let file = regular_file::open(path).map_err(AttachError::io(path, "open it"))?;
            old.dropped.bytes += file.metadata().map_or(0, |found| found.len());
            old.dropped.segments += 1;
            let batches = FileReader::try_new(file, None).map_err(|e| damaged(e.to_string()))?;
            for batch in batches {
                let batch = batch.map_err(|e| damaged(e.to_string()))?;
                old.add(&batch).ok_or_else(|| {
                    damaged("its columns are not those that this program knows".to_owned())
                })?;
            }
        }
        if old.stays() {
            old.dropped = Table::default();
        }
        Ok(old)
    }

    fn add(&mut self, batch: &RecordBatch) -> Option<()> {
        let columns = TableId::Ceilings.schema().columns;
        let at = |name: &str| columns.iter().position(|column| column.name == name);
        let (device, source) = (at("device")?, at("source")?);
        for row in 0..batch.num_rows() {
            let mut cells = Vec::with_capacity(columns.len());
            for column in columns {
                let found = batch.column_by_name(column.name);
                // A column of a newer format than the run's.
                cells.push(found.map_or(Some(CellValue::Null), |a| {
                    cell_value(a.as_ref(), column.ty, row)
                })?);
            }
            let is = |at: usize, text: &str| matches!(&cells[at], CellValue::Text(found) if found == text);
            self.dropped.rows += 1;
            if is(device, "cpu") && is(source, "measured") {
                self.measured += 1;
            } else {
                self.kept.push(cells);
            }
        }
        Some(())
    }
}

fn cell_value(array: &dyn Array, ty: ColumnType, row: usize) -> Option<CellValue> {
    if array.is_null(row) {
        return Some(CellValue::Null);
    }
    Some(match ty {
        ColumnType::U32 => CellValue::U32(array.as_primitive_opt::<UInt32Type>()?.value(row)),
        ColumnType::F64 => CellValue::F64(array.as_primitive_opt::<Float64Type>()?.value(row)),
        ColumnType::Bool => CellValue::Bool(array.as_boolean_opt()?.value(row)),
        ColumnType::Text => {
            let texts = array.as_dictionary_opt::<Int32Type>()?;
            let text = texts.values().as_string_opt::<i32>()?;
            CellValue::Text(text.value(texts.key(row)?).to_owned())
        }
        _ => return None,
    })
}

/// Writes the new rows after those of the segments that are left out.
pub(super) fn write(
    run: &mut RunWriter,
    old: &Old,
    measured: &CpuCeilings,
) -> Result<(), AttachError> {
    let kept: &[Vec<CellValue>] = if old.stays() { &[] } else { &old.kept };
    for cells in kept {
        let cells: Vec<Cell> = cells.iter().map(|cell| cell.cell(run)).collect();
        run.row(TableId::Ceilings, &cells)?;
    }
    for ceiling in &measured.ceilings {
        run.add_ceiling(ceiling)?;
    }
    Ok(())
}

impl CellValue {
    fn cell(&self, run: &mut RunWriter) -> Cell {
        match self {
            Self::Null => Cell::Null,
            Self::U32(value) => Cell::U64((*value).into()),
            Self::F64(value) => Cell::F64(*value),
            Self::Bool(value) => Cell::Bool(*value),
            Self::Text(text) => Cell::Text(run.text(text)),
        }
    }
}
